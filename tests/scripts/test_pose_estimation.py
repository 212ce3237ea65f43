"""SimplePose is trained on real persons of COCO, tested, and drawn; all of it small."""

import pytest

from core import nd
from scripts.pose_estimation import demo, train_simple_pose, validate

pytest.importorskip("pycocotools")


def test_training_resuming_and_validation(programs, data, tmp_path):
    given = ["--data-dir", data / "tiny_coco", "--input-size", "64,64", "--samples", 4, "--batch-size", 4]
    program = [train_simple_pose.main, *given, "--num-epochs", 3, "--lr", 0.0002, "--no-wd"]
    program += ["--val-split", "train2017", "--test-untrained"]
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
    figures = validate.main([*tested[:-1], "--params-file", str(saved), "--log-dir", str(tmp_path)])
    assert figures["AP"] == whole["AP"]


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
