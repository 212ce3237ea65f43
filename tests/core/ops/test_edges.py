"""Where operators break off: NaN, single numbers without axes, arrays without elements, windows of even sizes.

Recorded answers of MXNet 1.9.1, and of 2.0 for what it added.
"""

import math

import numpy as onp
import pytest

import core as mx
from core import autograd, nd, np, npx

NAN = float("nan")


def gradients(function, *arrays):
    for x in arrays:
        x.attach_grad()
    with autograd.record():
        y = function(*arrays)
    y.backward()
    return [x.grad.asnumpy().tolist() for x in arrays]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(
    "function, values, want",
    [
        (lambda x: nd.clip(x, -1, 1), [NAN, -1, 1, 2, -2], [1, 1, 1, 0, 0]),
        (lambda x: nd.clip(x, 0.5, math.inf), [NAN, 0.5, 1, math.inf, -2], [1, 1, 1, 1, 0]),
        (lambda x: nd.broadcast_maximum(x, x), [NAN, 1, -1], [0, 1, 1]),
        (lambda x: nd.broadcast_minimum(nd.zeros_like(x), x), [NAN, 1, -1], [0, 0, 1]),
    ],
)
def test_gradients_at_what_is_not_a_number(function, values, want, dtype):
    assert gradients(function, nd.array(values, dtype=dtype)) == [want]


def test_smooth_l1_has_no_slope_at_what_is_not_a_number():
    onp.testing.assert_equal(gradients(nd.smooth_l1, nd.array([NAN, 0.5, 2])), [[NAN, 0.5, 1]])


@pytest.mark.parametrize(
    "nsize, values, slopes",
    [
        (2, [0.54433107, 0.87738270, 1.01351357, 1.04338968], [0.45360923, 0.21934569, 0.06955484, 0.0]),
        (4, [0.41313073, 0.64732236, 0.74775815, 0.76980037], [0.36730337, 0.23764263, 0.07732469, -0.01290014]),
    ],
)
def test_a_window_of_an_even_number_of_channels(nsize, values, slopes):
    x = nd.arange(1, 9).reshape((1, 4, 1, 2))
    x.attach_grad()
    with autograd.record():
        y = nd.LRN(x, nsize=nsize, alpha=0.5, beta=0.75, knorm=2)
    y.backward()
    onp.testing.assert_allclose(y.asnumpy().ravel()[:4], values, rtol=1e-5)
    onp.testing.assert_allclose(x.grad.asnumpy().ravel()[:4], slopes, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("function, value", [(npx.softmax, 1), (npx.log_softmax, 0)])
def test_the_softmax_of_a_number(numpy_semantics, function, value, dtype):
    x = np.array(1.5, dtype=dtype)
    for axis in (-1, 0):
        y = function(x, axis=axis)
        assert y.shape == () and y.dtype == dtype and y.item() == value
    assert gradients(function, x) == [0]
    with pytest.raises(mx.base.MXNetError, match="out of bounds"):
        function(x, axis=1)


@pytest.mark.parametrize("function", [lambda x: 2 / x, npx.gamma, lambda x: np.copysign(2, x)])
def test_numbers_keep_the_type_that_longer_arrays_had(numpy_semantics, function):
    """The first array decides how a formula is computed; ATen gives one without axes a type of its own."""
    for dtype in ("float32", "float16"):
        assert function(np.ones((2, 3), dtype=dtype)).dtype == dtype
        assert function(np.array(3, dtype=dtype)).dtype == dtype


def test_axes_of_a_number(numpy_semantics):
    x = np.array(2.0)
    assert [f(x, axis=a).item() for f in (np.var, np.std) for a in (0, -1)] == [0] * 4
    with pytest.raises(mx.base.MXNetError, match="out of bounds"):
        np.std(x, axis=1)
    with pytest.raises(mx.base.MXNetError, match="out of bounds"):
        np.tensordot(np.ones((2, 3)), np.ones((3, 2)), ((2,), (0,)))


def test_an_empty_axis_has_no_edge(numpy_semantics):
    for mode in ("edge", "reflect", "symmetric", "maximum"):
        with pytest.raises(ValueError, match="axis 0 is empty"):
            np.pad(np.zeros((0,)), ((1, 0),), mode=mode)
    assert np.pad(np.zeros((0,)), ((1, 0),)).asnumpy().tolist() == [0]


def test_a_fraction_is_true_where_it_meets_truth(numpy_semantics):
    x = np.array([1, 0], dtype="bool")
    assert (x == 0.3).asnumpy().tolist() == [True, False] and (x < 0.3).asnumpy().tolist() == [False, True]


def test_coordinates_have_no_gradient():
    x = nd.array([[1, 0], [1, 2]])
    assert gradients(lambda x: nd.ravel_multi_index(x, shape=(2, 3)), x) == [[[0, 0], [0, 0]]]
    assert gradients(lambda x: nd.unravel_index(x, shape=(2, 3)), nd.array([1, 5])) == [[0, 0]]


@pytest.mark.parametrize("axis", [3, 7, -4, -5])
def test_normalisation_along_an_axis_that_is_not_there_is_refused(axis):
    """MXNet 1.9.1: Channel axis out of range."""
    x, channels = nd.ones((2, 3, 4)), nd.ones((2, 3, 4)[axis % 3])
    for function, count in ((nd.BatchNorm, 4), (nd.LayerNorm, 2)):
        with pytest.raises(mx.base.MXNetError, match=f"axis {axis} is out of bounds for an array of 3 axes"):
            function(x, *[channels] * count, axis=axis)
        assert function(x, *[nd.ones(4)] * count, axis=-1).shape == x.shape


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("axis", [2, -1, -3])
def test_steps_of_sequences_are_along_one_of_the_first_two_axes(axis, lengths):
    """MXNet 1.9.1: Current implementation expects axis to be 0 or 1."""
    arrays = [nd.ones((2, 3, 4)), *([nd.ones(3)] if lengths else [])]
    for function in (nd.SequenceMask, nd.SequenceLast):
        with pytest.raises(mx.base.MXNetError, match=f"axis of steps is 0 or 1, given {axis}"):
            function(*arrays, use_sequence_length=lengths, axis=axis)


def test_the_gradient_of_moments_over_nothing_is_empty(numpy_semantics):
    x = nd.ones((2, 0))
    x.attach_grad()
    with autograd.record():
        mean, variance = nd.moments(x, axes=(1,))
    autograd.backward([mean, variance])
    assert x.grad.shape == (2, 0) and onp.isnan(variance.asnumpy()).all()
