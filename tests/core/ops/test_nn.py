"""Layers at the edges of what they take, against NumPy and recorded answers of MXNet."""

import numpy as onp
import pytest

import gluon
from core import autograd, nd, sym
from core.test_utils import check_symbolic_backward, check_symbolic_forward


def _softmax(x):
    powers = onp.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize("given, asked", [("float16", "float32"), ("float32", "float64")])
def test_a_softmax_of_a_wider_type_is_computed_in_it_where_sums_are_safe(given, asked, monkeypatch):
    monkeypatch.setenv("MXNET_SAFE_ACCUMULATION", "1")
    x = onp.random.default_rng(0).normal(size=(4, 50)).astype(given)
    expected = _softmax(x.astype("float64"))
    tolerance = {"float32": 1e-6, "float64": 1e-13}[asked]
    a = nd.array(x, dtype=given)
    a.attach_grad()
    with autograd.record():
        y = nd.softmax(a, dtype=asked)
    y.backward()
    assert y.dtype == onp.dtype(asked) and a.grad.dtype == onp.dtype(given)
    onp.testing.assert_allclose(y.asnumpy(), expected, rtol=tolerance)
    onp.testing.assert_allclose(nd.softmin(-a, dtype=asked).asnumpy(), expected, rtol=tolerance)
    onp.testing.assert_allclose(nd.log_softmax(a, dtype=asked).asnumpy(), onp.log(expected), rtol=10 * tolerance)
    assert nd.softmax(nd.ones((2, 2)), dtype="float16").dtype == onp.float16


def test_masked_softmax_of_symbols():
    rng = onp.random.default_rng(1)
    x, mask, head = rng.normal(size=(2, 3, 4)), rng.integers(0, 2, (2, 1, 4)), rng.normal(size=(2, 3, 4))
    mask[..., 0] = 1
    y = _softmax(onp.where(mask, x, -1e18))
    out = sym.masked_softmax(sym.var("data"), sym.var("mask"), axis=-1, temperature=1, normalize=True)
    where = {"data": nd.array(x), "mask": nd.array(mask, dtype="bool")}
    gradient = y * (head - (y * head).sum(-1, keepdims=True))
    check_symbolic_forward(out, where, [y], dtype="asnumpy")
    check_symbolic_backward(out, where, [nd.array(head)], [gradient, onp.zeros(mask.shape, bool)], dtype="asnumpy")
    logarithm = sym.masked_log_softmax(sym.var("data"), sym.var("mask"))
    check_symbolic_forward(
        logarithm, where, [onp.where(mask, onp.log(onp.where(mask, y, 1)), -onp.inf)], dtype="asnumpy"
    )


def test_dropping_everything_leaves_no_number():
    x = nd.ones((3,))
    x.attach_grad()
    with autograd.record():
        y = nd.Dropout(x, p=1)
    y.backward()
    assert onp.isnan(y.asnumpy()).all() and onp.isnan(x.grad.asnumpy()).all()
    assert nd.Dropout(x, p=1).asnumpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize(
    ("p", "gradient"), [(1, [2, 4, 4, 2]), (2, [0, 0, 2.894427, 1.788854]), (3, [0, 0, 2.462238, 1.848952])]
)
def test_norms_of_windows_of_zeros_are_flat(p, gradient, hybrid):
    pool = gluon.nn.HybridLambda(lambda F, x: F.Pooling(x, kernel=(2,), pool_type="lp", p_value=p))
    pool.hybridize(hybrid)
    x = nd.array([[[0, 0, 1, 2]]])
    x.attach_grad()
    with autograd.record():
        y = pool(x)
    y.backward(nd.full(y.shape, 2))
    onp.testing.assert_allclose(x.grad.asnumpy(), [[gradient]], rtol=1e-5)
