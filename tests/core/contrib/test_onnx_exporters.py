"""What exporters of other frameworks write: shapes that are computed, open extents, loops over steps;
against onnxruntime.
"""

import glob
import os

import numpy as np
import pytest

import core as mx
from core.contrib.onnx.onnx2mx import reader
from core.contrib.onnx.onnx2mx.extents import Extents

onnx = pytest.importorskip("onnx", reason="needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

DATA = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
PYTORCH = sorted(glob.glob(os.path.join(DATA, "pytorch-*", "*")))


def _run(path: str, given: dict) -> list:
    symbol, arguments, states = mx.contrib.onnx.import_model(path)
    arrays = {n: mx.nd.array(v, dtype=v.dtype) for n, v in given.items()} | arguments
    bound = {n: arrays[n] for n in symbol.list_arguments()}
    return [x.asnumpy() for x in symbol.bind(mx.cpu(), bound, grad_req="null", aux_states=states).forward()]


def _close(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a.shape == (b.shape or (1,)) and a.dtype == b.dtype
        np.testing.assert_allclose(a.reshape(b.shape), b, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("folder", PYTORCH or [None], ids=os.path.basename)
def test_files_that_pytorch_wrote(folder):
    if folder is None:
        pytest.skip(f"no recorded files under {DATA}")
    path = os.path.join(folder, "model.onnx")
    model = onnx.load(path)
    own = {t.name for t in model.graph.initializer}
    names = [v.name for v in model.graph.input if v.name not in own]

    def read(kind, k):
        with open(os.path.join(folder, "test_data_set_0", f"{kind}_{k}.pb"), "rb") as file:
            return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(file.read()))

    given = {n: read("input", k) for k, n in enumerate(names)}
    _close(_run(path, given), [read("output", k) for k in range(len(model.graph.output))])


# Graphs in ONNX's text form: of a Transformer's heads, of positions, of a causal mask, of a picture brought to the size
# of another, of a squeeze that asks for the shape first.
HEADS = """
(float[b, t, 8] x) => (float[b, t, 8] y)
<int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] four = {4}, int64[1] two = {2}, int64[1] rest = {-1}> {
  shape = Shape (x)
  b = Gather <axis = 0> (shape, zero)
  t = Gather <axis = 0> (shape, one)
  b1 = Unsqueeze (b, first)
  t1 = Unsqueeze (t, first)
  split = Concat <axis = 0> (b1, t1, four, two)
  heads = Reshape (x, split)
  turned = Transpose <perm = [0, 2, 1, 3]> (heads)
  keys = Transpose <perm = [0, 2, 3, 1]> (heads)
  scores = MatMul (turned, keys)
  weights = Softmax <axis = -1> (scores)
  mixed = MatMul (weights, turned)
  back = Transpose <perm = [0, 2, 1, 3]> (mixed)
  joined = Concat <axis = 0> (b1, t1, rest)
  y = Reshape (back, joined)
}"""
POSITIONS = """
(float[b, t, 3] x) => (float[b, t] y, int64[t] places, float[n] flat)
<int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] rest = {-1}> {
  shape = Shape (x)
  t = Gather <axis = 0> (shape, one)
  places = Range (zero, t, one)
  b = Gather <axis = 0> (shape, zero)
  b1 = Unsqueeze (b, first)
  t1 = Unsqueeze (t, first)
  wide = Concat <axis = 0> (b1, t1)
  row = Unsqueeze (places, first)
  spread = Expand (row, wide)
  y = Cast <to = 1> (spread)
  count = Mul (b1, t1)
  filled = ConstantOfShape <value = float[1] {0.5}> (count)
  flat = Identity (filled)
}"""
MASK = """
(float[b, t, t] x) => (float[b, t, t] y)
<int64[1] first = {0}, int64[1] second = {1}, float[1] none = {-1000}> {
  begin = Shape <start = 1, end = 2> (x)
  size = ConstantOfShape <value = float[1] {1}> (whole)
  triangle = Trilu <upper = 0> (size)
  rows = Slice (triangle, first, begin, first)
  part = Slice (rows, first, begin, second)
  seen = Cast <to = 9> (part)
  y = Where (seen, x, none)
}""".replace("size = Const", "whole = Constant <value = int64[2] {64, 64}> ()\n  size = Const")
PICTURE = """
(float[b, 2, h, w] x) => (float[b, 2, h, w] y, float[b, 2] mean)
<int64 zero = {0}, int64[1] first = {0}, int64[1] two = {2}, int64[1] four = {4}, int64[1] three = {3}> {
  small = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
  shape = Shape (x)
  space = Slice (shape, two, four, first)
  lower = Shape (small)
  kept = Slice (lower, first, two, first)
  sizes = Concat <axis = 0> (kept, space)
  y = Resize <mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"> (small, , , sizes)
  rows = Flatten <axis = 2> (x)
  mean = Squeeze (pooled, axes)
}""".replace(
    "  rows = Flatten <axis = 2> (x)\n",
    "  pooled = GlobalAveragePool (x)\n  axes = Constant <value = int64[2] {2, 3}> ()\n",
)
SQUEEZE = """
(float[b, 1, 4] x) => (y)
<int64 one = {1}, int64[1] second = {1}> {
  shape = Shape (x)
  extent = Gather <axis = 0> (shape, one)
  single = Equal (extent, one)
  y = If (single) <then_branch = yes () => (float[b, 4] s) { s = Squeeze (x, second) },
                   else_branch = no () => (float[b, 1, 4] k) { k = Identity (x) }>
}"""


@pytest.mark.parametrize(
    ("text", "shapes"),
    [(HEADS, [(2, 5, 8), (3, 7, 8)]), (POSITIONS, [(2, 5, 3), (4, 1, 3)]), (MASK, [(2, 5, 5), (1, 64, 64)]),
     (PICTURE, [(2, 2, 8, 6), (1, 2, 12, 20)]), (SQUEEZE, [(2, 1, 4), (5, 1, 4)])],
    ids=["heads", "positions", "mask", "picture", "squeeze"],
)  # fmt: skip
def test_shapes_that_are_computed(text, shapes, tmp_path):
    path = str(tmp_path / "net.onnx")
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> net {text}'), path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    block = mx.contrib.onnx.import_to_gluon(path, mx.cpu())
    block.hybridize()
    for shape in shapes:
        x = np.random.default_rng(0).normal(size=shape).astype("float32")
        expected = session.run(None, {"x": x})
        _close(_run(path, {"x": x}), expected)
        found = block(mx.nd.array(x))
        _close([y.asnumpy() for y in (found if isinstance(found, list) else [found])], expected)


# The file calls extents differently that must be equal; halves are doubled again; a table is cut at a length; a range
# begins at one; rows are repeated as often as another input has rows.
EQUAL = """
(float[b, t, 4] x, float[c, s, 4] y) => (z) <int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] two = {2}> {
  sum = Add (x, y)
  shape = Shape (sum)
  rows = Gather (shape, zero)
  steps = Gather (shape, one)
  rows1 = Unsqueeze (rows, first)
  steps1 = Unsqueeze (steps, first)
  wanted = Concat <axis = 0> (rows1, steps1, two, two)
  pairs = Reshape (sum, wanted)
  turned = Transpose <perm = [0, 2, 1, 3]> (pairs)
  other = Shape (y)
  z = Reshape (turned, other)
}"""
HALVES = """
(float[b, 2, t] x, float[c, 2, s] y) => (z) {
  small = MaxPool <kernel_shape = [3], strides = [2], pads = [1, 1]> (x)
  smaller = MaxPool <kernel_shape = [3], strides = [2], pads = [1, 1]> (small)
  twice = Concat <axis = 2> (smaller, smaller)
  sum = Add (small, twice)
  shape = Shape (sum)
  ones = ConstantOfShape <value = float[1] {1}> (shape)
  z = Add (ones, sum)
}"""
TABLE = """
(float[b, t, 4] x, float[c, s, 4] y) => (z, places, rows, rest)
<int64 one = {1}, int64[1] first = {0}, int64[1] second = {1}, int64[2] corner = {0, 0}, int64[2] both = {0, 1}> {
  of = Shape <start = 1, end = 2> (x)
  more = Shape <start = 1, end = 2> (y)
  all = Add (of, more)
  ends = Concat <axis = 0> (all, more)
  wide = Constant <value = int64[2] {8, 16}> ()
  table = ConstantOfShape <value = float[1] {2}> (wide)
  part = Slice (table, corner, ends, both)
  z = Identity (part)
  begin = Squeeze (of, first)
  end = Squeeze (all, first)
  places = Range (begin, end, one)
  count = Shape <start = 0, end = 1> (y)
  times = Concat <axis = 0> (count, second, second)
  rows = Tile (x, times)
  single = Sub (of, second)
  rest = Slice (x, first, single, second)
}"""


@pytest.mark.parametrize(
    ("text", "shapes"),
    [(EQUAL, [((2, 5, 4), (2, 5, 4)), ((3, 7, 4), (3, 7, 4))]), (HALVES, [((2, 2, 8), (1, 2, 3)), ((1, 2, 12), (1, 2, 3))]),
     (TABLE, [((2, 3, 4), (3, 5, 4)), ((2, 2, 4), (2, 3, 4))])],
    ids=["equal", "halves", "table"],
)  # fmt: skip
def test_extents_that_meet(text, shapes, tmp_path):
    path = str(tmp_path / "net.onnx")
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> net {text}'), path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for pair in shapes:
        given = dict(zip("xy", (np.random.default_rng(0).normal(size=s).astype("float32") for s in pair), strict=True))
        expected = session.run(None, {v.name: given[v.name] for v in session.get_inputs()})
        symbol, arguments, _ = mx.contrib.onnx.import_model(path)
        bound = {n: mx.nd.array(given[n]) if n in given else arguments[n] for n in symbol.list_arguments()}
        _close([x.asnumpy() for x in symbol.bind(mx.cpu(), bound, grad_req="null").forward()], expected)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("kind", ["GRU", "LSTM", "RNN"])
def test_recurrent_layers_of_any_kind(kind, lengths, direction, tmp_path):
    """GRUs that reset before the product are what ONNX has by default; sequences end at their lengths."""
    rng, count = np.random.default_rng(1), {"GRU": 3, "LSTM": 4, "RNN": 1}[kind]
    ways, size = 2 if direction == "bidirectional" else 1, 4
    shapes = {"W": (ways, count * size, 3), "R": (ways, count * size, size), "B": (ways, 2 * count * size)}
    held = [onnx.numpy_helper.from_array(rng.normal(size=s).astype("float32"), n) for n, s in shapes.items()]
    held += [onnx.numpy_helper.from_array(np.array([5, 2], "int32"), "lengths")] if lengths else []
    names = ["x", "W", "R", "B", *(["lengths"] if lengths else [])]
    outputs = ["y", "h"]
    node = onnx.helper.make_node(kind, names, outputs, hidden_size=size, direction=direction)
    infos = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in outputs]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["t", "b", 3])
    graph = onnx.helper.make_graph([node], "g", [x], infos, held)
    path = str(tmp_path / "rnn.onnx")
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    given = {"x": rng.normal(size=(5, 2, 3)).astype("float32")}
    expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, given)
    _close(_run(path, given), expected)


