"""The program that trains single shot detectors: its data, a short run, and going on after it."""

import json

import numpy as np
import pytest

import core as mx
from scripts.object_detection import (
    detection,
    eval_center_net,
    eval_faster_rcnn,
    eval_ssd,
    eval_yolo,
    train_center_net,
    train_faster_rcnn,
    train_ssd,
    train_yolo3,
)
from scripts.object_detection.datasets import Rendered

SMALL = "--dataset rendered --network mobilenet0.25 --data-shape 48 --num-samples 4 --batch-size 2 --lr-decay-epoch 9".split()


def test_rendered_boxes_hold_what_is_drawn():
    for picture, boxes in (Rendered(6, 64)[i] for i in range(6)):
        assert len(boxes)
        drawn = (picture.astype(int) < 90) | (picture.astype(int) >= 130)
        drawn = drawn.any(axis=2)
        for left, top, right, bottom, *_ in boxes.astype(int):
            drawn[top : bottom + 1, left : right + 1] = False
        assert not drawn.any()


def test_pictures_are_resized_and_mirrored():
    np.random.seed(1)
    picture = np.zeros((10, 10, 3), "uint8")
    picture[2:4, 1:3] = 255
    picture, label = mx.nd.array(picture, dtype="uint8"), np.array([[1, 2, 2, 3, 1, 0]])
    seen = set()
    for _ in range(8):
        data, boxes = train_ssd.MirroredTrainTransform(10, 10)(picture, label)
        left = boxes[0, 0]
        assert boxes[0].tolist() == [left, 2, left + 1, 3, 1, 0]
        assert (data.asnumpy()[0] > 1).nonzero()[1].tolist() == [left, left + 1] * 2
        seen.add(left)
    assert seen == {1, 7}
    data, boxes = train_ssd.MirroredTrainTransform(20, 40)(picture, label)
    assert data.shape == (3, 40, 20) and boxes[0, [1, 3]].tolist() == [8, 12]


def test_coco_boxes(data):
    pytest.importorskip("pycocotools")
    args = train_ssd.parse_args(["--dataset", "coco", "--dataset-root", str(data / "tiny_coco"), "--data-shape", "64"])
    args.coco_splits = ("train2017", "train2017")
    train, test, metric = train_ssd.datasets(args, (64, 64))
    assert (len(train), len(test)) == (49, 50) and len(metric._img_ids) == 50
    for pictures in (train, test):
        for picture, boxes in (pictures[k] for k in range(len(pictures))):
            height, width = picture.shape[:2]
            boxes = boxes[boxes[:, 4] >= 0]
            assert (boxes[:, 2] < width).all() and (boxes[:, 3] < height).all()
            assert set(boxes[:, 4]) <= set(metric.dataset.contiguous_id_to_json)


def test_a_run_and_its_resumption(tmp_path):
    where = ["--log-dir", str(tmp_path / "logs"), "--save-dir", str(tmp_path / "states")]
    whole = train_ssd.main([*SMALL, "--no-pretrained-base", "--epochs", "2", *where])
    first = json.loads((tmp_path / "logs" / "object_detection" / "ssd.json").read_text())
    assert [sorted(row) for row in first["epochs"]] == [["box_loss", "class_loss", "epoch", "mAP"]] * 2
    assert np.isfinite([row["class_loss"] for row in first["epochs"]]).all()
    again = train_ssd.main([*SMALL, "--no-pretrained-base", "--epochs", "2", "--resume", *where])
    assert again == whole


RENDERED = "--dataset rendered --num-samples 4 --batch-size 2 --data-shape 64".split()
SHORT = [*RENDERED, "--val-interval", "3", "--no-pretrained-base", "--lr", "0.0005"]
YOLO = [
    train_yolo3.main,
    *SHORT,
    *"--network mobilenet0.25 --no-random-shape --mixup --no-mixup-epochs 1 --label-smooth".split(),
]


@pytest.mark.parametrize("program, what", [(YOLO, "object_loss"), ([train_center_net.main, *SHORT], "heatmap_loss")])
def test_losses_fall_and_runs_resume(programs, program, what):
    whole = programs(*program, "--epochs", 3, into="whole")
    record = programs.record("whole")
    losses = [row[what] for row in record["epochs"]]
    assert losses[-1] < losses[0] and 0 <= whole["mAP"] <= 1
    programs.interrupted(*program, "--epochs", 3, rows=2, into="twice")
    assert programs(*program, "--epochs", 3, "--resume", into="twice") == whole
    assert programs.record("twice") == record


@pytest.mark.parametrize(
    "program, train, network",
    [(eval_ssd, train_ssd.detector, "mobilenet0.25"), (eval_yolo, train_yolo3.network, "mobilenet0.25"),
     (eval_center_net, train_center_net.network, "resnet18_v1b")],
)  # fmt: skip
def test_saved_weights_are_evaluated(tmp_path, program, train, network):
    args = train_yolo3.parse_args([*SHORT, "--network", network])
    args.syncbn = False
    net = train(args, ("disk", "square", "triangle"), [mx.cpu()])
    net(mx.nd.zeros((1, 3, 64, 64)))
    net.save_parameters(str(tmp_path / "net.params"))
    given = [*RENDERED, "--network", network, "--pretrained", str(tmp_path / "net.params")]
    found = program.main([*given, "--save-prefix", "found", "--log-dir", str(tmp_path)])
    assert 0 <= found["mAP"] <= 1
    assert json.loads((tmp_path / "object_detection" / "found.json").read_text())["final"] == found


REGIONS = """--dataset rendered --num-samples 2 --batch-size 2 --network resnet18_v1b --image-short 64 --image-max-size 64
    --anchor-base-size 8 --num-fpn-filters 8 --rpn-channel 8 --num_box_head_dense_filters 16 --rcnn-num-samples 16
    --rpn-train-post-nms 32 --rpn-test-post-nms 16 --anchor-alloc-size 16,16""".split()


def test_faster_rcnn_learns_resumes_and_is_evaluated(programs, tmp_path):
    program = [
        train_faster_rcnn.main,
        *REGIONS,
        *"--lr 0.02 --val-interval 2 --no-pretrained-base --epochs 2 --mixup --no-mixup-epochs 0".split(),
    ]
    whole = programs(*program, into="whole")
    record = programs.record("whole")
    first, second = record["epochs"]
    assert second["rpn_class_loss"] < first["rpn_class_loss"] and second["class_loss"] < first["class_loss"]
    programs.interrupted(*program, rows=2, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    assert programs.record("twice") == record
    (saved,) = (tmp_path / "whole").rglob("faster_rcnn-0002.params")
    assert eval_faster_rcnn.main([*REGIONS, "--pretrained", str(saved)]) == whole
    everything = eval_faster_rcnn.main([*REGIONS, "--eval-all", "--save-prefix", str(saved)[: -len("2.params")]])
    assert everything[str(saved)] == whole


def test_rendered_pictures_for_tests_are_others():
    args = train_ssd.parse_args(SMALL)
    train, test, _ = train_ssd.datasets(args, (48, 48))
    assert len(train) == len(test) == 4
    seen = [train[k][0].asnumpy() for k in range(4)]
    assert not any((test[k][0].asnumpy() == picture).all() for k in range(4) for picture in seen)
    assert detection.data_files(args) == {"rendered": "4 pictures, seed 0; tested on as many others, seed 1"}
