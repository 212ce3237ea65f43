"""Operators of boxes against naive loops, the definitions of the papers, and answers of MXNet 1.9.1."""

import numpy as np
import pytest

from core import autograd
from core import ndarray as nd
from core.base import MXNetError
from core.kernels.cpu import boxes


def random_boxes(random, *shape):
    ends = random.rand(*shape, 2, 2)
    return np.concatenate([ends.min(-2), ends.max(-2)], -1).astype("float32")


def iou(a, b):
    width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    return width * height / union if width * height > 0 else 0.0


def naive_nms(rows, threshold, valid=0.0, topk=-1, by_class=False):
    order = [i for i in np.argsort(-rows[:, 1], kind="stable") if rows[i, 1] > valid]
    order = order if topk < 0 else order[:topk]
    kept = []
    for i in order:
        rivals = (j for j in kept if not by_class or rows[i, 0] == rows[j, 0])
        if all(iou(rows[i, 2:], rows[j, 2:]) <= threshold for j in rivals):
            kept.append(i)
    return np.vstack([rows[kept], np.full((len(rows) - len(kept), 6), -1)]), kept


@pytest.mark.parametrize("options", [{}, {"topk": 30}, {"valid_thresh": 0.4}, {"id_index": 0}])
@pytest.mark.parametrize("count", [1, 40, 600])
def test_suppression(count, options):
    random = np.random.RandomState(count)
    rows = np.concatenate([random.randint(0, 3, (count, 1)), random.rand(count, 1), random_boxes(random, count)], 1)
    rows = rows.astype("float32")
    y = nd.contrib.box_nms(nd.array(rows), overlap_thresh=0.3, **options).asnumpy()
    expected, _ = naive_nms(rows, 0.3, options.get("valid_thresh", 0), options.get("topk", -1), "id_index" in options)
    np.testing.assert_array_equal(y, expected.astype("float32"))


def test_a_long_chain_of_suppression_is_settled_in_order():
    # Every box overlaps its neighbours alone, so every second one survives.
    left = np.arange(700) * 0.6
    rows = np.stack([0 * left, np.linspace(1, 0.1, 700), left, 0 * left, left + 1, 0 * left + 1], 1)
    y = nd.contrib.box_nms(nd.array(rows), overlap_thresh=0.2).asnumpy()
    np.testing.assert_allclose(y[:350, 2], left[::2], rtol=1e-6)
    assert (y[350:] == -1).all()


def test_the_gradient_of_suppression_goes_to_the_rows_that_stay():
    random = np.random.RandomState(3)
    rows = np.concatenate([random.rand(2, 20, 2), random_boxes(random, 2, 20)], -1).astype("float32")
    x = nd.array(rows)
    x.attach_grad()
    with autograd.record():
        y = nd.contrib.box_nms(x, overlap_thresh=0.2)
    head = random.randn(2, 20, 6).astype("float32")
    y.backward(nd.array(head))
    expected = np.zeros_like(rows)
    for image in range(2):
        _, kept = naive_nms(rows[image], 0.2)
        expected[image, kept] = head[image, : len(kept)]
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)


def test_classes_of_the_background_are_dropped_and_formats_change():
    rows = nd.array([[0, 0.9, 0.5, 0.5, 0.4, 0.2], [1, 0.8, 0.5, 0.5, 0.4, 0.2]])
    y = nd.contrib.box_nms(rows, id_index=0, background_id=0, in_format="center", out_format="corner")
    np.testing.assert_allclose(y.asnumpy(), [[1, 0.8, 0.3, 0.4, 0.7, 0.6], [-1] * 6], rtol=1e-6)


def test_overlaps():
    random = np.random.RandomState(0)
    a, b = random_boxes(random, 2, 3), random_boxes(random, 4)
    expected = [[[iou(p, q) for q in b] for p in image] for image in a]
    np.testing.assert_allclose(nd.contrib.box_iou(nd.array(a), nd.array(b)).asnumpy(), expected, rtol=1e-5)
    centers = nd.array([[0.5, 0.5, 1, 1]]), nd.array([[1, 0.5, 1, 1], [0.5, 0.5, 0, 0]])
    np.testing.assert_allclose(nd.contrib.box_iou(*centers, format="center").asnumpy(), [[1 / 3, 0]], rtol=1e-6)


