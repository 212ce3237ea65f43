"""Metrics of detection against a published example, a figure computed by hand, and pycocotools."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from core import nd
from gluoncv.utils.bbox import bbox_clip_xyxy, bbox_iou, bbox_xywh_to_xyxy, bbox_xyxy_to_xywh
from gluoncv.utils.metrics import COCODetectionMetric, VOC07MApMetric, VOCMApMetric


@pytest.mark.parametrize(("metric", "want"), [(VOC07MApMetric, 0.2684), (VOCMApMetric, 0.2457)])
def test_published_example(metric, want, data):
    """Sample 2 of rafaelpadilla/Object-Detection-Metrics at an overlap of 0.3: figures of its README."""
    folder = data / "detection_metric_example"
    truth, found = (_rows(folder / name) for name in ("groundtruths.txt", "detections.txt"))
    computed = metric(iou_thresh=0.3)
    for image in sorted(truth.keys() | found.keys()):
        boxes, detections = (
            np.array(rows.get(image, []), float).reshape(-1, n) for rows, n in ((truth, 4), (found, 5))
        )
        corners = [np.hstack([b[:, -4:-2], b[:, -4:-2] + b[:, -2:]]) for b in (detections, boxes)]
        computed.update(
            [corners[0][None]], [np.zeros((1, len(detections)))], [detections[None, :, 0]],
            [corners[1][None]], [np.zeros((1, len(boxes)))],
        )  # fmt: skip
    assert computed.get() == ("VOCMeanAP", pytest.approx(want, abs=5e-5))


def _rows(path):
    rows = {}
    for line in path.read_text().splitlines()[1:]:
        image, _, *numbers = line.split()
        rows.setdefault(image, []).append([float(number) for number in numbers])
    return rows


def test_classes_difficult_boxes_and_repeated_detections():
    """Class 0: found, found again (wrong), missed, so precision 1 up to a recall of 1/2.

    Class 1: a difficult box alone.
    """
    boxes = np.array([[[0, 0, 9, 9], [50, 50, 59, 59], [20, 20, 29, 29], [-1, -1, -1, -1]]], "float32")
    labels, hard = np.array([[0, 0, 1, -1]], "float32"), np.array([[0, 0, 1, 0]], "float32")
    found = np.array([[[0, 0, 9, 9], [0, 0, 9, 8], [20, 20, 29, 29], [-1] * 4]], "float32")
    metric = VOCMApMetric(class_names=["a", "b", "c"])
    arrays = [found, np.array([[[0], [0], [1], [-1]]]), np.array([[[0.9], [0.8], [0.7], [-1]]]), boxes, labels, hard]
    metric.update(*([nd.array(array)] for array in arrays))
    names, values = metric.get()
    assert names == ["a", "b", "c", "mAP"]
    assert values[0] == values[3] == pytest.approx(0.5)
    assert np.isnan(values[1:3]).all()
    metric.reset()
    assert np.isnan(metric.get()[1]).all()


def test_coco(tmp_path):
    """A box that is found in full and one that overlaps by 0.6: both count at 0.5, 0.55 and 0.6,
    one at the other seven.
    """
    pycocotools = pytest.importorskip("pycocotools.coco")
    boxes = [[10, 10, 50, 50], [80, 80, 50, 50]]
    annotations = [
        {"id": i, "image_id": 7, "category_id": 3, "bbox": box, "area": 2500, "iscrowd": 0}
        for i, box in enumerate(boxes, 1)
    ]
    path = tmp_path / "annotations.json"
    images = [{"id": 7, "width": 200, "height": 200}]
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": [{"id": 3, "name": "x"}]}))
    dataset = SimpleNamespace(coco=pycocotools.COCO(str(path)), classes=["x"], contiguous_id_to_json={0: 3})
    # Of a picture of half the size; the second one is 30 of 50 pixels high. Right and bottom belong to the box.
    found = np.array([[[10, 10, 59, 59], [80, 80, 129, 109], [0, 0, 5, 5]]], "float32")
    metric = COCODetectionMetric(dataset, tmp_path / "found", use_time=False, cleanup=True)
    metric.update(nd.array(found), nd.array([[[0], [0], [-1]]]), nd.array([[[0.9], [0.8], [-1]]]))
    names, values = metric.get()
    assert names[1:] == ["x", "~~~~ MeanAP @ IoU=[0.50,0.95] ~~~~\n"]
    # Precision is 1 up to the recall that is reached; 51 of 101 recalls are at most 1/2.
    want = 100 * (3 + 7 * 51 / 101) / 10
    assert [float(value) for value in values[1:]] == [pytest.approx(want, abs=0.05)] * 2
    scaled = COCODetectionMetric(dataset, tmp_path / "found", use_time=False, data_shape=(100, 50))
    scaled.update(
        nd.array([[[2.5, 5, 14.75, 29.5], [20, 40, 32.25, 54.5]]]), nd.array([[[0], [0]]]), nd.array([[[0.9], [0.8]]])
    )
    assert scaled.get()[1][1:] == values[1:]


def test_boxes():
    boxes = np.array([[0.0, 0, 9, 9], [5, 5, 30, 12]])
    assert bbox_iou(boxes, boxes, offset=1)[0, 1] == pytest.approx(25 / (100 + 26 * 8 - 25))
    assert bbox_xyxy_to_xywh((1, 2, 3, 5)) == (1, 2, 3, 4)
    assert (bbox_xywh_to_xyxy(bbox_xyxy_to_xywh(boxes)) == boxes).all()
    assert (bbox_clip_xyxy(boxes, 20, 10) == [[0, 0, 9, 9], [5, 5, 19, 9]]).all()
    with pytest.raises(IndexError, match="a box has 4 numbers, given 3"):
        bbox_xyxy_to_xywh((1, 2, 3))
    with pytest.raises(TypeError, match="given str"):
        bbox_xyxy_to_xywh("1234")
