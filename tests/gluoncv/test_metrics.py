"""Metrics of segmentation, pose, instances, proposals and tracking against counts by hand;
pycocotools judges the truth as perfect.
"""

import numpy as np
import pytest

import core as mx
from gluoncv.data import COCOInstance, COCOKeyPoints
from gluoncv.utils.metrics import (
    Accuracy,
    COCOInstanceMetric,
    COCOKeyPointsMetric,
    HeatmapAccuracy,
    SegmentationMetric,
    rcnn,
    segmentation,
    tracking,
)


def test_accuracy_without_some_labels():
    metric = Accuracy(ignore_labels=[2])
    metric.update([mx.nd.array([0, 1, 2, 1])], [mx.nd.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])])
    assert metric.get() == ("accuracy", pytest.approx(2 / 3))


def test_segmentation_by_hand():
    label = np.array([[[0, 0, 1, -1], [1, 1, 2, 2]]])
    found = np.array([[[0, 1, 1, 0], [1, 1, 2, 0]]])
    metric = SegmentationMetric(3)
    scores = mx.nd.array(np.eye(3)[found].transpose(0, 3, 1, 2))
    metric.update(mx.nd.array(label), scores)
    accuracy, overlap = metric.get()
    assert accuracy == pytest.approx(5 / 7)
    assert overlap == pytest.approx(np.mean([1 / 3, 3 / 4, 1 / 2]))
    metric.update([mx.nd.array(label)] * 2, [scores] * 2)
    assert metric.get() == pytest.approx((accuracy, overlap))
    assert segmentation.pixelAccuracy(np.array([1, 2, 3]), np.array([1, 2, 0])) == (1, 2, 2)
    for kind in ("int64", "float32"):  # what an array gives with asnumpy(), and what lies outside of all classes
        found = np.array([-1, 1, 1, 2, 5, 2], kind)
        inter, union = segmentation.intersectionAndUnion(found, np.array([1, 1, 2, 2, 2, 0], kind), 2)
        assert inter.tolist() == [1, 1] and union.tolist() == [3, 3]


def test_joints_in_their_place():
    label = np.zeros((1, 2, 20, 20), "float32")
    label[0, 0, 10, 10] = label[0, 1, 5, 8] = 1
    pred = np.roll(label, 3, axis=3)
    pred[0, 0] = label[0, 0]
    metric = HeatmapAccuracy()
    metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
    assert metric.get()[1] == 0.5


def test_proposals_and_masks():
    ones = mx.nd.ones((2, 3))
    for metric in (rcnn.RPNAccMetric(), rcnn.MaskAccMetric(), rcnn.MaskFGAccMetric()):
        metric.update([ones, ones], [mx.nd.array([[1, 1, -1], [1, -1, -1]])])
        assert metric.get()[1] == 0.5
    metric = rcnn.RCNNL1LossMetric()
    metric.update([ones, ones], [ones * 3])
    assert metric.get() == ("RCNNL1Loss", pytest.approx(6 * 1.5 / (6 / 4)))


def test_the_truth_is_perfect_for_coco(data, tmp_path):
    pytest.importorskip("pycocotools")
    truth = COCOInstance(str(data / "tiny_coco"), "instances_train2017")
    metric = COCOInstanceMetric(truth, tmp_path / "found", cleanup=True)
    for number in sorted(truth.coco.getImgIds()):
        found = truth.coco.loadAnns(truth.coco.getAnnIds(imgIds=number, iscrowd=False))
        size = truth.coco.loadImgs(number)[0]
        boxes = np.array([a["bbox"] for a in found]).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        labels = np.array([truth.json_id_to_contiguous[a["category_id"]] for a in found])
        masks = np.stack([*map(truth.coco.annToMask, found), np.zeros((size["height"], size["width"]))])[: len(found)]
        metric.update(boxes, labels, np.ones(len(found)), masks)
    names, values = metric.get()
    assert names[1] == "~~~~ Mean AP for bbox ~~~~\n" and values[1] == "100.0" and values[3] == "100.0"

    persons = COCOKeyPoints(str(data / "tiny_coco"), "person_keypoints_train2017")
    metric = COCOKeyPointsMetric(persons, tmp_path / "found", use_time=False)
    samples = [persons[k] for k in range(len(persons))]
    add_joints(metric, samples, 0)
    figures, precision = metric.get()
    assert precision == figures["AP"] == 1 and (tmp_path / "found.json").exists()
    assert metric.similarity == 1


def test_similarity_of_joints_that_are_beside_the_truth(data, tmp_path):
    pytest.importorskip("pycocotools")
    from pycocotools.cocoeval import Params

    persons = COCOKeyPoints(str(data / "tiny_coco"), "person_keypoints_train2017")
    alone = next(
        k for k in range(len(persons))
        if len(persons.coco.getAnnIds(imgIds=int(persons[k][2]), iscrowd=False)) == 1
    )  # fmt: skip
    _, label, number = persons[alone]
    metric = COCOKeyPointsMetric(persons, tmp_path / "found", use_time=False)
    add_joints(metric, [persons[alone]], 5)
    metric.get()
    # Lin et al.: exp(-d^2 / (2 area k^2)) with k twice the deviation of a joint, over the joints that are labelled.
    area = persons.coco.loadAnns(persons.coco.getAnnIds(imgIds=int(number)))[0]["area"]
    widths = 2 * Params("keypoints").kpt_oks_sigmas[label["joints_3d"][:, 0, 1] > 0]
    annotated = sum(a["num_keypoints"] > 0 and not a["iscrowd"] for a in persons.coco.anns.values())
    want = np.exp(-(5**2) / (2 * area * widths**2)).mean() / annotated
    np.testing.assert_allclose(metric.similarity, want, rtol=1e-3)


def add_joints(metric, samples, shift):
    for _, label, number in samples:
        joints = label["joints_3d"][None, :, :2, 0] + np.array([shift, 0])
        metric.update(
            mx.nd.array(joints), mx.nd.ones((1, 17, 1)), mx.nd.ones((1,)), mx.nd.array([number], dtype="int32")
        )


def test_followed_targets(capsys):
    class Video:
        name, pred_trajs = "video", {}
        gt_traj = [[10, 10, 20, 20]] * 4

        def load_tracker(self, path, name, store):
            return [[10, 10, 20, 20], [10, 10, 20, 10], [40, 40, 20, 20], [10, 15, 20, 20]]

    class Videos(list):
        tracker_names, tracker_path = ["one"], ""

    benchmark = tracking.OPEBenchmark(Videos([Video()]))
    success, precision = benchmark.eval_success(), benchmark.eval_precision()
    np.testing.assert_allclose(success["one"]["video"][[0, 11, 20]], [3 / 4, 2 / 4, 0])
    assert precision["one"]["video"][20] == 3 / 4 and benchmark.eval_norm_precision("one")["one"]["video"][50] == 3 / 4
    benchmark.show_result(success, precision, show_video_level=True)
    assert "one" in capsys.readouterr().out
    assert tracking.Iou([0, 0, 2, 2], [1, 0, 3, 2]) == pytest.approx(1 / 3)
