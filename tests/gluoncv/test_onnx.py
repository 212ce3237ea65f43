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
