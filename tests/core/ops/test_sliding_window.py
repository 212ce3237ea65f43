"""Attention in a sliding window against loops over places, and eight-bit products against MXNet 2.0.0's numbers."""

import numpy as np
import pytest

import core as mx
from core import nd


def seen(i, head, dilation, w, symmetric, length):
    """(place in the window, place in the sequence) of all that place `i` sees."""
    for j in range(2 * w + 1 if symmetric else w + 1):
        place = i + (j - w) * dilation[head]
        if 0 <= place < length:
            yield j, place


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("w", [1, 2])
def test_scores_masks_and_contexts(w, symmetric):
    batch, length, heads, width = shape = 2, 6, 2, 3
    dilation, lengths = np.array([1, 2]), np.array([6, 3])
    random = np.random.default_rng(0)
    query, key, value = (random.standard_normal(shape) for _ in range(3))
    score = np.zeros((batch, length, heads, 2 * w + 1 if symmetric else w + 1))
    mask, context = np.zeros_like(score), np.zeros(shape)
    for b, i, h in np.ndindex(shape[:3]):
        for j, place in seen(i, h, dilation, w, symmetric, length):
            score[b, i, h, j] = query[b, i, h] @ key[b, place, h]
            mask[b, i, h, j] = i < lengths[b] and place < lengths[b]
            context[b, i, h] += score[b, i, h, j] * value[b, place, h]
    options = {"w": w, "symmetric": symmetric}
    steps = nd.array(dilation, dtype="int32")
    found = nd.contrib.sldwin_atten_score(nd.array(query), nd.array(key), steps, **options)
    np.testing.assert_allclose(found.asnumpy(), score, rtol=1e-5, atol=1e-6)
    found = nd.contrib.sldwin_atten_context(found, nd.array(value), steps, **options)
    np.testing.assert_allclose(found.asnumpy(), context, rtol=1e-5, atol=1e-5)
    found = nd.contrib.sldwin_atten_mask_like(nd.array(score), steps, nd.array(lengths, dtype="int32"), **options)
    np.testing.assert_array_equal(found.asnumpy(), mask)


def test_npx_has_them():
    shape, steps = (1, 4, 1, 2), mx.np.array([1], dtype="int32")
    score = mx.npx.sldwin_atten_score(mx.np.ones(shape), mx.np.ones(shape), steps, w=1, symmetric=True)
    assert (
        type(score) is mx.np.ndarray and score.shape == (1, 4, 1, 3) and score.asnumpy()[0, 0, 0].tolist() == [0, 2, 2]
    )


def test_a_dilation_is_one_for_each_head():
    x = nd.ones((1, 4, 2, 2))
    with pytest.raises(mx.MXNetError, match="dilation"):
        nd.contrib.sldwin_atten_score(x, x, nd.array([1], dtype="int32"), w=1, symmetric=True)


def test_codes_of_eight_bits_and_their_products():
    halves = nd.array([[0.5, 1.5, 2.5, -0.5, -1.5, 200, -200, 0]])
    codes = nd.contrib.intgemm_prepare_data(halves, nd.array([127.0]))
    assert codes.dtype == np.int8 and codes.asnumpy().tolist() == [[0, 2, 2, 0, -2, 127, -127, 0]]
    random = np.random.default_rng(0)
    x, weight = random.standard_normal((3, 64)).astype("float32"), random.standard_normal((8, 64)).astype("float32")
    largest, most = (nd.contrib.intgemm_maxabsolute(nd.array(v)) for v in (x, weight))
    assert largest.shape == (1,) and largest.asscalar() == np.abs(x).max()
    prepared = nd.contrib.intgemm_prepare_weight(nd.array(weight), most)
    options = {"num_hidden": 8, "no_bias": True}
    at_once = nd.contrib.intgemm_fully_connected(nd.array(x), prepared, most / 127, **options)
    data = nd.contrib.intgemm_prepare_data(nd.array(x), largest)
    in_steps = nd.contrib.intgemm_fully_connected(data, prepared, largest * most / 127**2, **options)
    whole = nd.contrib.intgemm_fully_connected(data, prepared, out_type="int32", **options)
    assert whole.dtype == np.int32
    np.testing.assert_allclose(at_once.asnumpy(), in_steps.asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(whole.asnumpy() * (largest * most).asscalar() / 127**2, in_steps.asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(in_steps.asnumpy(), x @ weight.T, atol=0.5)
    bias = nd.array(range(-4, 4), dtype="int32")  # without a scale it comes third
    moved = nd.contrib.intgemm_fully_connected(data, prepared, bias, num_hidden=8, out_type="int32")
    np.testing.assert_array_equal(moved.asnumpy(), whole.asnumpy() + bias.asnumpy())
    symbol = mx.sym.contrib.intgemm_fully_connected(mx.sym.var("x"), num_hidden=8, out_type="int32", name="fc")
    assert symbol.list_arguments() == ["x", "fc_weight", "fc_bias"]
    bound = symbol.bind(mx.cpu(), {"x": data, "fc_weight": prepared, "fc_bias": bias})
    np.testing.assert_array_equal(bound.forward()[0].asnumpy(), moved.asnumpy())
    some = nd.contrib.intgemm_take_weight(prepared, nd.array([7, 0], dtype="int32"))
    np.testing.assert_array_equal(some.asnumpy(), prepared.asnumpy()[[7, 0]])
    with pytest.raises(mx.MXNetError, match="scaling is missing"):
        nd.contrib.intgemm_fully_connected(data, prepared, **options)


def test_asymmetric_codes():
    x = nd.array([-0.5, 0.0, 1.5, 9.0])
    codes, scale, shift = nd.contrib.quantize_asym(x, min_calib_range=-0.5, max_calib_range=1.5)
    assert codes.dtype == np.uint8 and codes.asnumpy().tolist() == [0, 64, 255, 255]
    assert (scale.asscalar(), shift.asscalar()) == (127.5, 63.75)
    codes, scale, shift = nd.contrib.quantize_asym(nd.array([0, 5, -3], dtype="int8"))
    assert codes.asnumpy().tolist() == [128, 133, 125] and (scale.asscalar(), shift.asscalar()) == (1, 128)


def test_shapes_that_are_arrays():
    x = nd.arange(12).reshape((2, 6))
    assert nd.contrib.dynamic_reshape(x, nd.array([-1, 0, 2])).shape == (1, 6, 2)
    assert nd.contrib.dynamic_reshape(x, nd.array([3, 4], dtype="int64")).shape == (3, 4)
