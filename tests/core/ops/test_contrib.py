"""Operators of `nd.contrib` and their neighbours against NumPy, finite differences and answers of MXNet 1.9.1."""

import numpy as np
import pytest

from core import autograd
from core import ndarray as nd
from core.base import MXNetError

RANDOM = np.random.RandomState(0)


def derivative(function, x, head=None):
    """Gradient of sum(function(x) * head)."""
    x = nd.array(x, dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward(None if head is None else nd.array(head, dtype="float64"))
    return x.grad.asnumpy()


def test_arange_like():
    y = nd.contrib.arange_like(nd.ones((2, 5)), start=1, step=2, repeat=3)
    assert y.asnumpy().tolist() == [[1, 1, 1, 3, 3], [3, 5, 5, 5, 7]]
    assert nd.contrib.arange_like(nd.ones((2, 3), dtype="float16"), axis=-1).dtype == np.float16


def test_index_array():
    y = nd.contrib.index_array(nd.ones((2, 3)))
    np.testing.assert_array_equal(y.asnumpy(), np.moveaxis(np.indices((2, 3)), 0, -1))
    assert y.dtype == np.int64
    np.testing.assert_array_equal(nd.contrib.index_array(nd.ones((2, 3)), axes=(1,)).asnumpy()[..., 0], [[0, 1, 2]] * 2)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_flat_indices_and_coordinates(dtype):
    flat = RANDOM.randint(0, 210, (4, 3))
    places = np.array(np.unravel_index(flat, (5, 6, 7)))
    y = nd.unravel_index(nd.array(flat, dtype=dtype), shape=(5, 6, 7))
    assert y.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(y.asnumpy(), places)
    np.testing.assert_array_equal(nd.unravel_index(nd.array(flat), shape=(-1, 6, 7)).asnumpy(), places)
    np.testing.assert_array_equal(nd.ravel_multi_index(nd.array(places, dtype=dtype), shape=(5, 6, 7)).asnumpy(), flat)


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_diagonals(k):
    x = RANDOM.randn(2, 3, 4).astype("float32")
    expected = np.diagonal(x, k, 2, 1)
    np.testing.assert_array_equal(nd.diag(nd.array(x), k=k, axis1=2, axis2=-2).asnumpy(), expected)
    np.testing.assert_array_equal(nd.diag(nd.array(x[0, 0]), k=k).asnumpy(), np.diag(x[0, 0], k))
    head = RANDOM.randn(*expected.shape)
    grad = derivative(lambda a: nd.diag(a, k=k, axis1=2, axis2=-2), x, head)
    assert grad.sum() == pytest.approx(head.sum())
    np.testing.assert_allclose(np.diagonal(grad, k, 2, 1), head)
    assert nd.diag(nd.ones((2, 3)), k=3).shape == nd.diag(nd.ones((2, 3)), k=-2).shape == (0,)
    for beyond in (4, -3):
        with pytest.raises(MXNetError, match="from -2 to 3"):
            nd.diag(nd.ones((2, 3)), k=beyond)


def test_boolean_mask_and_its_gradient():
    x, mask = RANDOM.randn(4, 3), np.array([0, 1, 0, 1])
    np.testing.assert_allclose(nd.contrib.boolean_mask(nd.array(x), nd.array(mask)).asnumpy(), x[mask > 0], rtol=1e-6)
    grad = derivative(lambda a: nd.contrib.boolean_mask(a, nd.array(mask)), x)
    np.testing.assert_array_equal(grad, np.repeat(mask[:, None], 3, 1))
    assert nd.contrib.boolean_mask(nd.array(x), nd.zeros(4)).shape == (0, 3)
    for index in (nd.ones(3),):
        with pytest.raises(MXNetError, match="boolean_mask"):
            nd.contrib.boolean_mask(nd.array(x), index)


def test_index_copy_shares_the_gradient_between_old_and_new():
    old, new = nd.zeros((4, 2)), nd.array([[1, 2], [3, 4]])
    old.attach_grad(), new.attach_grad()
    with autograd.record():
        y = nd.contrib.index_copy(old, nd.array([3, 1], dtype="int32"), new)
    y.backward(nd.array([[1, 1], [2, 2], [3, 3], [4, 4]]))
    assert y.asnumpy().tolist() == [[0, 0], [3, 4], [0, 0], [1, 2]]
    assert old.grad.asnumpy()[:, 0].tolist() == [1, 0, 3, 0]
    assert new.grad.asnumpy()[:, 0].tolist() == [4, 2]


def test_fill_element_and_histogram():
    y = nd.fill_element_0index(nd.zeros((2, 3)), nd.array([5, 6]), nd.array([1, 7]))
    assert y.asnumpy().tolist() == [[0, 5, 0], [0, 0, 0]]
    values = np.array([0.1, 0.5, 0.9, 1.5, -3, 2])
    for bins in (4, [0, 1, 1.5, 2]):
        counts, edges = nd.histogram(nd.array(values), nd.array(bins) if isinstance(bins, list) else bins, (0, 2))
        expected = np.histogram(values, bins, (0, 2))
        assert counts.dtype == np.int64
        np.testing.assert_array_equal(counts.asnumpy(), expected[0])
        np.testing.assert_allclose(edges.asnumpy(), expected[1], rtol=1e-6)
    np.testing.assert_array_equal(nd.histogram(nd.array(values), 3)[0].asnumpy(), np.histogram(values, 3)[0])


def test_tests_of_values():
    x = nd.array([1, np.nan, np.inf, -np.inf])
    assert nd.contrib.isnan(x).asnumpy().tolist() == [0, 1, 0, 0]
    assert nd.contrib.isinf(x).asnumpy().tolist() == [0, 0, 1, 1]
    assert nd.contrib.isfinite(x).asnumpy().tolist() == [1, 0, 0, 0]
    for a, b, equal_nan in [
        ([1, 2], [1, 2.000001], True), ([1, 2], [1, 3], True), ([1, np.nan], [1, np.nan], True),
        ([1, np.nan], [1, np.nan], False), ([np.inf], [np.inf], True), ([np.inf], [-np.inf], True), ([1], [np.inf], True),
    ]:  # fmt: skip
        y = nd.contrib.allclose(nd.array(a), nd.array(b), equal_nan=equal_nan)
        assert (y.shape, y.dtype) == ((), np.uint8)
        assert y.asnumpy() == np.allclose(a, b, 1e-5, 1e-8, equal_nan)


def test_gradients_that_are_told():
    x = np.array([0.5, -0.5, -2.5, 1.2])
    assert nd.contrib.round_ste(nd.array(x)).asnumpy().tolist() == [1, -1, -3, 1]
    assert nd.contrib.sign_ste(nd.array(x)).asnumpy().tolist() == [1, -1, -1, 1]
    for function in (nd.contrib.round_ste, nd.contrib.sign_ste):
        np.testing.assert_array_equal(derivative(function, x, x), x)
    np.testing.assert_array_equal(derivative(lambda a: nd.contrib.gradientmultiplier(a, scalar=-2), x, x), -2 * x)
    np.testing.assert_allclose(nd.contrib.div_sqrt_dim(nd.array(x)).asnumpy(), x / 2)
    np.testing.assert_allclose(derivative(lambda a: nd.contrib.quadratic(a, 2, 3, 4), x), 4 * x + 3)


def test_mixed_precision_casts_floats_only():
    whole = nd.array([1, 2], dtype="int32")
    half, single = nd.ones(2, dtype="float16"), nd.ones(2)
    assert nd.amp_cast(whole, dtype="float16").dtype == np.int32
    assert nd.amp_cast(single, dtype="float16").dtype == np.float16
    wide = nd.amp_multicast(half, single, whole, num_outputs=3)
    assert [x.dtype for x in wide] == [np.float32, np.float32, np.int32]
    assert [x.dtype for x in nd.amp_multicast(half, single, num_outputs=2, cast_narrow=True)] == [np.float16] * 2


def test_batch_normalisation_of_one_process():
    x, ones, zeros = nd.array(RANDOM.randn(4, 3, 2)), nd.ones(3), nd.zeros(3)
    states = lambda: (ones.copy(), zeros.copy(), zeros.copy(), ones.copy())  # noqa: E731
    with autograd.record():
        plain = nd.BatchNorm(x, *states())
        synchronous = nd.contrib.SyncBatchNorm(x, *states(), key="a")
        rectified = nd.contrib.BatchNormWithReLU(x, *states())
    np.testing.assert_array_equal(synchronous.asnumpy(), plain.asnumpy())
    np.testing.assert_array_equal(rectified.asnumpy(), np.maximum(plain.asnumpy(), 0))


def test_pooling_v1_divides_by_the_whole_kernel():
    x = nd.array(np.arange(1, 31).reshape(1, 1, 5, 6))
    y = nd.Pooling_v1(x, kernel=(3, 3), stride=(2, 2), pool_type="avg", pooling_convention="full")
    np.testing.assert_allclose(y.asnumpy()[0, 0], [[8, 10, 69 / 9], [20, 22, 141 / 9]], rtol=1e-6)


# Codes that MXNet 1.9.1 (oneDNN) gave for the same calls.
NUMBERS = nd.array([[-0.7, 0.2, 1.5], [0.3, -1.2, 0.9]])


@pytest.mark.parametrize(
    ("options", "codes", "low", "high"),
    [
        ({"out_type": "uint8"}, [[0, 34, 255], [51, 0, 153]], -1.2, 1.5),
        ({"out_type": "auto"}, [[-60, 17, 127], [26, -102, 76]], -1.5, 1.5),
        ({"out_type": "auto", "min_calib_range": 0, "max_calib_range": 2}, [[0, 26, 192], [38, 0, 115]], 0, 2),
        ({"min_calib_range": -1, "max_calib_range": 2}, [[-45, 13, 96], [19, -76, 57]], -2, 2),
    ],
)
def test_quantisation(options, codes, low, high):
    y, bottom, top = nd.contrib.quantize_v2(NUMBERS, **options)
    assert y.asnumpy().tolist() == codes
    assert (bottom.asscalar(), top.asscalar()) == (pytest.approx(low), pytest.approx(high))


def test_quantisation_by_given_ranges():
    low, high = nd.array([-1.0]), nd.array([2.0])
    y = nd.contrib.quantize(NUMBERS, low, high, out_type="uint8")
    assert y[0].asnumpy().tolist() == [[0, 26, 191], [38, 0, 115]]
    y = nd.contrib.quantize(NUMBERS, low, high, out_type="int8")
    assert y[0].asnumpy().tolist() == [[-44, 13, 95], [19, -76, 57]]
    assert (y[1].asscalar(), y[2].asscalar()) == (-2, 2)
    back = nd.contrib.dequantize(nd.array([-128, -3, 127], dtype="int8"), low, high)
    np.testing.assert_allclose(back.asnumpy(), [-2.0078, -0.0471, 1.9922], atol=1e-4)
    wide = nd.array([[-100, -3, 50], [5, 100, 77]], dtype="int32") * 10000000
    y, _, top = nd.contrib.requantize(wide, low, high)
    assert y.asnumpy().tolist() == [[-127, -4, 64], [6, 127, 98]]
    assert top.asscalar() == pytest.approx(0.9313, abs=1e-4)
    y = nd.contrib.requantize(wide, low, high, out_type="auto", min_calib_range=0.0, max_calib_range=0.5)[0]
    assert y.asnumpy().tolist() == [[0, 0, 237], [24, 255, 255]]


def hawkes(rates, alpha, beta, state, lags, marks, count, end):
    """Log likelihood of one process by its definition: sum of log intensities less their integral."""
    times = np.cumsum(lags[:count])
    total = 0.0
    for kind, rate in enumerate(rates):
        decay = lambda t, k=kind: np.exp(-beta[k] * t)  # noqa: E731
        own = [t for t, m in zip(times, marks, strict=False) if m == kind]
        for i, t in enumerate(own):
            excitation = state[kind] * decay(t) + sum(decay(t - s) for s in own[:i])
            total += np.log(rate + alpha[kind] * beta[kind] * excitation)
        total -= rate * end + alpha[kind] * (state[kind] * (1 - decay(end)) + sum(1 - decay(end - s) for s in own))
    return total


def test_hawkes_likelihood_and_its_gradient():
    rates, alpha, beta = RANDOM.rand(2, 3) + 0.5, RANDOM.rand(3), RANDOM.rand(3) + 0.5
    state, lags = RANDOM.rand(2, 3), RANDOM.rand(2, 5)
    marks, counts, ends = RANDOM.randint(0, 3, (2, 5)), np.array([5, 3]), lags.sum(1) + 0.5
    doubles = [nd.array(v, dtype="float64") for v in (alpha, beta, state, lags, counts, ends)]

    def likelihood(background):
        a, b, s, gaps, n, last = doubles
        return nd.contrib.hawkesll(background, a, b, s, gaps, nd.array(marks, dtype="int32"), n, last)[0]

    expected = [hawkes(rates[i], alpha, beta, state[i], lags[i], marks[i], counts[i], ends[i]) for i in range(2)]
    np.testing.assert_allclose(likelihood(nd.array(rates, dtype="float64")).asnumpy(), expected, rtol=1e-6)
    step = np.zeros_like(rates)
    step[1, 2] = 1e-6
    change = likelihood(nd.array(rates + step, dtype="float64")) - likelihood(nd.array(rates - step, dtype="float64"))
    assert derivative(likelihood, rates)[1, 2] == pytest.approx(change.asnumpy()[1] / 2e-6, rel=1e-5)


def test_sums_of_squares_have_gradients():
    x, y = nd.array([[0, 1, 2], [3, 4, 5]]), nd.array([3, 4], dtype="float16")
    for array in (x, y):
        array.attach_grad()
    with autograd.record():
        total = (nd.multi_sum_sq(x, y, num_arrays=2) * nd.array([1, 0.5])).sum()
    total.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * x.asnumpy())
    np.testing.assert_array_equal(y.grad.asnumpy(), y.asnumpy())