def test_decoding_undoes_encoding():
    random = np.random.RandomState(1)
    anchors, truth = random_boxes(random, 1, 6) + [0, 0, 0.1, 0.1], random_boxes(random, 1, 4) + [0, 0, 0.1, 0.1]
    matches = np.array([[0, 1, 2, 3, 0, 1]])
    samples = np.array([[1, 1, 1, 1, -1, 0]])
    std = (0.1, 0.1, 0.2, 0.2)
    targets, mask = nd.contrib.box_encode(
        *(nd.array(v) for v in (samples, matches, anchors, truth)), nd.zeros(4), nd.array(std)
    )
    np.testing.assert_array_equal(mask.asnumpy()[0, :, 0], [1, 1, 1, 1, 0, 0])
    assert not targets.asnumpy()[0, 4:].any()
    deviations = dict(zip(("std0", "std1", "std2", "std3"), std, strict=True))
    back = nd.contrib.box_decode(targets, nd.array(anchors), format="corner", **deviations).asnumpy()
    np.testing.assert_allclose(back[0, :4], truth[0], atol=1e-5)


def test_matching_takes_the_best_pair_first():
    scores = nd.array([[0.5, 0.6], [0.1, 0.9], [0.3, 0.4]])
    rows, columns = nd.contrib.bipartite_matching(scores, threshold=0.2)
    assert rows.asnumpy().tolist() == [0, 1, -1]
    assert columns.asnumpy().tolist() == [0, 1]
    rows, _ = nd.contrib.bipartite_matching(scores, threshold=0.55)
    assert rows.asnumpy().tolist() == [-1, 1, -1]
    rows, _ = nd.contrib.bipartite_matching(scores, threshold=0.45, is_ascend=True)
    assert rows.asnumpy().tolist() == [-1, 0, 1]


def test_anchors():
    # MXNet 1.9.1 gave these for the same call.
    y = nd.contrib.MultiBoxPrior(nd.zeros((1, 1, 1, 2)), sizes=(0.5, 0.2), ratios=(2, 3))
    expected = [
        [0.0732, 0.3232, 0.4268, 0.6768], [0.1793, 0.4293, 0.3207, 0.5707], [0.0335, 0.3557, 0.4665, 0.6443],
        [0.5732, 0.3232, 0.9268, 0.6768], [0.6793, 0.4293, 0.8207, 0.5707], [0.5335, 0.3557, 0.9665, 0.6443],
    ]  # fmt: skip
    np.testing.assert_allclose(y.asnumpy(), [expected], atol=6e-5)


ANCHORS = nd.array([[[0, 0, 0.1, 0.1], [0.2, 0.2, 0.3, 0.3], [0.4, 0.4, 0.5, 0.5], [0.6, 0.6, 0.7, 0.7]]])
SCORES = nd.array([[[0.1, 0.2, 0.3, 0.7], [0.5, 0.1, 0.2, 0.05], [0.4, 0.7, 0.5, 0.25]]])


def test_detections():
    # MXNet 1.9.1 gave these, too.
    y = nd.contrib.MultiBoxDetection(SCORES, nd.zeros((1, 16)), ANCHORS).asnumpy()[0]
    np.testing.assert_allclose(y[:, :3], [[1, 0.7, 0.2], [0, 0.5, 0], [1, 0.5, 0.4], [1, 0.25, 0.6]], rtol=1e-6)
    y = nd.contrib.MultiBoxDetection(SCORES, nd.zeros((1, 16)), ANCHORS, nms_topk=2, threshold=0.45).asnumpy()[0]
    assert y[:, 0].tolist() == [1, 0, -1, -1]


def test_targets_give_each_object_its_best_anchor():
    labels = nd.array([[[2, 0.2, 0.2, 0.32, 0.3], [-1] * 5], [[-1] * 5] * 2])
    offsets, mask, classes = nd.contrib.MultiBoxTarget(ANCHORS, labels, nd.concat(SCORES, SCORES, dim=0))
    assert classes.asnumpy().tolist() == [[0, 3, 0, 0], [-1] * 4]
    assert mask.asnumpy()[0].reshape(4, 4)[:, 0].tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(
        offsets.asnumpy()[0].reshape(4, 4)[1], [0.01 / 0.1 / 0.1, 0, np.log(1.2) / 0.2, 0], atol=1e-4
    )
    mined = nd.contrib.MultiBoxTarget(
        ANCHORS, labels, nd.concat(SCORES, SCORES, dim=0), negative_mining_ratio=2, ignore_label=-5
    )[2]
    assert mined.asnumpy()[0].tolist() == [0, 3, 0, -5]  # the two least certain of being background


