"""Plans of quantized networks: integers from layer to layer, the numbers of the network without a plan."""

import numpy as np
import pytest

import core as mx
from core import nd
from core.graph import explain
from gluon import HybridBlock, SymbolBlock, nn
from gluon.contrib.quantization import quantize_net_v2


class Block(HybridBlock):
    """Convolutions with a sum behind them, of signed or of unsigned values, pooling, a dense layer."""

    def __init__(self, straight):
        super().__init__()
        self.straight = straight
        with self.name_scope():
            self.first, self.pool = nn.Conv2D(16, 3, padding=1, activation="relu"), nn.MaxPool2D(3, 2, 1)
            self.left, self.norm = nn.Conv2D(16, 3, padding=1, use_bias=False), nn.BatchNorm()
            self.right = None if straight else nn.Conv2D(16, 1)
            self.out = nn.Dense(10, activation="relu")

    def hybrid_forward(self, F, x):
        x = self.pool(self.first(x))
        y = self.norm(self.left(x)) + (x if self.straight else self.right(x))
        return self.out(F.relu(y))


def quantized(straight, calib_mode="naive"):
    mx.random.seed(0)
    net = Block(straight)
    net.initialize(mx.init.Xavier())
    x = nd.array(np.random.RandomState(0).standard_normal((2, 3, 20, 20)).astype("float32"))
    net(x)
    return net, quantize_net_v2(net, calib_mode=calib_mode, calib_data=[x]), x


@pytest.mark.parametrize("calib_mode", ["naive", "none"])
@pytest.mark.parametrize("straight", [False, True])
def test_plans_give_what_the_network_gives(straight, calib_mode):
    net, codes, x = quantized(straight, calib_mode)
    alone = codes(x).asnumpy()
    codes.hybridize(static_alloc=True, static_shape=True)
    for _ in range(3):
        planned = codes(x).asnumpy()
    np.testing.assert_allclose(planned, alone, rtol=0, atol=0.02 * abs(alone).max())
    assert (abs(planned - alone) < 1e-5).mean() > 0.95  # a half that falls the other way moves a few
    if straight:  # codes of a sum with an int8 addend end at 127, as MXNet's
        assert abs(planned - net(x).asnumpy()).max() < 0.1 * abs(planned).max()


@pytest.mark.parametrize("straight", [False, True])
def test_values_stay_integers_from_layer_to_layer(straight):
    _, codes, x = quantized(straight)
    codes.hybridize()
    codes(x)
    steps = [line.split()[1:] for line in explain(codes, x).splitlines() if line[:1].isdigit()]
    large = [step for step in steps if "2, 16, 10, 10" in " ".join(step)]
    assert large and all("float32" not in " ".join(step) for step in large), large
    kernels = [step[0] for step in steps]
    assert kernels.count("conv.requantized_conv") == (2 if straight else 3) and "matmul.quantized_linear" in kernels


def test_exported_networks_stay_on_integers(tmp_path):
    _, codes, x = quantized(False)
    wanted = codes(x).asnumpy()
    codes.hybridize()
    codes(x)
    symbol, params = codes.export(str(tmp_path / "net"))
    again = SymbolBlock.imports(symbol, ["data"], params)
    again.hybridize()
    again(x)
    assert "conv.requantized_conv" in explain(again, x)
    np.testing.assert_allclose(again(x).asnumpy(), wanted, rtol=1e-4, atol=0.02 * abs(wanted).max())


def test_places_of_maxima_are_made_for_gradients_alone():
    net = nn.HybridSequential()
    net.add(nn.MaxPool2D())
    net.hybridize()
    x = nd.array(np.random.RandomState(0).standard_normal((1, 8, 40, 40)))
    wanted = x.asnumpy().reshape(1, 8, 20, 2, 20, 2).max((3, 5))
    np.testing.assert_array_equal(net(x).asnumpy(), wanted.astype("float32"))
    assert "_plan_max_pool" in explain(net, x) and "int64" not in explain(net, x)
    x.attach_grad()
    with mx.autograd.record():
        net(x).sum().backward()
    assert x.grad.asnumpy().sum() == 8 * 400
