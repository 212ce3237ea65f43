"""Damaged and hostile files of every kind that programs load: an error or a result, and nothing else.

MXTEST_MUTATIONS says how many of each kind are tried (default 150); a line for each kind, of what came of them, is
added to the file that MXTEST_MUTATIONS_LOG names.
"""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest

import core as mx
from core.base import MXNetError
from core.recordio import IRHeader, MXRecordIO, pack, unpack
from gluon import Trainer, nn, rnn
from tests.support.mutations import CHANGES, attack, bounded_memory, mutated, replaced, survives


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def network(folder):
    """An exported network with a loop: (symbol file, parameter file)."""

    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.cell = rnn.RNNCell(3, input_size=4)
                self.body = nn.HybridSequential()
                self.body.add(nn.Dense(6, in_units=3, flatten=False), nn.LayerNorm(in_channels=6))

        def hybrid_forward(self, F, x, state):
            outputs, _ = F.contrib.foreach(self.cell, x, [state])
            return F.split(self.body(outputs), num_outputs=2, axis=2)

    net = Net()
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((2, 1, 4)), mx.nd.ones((1, 3)))
    return net.export(str(folder / "net"))


def test_parameters(network, folder):
    rows = mx.nd.sparse.row_sparse_array((np.ones((2, 3), "float32"), [1, 4]), shape=(6, 3))
    csr = mx.nd.sparse.csr_matrix(np.array([[0, 1.0], [2, 0]], "float32"))
    values = {"w": mx.nd.arange(6).reshape((2, 3)), "r": rows, "c": csr, "h": mx.nd.ones((2,), dtype="float16")}
    mx.nd.save(str(folder / "x.params"), values)

    def load(data):
        (folder / "m.params").write_bytes(data)
        mx.nd.load(str(folder / "m.params"))

    attack(mutated((folder / "x.params").read_bytes()), load)


def _used(symbol):
    """What programs ask of a symbol before they give it arrays."""
    symbol.list_arguments(), symbol.list_outputs(), symbol.list_auxiliary_states(), symbol.attr_dict()
    symbol.get_internals().list_outputs()
    symbol.infer_shape_partial(data0=(2, 1, 4))


def test_symbols_of_changed_bytes(network, folder):
    def load(data):
        (folder / "m.json").write_bytes(data)
        mx.sym.load(str(folder / "m.json"))

    attack(mutated(mx.sym.load(network[0]).tojson().encode()), load)  # a checksum would refuse all of them at once


def test_symbols_of_changed_values(network):
    original = mx.sym.load(network[0]).tojson()
    _used(mx.sym.load_json(original))  # what is imported on first use is not a file's fault
    attack(CHANGES, lambda changes: _used(mx.sym.load_json(replaced(original, changes))))


def test_symbols_nested_too_deeply():
    for text in ("[" * 200_000, '{"nodes":' * 50_000, "{" * 10, '{"nodes": [], "heads": []}', "null", "[]"):
        with pytest.raises(MXNetError, match="JSON text"):
            mx.sym.load_json(text)


def _onnx_file(network, folder):
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(3, 3, in_channels=2),
        nn.BatchNorm(in_channels=3),
        nn.MaxPool2D(2, ceil_mode=True),
        nn.Dense(4, in_units=12),
    )
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((1, 2, 6, 6)))
    files = net.export(str(folder / "small"))
    mx.onnx.export_model(*files, [(1, 2, 6, 6)], onnx_file_path=str(folder / "x.onnx"))
    return onnx, (folder / "x.onnx").read_bytes()


def test_onnx_of_changed_bytes(network, folder):
    _, original = _onnx_file(network, folder)

    def load(data):
        (folder / "m.onnx").write_bytes(data)
        mx.contrib.onnx.import_model(str(folder / "m.onnx"))
        mx.contrib.onnx.get_model_metadata(str(folder / "m.onnx"))

    attack(mutated(original), load)


def _fields(message):
    """All values in a protobuf message: (message, field, place in a list or None)."""
    for field, value in message.ListFields():
        values = list(value) if field.is_repeated else [value]
        for k, part in enumerate(values):
            if field.type == field.TYPE_MESSAGE:
                yield from _fields(part)
            elif field.name != "raw_data":
                yield message, field.name, k if field.is_repeated else None


