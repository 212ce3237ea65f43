"""Branches and loops of ONNX files: numbers of onnxruntime, or a refusal that names the node."""

import numpy as np
import pytest

import core as mx
from core.base import MXNetError

onnx = pytest.importorskip("onnx", reason="needs onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'
FILES = {
    "branch": """g (float[2, 3] x) => (float[2, 3] y, float[2] z) {
        total = ReduceSum <keepdims = 0> (x)
        zero = Constant <value_float = 0.0> ()
        positive = Greater (total, zero)
        y, z = If (positive) <
            then_branch = yes () => (float[2, 3] a, float[2] b) {
                c = Constant <value = float {2.0}> ()
                a = Mul (x, c)  axes = Constant <value_ints = [1]> ()  b = ReduceSum <keepdims = 0> (x, axes) },
            else_branch = no () => (float[2, 3] d, float[2] e) {
                c = Constant <value = float {5.0}> ()
                d = Add (x, c)  e = ReduceMax <axes = [1], keepdims = 0> (x) }> }""",
    "steps": """g (float[2, 3] x) => (float[2, 3] last, float[4, 2, 3] all, float[4] numbers) {
        four = Constant <value = int64 {4}> ()
        true = Constant <value = bool {1}> ()
        half = Constant <value_float = 0.5> ()
        last, all, numbers = Loop (four, true, x) <body = b (int64 i, bool going, float[2, 3] s) =>
            (bool still, float[2, 3] t, float[2, 3] u, float n) {
                still = Identity (going)  n = Cast <to = 1> (i)  m = Mul (n, half)  t = Add (s, m)  u = Mul (t, x) }> }""",
    "steps_by_an_extent": """g (float[n, 3] x) => (float[1, 3] last, float[n, 1, 3] all, float[1, 3] fresh) {
        shape = Shape <start = 0, end = 1> (x)
        empty = Constant <value_ints = [0]> ()
        zero = Constant <value = int64 {0}> ()
        axis = Constant <value_ints = [0]> ()
        count = Gather <axis = 0> (shape, zero)
        true = Constant <value = bool {1}> ()
        first = ReduceSum <keepdims = 1> (x, axis)
        last, fresh, all = Loop (count, true, first, first) <body = b (int64 i, bool going, float[1, 3] s, float[1, 3] r) =>
            (bool still, float[1, 3] t, float[1, 3] v, float[1, 3] u) {
                still = Identity (going)
                one = Constant <value_ints = [0]> ()  k = Unsqueeze (i, one)  row = Gather <axis = 0> (x, k)
                t = Add (s, row)  u = Mul (t, row)  v = Sub (t, row) }> }""",
    "steps_that_count_nothing": """g (float[2] x) => (float[2] last) {
        three = Constant <value = int64 {3}> ()
        true = Constant <value = bool {1}> ()
        last = Loop (three, true, x) <body = b (int64 i, bool going, float[2] s) => (bool still, float[2] t) {
            still = Constant <value = bool {1}> ()  t = Mul (s, s) }> }""",
    "while": """g (float[2] x) => (float[2] last, float n) {
        most = Constant <value = int64 {9223372036854775807}> ()
        true = Constant <value = bool {1}> ()
        limit = Constant <value_float = 50.0> ()
        zero = Constant <value_float = 0.0> ()
        one = Constant <value_float = 1.0> ()
        last, n = Loop (most, true, x, zero) <body = b (int64 i, bool going, float[2] s, float c) =>
            (bool still, float[2] t, float d) {
                t = Add (s, s)  d = Add (c, one)
                sum = ReduceSum <keepdims = 0> (t)  still = Less (sum, limit) }> }""",
    "scan": """g (float[5, 2] x, float[2, 5] w) => (float[2] last, float[2, 5] back) {
        first = Constant <value_floats = [0.0, 1.0]> ()
        last, back = Scan (first, x, w) <num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [0, 1],
            scan_output_axes = [1], scan_output_directions = [1],
            body = b (float[2] s, float[2] a, float[2] c) => (float[2] t, float[2] u) {
                p = Mul (a, c)  t = Add (s, p)  u = Sub (t, a) }> }""",
}
INPUTS = {
    "branch": [[(2, 3)], [(2, 3)]],
    "steps_by_an_extent": [[(4, 3)], [(1, 3)]],
    "while": [[(2,)], [(2,)]],
    "scan": [[(5, 2), (2, 5)]],
    "steps_that_count_nothing": [[(2,)]],
    "steps": [[(2, 3)]],
}
REFUSED = {
    "rows that values decide": FILES["while"].replace("float n) {", "float n, float[k] all) {", 1)
    .replace("last, n = Loop", "last, n, all = Loop")
    .replace("float d) {", "float d, float e) {")
    .replace("d = Add (c, one)", "d = Add (c, one)  e = Identity (d)"),
    "a state that grows": FILES["steps_that_count_nothing"].replace("Mul (s, s)", "Concat <axis = 0> (s, s)"),
    "branches of different shapes": FILES["branch"].replace("ReduceMax <axes = [1], keepdims = 0> (x)", "Identity (x)"),
    "no step": FILES["steps_that_count_nothing"].replace("int64 {3}", "int64 {0}"),
}  # fmt: skip


def _saved(text, folder):
    path = str(folder / "m.onnx")
    onnx.save(onnx.parser.parse_model(HEADER + text), path)
    return path


@pytest.mark.parametrize("name", FILES)
def test_results_are_those_of_onnxruntime(name, tmp_path):
    path = _saved(FILES[name], tmp_path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    block = mx.contrib.onnx.import_to_gluon(path, mx.cpu())
    for k, shapes in enumerate(INPUTS[name]):
        rng = np.random.default_rng(k)
        given = [(rng.uniform(0.1, 1, s) * (1 - 2 * k)).astype("float32") for s in shapes]
        if name == "while":
            given = [np.abs(x) for x in given]
        there = session.run(None, dict(zip([i.name for i in session.get_inputs()], given)))
        for active in (False, True):
            block.hybridize(active)
            here = block(*map(mx.nd.array, given))
            here = here if isinstance(here, list) else [here]
            for a, b in zip(here, there, strict=True):
                assert a.shape == (b.shape or (1,))
                np.testing.assert_allclose(a.asnumpy().reshape(b.shape), b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_symbols_cannot_tell_is_refused(text, tmp_path):
    with pytest.raises(MXNetError, match=r"node \d+ \((Loop|If)"):
        mx.contrib.onnx.import_model(_saved(text, tmp_path))
