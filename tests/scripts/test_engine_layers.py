"""Networks taken apart beside OpenVINO, layer by layer."""

import json

import pytest

from core.kernels.cpu import onednn
from scripts.benchmarks import engine_layers
from scripts.benchmarks.engine_layers import BEGIN, MATRICES, OTHERS, of_lines


def test_lines_of_the_libraries_become_sums_by_layer():
    made = "onednn_verbose,exec,cpu,{},jit:avx512_core,forward_inference,lies,attr,alg:x,{},{}"
    by_channel = "g32mb1_ic32oc32_ih112oh112kh3sh1dh0ph1_iw112ow112kw3sw1dw0pw1"
    call = [
        made.format("convolution", "mb1_ic3oc32_ih224oh112kh3sh2dh0ph1_iw224ow112kw3sw2dw0pw1", 0.5),
        made.format("convolution", by_channel, 0.25),
        made.format("convolution", by_channel, 0.5),
        made.format("inner_product", "mb1ic1024oc1000", 0.125),
        made.format("pooling", "mb1ic1024_ih7oh1", 0.0625),
    ]
    first, each = "conv, 3 to 32 at 224 x 224 to 112 x 112", "conv by channel, 32 at 112 x 112"
    expected = {first: [0.5], each: [0.75], MATRICES: [0.125], OTHERS: [0.0625]}
    assert of_lines(["onednn_verbose,info,oneDNN", *call[:1], BEGIN, *call]) == expected
    assert of_lines([BEGIN, f"OpenVINO: {first}: 0.5", BEGIN, f"OpenVINO: {each}: 2"]) == {
        first: [0.5, 0.0],
        each: [0.0, 2.0],
    }


@pytest.mark.skipif(onednn.loaded() is None, reason="needs the extra `onednn` on an x86 processor")
def test_a_small_network_is_taken_apart(tmp_path):
    pytest.importorskip("openvino")
    pytest.importorskip("onnx")
    rows = engine_layers.main(
        ["MobileNet 1.0, batch 1", "--small", "--calls", "2", "--threads", "1", "--logs", str(tmp_path)]
    )
    (row,) = (row for row in rows if row["layer"] == "conv by channel, 64 at 32 x 32 to 16 x 16")
    assert row["ours, ms"] > 0 and row["OpenVINO, ms"] > 0
    assert rows[-1]["layer"] == OTHERS
    path = tmp_path / "benchmarks" / "engine_layers_mobilenet_1_0_batch_1.json"
    assert json.loads(path.read_text())["rows"] == rows
