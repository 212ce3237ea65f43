"""Layers of gluoncv.nn against plain NumPy."""

import numpy as np
import pytest

from core import autograd, nd, sym
from gluon import nn
from gluoncv.nn import DSNT, DUC, Consensus, DropBlock, DropBlockScheduler, SplitAttentionConv
from gluoncv.nn.coder import NormalizedPerClassBoxCenterEncoder, NumPyNormalizedBoxCenterEncoder
from gluoncv.nn.feature import FeatureExtractor


@pytest.mark.parametrize("hybrid", [False, True])
def test_drop_block(hybrid):
    """Squares of 3x3 are zero, about a tenth in all; the mean stays, and prediction changes nothing."""
    block = DropBlock(0.1, 3, 64, 56, 56)
    if hybrid:
        block.hybridize()
    x = nd.ones((2, 64, 56, 56))
    with autograd.record():
        out = block(x).asnumpy()
    assert (block(x).asnumpy() == 1).all()
    zero = out == 0
    assert 0.08 < zero.mean() < 0.12 and abs(out.mean() - 1) < 1e-5
    assert (zero[0] == zero[1]).all()
    inside = zero[:, :, 1:-1, 1:-1]
    beside = np.stack([zero[:, :, i : i + 54, j : j + 54] for i in range(3) for j in range(3)]).sum(0)
    assert (beside[inside] >= 3).all() and (beside[inside] == 9).mean() > 0.05


def test_share_of_drop_block_rises():
    block = DropBlock(0.0, 3, 4, 8, 8)
    schedule = DropBlockScheduler(block, 0.0, 0.2, 4)
    shares = [schedule(epoch) or block.drop_prob for epoch in range(4)]
    np.testing.assert_allclose(shares, [0.05, 0.1, 0.15, 0.2])
    with pytest.raises(AssertionError, match="between 0 and 1"):
        DropBlockScheduler(block, 0.0, 1.2, 1)(0)


@pytest.mark.parametrize(("radix", "groups"), [(2, 1), (1, 1), (2, 2)])
def test_split_attention(radix, groups):
    """The weighed sum of the splits, with the weights of the paper's cardinal groups."""
    block = SplitAttentionConv(8, 1, groups=groups, radix=radix, in_channels=8, norm_layer=None)
    block.initialize()
    x = nd.random.normal(shape=(2, 8, 5, 5))
    got = block(x).asnumpy()
    convolved = np.maximum(block.conv(x).asnumpy(), 0).reshape(2, radix, 8, 5, 5)
    pooled = nd.array(convolved.sum(1).mean((2, 3), keepdims=True))
    weights = block.fc2(block.fc1(pooled).relu()).asnumpy().reshape(2, groups, radix, 8 // groups)
    weights = 1 / (1 + np.exp(-weights)) if radix == 1 else np.exp(weights) / np.exp(weights).sum(2, keepdims=True)
    weights = weights.transpose(0, 2, 1, 3).reshape(2, radix, 8, 1, 1)
    np.testing.assert_allclose(got, (weights * convolved).sum(1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("norm", ["sum", "softmax"])
def test_coordinates_of_heat_maps(norm):
    """The mean of the cells' centers, weighed with the map."""
    maps = np.random.RandomState(0).uniform(size=(2, 3, 4, 6)).astype("float32")
    places, weights = DSNT((6, 4), norm)(nd.array(maps))
    want = np.exp(maps) if norm == "softmax" else maps
    want = want / want.sum((2, 3), keepdims=True)
    np.testing.assert_allclose(weights.asnumpy(), want, rtol=1e-5)
    across = (want * ((np.arange(6) + 0.5) / 6)).sum((2, 3))
    down = (want * ((np.arange(4) + 0.5) / 4)[:, None]).sum((2, 3))
    np.testing.assert_allclose(places.asnumpy(), np.stack([across, down], 2), rtol=1e-5)
    with pytest.raises(ValueError, match="norm is sum or softmax"):
        DSNT(4, "max")


def test_consensus_and_shuffled_pixels():
    x = np.arange(24, dtype="float32").reshape(8, 3)
    np.testing.assert_allclose(Consensus(3, 4)(nd.array(x)).asnumpy(), x.reshape(2, 4, 3).mean(1))
    duc = DUC(8, 2)
    duc.initialize()
    assert duc(nd.ones((1, 4, 5, 6))).shape == (1, 2, 10, 12)


@pytest.mark.parametrize("shape", [(1, 2), (1, 2, 1)])
def test_boxes_of_classes_take_labels_with_or_without_an_axis_of_one(shape):
    encoder = NormalizedPerClassBoxCenterEncoder(3, max_pos=2)
    encoder.initialize()
    boxes = nd.array([[[0, 0, 2, 2], [1, 1, 4, 5.0]]])
    labels = nd.array([2, 0]).reshape(shape)
    _, masks, indices = encoder(nd.array([[1, -1, 1]]), nd.array([[1, 0, 0]]), nd.ones((1, 3, 4)), labels, boxes)
    assert sorted(indices.asnumpy().ravel().tolist()) == [0, 2]
    found = {int(i): row[:, 0].tolist() for i, row in zip(indices.asnumpy()[0], masks.asnumpy()[0], strict=True)}
    assert found == {0: [1, 0, 0], 2: [0, 0, 1]}


def test_masks_of_numpy_are_float64_as_those_of_gluoncv():
    boxes = np.array([[[0, 0, 2, 2]]], "float32")
    targets, masks = NumPyNormalizedBoxCenterEncoder()(np.ones((1, 1)), np.zeros((1, 1)), boxes, boxes)
    assert (targets.dtype, masks.dtype) == (np.float32, np.float64)


def test_layers_of_names_blocks_and_symbols():
    data = sym.var("data")
    inner = sym.FullyConnected(data, num_hidden=3, name="inner")
    found = FeatureExtractor(sym.tanh(inner), ["inner_output"])
    found.initialize()
    assert found(nd.ones((2, 4))).shape == (2, 3)
    block = nn.HybridSequential(prefix="net_")
    with block.name_scope():
        block.add(nn.Dense(3, prefix="inner_"), nn.Dense(2, prefix="outer_"))
    block.initialize()
    x = nd.ones((2, 4))
    block(x)
    np.testing.assert_array_equal(FeatureExtractor(block, "inner_fwd")(x).asnumpy(), block[0](x).asnumpy())
    with pytest.raises(AssertionError, match="a name, a block or a symbol, got int"):
        FeatureExtractor(3, ["inner_output"])
    with pytest.raises(AssertionError, match="at least one output"):
        FeatureExtractor(inner, [])
