"""Blocks as ONNX files with a batch that varies, run by onnxruntime and back: cells, loops, branches, composites."""

import numpy as np
import pytest

import core as mx
import gluon
from core.base import MXNetError
from gluon import nn, rnn
from gluon.contrib import rnn as contrib_rnn

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


class _Block(gluon.HybridBlock):
    """A layer (or None), called by a function of (layer, F, inputs)."""

    def __init__(self, layer, call):
        super().__init__()
        self.layer, self._call = layer, call

    def hybrid_forward(self, F, *inputs):
        return self._call(self.layer, F, *inputs)


def _unrolled(cell, steps=4, **options):
    return cell, lambda c, F, x, *lengths: c.unroll(
        steps, x, layout="NTC", merge_outputs=True, valid_length=lengths[0] if lengths else None, **options
    )


def _stack():
    cells = rnn.HybridSequentialRNNCell()
    cells.add(rnn.LSTMCell(5, input_size=6))
    cells.add(rnn.ResidualCell(rnn.GRUCell(5, input_size=5)))
    cells.add(rnn.ZoneoutCell(rnn.RNNCell(5, input_size=5), 0.2, 0.2))
    return cells


STEPS, ROWS, IMAGE, ONE = (None, 4, 6), (None, 6), (None, 3, 5, 4), (1,)
TIMES = (4, None, 6)
# name: (layer and function, shapes of the inputs with None for the batch)
BLOCKS = {
    "rnn_cell": (_unrolled(rnn.RNNCell(5, input_size=6)), [STEPS]),
    "lstm_cell": (_unrolled(rnn.LSTMCell(5, input_size=6)), [STEPS]),
    "gru_cell": (_unrolled(rnn.GRUCell(5, input_size=6)), [STEPS]),
    "cells": (_unrolled(_stack()), [STEPS]),
    "both_directions": (
        _unrolled(rnn.BidirectionalCell(rnn.LSTMCell(5, input_size=6), rnn.GRUCell(3, input_size=6))),
        [STEPS],
    ),
    "lengths": (_unrolled(rnn.LSTMCell(5, input_size=6)), [STEPS, (None,)]),
    "projected_cell": (_unrolled(contrib_rnn.LSTMPCell(5, 3, input_size=6)), [STEPS]),
    "conv_cell": (_unrolled(contrib_rnn.Conv2DLSTMCell((3, 5, 4), 4, 3, 3, i2h_pad=1), 2), [(None, 2, 3, 5, 4)]),
    "both_states": ((rnn.LSTMCell(6, input_size=6), lambda c, F, x: F.concat(
        *c.unroll(1, F.slice_axis(x, axis=1, begin=0, end=1), layout="NTC")[1], dim=1)), [STEPS]),
    "foreach": ((nn.Dense(6, in_units=6), lambda d, F, x, h: F.contrib.foreach(lambda s, t: (s * t, F.tanh(d(t) + s)), x, h)),
                [TIMES, ROWS]),
    "foreach_of_two": ((None, lambda _, F, x, y, h: F.contrib.foreach(
        lambda s, t: ([s[0] + t[0], s[1] * t[1]], [t[0] + s[1], t[1] - s[0]]), [x, y], [h, h * 2])), [TIMES, TIMES, ROWS]),
    "foreach_of_a_cell": ((rnn.LSTMCell(5, input_size=6), lambda c, F, x, h, m: F.contrib.foreach(c, x, [h, m])),
                          [TIMES, (None, 5), (None, 5)]),
    "while_loop": ((nn.Dense(6, in_units=6), lambda d, F, i, x: F.contrib.while_loop(
        lambda i, x: i < 3, lambda i, x: ([], [i + 1, d(x)]), [i, x], max_iterations=5)[1]), [ONE, ROWS]),
    "cond": ((nn.Dense(6, in_units=6), lambda d, F, p, x: F.contrib.cond(
        p > 0, lambda: F.contrib.cond(p > 0.5, lambda: [d(x), x], lambda: [x * 2, x]), lambda: [x - 1, x + 1])), [ONE, ROWS]),
    "moments": ((None, lambda _, F, x: [*F.moments(x, axes=(2, 3)), *F.moments(x, axes=1, keepdims=True)]), [IMAGE]),
    "tests": ((None, lambda _, F, x: [F.contrib.isnan(F.log(x)), F.contrib.isinf(1 / F.relu(x)), F.contrib.isfinite(x)]), [ROWS]),
    "products": ((None, lambda _, F, x: [F.linalg.syrk(x), F.diag(F.linalg.syrk(x), axis1=1, axis2=2)]), [(None, 3, 4)]),
    "sampler": ((None, lambda _, F, x, y: F.BilinearSampler(x, y)), [IMAGE, (None, 2, 4, 4)]),
    "spatial": ((None, lambda _, F, x, y: F.SpatialTransformer(x, y, (4, 4), "affine", "bilinear")), [IMAGE, (None, 6)]),
    "merged_rows": ((None, lambda _, F, x: F.reshape(F.transpose(F.reshape(x, shape=(0, 0, 2, -1)), axes=(0, 2, 1, 3)),
                                                     shape=(-1, 0, 0), reverse=True)), [STEPS]),
    "part_of_a_shape": ((None, lambda _, F, x, y: F.reshape_like(x, y, lhs_begin=1, lhs_end=3, rhs_begin=1, rhs_end=2)),
                        [STEPS, (None, 24)]),
    "axes_of_another": ((None, lambda _, F, x, y: F.broadcast_like(F.sum(x, axis=(0, 2), keepdims=True), y, lhs_axes=(0,),
                                                                   rhs_axes=(0,))), [STEPS, ROWS]),
    "mean_of_rows": ((gluon.loss.SigmoidBCELoss(), lambda loss, F, x, y: loss(F.sum(x, axis=1), y)), [ROWS, (None,)]),
    "size_of_another": ((None, lambda _, F, x, y: F.slice_like(x, y, axes=(2,)) * 2), [IMAGE, (None, 3, 2, 7)]),
}  # fmt: skip


