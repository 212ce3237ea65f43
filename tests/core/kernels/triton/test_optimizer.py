"""Triton optimizer updates against the float64 formulas."""

import numpy as np
import pytest
import torch

from core.kernels.triton import optimizer
from tests.core.kernels import optimizer_formulas as formulas

# The interpreter computes the masked elements too: 0 / 0 in some formulas.
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
IDS = [formula.__name__ for formula, _, _ in formulas.CASES]
SIZE = 2 * optimizer.BLOCK + 77
# One segment ends inside each block, one is empty, and two gaps stay as they are.
SEGMENTS = ((0, 40, 1.0, 1.0), (40, 75, 0.5, 0.0), (80, 80, 9.0, 9.0), (80, 1040, 2.0, 3.0), (1050, SIZE, 1.0, 0.5))


def tensors(arrays, device, dtype=torch.float32):
    return [torch.tensor(a, dtype=dtype, device=device) for a in arrays]


def check(formula, got, expected, tolerance=1e-5):
    for a, b in zip(got, expected, strict=True):
        error = np.linalg.norm(a.cpu().double().numpy() - b) / max(np.linalg.norm(b), 1e-3)
        assert error < tolerance, (formula.__name__, error)


@pytest.mark.parametrize(("formula", "states", "attrs"), formulas.CASES, ids=IDS)
@pytest.mark.parametrize("more", formulas.REGULARIZATIONS, ids=["plain", "decayed", "clipped"])
def test_formula(formula, states, attrs, more, device):
    arrays = formulas.arrays(formula, states, 19)
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-6)):
        w, g, *rest = tensors(arrays, device, dtype)
        getattr(optimizer, formula.__name__)(w, g, *rest, **attrs, **more)
        check(formula, [w, *rest], formula(*arrays, **attrs, **more), tolerance)
        assert (g.cpu() == torch.tensor(arrays[1], dtype=dtype)).all()


@pytest.mark.parametrize(("formula", "states", "attrs"), formulas.CASES, ids=IDS)
def test_segments_and_master_weights(formula, states, attrs, device):
    arrays = formulas.arrays(formula, states, SIZE)
    w32, g, *rest = tensors(arrays, device)
    w, g = w32.to(torch.float16), g.to(torch.float16)
    arrays[1], before = g.cpu().double().numpy(), w.clone()
    getattr(optimizer, formula.__name__)(w, g, *rest, **attrs, wd=0.1, w32=w32, segments=SEGMENTS)
    expected = [a.copy() for a in (arrays[0], *arrays[2:])]
    changed = np.zeros(SIZE, dtype=bool)
    for start, stop, lr_mult, wd_mult in SEGMENTS:
        changed[start:stop] = True
        rate = {"lr": attrs["lr"] * lr_mult} if "lr" in attrs else {}
        part = formula(*(a[start:stop] for a in arrays), **{**attrs, **rate}, wd=0.1 * wd_mult)
        for whole, a in zip(expected, part, strict=True):
            whole[start:stop] = a
    check(formula, [w32, *rest], expected)
    changed = torch.tensor(changed, device=device)
    assert (w == torch.where(changed, w32.to(w.dtype), before)).all()


def test_any_strides(device):
    """Arrays of one dense layout are updated where they are; mixed layouts through copies."""
    arrays = formulas.arrays(formulas.adam_, 2, 30)
    expected = [a.reshape(5, 6).T for a in formulas.adam_(*arrays, 0.1)]
    for mixed in (False, True):
        tall = [t.reshape(5, 6).t() for t in tensors(arrays, device)]
        if mixed:
            tall[1] = tall[1].contiguous()
        optimizer.adam_(*tall, 0.1)
        check(formulas.adam_, [tall[0], tall[2], tall[3]], expected)


def test_nan_gradients_are_not_hidden_by_the_clip(device):
    w, g = torch.ones(3, device=device), torch.tensor([1.0, float("nan"), -9.0], device=device)
    optimizer.sgd_(w, g, 0.5, clip=2.0)
    assert w.isnan().tolist() == [False, True, False] and w[2] == 2.0


@pytest.mark.parametrize("bias_correction", [True, False])
def test_lamb(bias_correction, device):
    arrays = formulas.arrays(formulas.lamb_phase1, 2, SIZE)
    w, g, mean, var = tensors(arrays, device)
    how = {"t": 3, "wd": 0.1, "bias_correction": bias_correction, "rescale": 0.5, "clip": 0.3}
    update = optimizer.lamb_phase1(w, g, mean, var, **how)
    expected = formulas.lamb_phase1(*arrays, **how)
    check(formulas.lamb_phase1, [update, mean, var], expected)
    squares = [optimizer.sum_squares(x, SEGMENTS) for x in (w, update)]
    for got, x in zip(squares, (arrays[0], expected[0]), strict=True):
        np.testing.assert_allclose(got.cpu(), [(x[a:b] ** 2).sum() for a, b, *_ in SEGMENTS], rtol=1e-5)
    low = w.to(torch.float16)
    optimizer.lamb_phase2_(low, update, *(x.sqrt() for x in squares), 0.1, 4.0, 5.0, w32=w, segments=SEGMENTS)
    whole = arrays[0].copy()
    for start, stop, lr_mult, _ in SEGMENTS:
        part, direction = arrays[0][start:stop], expected[0][start:stop]
        norms = [np.linalg.norm(a) for a in (part, direction)]
        whole[start:stop] = formulas.lamb_phase2_(part, direction, *norms, 0.1 * lr_mult, 4.0, 5.0)
    check(formulas.lamb_phase2_, [w], [whole])
    zero = torch.zeros(1, device=device)
    optimizer.lamb_phase2_(w, update, zero, zero, 0.1)
    check(formulas.lamb_phase2_, [w], [whole - 0.1 * expected[0]])


def test_group_adagrad(device):
    w, g = np.random.RandomState(0).standard_normal((2, 6, 5))
    history = np.full((6, 1), 0.2)
    got = tensors([w, g, history], device)
    optimizer.group_adagrad_(*got, 0.1, rescale=0.5, clip=0.3)
    check(formulas.group_adagrad_, got[::2], formulas.group_adagrad_(w, g, history, 0.1, rescale=0.5, clip=0.3))


def _sample(formula, states, attrs):
    return lambda: getattr(optimizer, formula.__name__)(*torch.ones((states + 2, 8)).unbind(0), **attrs)


SAMPLES = [_sample(*case) for case in formulas.CASES]
SAMPLES += [
    lambda: optimizer.adam_(*torch.ones((4, 8)), lr=0.1, segments=((0, 8, 1.0, 1.0),)),
    lambda: optimizer.lamb_phase1(*torch.ones((4, 8)), t=1),
    lambda: optimizer.lamb_phase2_(*torch.ones((2, 8)), *torch.ones((2, 1)), lr=0.1),
    lambda: optimizer.sum_squares(torch.ones(8)),
    lambda: optimizer.group_adagrad_(*torch.ones((2, 4, 2)), torch.ones(4, 1), lr=0.1),
    # Numbers of NumPy's, and whole ones.
    lambda: optimizer.adam_(*torch.ones((4, 8)), lr=np.float32(0.1), wd=np.float64(0.1), beta1=np.float32(0.9), clip=1),
    lambda: optimizer.lamb_phase2_(
        *torch.ones((2, 8)), *torch.ones((2, 1)), lr=np.float32(0.1), upper_bound=np.int64(9)
    ),
    lambda: optimizer.group_adagrad_(*torch.ones((2, 4, 2)), torch.ones(4, 1), lr=np.float32(0.1), rescale=np.int64(1)),
]
