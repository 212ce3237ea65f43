"""The program that trains single shot detectors: its data, a short run, and going on after it."""

import json

import numpy as np
import pytest

from scripts.object_detection import train_ssd
from scripts.object_detection.datasets import Plain, Rendered

SMALL = "--dataset rendered --network mobilenet0.25 --data-shape 48 --num-samples 4 --batch-size 2 --lr-decay-epoch 9".split()


def test_rendered_boxes_hold_what_is_drawn():
    for picture, boxes in (Rendered(6, 64)[i] for i in range(6)):
        assert len(boxes)
        drawn = (picture.astype(int) < 90) | (picture.astype(int) >= 130)
        drawn = drawn.any(axis=2)
        for left, top, right, bottom, *_ in boxes.astype(int):
            drawn[top : bottom + 1, left : right + 1] = False
        assert not drawn.any()


def test_batches_are_resized_mirrored_and_padded():
    np.random.seed(1)
    picture = np.zeros((20, 40, 3), "uint8")
    data, truth = train_ssd.Batch(10)(
        [(picture, np.array([[4, 2, 8, 6, 1, 0]], "float32")), (picture, np.zeros((0, 6), "float32"))]
    )
    assert data.shape == (2, 3, 10, 10)
    assert truth.asnumpy().tolist() == [[[1, 1, 2, 3, 1, 0]], [[-1] * 6]]


def test_coco_boxes(data):
    pytest.importorskip("pycocotools")
    args = train_ssd.parse_args(["--dataset", "coco", "--dataset-root", str(data / "tiny_coco"), "--data-shape", "64"])
    args.coco_splits = ("train2017", "train2017")
    train, test, metric = train_ssd.datasets(args)
    assert isinstance(train, Plain) and (len(train), len(test)) == (49, 50) and len(metric._img_ids) == 50
    for pictures in (train, test):
        for picture, boxes in (pictures[k] for k in range(len(pictures))):
            assert (
                boxes.shape[1] == 6
                and (boxes[:, 2] < picture.shape[1]).all()
                and (boxes[:, 3] < picture.shape[0]).all()
            )
            assert set(boxes[:, 4]) <= set(metric.dataset.contiguous_id_to_json)


def test_a_run_and_its_resumption(tmp_path):
    where = ["--log-dir", str(tmp_path / "logs"), "--save-dir", str(tmp_path / "states")]
    whole = train_ssd.main([*SMALL, "--epochs", "2", *where])
    first = json.loads((tmp_path / "logs" / "object_detection" / "ssd.json").read_text())
    assert [sorted(row) for row in first["epochs"]] == [["box_loss", "class_loss", "epoch", "mAP"]] * 2
    assert np.isfinite([row["class_loss"] for row in first["epochs"]]).all()
    again = train_ssd.main([*SMALL, "--epochs", "2", "--resume", *where])
    assert again == whole
