"""Triton recurrent networks against the float64 step by step reference, and the CPU backend for the gradients."""

import numpy as np
import pytest
import torch

from core.kernels.cpu import rnn as reference
from core.kernels.triton import rnn
from tests.core.kernels import rnn_formulas as formulas

MODES = ["rnn_relu", "rnn_tanh", "lstm", "gru"]
HIDDEN = 5


def tensors(arrays, device, dtype=torch.float32):
    return [None if a is None else torch.tensor(a, dtype=dtype, device=device) for a in arrays]


def attributes(mode, layers, bidirectional, dropout=0.0):
    return {"mode": mode, "hidden": HIDDEN, "layers": layers, "bidirectional": bidirectional, "dropout": dropout,
            "key": 3, "training": True}  # fmt: skip


def error(got, want):
    got, want = got.cpu().double().numpy(), want.double().numpy() if torch.is_tensor(want) else want
    return np.linalg.norm(got - want) / np.linalg.norm(want)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("layers", "bidirectional"), [(2, False), (1, True)])
def test_forward_and_gradients(mode, layers, bidirectional, device):
    arrays = formulas.arrays(mode, 3, 2, 4, HIDDEN, layers, bidirectional)
    how = attributes(mode, layers, bidirectional)
    y, hn, cn, reserve = rnn.rnn(*tensors(arrays, device), **how)
    expected = formulas.run(*arrays, mode, HIDDEN, layers, bidirectional)
    for got, want in zip((y, hn, cn), expected, strict=True):
        assert got is want is None or error(got, want) < 1e-5
    heads = [None if o is None else np.random.RandomState(1).standard_normal(o.shape) for o in expected]
    gradients = rnn.rnn_grad(*tensors(heads, device), *tensors(arrays, device), y, reserve, **how)
    wide = tensors(arrays, "cpu", torch.float64)
    kept = reference.rnn(*wide, **how)
    for got, want in zip(
        gradients,
        reference.rnn_grad(*tensors(heads, "cpu", torch.float64), *wide, kept[0], kept[3], **how),
        strict=True,
    ):
        assert got is want is None or error(got, want) < 1e-5


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_half_precision(mode, device):
    arrays = formulas.arrays(mode, 3, 2, 4, HIDDEN, 1, False)
    given = tensors(arrays, device, torch.float16)
    how = attributes(mode, 1, False)
    y, hn, cn, reserve = rnn.rnn(*given, **how)
    rounded = [None if a is None else a.cpu().double().numpy() for a in given]
    assert y.dtype is torch.float16 and error(y, formulas.run(*rounded, mode, HIDDEN, 1, False)[0]) < 1e-2
    dy = torch.ones_like(y)
    gradients = rnn.rnn_grad(dy, None, None, *given, y, reserve, **how)
    wide = tensors(rounded, "cpu", torch.float64)
    kept = reference.rnn(*wide, **how)
    expected = reference.rnn_grad(dy.cpu().double(), None, None, *wide, kept[0], kept[3], **how)
    for got, want in zip(gradients, expected, strict=True):
        assert got is want is None or (got.dtype is torch.float16 and error(got, want) < 1e-2)


def test_dropout_between_layers(device):
    """The gradient with respect to the parameters agrees with a difference of the same masked network."""
    x, params, h0, c0 = tensors(formulas.arrays("lstm", 2, 2, 3, HIDDEN, 2, False), device, torch.float64)
    how = attributes("lstm", 2, False, dropout=0.5)
    y, _, _, reserve = rnn.rnn(x, params, h0, c0, **how)
    direction = torch.randn_like(params)
    along = formulas.slope(lambda p: float(rnn.rnn(x, p, h0, c0, **how)[0].sum()), params, direction)
    dparams = rnn.rnn_grad(torch.ones_like(y), None, None, x, params, h0, c0, y, reserve, **how)[1]
    assert along == pytest.approx(float((dparams * direction).sum()), rel=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_inputs_of_any_strides(mode, device):
    x, params, h0, c0 = tensors(formulas.arrays(mode, 3, 2, 4, HIDDEN, 1, False), device)
    state = torch.ones((1, 1, HIDDEN), device=device).expand(h0.shape)
    given = (
        x.transpose(0, 1),
        params,
        state[:, :1].expand(1, 3, HIDDEN),
        None if c0 is None else state[:, :1].expand(1, 3, HIDDEN),
    )
    how = attributes(mode, 1, False)
    straight = [None if t is None else t.contiguous() for t in given]
    (y, hn, cn, kept), (y1, hn1, cn1, kept1) = rnn.rnn(*given, **how), rnn.rnn(*straight, **how)
    dy = y.transpose(0, 1).contiguous().transpose(0, 1)
    first = (y, hn, cn, *rnn.rnn_grad(dy, hn, cn, *given, y, kept, **how))
    second = (y1, hn1, cn1, *rnn.rnn_grad(y1, hn1, cn1, *straight, y1, kept1, **how))
    assert all(a is b is None or torch.equal(a, b) for a, b in zip(first, second, strict=True))


def _sample(mode):
    def run():
        arrays = [torch.ones(2, 2, 3), torch.ones(formulas.arrays(mode, 1, 1, 3, HIDDEN, 1, False)[1].shape)]
        arrays += [torch.ones(1, 2, HIDDEN), torch.ones(1, 2, HIDDEN) if mode == "lstm" else None]
        y, _, _, reserve = rnn.rnn(*arrays, **attributes(mode, 1, False))
        rnn.rnn_grad(y, None, None, *arrays, y, reserve, **attributes(mode, 1, False))

    return run


SAMPLES = [_sample(mode) for mode in MODES]
