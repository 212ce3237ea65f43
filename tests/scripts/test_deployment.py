"""Networks read from files and put on codes by the programs that test them."""

import numpy as np
import pytest

import core as mx
from gluoncv.model_zoo import get_model
from scripts.image_classification import validate
from scripts.object_detection import eval_ssd
from scripts.semantic_segmentation import test as segmentation


def test_a_classifier_is_calibrated_read_again_and_tested(data, weights, tmp_path, capsys):
    given = [
        *("--model", "cifar_resnet20_v1", "--pretrained", weights / "cifar_resnet20_v1_structural.params"),
        *("--data-dir", data / "cifar10", "--samples", 16, "--batch-size", 8, "--model-prefix", tmp_path / "net"),
    ]
    whole = validate.main([str(part) for part in given])
    made = validate.main([str(part) for part in (*given, "--calibration", "--num-calib-batches", 1)])
    assert made["layers"] >= 19
    read = validate.main([str(part) for part in (*given, "--deploy")])
    assert read["count"] == 16 and abs(read["right"] - whole["right"]) <= 1
    speed = validate.main([str(part) for part in (*given, "--benchmark", "--num-iterations", 2)])
    assert speed["samples/s"] > 0 and "samples/s in batches of 8" in capsys.readouterr().out


def test_files_of_a_detector_that_are_not_there_are_named(tmp_path):
    classes = ("disk", "square", "triangle")
    net = get_model("ssd_300_mobilenet0.25_custom", classes=classes, pretrained_base=False)
    net.initialize()
    net(mx.nd.zeros((1, 3, 64, 64)))
    net.save_parameters(str(tmp_path / "net.params"))
    given = [
        *"--dataset rendered --num-samples 2 --network mobilenet0.25 --data-shape 64 --batch-size 2".split(),
        *("--pretrained", str(tmp_path / "net.params"), "--model-prefix", str(tmp_path / "codes")),
    ]
    with pytest.raises(SystemExit, match=r"codes-symbol\.json"):
        eval_ssd.main([*given, "--deploy"])


def test_a_segmentation_network_is_measured():
    given = "--model fastscnn --dataset rendered --num-samples 1 --base-size 64 --crop-size 64 --benchmark --num-iterations 1"
    assert segmentation.main(given.split())["samples/s"] > 0
    assert np.isfinite(segmentation.main([*given.split(), "--batch-size", "2"])["samples/s"])
