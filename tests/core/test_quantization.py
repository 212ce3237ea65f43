"""Networks of codes against the same networks of numbers, and files of MXNet's quantization."""

import json

import numpy as onp
import pytest

import core as mx
from core import nd
from core.contrib.quantization import quantize_symbol, ranged
from core.symbol.graph import order
from gluon import SymbolBlock, nn


class Residual(nn.HybridBlock):
    """A convolution with all that can follow it in one node: BatchNorm, a sum, a rectifier; then pooling and a dense layer."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.first = nn.HybridSequential()
            self.first.add(nn.Conv2D(8, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
            self.second = nn.HybridSequential()
            self.second.add(nn.Conv2D(8, 3, padding=1), nn.BatchNorm())
            self.last = nn.HybridSequential()
            self.last.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(3))

    def hybrid_forward(self, F, x):
        x = self.first(x)
        return self.last(F.Activation(self.second(x) + x, act_type="relu"))


def test_codes_stand_for_the_numbers_of_the_network():
    mx.random.seed(0)
    net = Residual()
    net.initialize(mx.init.Xavier())
    x = nd.random.uniform(-1, 1, (4, 3, 9, 9))
    for _ in range(3):  # running statistics that are not 0 and 1
        with mx.autograd.record():
            loss = net(x).sum()
        loss.backward()
    expected = net(x).asnumpy()
    codes = quantize_symbol(net(mx.sym.var("data")))
    kinds = [n.op.name for n in order(codes._entries) if n.op is not None]
    assert kinds.count("_sg_mkldnn_conv") == 2 and kinds.count("_contrib_quantize_v2") == 1
    assert "Convolution" not in kinds and "BatchNorm" not in kinds and "_contrib_quantized_pooling" in kinds
    high = (
        float(net.first(x).max().asscalar()),
        float(nd.relu(net.second(net.first(x)) + net.first(x)).max().asscalar()),
    )
    block = SymbolBlock(ranged(codes, [(-1.0, 1.0)], [(0.0, h) for h in high]), mx.sym.var("data"))
    block.initialize()
    for name, parameter in net.collect_params().items():
        block.collect_params()[name].set_data(parameter.data())
    difference = onp.abs(block(x).asnumpy() - expected).max()
    assert 0 < difference < 0.02 * onp.abs(expected).max()


def test_ranges_are_found_on_data():
    mx.random.seed(1)
    net = Residual()
    net.initialize(mx.init.Xavier())
    batches = [nd.random.uniform(-1, 1, (4, 3, 9, 9)) for _ in range(3)]
    expected = net(batches[0]).asnumpy()
    codes = mx.contrib.quantization.quantize_net(net, calib_data=batches)
    assert 0 < onp.abs(codes(batches[0]).asnumpy() - expected).max() < 0.02 * onp.abs(expected).max()
    kept = mx.contrib.quantization.quantize_net(net, calib_data=batches, exclude_operators=["Convolution"])
    onp.testing.assert_allclose(kept(batches[0]).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(mx.MXNetError, match="calib_data is empty"):
        mx.contrib.quantization.quantize_net(net, calib_data=[])
    with pytest.raises(mx.MXNetError, match=r"'naive'.*given is 'entropy'"):
        mx.contrib.quantization.quantize_net(net, calib_data=batches, calib_mode="entropy")


def test_layers_that_are_excluded_stay_on_numbers():
    net = Residual()
    codes = quantize_symbol(net(mx.sym.var("data")), ["Pooling"])
    kinds = [n.op.name for n in order(codes._entries) if n.op is not None]
    assert "Pooling" in kinds and "_contrib_quantized_pooling" not in kinds
    with pytest.raises(mx.MXNetError, match="2 nodes _sg_mkldnn_conv, 1 ranges"):
        ranged(codes, [None], [(0.0, 1.0)])


def test_a_fused_node_of_a_file_has_its_attributes_in_a_subgraph():
    def row(op, name, *inputs, **rest):
        return {"op": op, "name": name, "inputs": [[i, 0, 0] for i in inputs], **rest}

    conv = {"kernel": "(3, 3)", "num_filter": "2", "no_bias": "True", "pad": "(1, 1)"}
    part = {
        "nodes": [row("null", "d"), row("null", "w"), row("Convolution", "c", 0, 1, attrs=conv),
                  *(row("null", s) for s in ("g", "b", "m", "v")),
                  row("BatchNorm", "n", 2, 3, 4, 5, 6, attrs={"eps": "0.01", "fix_gamma": "False"}),
                  row("Activation", "a", 7, attrs={"act_type": "relu"})],
        "arg_nodes": [0, 1, 3, 4, 5, 6], "heads": [[8, 0, 0]],
    }  # fmt: skip
    names = ("data", "weight", "gamma", "beta", "mean", "var")
    fused = row("_sg_mkldnn_conv", "sg", *range(6), attrs={"with_bn": "true", "with_relu": "true"}, subgraphs=[part])
    text = json.dumps(
        {"nodes": [*(row("null", n) for n in names), fused], "arg_nodes": list(range(6)), "heads": [[6, 0, 0]]}
    )
    symbol = mx.sym.load_json(text)
    assert symbol.list_auxiliary_states() == ["mean", "var"]
    values = {n: nd.random.uniform(0.5, 1.5, (2,)) for n in names[2:]}
    values |= {"data": nd.random.normal(0, 1, (1, 3, 5, 5)), "weight": nd.random.normal(0, 1, (2, 3, 3, 3))}
    states = {n: values[n] for n in names[4:]}
    got = symbol.bind(mx.cpu(), {n: values[n] for n in names[:4]}, aux_states=states).forward()[0]
    plain = nd.Convolution(values["data"], values["weight"], kernel=(3, 3), num_filter=2, no_bias=True, pad=(1, 1))
    plain = nd.BatchNorm(plain, *(values[n] for n in names[2:]), eps=0.01, fix_gamma=False)
    onp.testing.assert_allclose(got.asnumpy(), nd.relu(plain).asnumpy(), rtol=1e-5, atol=1e-5)


def test_a_constant_of_another_process_does_not_stop_initialisation():
    shift = mx.sym.var("shift_weight", init="Constant_shift_140197381553736", shape=(3,))
    block = SymbolBlock(mx.sym.broadcast_add(mx.sym.var("data"), shift), mx.sym.var("data"))
    block.initialize()
    block.collect_params()["shift_weight"].set_data(nd.array([1, 2, 3]))
    assert block(nd.zeros((1, 3))).asnumpy().tolist() == [[1, 2, 3]]
