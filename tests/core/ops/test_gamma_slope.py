"""Gamma samples move with their shapes: against differences of the quantile function, in both wings."""

import numpy as onp
import pytest

import core as mx
from core import kernels, np, npx
from core.ops.registry import TABLE


@pytest.mark.parametrize(
    "wing, dtype, rtol",
    [("cpu", "float64", 1e-3), ("cpu", "float32", 1e-3), ("triton", "float64", 5e-5), ("triton", "float32", 1e-3)],
)
def test_samples_move_with_their_shapes_as_quantiles_do(wing, dtype, rtol):
    special = pytest.importorskip("scipy.special")
    shape = onp.repeat([0.05, 0.4, 1.0, 3.0, 12.0, 90.0, 2000.0], 4)
    quantile = onp.tile([0.05, 0.3, 0.7, 0.99], 7)
    step = 1e-4 * shape
    ends = [special.gammaincinv(shape + way * step, quantile) for way in (-1, 1)]
    want = (ends[1] - ends[0]) / (2 * step)
    sample = special.gammaincinv(shape, quantile)
    kept = sample > 1e-30
    with kernels.using(wing):
        a, x = (mx.nd.array(v[kept], dtype=dtype) for v in (shape, sample))
        slope = mx.nd.NDArray._apply_operator(TABLE["_gamma_slope"], [a, x], {})
        onp.testing.assert_allclose(slope.asnumpy(), want[kept], rtol=rtol)


def test_gradients_reach_the_shape_of_gamma_and_beta_samples():
    npx.set_np()
    mx.random.seed(3)
    a = np.array([2.0, 5.0])
    a.attach_grad()
    with mx.autograd.record():
        mean = np.random.gamma(a, 3.0, size=(20000, 2)).mean(axis=0)
    mean.backward()
    onp.testing.assert_allclose(
        a.grad.asnumpy(), [3.0, 3.0], rtol=0.05
    )  # the mean of a gamma distribution is shape * scale
    with mx.autograd.record():
        mean = np.random.beta(a, 2.0, size=(20000, 2)).mean(axis=0)
    mean.backward()
    onp.testing.assert_allclose(a.grad.asnumpy(), 2.0 / (a.asnumpy() + 2.0) ** 2, rtol=0.05)
    npx.reset_np()