def _inputs(shapes, batch):
    rng = np.random.default_rng(batch)
    return [
        mx.nd.array(rng.integers(1, 5, batch) if s == (None,) else rng.uniform(-1, 1, [batch if n is None else n for n in s]))
        for s in shapes
    ]  # fmt: skip


def _arrays(values):
    for v in values if isinstance(values, (list, tuple)) else [values]:
        yield from _arrays(v) if isinstance(v, (list, tuple)) else [v.asnumpy()]


def _exported(name, tmp_path):
    (layer, call), shapes = BLOCKS[name]
    net, given = _Block(layer, call), _inputs(shapes, 2)
    net.initialize(mx.init.Uniform(0.7))
    net.hybridize()
    net(*given)
    path = str(tmp_path / "net.onnx")
    mx.onnx.export_model(
        *net.export(str(tmp_path / "net")), [x.shape for x in given], onnx_file_path=path, dynamic=True,
        dynamic_input_shapes=[tuple("batch" if n is None else n for n in s) for s in shapes],
    )  # fmt: skip
    return net, path


@pytest.mark.parametrize("name", BLOCKS)
def test_block_in_onnxruntime_and_back(name, tmp_path):
    net, path = _exported(name, tmp_path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    back = mx.contrib.onnx.import_to_gluon(path, mx.cpu())
    for batch in (1, 2, 3):
        given = _inputs(BLOCKS[name][1], batch)
        expected = list(_arrays(net(*given)))
        there = session.run(None, {i.name: x.asnumpy() for i, x in zip(session.get_inputs(), given, strict=True)})
        for found in (there, list(_arrays(back(*given)))):
            for a, b in zip(found, expected, strict=True):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_rows_of_a_loop_are_as_many_as_it_may_have(tmp_path):
    F, i, x = mx.sym, mx.sym.var("i"), mx.sym.var("x")
    made = mx.sym.contrib.while_loop(
        lambda i, x: i < 3,
        lambda i, x: ([F.broadcast_mul(x, i)], [i + 1, F.broadcast_add(x, i)]),
        [i, x],
        max_iterations=5,
    )
    path = str(tmp_path / "loop.onnx")
    mx.onnx.export_model(mx.sym.Group([made[0][0], *made[1]]), {}, [(1,), (2,)], onnx_file_path=path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    rows, number, last = session.run(None, {"i": np.array([1], "f"), "x": np.array([1, 10], "f")})
    np.testing.assert_array_equal(rows, [[1, 10], [4, 22], [0, 0], [0, 0], [0, 0]])
    assert number == [3] and last.tolist() == [4, 13]


def test_outputs_are_called_as_in_mxnet(tmp_path):
    """The names that MXNet 1.9.1 gives: without `_output`, with the number of one of several."""
    x = mx.sym.var("x")
    parts = mx.sym.split(
        mx.sym.FullyConnected(x, num_hidden=4, no_bias=True, name="dense"), num_outputs=2, name="parts"
    )
    path = str(tmp_path / "net.onnx")
    whole = mx.sym.Group([*parts, mx.sym.relu(x, name="other")])
    mx.onnx.export_model(whole, {"dense_weight": mx.nd.ones((4, 3))}, [(2, 3)], onnx_file_path=path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [o.name for o in session.get_outputs()] == ["parts0", "parts1", "other"]


def test_composites_without_a_form_are_refused_by_name(tmp_path):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    with pytest.raises(
        MXNetError,
        match=r"cannot convert Correlation 'seen' to ONNX: it is made of other operators, and .*_correlation",
    ):
        mx.onnx.export_model(
            mx.sym.Correlation(x, y, name="seen"), {}, [(1, 2, 4, 4)] * 2, onnx_file_path=str(tmp_path / "x.onnx")
        )


def test_arrays_of_numpy_leave_for_any_batch(tmp_path):
    """Blocks in the style of MXNet 2 whose shapes come from Python, and choices between arrays and numbers."""

    class Net(gluon.HybridBlock):
        def forward(self, x):
            x = np_.where(x > 0, x, x * 0.1)
            heads = x.reshape(x.shape[0], 2, -1).transpose(1, 0, 2)
            longer = np_.concatenate([x, np_.ones((x.shape[0], 1))], axis=1)
            return heads, longer, np_.where(x > 0, 1.5, x), x.var(axis=1), x.std(axis=1, ddof=1, keepdims=True)

    np_, path = mx.np, str(tmp_path / "net.onnx")
    with mx.util.np_array(True), mx.util.np_shape(True):
        net = Net()
        net.hybridize()
        net(np_.ones((2, 6)))
        mx.onnx.export_model(*net.export(str(tmp_path / "net")), [(2, 6)], onnx_file_path=path, dynamic=True)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        for batch in (1, 2, 3):
            x = np.random.default_rng(batch).normal(size=(batch, 6)).astype("float32")
            expected = [y.asnumpy() for y in net(np_.array(x))]
            for a, b in zip(session.run(None, {"data": x}), expected, strict=True):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
