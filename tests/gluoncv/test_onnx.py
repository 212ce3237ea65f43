"""Detectors leave as ONNX files with their decoders and suppression, and find the same in onnxruntime."""

import numpy as np
import pytest

import core as mx
from gluoncv.model_zoo import get_model

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

# detector: size of random weights that gives scores between 0 and 1
DETECTORS = {"ssd_512_mobilenet1.0_voc": 2, "yolo3_mobilenet1.0_voc": 2, "center_net_resnet18_v1b_dcnv2_voc": 0.3}


def _leaves(values):
    for v in values if isinstance(values, (list, tuple)) else [values]:
        yield from _leaves(v) if isinstance(v, (list, tuple)) else [v]


@pytest.mark.parametrize("name", DETECTORS)
def test_detectors_with_decoders(name, tmp_path):
    shape = (1, 3, 64, 64)
    mx.random.seed(0)
    net = get_model(name, pretrained_base=False)
    net.initialize(mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=DETECTORS[name]))
    x = mx.nd.array(np.random.default_rng(0).normal(size=shape))
    net.hybridize()
    expected = [y.asnumpy() for y in _leaves(net(x))]
    assert np.ptp(expected[1]) > 1e-3  # scores that differ
    prefix, path = str(tmp_path / "net"), str(tmp_path / "net.onnx")
    net.export(prefix)
    mx.contrib.onnx.export_model(f"{prefix}-symbol.json", f"{prefix}-0000.params", [shape], onnx_file_path=path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: x.asnumpy()})
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-2)


# network: (shapes of the inputs, size of random weights, what those of predictors are scaled by), so that scores spread
NETWORKS = {
    "ssd_300_vgg16_atrous_voc": ([(1, 3, 300, 300)], 2, 0.01),
    "yolo3_darknet53_voc": ([(1, 3, 64, 64)], 1, 1),
    "center_net_dla34_coco": ([(1, 3, 128, 128)], 1, 1),
    "mask_rcnn_fpn_resnet18_v1b_coco": ([(1, 3, 128, 128)], 2, 1),
    "monodepth2_resnet18_kitti_mono_640x192": ([(1, 3, 192, 640)], 0.3, 1),
    "monodepth2_resnet18_posenet_kitti_mono_640x192": ([(1, 6, 64, 128)], 2, 1),
    "siamrpn_alexnet_v2_otb15": ([(1, 3, 127, 127), (1, 3, 287, 287)], 2, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_all_kinds(name, tmp_path):
    shapes, magnitude, scale = NETWORKS[name]
    mx.random.seed(0)
    net = get_model(name, **({} if name.startswith("siam") else {"pretrained_base": False}))
    net.initialize(mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=magnitude))
    rng = np.random.default_rng(0)
    given = [mx.nd.array(rng.normal(size=s)) for s in shapes]
    net(*given)
    for parameter in net.collect_params(".*predictor.*").values():
        parameter.set_data(parameter.data() * scale)
    net.hybridize()
    expected = [y.asnumpy() for y in _leaves(net(*given))]
    assert all(np.ptp(y) > 1e-3 for y in expected[-2:])
    files, path = net.export(str(tmp_path / "net")), str(tmp_path / "net.onnx")
    inputs = {"data": given[0]} if len(given) == 1 else {f"data{i}": x for i, x in enumerate(given)}
    mx.onnx.export_model(*files, {n: x.shape for n, x in inputs.items()}, onnx_file_path=path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = session.run(None, {n: x.asnumpy() for n, x in inputs.items()})
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4 * np.abs(b).max())
