"""CPU optimizer updates against float64 formulas and recorded updates of MXNet 1.9.1."""

import json

import numpy as np
import pytest
import torch

from core.kernels.cpu import optimizer
from tests.core.kernels import optimizer_formulas as formulas

IDS = [formula.__name__ for formula, _, _ in formulas.CASES]
SEGMENTS = ((0, 40, 1.0, 1.0), (40, 75, 0.5, 0.0), (80, 100, 2.0, 3.0))


def tensors(arrays, dtype=torch.float64):
    return [torch.tensor(a, dtype=dtype) for a in arrays]


def check(formula, got, expected, tolerance):
    for a, b in zip(got, expected, strict=True):
        error = np.linalg.norm(a.double().numpy() - b) / max(np.linalg.norm(b), 1e-3)
        assert error < tolerance, (formula.__name__, error)


@pytest.mark.parametrize(("formula", "states", "attrs"), formulas.CASES, ids=IDS)
@pytest.mark.parametrize("more", formulas.REGULARIZATIONS, ids=["plain", "decayed", "clipped"])
@pytest.mark.parametrize("size", [11, 2 * optimizer.BLOCK + 3])
def test_formula(formula, states, attrs, more, size):
    arrays = formulas.arrays(formula, states, size)
    w, g, *rest = tensors(arrays)
    getattr(optimizer, formula.__name__)(w, g, *rest, **attrs, **more)
    check(formula, [w, *rest], formula(*arrays, **attrs, **more), 1e-12)
    assert (g.numpy() == arrays[1]).all()


@pytest.mark.parametrize("name", ["adamw_", "adamax_", "nadam_", "rmspropalex_", "lamb_phase1"])
def test_infinite_and_far_means_stay_what_they_are(name):
    """beta mean + (1 - beta) g, as MXNet computes it: the difference of two numbers of 3e38 would not be a number."""
    states = {"adamax_": 1, "rmspropalex_": 2}.get(name, 1)
    mean = torch.tensor([torch.inf, -3e38])
    others = [torch.ones(2) for _ in range(states)]
    given = [others[0], mean, *others[1:]] if name == "rmspropalex_" else [mean, *others]
    rates = {"nadam_": {"g_share": 0.1, "mean_share": 0.9, "var_share": 1.0}, "lamb_phase1": {"t": 1}}.get(name, {})
    rates |= {} if name == "lamb_phase1" else {"lr": 0.1}
    getattr(optimizer, name)(torch.ones(2), torch.tensor([1.0, 3e38]), *given, **rates)
    share = 0.05 if name == "rmspropalex_" else 0.1
    assert mean[0] == torch.inf and mean[1] == pytest.approx((2 * share - 1) * 3e38, rel=1e-5)


@pytest.mark.parametrize(("formula", "states", "attrs"), formulas.CASES, ids=IDS)
def test_segments_have_their_own_rates(formula, states, attrs):
    arrays = formulas.arrays(formula, states, 100)
    w, g, *rest = tensors(arrays)
    getattr(optimizer, formula.__name__)(w, g, *rest, **attrs, wd=0.1, segments=SEGMENTS)
    expected = [a.copy() for a in (arrays[0], *arrays[2:])]
    for start, stop, lr_mult, wd_mult in SEGMENTS:
        rate = {"lr": attrs["lr"] * lr_mult} if "lr" in attrs else {}
        part = formula(*(a[start:stop] for a in arrays), **{**attrs, **rate}, wd=0.1 * wd_mult)
        for whole, a in zip(expected, part, strict=True):
            whole[start:stop] = a
    check(formula, [w, *rest], expected, 1e-12)


