"""The table of layers and the graphviz source, against what MXNet 1.9.1 prints for the same network."""

import shutil

import pytest

import core as mx
from core.name import NameManager

SUMMARY = """\
Layer (type)                                        Output Shape            Param #     Previous Layer
data(null)                                          3x8x8                   0
conv(Convolution)                                   4x8x8                   112         data
bn(BatchNorm)                                       4x8x8                   8           conv
relu(Activation)                                    4x8x8                   0           bn
pool(Pooling)                                       4x4x4                   0           relu
lk(LeakyReLU)                                       4x4x4                   0           pool
flatten0(Flatten)                                   64                      0           lk
fc(FullyConnected)                                  10                      650         flatten0
_plus0(elemwise_add)                                10                      0           fc
                                                                                        fc
softmax(SoftmaxOutput)                              10                      0           _plus0
Total params: 770"""

NODE = "fixedsize=true height=0.8034 shape=box style=filled width=1.3]"
PLOT = [
    '\tdata [label=data fillcolor="#8dd3c7" fixedsize=true height=0.8034 shape=oval style=filled width=1.3]',
    f'3x3/1, 4" fillcolor="#fb8072" {NODE}',
    f'max, 2x2/2x2" fillcolor="#80b1d3" {NODE}',
    f'\t_plus0 [label=_plus0 fillcolor="#fccde5" {NODE}',
    '\tconv -> data [label="3x8x8" arrowtail=open dir=back]',
    "\tfc -> flatten0 [label=64 arrowtail=open dir=back]",
]


@pytest.fixture
def network():
    sym = mx.sym
    with NameManager():
        x = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=4, pad=(1, 1), name="conv")
        x = sym.Activation(sym.BatchNorm(x, name="bn"), act_type="relu", name="relu")
        x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
        x = sym.Flatten(sym.LeakyReLU(x, act_type="leaky", name="lk"))
        x = sym.FullyConnected(x, num_hidden=10, name="fc")
        return sym.SoftmaxOutput(x + x, name="softmax")


def test_summary_is_that_of_mxnet(network, capsys):
    mx.viz.print_summary(network, shape={"data": (1, 3, 8, 8)})
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines if line.strip("_=")] == SUMMARY.splitlines()
    assert {len(line) for line in lines if not line.startswith("Total")} == {120}
    mx.viz.print_summary(network)  # without shapes there are names alone
    assert "conv(Convolution)" in capsys.readouterr().out


def test_plot_is_that_of_mxnet(network, tmp_path):
    pytest.importorskip("graphviz")
    picture = mx.viz.plot_network(network, shape={"data": (1, 3, 8, 8)}, save_format="dot")
    assert [line for line in PLOT if line not in picture.source.splitlines()] == []
    assert "conv_weight" not in picture.source
    assert "conv -> conv_weight" in mx.viz.plot_network(network, hide_weights=False).source
    if shutil.which("dot"):
        assert picture.render(str(tmp_path / "net"))


def test_what_cannot_be_drawn_is_refused(network):
    with pytest.raises(TypeError, match="a Symbol is drawn, given str"):
        mx.viz.print_summary("network")
    with pytest.raises(ValueError, match="do not follow"):
        mx.viz.print_summary(network, shape={})


def test_layers_of_one_name_are_drawn_with_a_warning():
    pytest.importorskip("graphviz")
    net = mx.sym.FullyConnected(mx.sym.var("data"), name="f", num_hidden=3)
    net = mx.sym.FullyConnected(net, name="f", num_hidden=2)
    with pytest.warns(UserWarning, match="multiple variables with the same name in your graph.* f"):
        mx.viz.plot_network(net, shape={"data": (5, 4)})


def test_dtypes_are_written_behind_shapes():
    pytest.importorskip("graphviz")
    net = mx.sym.Pooling(mx.sym.var("data"), kernel=(2, 2), pool_type="avg", name="p")
    source = mx.viz.plot_network(net, shape={"data": (2, 3, 8, 8)}, dtype={"data": "float16"}).source
    assert 'p -> data [label="3x8x8(float16)" arrowtail=open dir=back]' in source