LOOPS = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y, float[3, 2] z) {
    zero = Constant <value_float = 0.0> ()  total = ReduceSum <keepdims = 0> (x)  positive = Greater (total, zero)
    three = Constant <value = int64 {3}> ()  going = Constant <value = bool {1}> ()
    first = Constant <value_floats = [0.0, 1.0]> ()
    part = If (positive) <then_branch = a () => (float[2, 3] p) { p = Neg (x) },
                          else_branch = b () => (float[2, 3] q) { q = Abs (x) }>
    y = Loop (three, going, part) <body = c (int64 i, bool k, float[2, 3] s) => (bool m, float[2, 3] t) {
        m = Identity (k)  n = Cast <to = 1> (i)  t = Mul (s, n) }>
    last, z = Scan (first, x) <num_scan_inputs = 1, scan_input_axes = [1], body = d (float[2] u, float[2] v) =>
        (float[2] w, float[2] r) { w = Add (u, v)  r = Mul (w, v) }> }"""


@pytest.mark.parametrize("kind", ["layers", "loops"])
def test_onnx_of_changed_values(kind, network, folder):
    onnx, original = _onnx_file(network, folder)
    if kind == "loops":
        original = onnx.parser.parse_model(LOOPS).SerializeToString()

    def load(changes):
        model = onnx.load_model_from_string(original)
        places = list(_fields(model))
        for at, odd, _ in changes:
            message, name, k = places[at % len(places)]
            try:
                if k is None:
                    setattr(message, name, odd)
                else:
                    getattr(message, name)[k] = odd
            except (TypeError, ValueError):
                continue  # the field is of another type
        (folder / "v.onnx").write_bytes(model.SerializeToString())
        symbol, _, _ = mx.contrib.onnx.import_model(str(folder / "v.onnx"))
        symbol.list_arguments(), symbol.list_outputs()

    attack(CHANGES, load)


def test_onnx_constants_do_not_grow_by_folding(folder):
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    helper = onnx.helper
    nodes = [helper.make_node("Concat", [f"c{i}", f"c{i}"], [f"c{i + 1}"], axis=0) for i in range(60)]
    value = onnx.numpy_helper.from_array(np.ones(64, np.float32), "c0")
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("c60", 1, None)], [value])
    onnx.save(helper.make_model(graph), str(folder / "bomb.onnx"))
    with bounded_memory():
        symbol, arguments, _ = mx.contrib.onnx.import_model(str(folder / "bomb.onnx"))
    assert symbol.list_arguments() == list(arguments) and sum(a.size for a in arguments.values()) <= 4096


def test_damaged_onnx_names_file_and_offset(folder, network):
    _, original = _onnx_file(network, folder)
    (folder / "cut.onnx").write_bytes(original[: len(original) // 2])
    with pytest.raises(MXNetError, match=rf"cut.onnx.*at byte \d+ of {len(original) // 2}"):
        mx.contrib.onnx.import_model(str(folder / "cut.onnx"))


def test_records(folder):
    with_header = pack(IRHeader(0, [1.0, 2.0], 1, 0), b"image")
    record = MXRecordIO(str(folder / "x.rec"), "w")
    for content in (b"one", with_header, bytes(range(40))):
        record.write(content)
    record.close()

    def load(data):
        (folder / "m.rec").write_bytes(data)
        reader = MXRecordIO(str(folder / "m.rec"), "r")
        while (content := reader.read()) is not None:
            survives(lambda held=content: unpack(held))

    attack(mutated((folder / "x.rec").read_bytes()), load)


def test_trainer_states(folder):
    net = nn.Dense(3, in_units=2)
    net.initialize()
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    with mx.autograd.record():
        loss = net(mx.nd.ones((2, 2))).sum()
    loss.backward()
    trainer.step(2)
    trainer.save_states(str(folder / "x.states"))

    def load(data):
        (folder / "m.states").write_bytes(data)
        trainer.load_states(str(folder / "m.states"))

    attack(mutated((folder / "x.states").read_bytes()), load)


class _Runs:
    def __reduce__(self):
        return Path.touch, (Path(tempfile.gettempdir()) / "hostile-pickle-ran",)


def test_a_pickle_that_would_run_code_is_refused(folder):
    (folder / "evil.states").write_bytes(pickle.dumps({0: _Runs()}))
    net = nn.Dense(3, in_units=2)
    net.initialize()
    net(mx.nd.ones((1, 2)))
    trainer = Trainer(net.collect_params(), "sgd")
    with pytest.raises(MXNetError):
        trainer.load_states(str(folder / "evil.states"))
    assert not (Path(tempfile.gettempdir()) / "hostile-pickle-ran").exists()