@pytest.mark.parametrize(("formula", "states", "attrs"), formulas.CASES, ids=IDS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_master_weights(formula, states, attrs, dtype):
    arrays = formulas.arrays(formula, states, 50)
    w32, g, *rest = tensors(arrays, torch.float32)
    w, g = w32.to(dtype), g.to(dtype)
    arrays[1] = g.double().numpy()
    getattr(optimizer, formula.__name__)(w, g, *rest, **attrs, wd=0.01, w32=w32)
    check(formula, [w32, *rest], formula(*arrays, **attrs, wd=0.01), 1e-5)
    assert (w == w32.to(dtype)).all()


def test_any_strides():
    arrays = formulas.arrays(formulas.adam_, 2, 30)
    tall = [torch.tensor(a).reshape(5, 6).t() for a in arrays]
    optimizer.adam_(*tall, 0.1)
    expected = formulas.adam_(*arrays, 0.1)
    check(formulas.adam_, [tall[0], tall[2], tall[3]], [a.reshape(5, 6).T for a in expected], 1e-12)


@pytest.mark.parametrize("bias_correction", [True, False])
@pytest.mark.parametrize("clip", [None, 0.3])
def test_lamb(bias_correction, clip):
    arrays = formulas.arrays(formulas.lamb_phase1, 2, 100)
    w, g, mean, var = tensors(arrays)
    how = {"t": 3, "wd": 0.1, "bias_correction": bias_correction, "rescale": 0.5, "clip": clip}
    update = optimizer.lamb_phase1(w, g, mean, var, **how)
    expected = formulas.lamb_phase1(*arrays, **how)
    check(formulas.lamb_phase1, [update, mean, var], expected, 1e-12)
    norms = [optimizer.sum_squares(x, SEGMENTS).sqrt() for x in (w, update)]
    optimizer.lamb_phase2_(w, update, *norms, 0.1, 4.0, 5.0, segments=SEGMENTS)
    whole = arrays[0].copy()
    for start, stop, lr_mult, _ in SEGMENTS:
        part, direction = arrays[0][start:stop], expected[0][start:stop]
        norm = [np.linalg.norm(a) for a in (part, direction)]
        whole[start:stop] = formulas.lamb_phase2_(part, direction, *norm, 0.1 * lr_mult, 4.0, 5.0)
    check(formulas.lamb_phase2_, [w], [whole], 1e-12)
    zero = torch.zeros(1, dtype=torch.float64)
    optimizer.lamb_phase2_(w, update, zero, zero, 0.1)
    check(formulas.lamb_phase2_, [w], [whole - 0.1 * expected[0]], 1e-12)


def test_group_adagrad():
    w, g = np.random.RandomState(0).standard_normal((2, 6, 4))
    history = np.full((6, 1), 0.2)
    got = tensors([w, g, history])
    optimizer.group_adagrad_(*got, 0.1, rescale=0.5, clip=0.3)
    check(formulas.group_adagrad_, got[::2], formulas.group_adagrad_(w, g, history, 0.1, rescale=0.5, clip=0.3), 1e-12)


def test_sum_squares():
    x = torch.arange(6.0)
    assert optimizer.sum_squares(x).tolist() == pytest.approx([55.0])
    assert optimizer.sum_squares(x, ((0, 2, 1, 1), (2, 6, 1, 1))).tolist() == pytest.approx([1.0, 54.0])


# What the recorded operators are here: function, names of its arrays after weight and gradient, renamed attributes.
OPERATORS = {
    "sgd_update": ("sgd_", []),
    "sgd_mom_update": ("sgd_momentum_", ["mom"]),
    "mp_sgd_update": ("sgd_", []),
    "mp_sgd_mom_update": ("sgd_momentum_", ["mom"]),
    "nag_mom_update": ("nag_", ["mom"]),
    "mp_nag_mom_update": ("nag_", ["mom"]),
    "adam_update": ("adam_", ["mean", "var"]),
    "ftml_update": ("ftml_", ["d", "v", "z"]),
    "ftrl_update": ("ftrl_", ["z", "n"]),
    "rmsprop_update": ("rmsprop_", ["n"]),
    "rmspropalex_update": ("rmspropalex_", ["n", "g", "delta"]),
    "signsgd_update": ("signsgd_", []),
    "signum_update": ("signum_", ["mom"]),
}
ATTRIBUTES = {"rescale_grad": "rescale", "clip_gradient": "clip", "clip_grad": "clip", "epsilon": "eps"}


def test_recorded_operators(reference):
    """Without `out` MXNet leaves the weight and returns the new one; the states change."""
    folder = reference / "out" / "mxnet_ops"
    recorded, seen = np.load(folder / "nd_optim.npz"), set()
    for case in json.loads((folder / "nd_optim.json").read_text())["cases"]:
        operator = case.get("call", "").removeprefix("nd.")
        if operator not in OPERATORS:
            continue
        seen.add(operator)
        name, states = OPERATORS[operator]
        given = {key: torch.tensor(recorded[f"{case['id']}|in:{key}"]) for key in ("weight", "grad", *states)}
        w32 = f"{case['id']}|in:weight32"
        master = torch.tensor(recorded[w32]) if w32 in recorded else None
        attrs = {ATTRIBUTES.get(key, key): value for key, value in case["attrs"].items() if key != "lazy_update"}
        if operator == "nag_mom_update":
            attrs["in_place"] = False
        getattr(optimizer, name)(*given.values(), **attrs, w32=master)
        wanted = {"weight": f"{case['id']}|out:0"} | {key: f"{case['id']}|after:{key}" for key in states}
        for key, place in wanted.items():
            close(given[key], recorded[place], case["id"])
    assert seen >= {"sgd_mom_update", "adam_update", "ftml_update"}


def close(got, expected, where):
    """The tolerances of the recorded answers."""
    relative, absolute = {"float16": (1e-2, 5e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-6)}[
        str(expected.dtype)
    ]
    scale = max(0.5, np.abs(expected).max())
    np.testing.assert_allclose(got.numpy(), expected, relative, absolute * scale, err_msg=where)


# The five recorded steps of optimizers whose update MXNet writes in Python: states and step-dependent attributes.
LOOPS = {
    "adagrad": ("adagrad_", 1, {"learning_rate": 0.01, "eps": 1e-7}),
    "adadelta": ("adadelta_", 2, {"learning_rate": 1.0, "rho": 0.9, "eps": 1e-5}),
    "adamax": ("adamax_", 2, {"learning_rate": 0.002, "beta1": 0.9, "beta2": 0.999}),
    "nag": ("nag_", 1, {"learning_rate": 0.1, "momentum": 0.0}),
    "ftrl": ("ftrl_", 2, {"learning_rate": 0.1, "lamda1": 0.01, "beta": 1.0}),
    "signum": ("signum_", 1, {"learning_rate": 0.01, "momentum": 0.9}),
}


def test_recorded_loops(reference):
    folder = reference / "out" / "mxnet_gluon"
    recorded, seen = np.load(folder / "optimizer.npz"), 0
    for case in json.loads((folder / "optimizer.json").read_text())["cases"]:
        kind = case["optimizer"]
        if kind not in LOOPS or "error" in case or case["dtype"] != "float32" or "lr_scheduler" in case:
            continue
        name, states, defaults = LOOPS[kind]
        attrs = {**defaults, **{ATTRIBUTES.get(key, key): value for key, value in case["kwargs"].items()}}
        if kind == "signum" and attrs["momentum"] == 0:
            continue
        lr = attrs.pop("learning_rate")
        for i in range(2):
            w = torch.tensor(recorded[f"{case['id']}|w{i}_init"])
            state = [torch.zeros_like(w) for _ in range(states)]
            for step in range(5):
                rate = lr / (1 - attrs["beta1"] ** (step + 1)) if kind == "adamax" else lr
                g = torch.tensor(recorded[f"{case['id']}|g{i}_{step}"])
                getattr(optimizer, name)(w, g, *state, lr=rate, **attrs)
                close(w, recorded[f"{case['id']}|w{i}_{step}"], f"{case['id']} step {step}")
        seen += 1
    assert seen > 10
