"""Blocks that define `forward` and compute shapes in Python are exported for any batch."""

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

    def forward(self, x):
        return self._call(self.layer, x)


ROWS, STEPS = (2, 6), (2, 5, 6)
# name: (layer and function, shape of the input, axis of the batch)
BLOCKS = {
    "rows": ((None, lambda _, x: x.reshape((x.shape[0], -1)) * 2), STEPS, 0),
    "heads": ((None, lambda _, x: x.reshape((x.shape[0], x.shape[1], 2, 3)).transpose((0, 2, 1, 3))), STEPS, 0),
    "ones": ((None, lambda _, x: x + nd.ones((x.shape[0], 1))), ROWS, 0),
    "joined": ((None, lambda _, x: nd.concat(x, nd.zeros((x.shape[0], 3)), dim=1)), ROWS, 0),
    "repeated": ((None, lambda _, x: x.expand_dims(1).broadcast_to((x.shape[0], 3, 6))), ROWS, 0),
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
    files = net.export(str(tmp_path / "net"))
    twin = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    np.testing.assert_allclose(twin(x).asnumpy(), expected, rtol=1e-6)
    heads = _Forward(None, lambda _, x: x.reshape((-1, 2, 3)))
    heads.hybridize()
    heads(x)
    made = mx.sym.load(heads.export(str(tmp_path / "heads"))[0])
    assert made.attr("shape") == "(-1, 2, 3)"
