"""Blocks that define `forward` and compute shapes in Python are exported for other lengths than those traced."""

import json

import numpy as np
import pytest

import core as mx
import gluon
from core import nd
from gluon import nn, rnn


class _Forward(gluon.HybridBlock):
    def __init__(self, layer, call):
        super().__init__()
        self.layer, self._call = layer, call

    def forward(self, *inputs):
        return self._call(self.layer, *inputs)


def _exported(net, tmp_path):
    """The nodes that are written, and the network that is read from them."""
    files = net.export(str(tmp_path / "net"))
    nodes = json.loads((tmp_path / "net-symbol.json").read_text())["nodes"]
    inputs = sorted(n["name"] for n in nodes if n["op"] == "null" and n["name"].startswith("data"))
    return {n["op"]: n.get("attrs", {}) for n in nodes}, gluon.SymbolBlock.imports(files[0], inputs, files[1])


ROWS, STEPS = (2, 6), (2, 5, 6)
# name: (layer and function, shape of the input, axis of the batch)
BLOCKS = {
    "rows": ((None, lambda _, x: x.reshape((x.shape[0], -1)) * 2), STEPS, 0),
    "heads": ((None, lambda _, x: x.reshape((x.shape[0], x.shape[1], 2, 3)).transpose((0, 2, 1, 3))), STEPS, 0),
    "ones": ((None, lambda _, x: x + nd.ones((x.shape[0], 1))), ROWS, 0),
    "joined": ((None, lambda _, x: nd.concat(x, nd.zeros((x.shape[0], 3)), dim=1)), ROWS, 0),
    "filled": ((None, lambda _, x: nd.concat(x, nd.full((x.shape[0], 3), 2.5), dim=1)), ROWS, 0),
    "constant": ((None, lambda _, x: x.reshape((x.shape[0], -1)) * nd.array([1 / x.shape[1]])), STEPS, 0),
    "repeated": ((None, lambda _, x: x.expand_dims(1).broadcast_to((x.shape[0], 3, 6))), ROWS, 0),
    "parameter": ((None, lambda _, x: x + nd.ones((1, 6)).broadcast_to((x.shape[0], 6))), ROWS, 0),
    "part": ((None, lambda _, x: x[:, x.shape[1] - 3 :] + x[:, : x.shape[1] - 3]), ROWS, 0),
    "state": ((rnn.RNNCell(4, input_size=6), lambda c, x: c(x, [nd.zeros((x.shape[0], 4))])[0]), ROWS, 0),
    "layer": ((rnn.LSTM(4, input_size=6), lambda c, x: c(x)), (5, 2, 6), 1),
    "layer_ntc": ((rnn.GRU(4, input_size=6, layout="NTC", bidirectional=True), lambda c, x: c(x)), STEPS, 0),
    "cell": ((rnn.LSTMCell(4, input_size=6), lambda c, x: c.unroll(5, x, layout="NTC", merge_outputs=True)[0]), STEPS, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCKS)
def test_exported_for_any_batch(name, tmp_path):
    (layer, call), shape, axis = BLOCKS[name]
    net = _Forward(layer, call)
    net.initialize(mx.init.Uniform(0.5))
    net.hybridize()
    net(nd.zeros(shape))
    symbol_file, params_file = net.export(str(tmp_path / "net"))
    twin = gluon.SymbolBlock.imports(symbol_file, ["data"], params_file)
    net.hybridize(False)
    for batch in (1, 2, 3):
        given = [batch if k == axis else n for k, n in enumerate(shape)]
        x = nd.array(np.random.default_rng(batch).normal(size=given))
        found, expected = twin(x), net(x)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)


def test_extents_that_are_no_batch_stay(tmp_path):
    """A loop over the rows is written for as many as there were; numbers of heads are no batch of two."""
    net = _Forward(nn.Dense(3, in_units=6), lambda d, x: nd.stack(*[d(x[i : i + 1])[0] for i in range(x.shape[0])]))
    net.initialize()
    net.hybridize()
    x = nd.array(np.random.default_rng(0).normal(size=ROWS))
    expected = net(x).asnumpy()
    with pytest.warns(UserWarning, match=r"of length 2 along axis 0 alone: test_open_lengths\.py"):
        files = net.export(str(tmp_path / "net"))
    twin = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    np.testing.assert_allclose(twin(x).asnumpy(), expected, rtol=1e-6)
    with pytest.raises(
        mx.MXNetError, match=r"data of length 2 along axis 0, given shape \(3, 6\): .*test_open_lengths.py"
    ):
        twin(nd.zeros((3, 6)))
    onnx = pytest.importorskip("onnx")
    path = str(tmp_path / "net.onnx")
    with pytest.raises(ValueError, match=r"axis 0: test_open_lengths\.py"):
        mx.contrib.onnx.export_model(*files, [ROWS], onnx_file_path=path, dynamic_input_shapes=[("n", 6)])
    mx.contrib.onnx.export_model(*files, [ROWS], onnx_file_path=path, dynamic=True)
    assert [d.dim_value for d in onnx.load(path).graph.input[0].type.tensor_type.shape.dim] == [2, 6]
    heads = _Forward(None, lambda _, x: x.reshape((-1, 2, 3)))
    heads.hybridize()
    heads(x)
    made = mx.sym.load(heads.export(str(tmp_path / "heads"))[0])
    assert made.attr("shape") == "(-1, 2, 3)"


