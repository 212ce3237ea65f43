"""Biases that make up for rounded weights, against networks in numbers with weights that NumPy rounded."""

import numpy as onp
import pytest

import core as mx
from core import nd
from gluon import SymbolBlock, nn
from gluon.contrib.quantization import quantize_net_v2


def _network(*layers):
    """A network with weights of one sign, as those of depthwise convolutions are, which rounding moves most."""
    mx.random.seed(0)
    net = nn.HybridSequential()
    net.add(*layers)
    net.initialize(mx.init.Uniform(0.5))
    for name, parameter in net.collect_params().items():
        if name.endswith("weight"):
            parameter.set_data(parameter.data().abs())
        elif name.endswith(("gamma", "running_var", "bias")):
            parameter.set_data(nd.random.uniform(0.5, 2, parameter.shape))
    return net


def _rounded(weight, by_channel=True):
    """int8 values as MXNet makes them, in numbers."""
    axes = tuple(range(1, weight.ndim)) if by_channel else None
    most = onp.abs(weight).max(axes, keepdims=True)
    return onp.clip(onp.rint(weight * ((127.5 if by_channel else 127) / most)), -128, 127) * (most / 127.5)


def _agrees(net, batches, bias, weight, axes, **how):
    """Whether the corrected bias is what the means of a network in numbers with rounded weights ask for."""
    corrected = quantize_net_v2(net, calib_mode="naive", calib_data=batches, correct_biases=True, **how)
    before, expected = bias.data().asnumpy(), onp.concatenate([net(x).asnumpy() for x in batches])
    kept = weight.data().copy()
    weight.set_data(nd.array(_rounded(kept.asnumpy(), how.get("quantize_granularity") != "tensor-wise")))
    moved = (onp.concatenate([net(x).asnumpy() for x in batches]) - expected).mean(axes)
    weight.set_data(kept)
    assert onp.abs(moved).max() > 5e-4
    found = corrected.collect_params()[bias.name].data().asnumpy()
    onp.testing.assert_allclose(found, before - moved, atol=2e-6)


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("how", [{"groups": 8}, {"strides": 2}, {"dilation": 2, "padding": 2}])
def test_biases_of_convolutions(how, normalised):
    convolution = nn.Conv2D(8, 3, in_channels=8, use_bias=not normalised, **{"padding": 1, **how})
    net = _network(convolution, nn.BatchNorm(in_channels=8)) if normalised else _network(convolution)
    batches = [nd.random.uniform(0, 1, (n, 8, 9, 9)) for n in (4, 4, 2)]
    _agrees(net, batches, net[1].beta if normalised else net[0].bias, net[0].weight, (0, 2, 3))


@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
@pytest.mark.parametrize("flatten", [True, False])
def test_biases_of_dense_layers(granularity, flatten):
    net = _network(nn.Dense(5, flatten=flatten, in_units=96 if flatten else 32))
    batches = [nd.random.uniform(0, 1, (7, 3, 32)) for _ in range(3)]
    axes = 0 if flatten else (0, 1)
    _agrees(net, batches, net[0].bias, net[0].weight, axes, quantize_granularity=granularity)


def test_networks_of_depthwise_layers_come_nearer_and_stay_as_they_are(tmp_path):
    layers = []
    for _ in range(3):
        layers += [nn.Conv2D(8, 3, padding=1, groups=8, in_channels=8, use_bias=False), nn.BatchNorm(in_channels=8)]
        layers += [nn.Activation("relu"), nn.Conv2D(8, 1, in_channels=8, use_bias=False), nn.BatchNorm(in_channels=8)]
    net = _network(*layers, nn.GlobalAvgPool2D(), nn.Dense(4, in_units=8))
    batches = [nd.random.uniform(0, 1, (4, 8, 9, 9)) for _ in range(3)]
    before = {name: parameter.data().asnumpy() for name, parameter in net.collect_params().items()}
    how = {"calib_mode": "naive", "calib_data": batches}
    plain, corrected = (quantize_net_v2(net, **how, correct_biases=wanted) for wanted in (False, True))
    other = nd.random.uniform(0, 1, (8, 8, 9, 9))
    expected = net(other).asnumpy()
    far, near = (onp.square(f(other).asnumpy() - expected).mean() for f in (plain, corrected))
    assert near < 0.25 * far
    for name, parameter in net.collect_params().items():
        onp.testing.assert_array_equal(parameter.data().asnumpy(), before[name])
        own = corrected.collect_params()[name].data().asnumpy()
        assert (own != before[name]).any() == name.endswith(("beta", "bias"))
        assert plain.collect_params()[name] is parameter
    corrected.export(str(tmp_path / "net"))
    again = SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    onp.testing.assert_array_equal(again(other).asnumpy(), corrected(other).asnumpy())


def test_layers_on_numbers_and_without_biases_stay():
    bare = nn.Conv2D(4, 1, in_channels=4, use_bias=False)
    net = _network(nn.Conv2D(4, 3, in_channels=8), bare, nn.Dense(2, in_units=196))
    how = {"calib_mode": "naive", "calib_data": [nd.random.uniform(0, 1, (4, 8, 9, 9))]}
    corrected = quantize_net_v2(net, **how, exclude_operators=["FullyConnected"], correct_biases=True)
    shared = net.collect_params()
    own = [name for name, parameter in corrected.collect_params().items() if parameter is not shared[name]]
    assert own == [net[0].bias.name]
    with pytest.raises(ValueError, match="correct_biases takes a calib_mode"):
        quantize_net_v2(net, correct_biases=True)
