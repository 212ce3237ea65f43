"""Operators of detectors in onnxruntime: suppression, decoders, shifted places."""

import itertools

import numpy as np
import pytest

import core as mx

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

sym = mx.sym


def _run(symbol, inputs, parameters, path, **options):
    """(results here, results of onnxruntime, the opset that was written)."""
    import onnx

    inputs = {n: np.asarray(v, "float32") for n, v in inputs.items()}
    arrays = {n: mx.nd.array(v) for n, v in parameters.items()}
    names = [n for n in symbol.list_inputs() if n in inputs]
    mx.contrib.onnx.export_model(symbol, arrays, [inputs[n].shape for n in names], onnx_file_path=path, **options)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    here = symbol.eval(**{n: mx.nd.array(v) for n, v in inputs.items()}, **arrays)
    return [x.asnumpy() for x in here], session.run(None, inputs), onnx.load(path).opset_import[0].version


def _compare(here, there):
    assert len(here) == len(there)
    for a, b in zip(here, there, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def _boxes(batch, count, center=False):
    """Rows of class (-1 to 3), score, box."""
    rng = np.random.default_rng(batch)
    start, size = rng.uniform(0, 0.7, (batch, count, 2)), rng.uniform(0.05, 0.4, (batch, count, 2))
    box = np.concatenate([start, size if center else start + size], -1)
    return np.concatenate([rng.integers(-1, 4, (batch, count, 1)), rng.uniform(0, 1, (batch, count, 1)), box], -1)


@pytest.mark.parametrize(
    ("given", "wanted", "topk", "force", "background", "label"),
    list(itertools.product(("corner", "center"), ("corner", "center"), (-1, 7), (False, True), (-1, 0), (0, -1))),
)
def test_box_nms(given, wanted, topk, force, background, label, tmp_path):
    made = sym.contrib.box_nms(
        sym.var("x"), overlap_thresh=0.3, valid_thresh=0.1, topk=topk, coord_start=2, score_index=1, id_index=label,
        background_id=background, force_suppress=force, in_format=given, out_format=wanted,
    )  # fmt: skip
    here, there, opset = _run(made, {"x": _boxes(2, 20, given == "center")}, {}, str(tmp_path / "m.onnx"))
    assert 0 < (here[0] != -1).all(-1).sum() < 40  # some go, some stay
    _compare(here, there)
    assert opset == 17


@pytest.mark.parametrize("shape", [(9, 5), (2, 3, 9, 5)])
def test_box_nms_of_any_rank(shape, tmp_path):
    rows = _boxes(6, 9)[..., 1:][: int(np.prod(shape[:-2]))].reshape(shape)
    made = sym.contrib.box_nms(sym.var("x"), overlap_thresh=0.3, coord_start=1, score_index=0)
    here, there, _ = _run(made, {"x": rows}, {}, str(tmp_path / "m.onnx"))
    _compare(here, there)


@pytest.mark.parametrize(
    ("clip", "force", "overlap"), [(True, False, 0.5), (False, True, 0.3), (True, True, 0.7), (True, False, -1)]
)
def test_multi_box_detection(clip, force, overlap, tmp_path):
    rng = np.random.default_rng(1)
    start = rng.uniform(0, 0.6, (1, 12, 2))
    anchors = np.concatenate([start, start + rng.uniform(0.1, 0.4, (1, 12, 2))], -1)
    made = sym.contrib.MultiBoxDetection(
        sym.var("scores"), sym.var("offsets"), sym.var("anchors"), clip=clip, force_suppress=force, threshold=0.4,
        nms_threshold=overlap,
    )  # fmt: skip
    given = {"scores": rng.uniform(0, 1, (2, 4, 12)), "offsets": rng.normal(size=(2, 48)), "anchors": anchors}
    here, there, _ = _run(made, given, {}, str(tmp_path / "m.onnx"))
    _compare(here, there)


@pytest.mark.parametrize("modulated", [False, True])
@pytest.mark.parametrize(
    ("groups", "shifted", "stride", "pad", "dilate"),
    [(1, 1, (1, 1), (1, 1), (1, 1)), (2, 2, (2, 1), (1, 0), (1, 2)), (1, 4, (1, 1), (2, 2), (2, 2))],
)
def test_deformable_convolution(modulated, groups, shifted, stride, pad, dilate, tmp_path):
    rng = np.random.default_rng(2)
    size = [(9 + 2 * pad[i] - (2 * dilate[i] + 1)) // stride[i] + 1 for i in (0, 1)]
    given = {"x": rng.normal(size=(2, 4, 9, 9)), "offset": 3 * rng.normal(size=(2, 18 * shifted, *size))}
    parameters = {"w": rng.normal(size=(6, 4 // groups, 3, 3)), "b": rng.normal(size=6)}
    options = {
        "kernel": (3, 3), "num_filter": 6, "num_group": groups, "num_deformable_group": shifted, "stride": stride,
        "pad": pad, "dilate": dilate,
    }  # fmt: skip
    operands = [sym.var("x"), sym.var("offset")]
    if modulated:
        given["mask"] = rng.uniform(size=(2, 9 * shifted, *size))
        operands.append(sym.var("mask"))
    make = sym.contrib.ModulatedDeformableConvolution if modulated else sym.contrib.DeformableConvolution
    made = make(*operands, sym.var("w"), sym.var("b"), **options)
    path = str(tmp_path / "m.onnx")
    here, there, opset = _run(made, given, parameters, path)
    _compare(here, there)
    assert opset == 19
    if modulated:
        back, arguments, _ = mx.contrib.onnx.import_model(path)
        _compare([back.eval(**{k: mx.nd.array(v) for k, v in given.items()}, **arguments)[0].asnumpy()], there)
    with pytest.raises(mx.MXNetError, match="need opset 19"):
        _run(made, given, parameters, path, opset_version=17)


def test_what_a_conversion_cannot_let_vary_is_fixed(tmp_path):
    """Suppression needs the number of boxes, which a convolution lets vary: of what may vary the batch is left."""
    made = sym.contrib.box_nms(sym.Reshape(sym.var("x"), shape=(0, -1, 6)), coord_start=2, score_index=1, id_index=0)
    path = str(tmp_path / "m.onnx")
    mx.contrib.onnx.export_model(made, {}, [(1, 9, 6)], onnx_file_path=path, dynamic=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].shape == ["batch", 9, 6]
    rows = _boxes(3, 9).astype("float32")
    _compare([made.eval(x=mx.nd.array(rows))[0].asnumpy()], session.run(None, {"x": rows}))


def test_regions_of_no_image_are_zeros(tmp_path):
    """Feature pyramids mark the regions of other levels by image -1."""
    rng = np.random.default_rng(5)
    rois = [[0, 1, 1, 10, 12], [-1, -1, -1, -1, -1], [1, 0, 2, 9, 5]]
    made = sym.contrib.ROIAlign(sym.var("x"), sym.var("r"), pooled_size=(2, 3), spatial_scale=0.5, sample_ratio=2)
    here, there, _ = _run(made, {"x": rng.normal(size=(2, 3, 8, 8)), "r": rois}, {}, str(tmp_path / "m.onnx"))
    assert not there[0][1].any() and there[0][0].any()
    _compare(here, there)


@pytest.mark.parametrize("opset", [17, 18, 19])
def test_opsets(opset, tmp_path):
    """Axes of reductions and numbers of parts moved between 17 and 18."""
    x = sym.var("x")
    made = sym.Group([sym.mean(x, axis=1), sym.max(x, axis=2, keepdims=True), *sym.split(x, num_outputs=2, axis=1)])
    given = {"x": np.random.default_rng(3).normal(size=(3, 4, 5))}
    here, there, written = _run(made, given, {}, str(tmp_path / "m.onnx"), opset_version=opset)
    _compare(here, there)
    assert written == opset


def test_deformable_convolution_without_weights_of_its_places(tmp_path):
    """What other exporters write: no mask, uneven pads, no bias; against onnxruntime."""
    import onnx

    rng = np.random.default_rng(4)
    given = {"x": rng.normal(size=(1, 4, 6, 6)), "offset": 2 * rng.normal(size=(1, 36, 6, 5))}
    weight = onnx.numpy_helper.from_array(rng.normal(size=(4, 2, 3, 3)).astype("float32"), "w")
    node = onnx.helper.make_node(
        "DeformConv", ["x", "w", "offset"], ["y"], kernel_shape=[3, 3], pads=[1, 0, 1, 1], group=2, offset_group=2
    )
    inputs = [onnx.helper.make_tensor_value_info(k, onnx.TensorProto.FLOAT, v.shape) for k, v in given.items()]
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = onnx.helper.make_graph([node], "g", inputs, [output], [weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)], ir_version=9)
    path = str(tmp_path / "m.onnx")
    onnx.save(model, path)
    given = {k: v.astype("float32") for k, v in given.items()}
    there = onnxruntime.InferenceSession(path).run(None, given)
    back, arguments, _ = mx.contrib.onnx.import_model(path)
    _compare([back.eval(**{k: mx.nd.array(v) for k, v in given.items()}, **arguments)[0].asnumpy()], there)