PAIRS = {
    "rows of the second": lambda _, x, y: nd.concat(y, nd.zeros((y.shape[0], 4)), dim=1) + x.sum(),
    "rows of the first": lambda _, x, y: nd.concat(x, nd.ones((x.shape[0], 4)), dim=1) + y.sum(),
    "an extent of each": lambda _, x, y: nd.full((y.shape[0], x.shape[0]), 2.5) + x.sum() + y.sum(),
}


@pytest.mark.parametrize("name", PAIRS)
def test_arrays_follow_the_input_that_has_their_extent(name, tmp_path):
    net = _Forward(None, PAIRS[name])
    net.hybridize()
    net(nd.zeros((2, 6)), nd.zeros((3, 6)))
    twin = _exported(net, tmp_path)[1]
    net.hybridize(False)
    for rows in ((1, 4), (5, 2)):
        x, y = (nd.array(np.random.default_rng(n).normal(size=(n, 6))) for n in rows)
        np.testing.assert_allclose(twin(x, y).asnumpy(), net(x, y).asnumpy(), rtol=1e-5, atol=1e-6)


LENGTHS = {
    "words": lambda _, x: x.reshape((x.shape[0] * x.shape[1], -1)).reshape((-1, x.shape[1], 6)),
    "middle": lambda _, x: x.reshape((x.shape[0], x.shape[1], 2, 3)).sum(axis=2),
    "last": lambda _, x: x[:, -1] + x[:, x.shape[1] - 2],
    "mask": lambda _, x: x * nd.ones((x.shape[0], x.shape[1], 1)),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_the_length_of_a_sequence_stays_open_beside_the_batch(name, tmp_path):
    net = _Forward(None, LENGTHS[name])
    net.hybridize()
    net(nd.zeros((1, 5, 6)))
    twin = _exported(net, tmp_path)[1]
    net.hybridize(False)
    for shape in ((1, 5, 6), (3, 2, 6), (2, 9, 6)):
        x = nd.array(np.random.default_rng(shape[1]).normal(size=shape))
        np.testing.assert_allclose(twin(x).asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-6)


def test_np_blocks_too(tmp_path):
    with mx.util.np_shape(True), mx.util.np_array(True):

        def call(_, x):
            rows = x.reshape((x.shape[0], -1)) * 2
            return mx.np.concatenate([rows, mx.np.full((x.shape[0], 2), 2.5)], axis=1)

        net = _Forward(None, call)
        net.hybridize()
        net(mx.np.zeros(STEPS))
        nodes, twin = _exported(net, tmp_path)
        assert "_npx_reshape" in nodes
        for batch in (1, 4):
            x = np.random.default_rng(batch).normal(size=(batch, *STEPS[1:])).astype("float32")
            wanted = np.concatenate([x.reshape(batch, -1) * 2, np.full((batch, 2), 2.5)], axis=1)
            np.testing.assert_allclose(twin(mx.np.array(x)).asnumpy(), wanted, rtol=1e-6)


FIXED = {
    "a constant of the batch": lambda _, x: x.reshape((x.shape[0], -1)) * nd.array([1 / x.shape[0]]),
    "rows of no input": lambda _, x: x.reshape((x.shape[0], -1)).sum() + nd.zeros((2 * x.shape[0], 1)),
}


@pytest.mark.parametrize("name", FIXED)
def test_what_cannot_follow_stays_as_it_was_traced(name, tmp_path):
    net = _Forward(None, FIXED[name])
    net.hybridize()
    x = nd.array(np.random.default_rng(0).normal(size=STEPS))
    expected = net(x).asnumpy()
    nodes, twin = _exported(net, tmp_path)
    assert nodes["Reshape"]["shape"] == "(2, -1)" and "broadcast_like" not in nodes
    np.testing.assert_allclose(twin(x).asnumpy(), expected, rtol=1e-6)


def test_hooks_see_the_operators_that_ran():
    net = _Forward(None, lambda _, x: nd.concat(x, nd.zeros((x.shape[0], 3)), dim=1))
    net.hybridize()
    seen = []
    net.register_op_hook(lambda name, operator, array: seen.append((operator, array.shape)))
    net(nd.zeros(ROWS))
    assert seen == [("_zeros", (2, 3)), ("Concat", (2, 9))]