def _saved(path, kind, given: dict, held: dict, opset=17, **attributes) -> str:
    """A model of one node, of float32; a shape stands for an input, an array for a constant, no name for nothing."""
    floats = onnx.TensorProto.FLOAT
    node = onnx.helper.make_node(kind, [*given, *held], ["y"], **attributes)
    inputs = [onnx.helper.make_tensor_value_info(n, floats, shape) for n, shape in given.items()]
    held = [onnx.numpy_helper.from_array(v.astype("float32"), n) for n, v in held.items() if n]
    graph = onnx.helper.make_graph([node], "g", inputs, [onnx.helper.make_tensor_value_info("y", floats, None)], held)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8), path)
    return str(path)


@pytest.mark.parametrize("axis", [1, 2, -1])
def test_normalisation_over_the_last_axes_with_a_factor_of_one_axis(axis, tmp_path):
    rng = np.random.default_rng(2)
    held = {"scale": rng.normal(size=4), "bias": rng.normal(size=4)}
    path = _saved(tmp_path / "norm.onnx", "LayerNormalization", {"x": (2, 3, 4)}, held, axis=axis)
    given = {"x": rng.normal(size=(2, 3, 4)).astype("float32")}
    _close(_run(path, given), onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, given))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
def test_softmax_of_old_opsets_takes_all_axes_behind_as_one(kind, axis, tmp_path):
    path = _saved(tmp_path / "softmax.onnx", kind, {"x": (2, 3, 4)}, {}, opset=11, axis=axis)
    given = {"x": np.random.default_rng(3).normal(size=(2, 3, 4)).astype("float32")}
    _close(_run(path, given), onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, given))


