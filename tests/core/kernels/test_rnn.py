"""CPU recurrent networks against a float64 step by step reference and its finite differences."""

import numpy as np
import pytest
import torch

from core import kernels
from core.base import MXNetError
from core.kernels.cpu import rnn
from tests.core.kernels import rnn_formulas as formulas

MODES = ["rnn_relu", "rnn_tanh", "lstm", "gru"]
HIDDEN, LAYERS = 5, 2


def tensors(arrays, dtype=torch.float64):
    return [None if a is None else torch.tensor(a, dtype=dtype) for a in arrays]


def attributes(mode, bidirectional, dropout=0.0, training=True):
    return {"mode": mode, "hidden": HIDDEN, "layers": LAYERS, "bidirectional": bidirectional, "dropout": dropout,
            "key": 3, "training": training}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_forward_and_gradients(mode, bidirectional):
    arrays = formulas.arrays(mode, 4, 3, 6, HIDDEN, LAYERS, bidirectional)
    how = attributes(mode, bidirectional)
    y, hn, cn, reserve = rnn.rnn(*tensors(arrays), **how)
    outputs = [o for o in (y, hn, cn) if o is not None]
    expected = [o for o in formulas.run(*arrays, mode, HIDDEN, LAYERS, bidirectional) if o is not None]
    for got, want in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-10, atol=1e-12)

    rs = np.random.RandomState(1)
    heads = [rs.standard_normal(o.shape) for o in expected]

    def loss(inputs):
        results = formulas.run(*inputs, mode, HIDDEN, LAYERS, bidirectional)
        return sum((o * head).sum() for o, head in zip((o for o in results if o is not None), heads, strict=True))

    given = tensors(heads) + [None] * (3 - len(heads))
    gradients = rnn.rnn_grad(*given, *tensors(arrays), y, reserve, **how)
    for i, (array, gradient) in enumerate(zip(arrays, gradients, strict=True)):
        if array is None:
            assert gradient is None
            continue
        for _ in range(3):
            direction = rs.standard_normal(array.shape)
            along = formulas.slope(lambda a, i=i: loss([*arrays[:i], a, *arrays[i + 1 :]]), array, direction)
            assert along == pytest.approx(float((gradient.numpy() * direction).sum()), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_absent_output_gradients_are_zero(mode):
    arrays = tensors(formulas.arrays(mode, 4, 3, 6, HIDDEN, LAYERS, True))
    how = attributes(mode, True)
    y, hn, cn, reserve = rnn.rnn(*arrays, **how)
    zeros = [torch.zeros_like(y), torch.zeros_like(hn), None if cn is None else torch.zeros_like(cn)]
    heads = [torch.randn_like(y), torch.randn_like(hn), None if cn is None else torch.randn_like(cn)]
    for i in range(3):
        full = rnn.rnn_grad(*zeros[:i], heads[i], *zeros[i + 1 :], *arrays, y, reserve, **how)
        alone = rnn.rnn_grad(*[None] * i, heads[i], *[None] * (2 - i), *arrays, y, reserve, **how)
        assert all(a is b or torch.equal(a, b) for a, b in zip(full, alone, strict=True))


@pytest.mark.parametrize("mode", MODES)
def test_dropout_between_layers(mode):
    """One network with a fixed mask is linear in that mask: the derivative along x agrees with the gradient."""
    x, params, h0, c0 = tensors(formulas.arrays(mode, 4, 3, 6, HIDDEN, LAYERS, False))
    how = attributes(mode, False, dropout=0.5)
    y, _, _, reserve = rnn.rnn(x, params, h0, c0, **how)
    plain = rnn.rnn(x, params, h0, c0, **attributes(mode, False, dropout=0.5, training=False))
    assert not torch.equal(plain[0], y)
    assert torch.equal(plain[0], rnn.rnn(x, params, h0, c0, **attributes(mode, False))[0])
    rs = np.random.RandomState(1)
    head, direction = (torch.tensor(rs.standard_normal(t.shape)) for t in (y, params))
    along = formulas.slope(lambda p: (rnn.rnn(x, p, h0, c0, **how)[0] * head).sum(), params, direction)
    dparams = rnn.rnn_grad(head, None, None, x, params, h0, c0, y, reserve, **how)[1]
    assert float(along) == pytest.approx(float((dparams * direction).sum()), rel=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_lower_precision(mode, dtype):
    arrays = formulas.arrays(mode, 4, 3, 6, HIDDEN, LAYERS, True)
    y = rnn.rnn(*tensors(arrays, dtype), **attributes(mode, True))[0]
    assert y.dtype is dtype
    rounded = [None if a is None else a.double().numpy() for a in tensors(arrays, dtype)]
    want = formulas.run(*rounded, mode, HIDDEN, LAYERS, True)[0]
    assert np.linalg.norm(y.double().numpy() - want) / np.linalg.norm(want) < (1e-5 if dtype is torch.float32 else 3e-2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_products_of_large_matrices(mode, bidirectional, monkeypatch):
    """In float32 large products take another way; here all do. The truth is float64, which the tests above check."""
    monkeypatch.setattr(rnn, "_PACKED", 1)
    arrays = formulas.arrays(mode, 4, 3, 6, HIDDEN, LAYERS, bidirectional)
    results = []
    for dtype in (torch.float64, torch.float32):
        given = tensors(arrays, dtype)
        y, hn, cn, reserve = rnn.rnn(*given, **attributes(mode, bidirectional))
        gradients = rnn.rnn_grad(torch.ones_like(y), hn, cn, *given, y, reserve, **attributes(mode, bidirectional))
        results.append([o for o in (y, hn, cn, *gradients) if o is not None])
    for want, got in zip(*results, strict=True):
        assert torch.linalg.vector_norm(got - want) < 1e-5 * torch.linalg.vector_norm(want)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_predictions_have_gradients(bidirectional):
    """What an LSTM did not keep, predicting, its gradient makes again: results and gradients are those of training."""
    shape = 4, 1, 6  # one sequence, whose array may have any stride along its axis of length one
    arrays = tensors(formulas.arrays("lstm", *shape, HIDDEN, LAYERS, bidirectional), torch.float32)
    arrays[0] = arrays[0].transpose(0, 1).contiguous().transpose(0, 1)
    results = []
    for training in (False, True):
        how = attributes("lstm", bidirectional, training=training)
        y, hn, cn, reserve = rnn.rnn(*arrays, **how)
        kept = sum(tensor.numel() for tensor in reserve)
        gradients = rnn.rnn_grad(torch.ones_like(y), hn, cn, *arrays, y, reserve, **how)
        results.append((y, hn, cn, *gradients))
        if not training:
            predicting = kept
    assert predicting < kept / 2
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_shapes_on_meta():
    arrays = [torch.empty(a.shape, device="meta") for a in formulas.arrays("lstm", 4, 3, 6, HIDDEN, LAYERS, True)]
    y, hn, cn, reserve = kernels.rnn.rnn(*arrays, **attributes("lstm", True))
    assert y.shape == (4, 3, 2 * HIDDEN) and hn.shape == cn.shape == (4, 3, HIDDEN) and reserve == ()
    gradients = kernels.rnn.rnn_grad(y, hn, cn, *arrays, y, reserve, **attributes("lstm", True))
    assert [g.shape for g in gradients] == [a.shape for a in arrays]


def test_wrong_parameters_are_named():
    x, params, h0, c0 = tensors(formulas.arrays("gru", 4, 3, 6, HIDDEN, LAYERS, False))
    with pytest.raises(MXNetError, match="are 375 numbers, given are 374"):
        rnn.rnn(x, params[1:], h0, c0, **attributes("gru", False))
    with pytest.raises(MXNetError, match="accepted are rnn_relu"):
        rnn.rnn(x, params, h0, c0, **attributes("grru", False))


@pytest.mark.parametrize("mode", MODES)
def test_one_step_of_one_sequence_leaves_its_inputs_alone(mode):
    arrays = formulas.arrays(mode, 1, 1, 6, HIDDEN, LAYERS, True)
    given = tensors(arrays)
    y, hn, cn, reserve = rnn.rnn(*given, **attributes(mode, True))
    np.testing.assert_allclose(y.numpy(), formulas.run(*arrays, mode, HIDDEN, LAYERS, True)[0], rtol=1e-10)
    heads = [None if o is None else torch.ones_like(o) for o in (y, hn, cn)]
    rnn.rnn_grad(*heads, *given, y, reserve, **attributes(mode, True))
    for before, after in zip(arrays, given, strict=True):
        assert before is None or np.array_equal(before, after.numpy())
    assert all(o is None or bool((o == 1).all()) for o in heads)
