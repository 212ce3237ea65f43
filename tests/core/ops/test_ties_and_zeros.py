"""Edges where MXNet 1.9.1 has answers of its own: ties, zeros, singular matrices, lists of another length."""

import numpy as np
import pytest

import core as mx
import gluon
from core import nd
from core.base import MXNetError


def gradients(function, *arrays):
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        y = function(*arrays)
    y.backward()
    return [array.grad.asnumpy().tolist() for array in arrays]


def test_the_first_of_several_largest_elements_has_the_gradient_of_a_maximum_over_space():
    """Recorded from MXNet 1.9.1; a reduction shares it among all of them."""
    pool = dict(global_pool=True, pool_type="max")
    ties = nd.array([[[[0, 1, 0], [1, 1, 0]]]])
    assert gradients(lambda x: nd.Pooling(x, **pool), ties) == [[[[[0, 1, 0], [0, 0, 0]]]]]
    assert gradients(lambda x: nd.Pooling(x, **pool), nd.zeros((1, 1, 2, 3))) == [[[[[1, 0, 0], [0, 0, 0]]]]]
    far = nd.zeros((1, 1, 80, 80), dtype="float16")
    far[0, 0, 79, 78] = 1
    (found,) = gradients(lambda x: nd.Pooling(x, **pool), far)
    assert np.argwhere(found).tolist() == [[0, 0, 79, 78]]
    last = nd.array([[[[0.0, 1], [3, 3]]]])
    assert gradients(lambda x: nd.Pooling(x, layout="NHWC", **pool), last) == [[[[[0, 0], [1, 1]]]]]
    assert gradients(lambda x: nd.max(x, axis=(2, 3)), ties) == [[[[[0, 1, 0], [1, 1, 0]]]]]


def test_derivatives_of_rectifiers_with_slopes_at_zero_are_slopes():
    """Recorded from MXNet 1.9.1."""
    x, slopes = nd.array([[0, 1], [-1, 0]]), nd.array([0.25, 0.5])
    prelu = gradients(lambda x, g: nd.LeakyReLU(x, g, act_type="prelu"), x, slopes)
    assert prelu == [[[0.25, 1], [0.25, 0.5]], [-1, 0]]
    elu = gradients(lambda x: nd.LeakyReLU(x, act_type="elu", slope=-1.0), nd.array([[0, 1], [-1, 2]]))
    np.testing.assert_allclose(elu, [[[-1, 1], [-np.exp(-1), 1]]], rtol=1e-6)


@pytest.mark.parametrize("determinant", [nd.linalg.det, lambda x: nd.linalg.slogdet(x)[1]])
def test_gradients_of_determinants_of_singular_matrices_are_zero(determinant):
    """Recorded from MXNet 1.9.1."""
    regular, singular = [[2.0, 1], [0, 4]], [[1.0, 2], [2, 4]]
    alone, inverse = nd.array([regular]), np.linalg.inv(regular).T
    (whole,) = gradients(determinant, nd.array([regular, singular, np.zeros((2, 2))]))
    assert gradients(determinant, alone)[0][0] == whole[0] and not np.any(whole[1:])
    np.testing.assert_allclose(whole[0], inverse * (8 if determinant is nd.linalg.det else 1), rtol=1e-6)


def test_windows_of_pooling_take_as_many_numbers_as_there_are_axes():
    x = nd.array(np.arange(64).reshape(1, 1, 8, 8))
    for kind in ("max", "avg", "sum"):
        longer = nd.Pooling(x, kernel=(2, 2), stride=(2, 3, 5), pad=(1, 0, 2), pool_type=kind)
        fitting = nd.Pooling(x, kernel=(2, 2), stride=(2, 3), pad=(1, 0), pool_type=kind)
        assert longer.shape == (1, 1, 5, 3) and (longer == fitting).asnumpy().all()
        for lacking in ({"stride": (2,)}, {"pad": (1,)}):
            with pytest.raises(MXNetError, match="needs 2 numbers"):
                nd.Pooling(x, kernel=(2, 2), pool_type=kind, **lacking)


def test_one_list_of_axes_broadcasts_all_of_them():
    for axes in ({"rhs_axes": (-1,)}, {"lhs_axes": (0,)}):
        assert nd.broadcast_like(nd.ones((1, 3)), nd.ones((4, 3)), **axes).shape == (4, 3)


def test_truth_values_index_arrays_of_nd_as_numbers():
    x = nd.array([[1, 2], [3, 4]])
    assert x[True].asnumpy().tolist() == [3, 4] and x[False, True].asscalar() == 2
    x[True, 0] = 7
    assert x.asnumpy().tolist() == [[1, 2], [7, 4]]
    assert mx.np.array([[1, 2], [3, 4]])[True].shape == (1, 2, 2)


@pytest.mark.parametrize("hybridized", [False, True])
def test_numbers_beyond_the_largest_half_are_infinite(hybridized):
    """Masks of programs for float32, -1e9 and -1e18, in half precision; as MXNet 1.9.1 has them."""
    mask, infinite = nd.array([[1, 0], [0, 1]], dtype="float16"), float("inf")
    expected = {
        "clip": [[1, -2], [3, 0.5]], "at most": [[-infinite] * 2] * 2, "at least": [[infinite] * 2] * 2,
        "masked": [[1, -infinite], [-infinite, 0.5]], "padded": [[-infinite] * 2, [1, -2], [3, 0.5]],
        "sequence": [[1, -2], [-infinite] * 2], "full": [[infinite] * 2] * 2,
    }  # fmt: skip

    class All(gluon.HybridBlock):
        def hybrid_forward(self, F, x, mask):
            space = F.reshape(x, (1, 1, 2, 2))
            padded = F.pad(space, mode="constant", pad_width=(0, 0, 0, 0, 1, 0, 0, 0), constant_value=-1e9)
            ends = F.ones_like(F.slice_axis(x, axis=0, begin=0, end=1)).reshape((-1,))
            low = F.full((2, 2), -1e18, dtype="float16") if F is nd else F.zeros_like(x) - 1e9
            return [
                F.clip(x, -1e9, 1e9), F.broadcast_minimum(x, low), F.maximum(x, 1e9), F.where(mask, x, low),
                padded.reshape((3, 2)), F.SequenceMask(x, ends, use_sequence_length=True, value=-1e18), x * 0 + 1e9,
            ]  # fmt: skip

    net = All()
    net.hybridize(hybridized)
    for _ in range(2):
        found = net(nd.array([[1, -2], [3, 0.5]], dtype="float16"), mask)
        for (name, values), array in zip(expected.items(), found, strict=True):
            assert array.dtype == np.float16 and array.asnumpy().tolist() == values, name
    assert nd.full((2,), -1e40).asnumpy().tolist() == [-infinite] * 2
    assert np.isnan(nd.full((1,), float("nan"), dtype="float16").asscalar())
    x = mx.np.array([1, 2], dtype="float16")
    assert mx.np.where(x > 1, x, -1e9).tolist() == [-infinite, 2] and mx.np.clip(x, -1e9, 1.5).tolist() == [1, 1.5]


@pytest.mark.parametrize("to", ["float16", "float32", "float64"])
def test_copies_in_another_type_pass_gradients(to):
    x = nd.array([[1, 2], [3, 4]])
    (found,) = gradients(lambda x: (x * 2).copyto(nd.zeros((2, 2), dtype=to)), x)
    assert found == [[2, 2], [2, 2]]
