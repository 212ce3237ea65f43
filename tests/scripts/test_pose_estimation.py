"""SimplePose is trained on real persons of COCO, tested, and drawn; all of it small."""

import numpy as np
import pytest

from core import nd
from scripts.pose_estimation import demo, evaluation, train_simple_pose, validate

pytest.importorskip("pycocotools")


def test_training_resuming_and_validation(programs, data, tmp_path):
    given = ["--data-dir", data / "tiny_coco", "--input-size", "64,64", "--samples", 4, "--batch-size", 4]
    program = [train_simple_pose.main, *given, "--num-epochs", 3, "--lr", 0.0002, "--no-wd"]
    program += ["--val-split", "train2017", "--test-untrained", "--flip-test"]
    whole = programs(*program, into="whole")
    record = programs.record("whole")
    assert set(record["untrained"]) == {"AP", "AP50", "OKS"}
    losses = [row["loss"] for row in record["epochs"]]
    assert losses[-1] < losses[0] and 0 <= whole["heatmap_accuracy"] <= 1
    programs.interrupted(*program, rows=2, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    assert programs.record("twice") == record
    (saved,) = (tmp_path / "whole").rglob("simple_pose-0003.params")
    tested = [*map(str, given), "--val-split", "train2017", "--model", "simple_pose_resnet18_v1b", "--flip-test"]
    figures = validate.main([*tested, "--params-file", str(saved), "--log-dir", str(tmp_path)])
    assert (figures["AP"], figures["OKS"]) == (whole["AP"], whole["OKS"])
    alone = validate.main([*tested[:-1], "--params-file", str(saved), "--log-dir", str(tmp_path)])
    assert alone["OKS"] != whole["OKS"]  # without mirror images
    means = validate.main([*tested[:-1], "--dsnt", "--params-file", str(saved), "--log-dir", str(tmp_path)])
    assert 0 <= means["OKS"] <= 1


def test_joints_at_the_means_of_heat_maps():
    maps = np.zeros((1, 1, 64, 48), "float32")
    maps[0, 0, 20, 10:12] = 1  # the mean of two cells lies between them, a peak in one of them
    places, sure = evaluation.means(nd.array(maps), np.array([[300.0, 200.0]]), np.array([[120.0, 160.0]]))
    assert np.allclose(places.asnumpy(), [[[300 + (11 / 48 - 0.5) * 120, 200 + (20.5 / 64 - 0.5) * 160]]], atol=1e-3)
    assert sure.shape == (1, 1, 1)
    with pytest.raises(SystemExit, match="--dsnt is for simple_pose"):
        validate.main(["--model", "alpha_pose_resnet101_v1b_coco", "--dsnt"])


def test_alpha_pose_is_trained_and_tested(programs, data, tmp_path):
    given = ["--data-dir", data / "tiny_coco", "--input-size", "64,64", "--samples", 2, "--batch-size", 2]
    given += ["--model", "alpha_pose_resnet101_v1b_coco"]
    found = programs(train_simple_pose.main, *given, "--num-epochs", 1, "--sigma", 1, "--addDPG", into="alpha")
    assert found["loss"] > 0
    (saved,) = (tmp_path / "alpha").rglob("simple_pose-0001.params")
    tested = [*map(str, given), "--val-split", "train2017", "--params-file", str(saved), "--flip-test"]
    assert 0 <= validate.main([*tested, "--log-dir", str(tmp_path)])["AP"] <= 1


def test_the_demo_draws(data, tmp_path):
    from gluoncv.data.transforms.presets.ssd import load_test
    from gluoncv.model_zoo import get_model

    picture = str(data / "demo" / "soccer.png")
    detector = get_model("ssd_512_mobilenet1.0_coco", pretrained_base=False)
    pose = get_model("mobile_pose_mobilenetv3_small")
    for net, name in ((detector, "detector.params"), (pose, "pose.params")):
        net.initialize()
        net(nd.zeros((1, 3, 64, 64)))
        net.save_parameters(str(tmp_path / name))
    detector.reset_class(["person"], reuse_weights=["person"])
    scores = sorted(detector(load_test(picture, short=64)[0])[1].asnumpy().ravel())
    given = ["--detector", "ssd_512_mobilenet1.0_coco", "--detector-params", str(tmp_path / "detector.params")]
    given += [
        "--pose-model",
        "mobile_pose_mobilenetv3_small",
        "--pose-params",
        str(tmp_path / "pose.params"),
        "--short",
        "64",
    ]
    given += ["--threshold", str((scores[-3] + scores[-2]) / 2), "--save-dir", str(tmp_path), "--input-pic", picture]
    assert demo.main(given) >= 2 and (tmp_path / "soccer.png").stat().st_size > 1000