def test_weights_of_no_fixed_shape_are_refused(tmp_path, monkeypatch):
    begun, tried = reader._begun, []
    monkeypatch.setattr(reader, "_begun", lambda *given: tried.append(given[-1]) or begun(*given))
    path = _saved(tmp_path / "conv.onnx", "Conv", {"x": ("b", 3, 8, 8), "w": ("filters", 3, 3, 3)}, {})
    with pytest.raises(mx.MXNetError, match="the shape of the weight varies"):
        mx.contrib.onnx.import_model(path)
    assert len(tried) == 1  # nothing was found out of the extents


@pytest.mark.parametrize("how", ["half_pixel", "align_corners"])
def test_pictures_of_any_size_are_enlarged(how, tmp_path):
    path = _saved(
        tmp_path / "resize.onnx", "Resize", {"x": ("b", 3, "h", "w")}, {"": np.zeros(0), "by": np.array([1, 1, 2, 3])},
        mode="linear", coordinate_transformation_mode=how,
    )  # fmt: skip
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for size in ((4, 5), (2, 7)):
        given = {"x": np.random.default_rng(5).normal(size=(2, 3, *size)).astype("float32")}
        _close(_run(path, given), session.run(None, given))


def test_dilated_pooling_of_pictures_of_any_size_is_refused(tmp_path):
    attributes = {"kernel_shape": [2, 2], "dilations": [2, 2]}
    path = _saved(tmp_path / "pool.onnx", "MaxPool", {"x": ("b", 3, "h", "w")}, {}, **attributes)
    with pytest.raises(mx.MXNetError, match="over extents that vary"):
        mx.contrib.onnx.import_model(path)
    path = _saved(tmp_path / "pool.onnx", "MaxPool", {"x": ("b", 3, 6, 7)}, {}, **attributes)
    given = {"x": np.random.default_rng(6).normal(size=(2, 3, 6, 7)).astype("float32")}
    _close(_run(path, given), onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, given))