def test_proposals_stay_inside_and_apart():
    random = np.random.RandomState(0)
    scores, deltas = random.rand(2, 12, 4, 5), random.randn(2, 24, 4, 5) * 0.2
    info = np.array([[32, 40, 1], [24, 33, 1]])
    regions, score = nd.contrib.MultiProposal(
        *(nd.array(v) for v in (scores, deltas, info)), rpn_post_nms_top_n=6, rpn_min_size=2, scales=(1, 2),
        ratios=(0.5, 1, 2), feature_stride=8, threshold=0.5, output_score=True,
    )  # fmt: skip
    regions, score = regions.asnumpy().reshape(2, 6, 5), score.asnumpy().reshape(2, 6)
    assert (np.diff(score) <= 0).all()
    for image, (height, width, _) in enumerate(info):
        boxes = regions[image, :, 1:]
        assert (regions[image, :, 0] == image).all() and boxes.min() >= 0
        assert boxes[:, 2].max() <= width - 1 and boxes[:, 3].max() <= height - 1
        closed = boxes + [0, 0, 1, 1]
        assert all(iou(closed[i], closed[j]) <= 0.5 + 1e-5 for i in range(6) for j in range(i))
    with pytest.raises(MXNetError, match="one image"):
        nd.contrib.Proposal(*(nd.array(v) for v in (scores, deltas, info)), scales=(1, 2))


@pytest.mark.parametrize("options", [{"coord_start": 3}, {"score_index": 2}, {"id_index": 1}, {"id_index": 6}])
def test_columns_that_clash_are_refused(options):
    with pytest.raises(MXNetError, match="box_nms"):
        nd.contrib.box_nms(nd.ones((3, 6)), **options)


@pytest.mark.parametrize("labels", [None, 1, 7, 400])
@pytest.mark.parametrize("kind", ["plain", "strange"])
def test_groups_and_sweeps_keep_the_same_boxes(labels, kind, monkeypatch):
    random = np.random.RandomState(0)
    corner = random.rand(3000, 2) * 30
    rows = np.concatenate(
        [random.randint(0, labels or 1, (3000, 1)), random.rand(3000, 1), corner, corner + random.rand(3000, 2) * 3], 1
    )
    if kind == "strange":  # turned inside out, without end, without a number, over everything
        rows[random.choice(3000, 90, replace=False), random.randint(2, 6, 90)] = np.repeat(
            [np.nan, np.inf, -np.inf], 30
        )
        rows[:40, 2:] = rows[:40, [4, 5, 2, 3]]
        rows[40:42, 2:] = -1, -1, 40, 40
    settings = {"overlap_thresh": 0.3, "id_index": -1 if labels is None else 0}

    def kept(group, sweep):
        monkeypatch.setattr(boxes, "_GROUP", group)
        monkeypatch.setattr(boxes, "_SWEEP", sweep)
        return nd.contrib.box_nms(nd.array(rows), **settings).asnumpy()

    whole = kept(10**9, 10**9)
    assert 100 < (whole[:, 1] >= 0).sum() < 2999
    for sizes in ((1, 10**9), (100, 10**9), (10**9, 50), (100, 50)):
        np.testing.assert_array_equal(kept(*sizes), whole)


def test_boxes_of_many_classes_cost_what_each_class_does(monkeypatch):
    compared = []
    original = boxes._overlaps
    monkeypatch.setattr(boxes, "_overlaps", lambda a, b: compared.append(len(a) * len(b)) or original(a, b))
    random = np.random.RandomState(0)
    for count in (10_000, 40_000):
        rows = np.concatenate(
            [random.randint(0, count // 1000, (count, 1)), random.rand(count, 1), random.rand(count, 2)], 1
        )
        nd.contrib.box_nms(nd.array(np.concatenate([rows, rows[:, 2:] + 0.01], 1)), id_index=0)
        compared.append("|")
    cut = compared.index("|")
    assert sum(compared[cut + 1 : -1]) < 5 * sum(compared[:cut])  # 16 times where all are compared with all
