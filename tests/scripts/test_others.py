"""Weights that others published in files of their own kind, where the packages that carry them are installed."""

import base64
import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from core import nd
from core.base import MXNetError
from scripts.common.packaged import PACKAGES, checkpoint_folder
from scripts.image_classification import nsfwjs, validate_others
from scripts.image_classification.tflite import weights_of


def carried(name):
    package = PACKAGES[name][0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed, which carries the weights")
    return checkpoint_folder(name)


def pictures(data, count):
    return validate_others.listed(data / "imagenet_samples")[:count]


def test_quantized_files_are_read_without_a_package(weights, tmp_path):
    files = [weights / name for name in validate_others.TFLITE]
    layers = [layer for file in files for layer in weights_of(file)]
    assert len(layers) == 28
    assert [layer[0].shape for layer in layers[:3]] == [(32, 3, 3, 3), (1, 3, 3, 32), (64, 1, 1, 32)]
    assert layers[-1][1].shape == (1001,)
    (tmp_path / "short.tflite").write_bytes(files[0].read_bytes()[:5000])
    with pytest.raises(MXNetError, match="is damaged"):
        weights_of(tmp_path / "short.tflite")
    (tmp_path / "other.tflite").write_bytes(b"nothing of that kind")
    with pytest.raises(MXNetError, match=r"no \.tflite file"):
        weights_of(tmp_path / "other.tflite")


def test_a_mobilenet_of_google_coral_knows_pictures(weights, data):
    net = validate_others.mobilenet([weights / name for name in validate_others.TFLITE])
    row = validate_others.counted("", net, validate_others.turned, pictures(data, 8), "")
    assert row["right"] >= 6


def test_torchvisions_mobilenet_knows_pictures_without_conversion(data):
    from gluoncv.model_zoo import get_model

    net = get_model("mobilenetv2_1.0", pretrained=carried("torchvision-mobilenet-v2"))
    row = validate_others.counted("", net, net.preprocess, pictures(data, 8), "")
    assert row["right"] >= 6


@pytest.mark.slow
def test_all_pictures_are_known_as_well_as_by_their_own_runtimes(weights, data):
    """torchvision finds 85 and 97 of 100, LiteRT 91 and 99 (dequantized: 91 and 98)."""
    from gluoncv.model_zoo import get_model

    net = validate_others.mobilenet([weights / name for name in validate_others.TFLITE])
    row = validate_others.counted("", net, validate_others.turned, pictures(data, 100), "")
    assert (row["right"], row["among five"]) in ((91, 98), (91, 99))
    net = get_model("mobilenetv2_1.0", pretrained=carried("torchvision-mobilenet-v2"))
    row = validate_others.counted("", net, net.preprocess, pictures(data, 100), "")
    assert abs(row["right"] - 85) <= 1 and abs(row["among five"] - 97) <= 1  # pixels of one decoder or another


@pytest.mark.parametrize(
    ("folder", "known"),
    [("mobilenet_v2", (0.696141, 0.0146534, 0.284794, 0.00324524, 0.00116688)),
     ("inception_v3", (0.317243, 0.0182751, 0.653607, 0.00785689, 0.00301794))],
)  # fmt: skip
def test_networks_of_nsfwjs_answer_as_tfjs_does(folder, known):
    """Probabilities that tfjs 4.22.0 gives for a picture of fractions; MXTEST_NSFWJS: dist/models of nsfwjs 4.4.0."""
    if "MXTEST_NSFWJS" not in os.environ:
        pytest.skip("MXTEST_NSFWJS does not name the folder of models of npm's nsfwjs 4.4.0")
    make, size, turned, _ = nsfwjs.NETWORKS[folder]
    x = (np.arange(size * size * 3, dtype="float64").reshape(1, size, size, 3) * 0.61803398875 % 1).astype("float32")
    x = nd.array(x.transpose(0, 3, 1, 2))
    net = make(nsfwjs.weights_of(Path(os.environ["MXTEST_NSFWJS"]) / folder))
    got = nd.softmax(net(x[:, :, ::-1, ::-1] if turned else x)).asnumpy()[0]
    np.testing.assert_allclose(got, known, atol=3e-5)


def test_files_of_nsfwjs_are_read_as_text(tmp_path):
    codes = np.arange(1000) % 256
    (tmp_path / "group1-shard1of1.min.js").write_text(f'x="{base64.b64encode(codes.astype("uint8")).decode()}"')
    row = '{name:"a/kernel",shape:[10,100],dtype:"float32",quantization:{min:-1.5,scale:.5,dtype:"uint8"}}'
    (tmp_path / "model.min.js").write_text(f"weights:[{row}]")
    np.testing.assert_array_equal(nsfwjs.weights_of(tmp_path)["a/kernel"], codes.reshape(10, 100) * 0.5 - 1.5)
    (tmp_path / "model.min.js").write_text(f"weights:[{row.replace('100', '99')}]")
    with pytest.raises(MXNetError, match=r"1000 bytes of weights, of which model\.min\.js names 990"):
        nsfwjs.weights_of(tmp_path)
    with pytest.raises(MXNetError, match="no weights of nsfwjs"):
        nsfwjs.weights_of(tmp_path / "nothing")


def test_the_open_nsfw_network_answers_as_onnxruntime_does():
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed, whose answers are expected")
    row = validate_others.open_nsfw(carried("open-nsfw"), pictures(2))
    assert row["probabilities apart"] < 1e-6
    assert np.isfinite(row["highest"])
