"""Operators under their attributes: recorded answers of MXNet 1.9.1."""

import numpy as onp
import pytest

import core as mx
from core import nd, symbol
from core.base import MXNetError
from core.ops.registry import F


def gradient(call, x):
    x.attach_grad()
    with mx.autograd.record():
        y = call(x)
    y.backward()
    return y, x.grad.asnumpy()


def test_lp_pooling_keeps_signs_of_odd_powers():
    x = nd.array([[[1.0, -2.0, 3.0, -4.0]]])
    for p, values, grads in (
        (1, [-1, -1], [1, 1, 1, 1]),
        (2, [2.236068, 5], [0.4472136, -0.8944272, 0.6, -0.8]),
        (3, [-1.9129312, -3.3322217], [0.27327588, 1.0931035, 0.81054044, 1.440961]),
    ):
        y, grad = gradient(lambda x, p=p: nd.Pooling(x, pool_type="lp", kernel=(2,), stride=(2,), p_value=p), x)
        onp.testing.assert_allclose(y.asnumpy().ravel(), values, rtol=1e-5)
        onp.testing.assert_allclose(grad.ravel(), grads, rtol=1e-5)
    with pytest.raises(MXNetError, match="1, 2 and 3"):
        nd.Pooling(x, pool_type="lp", kernel=(2,), p_value=4)


@pytest.mark.parametrize("shape, grad", [((3,), 1), ((4, 2), 0.25), ((2, 3, 4), 1 / 6)])
def test_the_batch_of_a_loss_is_all_axes_but_the_last(shape, grad):
    _, given = gradient(lambda x: nd.MakeLoss(x, normalization="batch"), nd.ones(shape))
    onp.testing.assert_allclose(given, grad, rtol=1e-6)


def test_labels_that_name_no_class_pull_at_none():
    x = nd.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    _, grad = gradient(lambda x: nd.SoftmaxOutput(x, nd.array([1, 2, -1])), x)
    assert grad.tolist() == [[0.5, -0.5], [0.5, 0.5], [0.5, 0.5]]


def test_labels_of_the_data_s_shape_are_distributions_that_nothing_ignores():
    x, label = nd.zeros((1, 2, 2)), nd.array([[[1.0, 0.0], [0.0, 3.0]]])
    _, grad = gradient(lambda x: nd.SoftmaxOutput(x, label, use_ignore=True, ignore_label=1, grad_scale=2), x)
    assert grad.tolist() == [[[-1.5, 0.5], [0.5, -5.5]]]


def test_places_out_of_range():
    x = nd.array([[1.0, 2.0, 3.0, 4.0]])
    assert nd.take(x, nd.array([3, 2]), axis=1, mode="raise").asnumpy().tolist() == [[4, 3]]
    for places in ([-1, 0], [4, 0]):
        with pytest.raises(MXNetError):
            nd.take(x, nd.array(places), axis=1, mode="raise").asnumpy()
    with pytest.raises(MXNetError):
        nd.diag(nd.ones((1, 4, 4, 2)), axis1=4)
    with pytest.raises(MXNetError):
        nd.repeat(nd.array([1.0]), repeats=-1)


def test_shapes_that_indices_and_others_give():
    assert nd.batch_take(nd.ones((3, 4)), nd.array([[0], [1], [2]], dtype="int32")).shape == (3, 1)
    assert nd.slice_like(nd.ones((3, 4)), nd.ones((2, 2)), axes=None).shape == (3, 4)


def test_one_place_of_a_resized_axis_is_the_first():
    x = nd.array(onp.arange(12.0)).reshape((1, 1, 4, 3))
    y = nd.contrib.BilinearResize2D(x, height=2, width=1, align_corners=False)
    assert y.asnumpy().ravel().tolist() == [1.5, 7.5]


def test_ignored_labels_are_not_valid_whether_or_not_they_are_ignored():
    x = nd.zeros((4, 2))
    call = lambda x: nd.SoftmaxOutput(x, nd.array([0, 1, 1, 0]), ignore_label=1, normalization="valid")  # noqa: E731
    assert gradient(call, x)[1].tolist() == [[-0.25, 0.25], [0.25, -0.25], [0.25, -0.25], [-0.25, 0.25]]


def test_means_over_windows_longer_than_the_data():
    x = nd.array(onp.arange(8.0)).reshape((1, 1, 2, 2, 2))
    y = nd.Pooling(x, kernel=(3, 1, 1), pad=(1, 0, 0), stride=(2, 1, 1), pool_type="avg")
    assert y.asnumpy().ravel().tolist() == pytest.approx([4 / 3, 2, 8 / 3, 10 / 3])


@pytest.mark.parametrize("shape, k, want", [((4, 3), 3, (0,)), ((1, 4, 4, 2), -1, (4, 2, 0)), ((3, 3), 1, (2,))])
def test_diagonals_beyond_a_matrix_are_empty(shape, k, want):
    y, grad = gradient(lambda x: nd.diag(x, k=k), nd.ones(shape))
    assert y.shape == want and grad.sum() == y.size


@pytest.mark.parametrize("one", [True, onp.True_])
def test_a_bool_in_a_tuple_is_refused_also_after_the_equal_tuple_of_numbers(one):
    x = nd.ones((1, 2, 3))
    calls = [
        lambda axes: nd.sum(x, axis=axes),
        lambda axes: F.transpose(x, axes=(*axes, 2)),
        lambda axes: nd.Pooling(x, kernel=axes[:1], stride=axes[:1]),
        lambda axes: symbol.sum(symbol.var("x"), axis=axes),
    ]
    for call in calls:
        call((1, 0))
        with pytest.raises(MXNetError, match="int"):
            call((one, 0))