def test_lengths_that_follow_from_open_extents_are_found():
    extents, x = Extents(), mx.sym.var("x")
    extents.variable(x, "float32", ("b", 3, "h", "w"))
    b, _, h, w = extents.shape(x)
    data = mx.nd.zeros((2, 3, 4, 7))
    for extent, length in ((h, 4), (3 * b, 6), (2 * h * w, 56), (h * w + 2 * b + 5, 37), (w - 2, 5), (w // 2 * h, 12)):
        line = extents.line(extent)
        assert line.eval(x=data)[0].asnumpy().tolist() == [1] * length
        assert extents.number(extent).eval(x=data)[0].asnumpy().tolist() == [length]
    assert extents.line(7).eval()[0].shape == (7,)
    assert extents.like((h, 1, 2 * w)).eval(x=data)[0].shape == (4, 1, 14) and extents.like((b, 3, h, w)) is x
    assert extents.line(h - w) is None and extents.number(h - w).eval(x=data)[0].asnumpy().tolist() == [-3]


def test_determinants(tmp_path):
    path = _saved(tmp_path / "det.onnx", "Det", {"x": ("b", 3, 3)}, {})
    given = {"x": np.random.default_rng(7).normal(size=(4, 3, 3)).astype("float32")}
    _close(_run(path, given), [np.linalg.det(given["x"])])
