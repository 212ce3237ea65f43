"""SMOT: what GluonCV 0.10.5 answers for the same video and the same detections, and a detector that looks again."""

import sys
import types

import numpy as np
import pytest

from core import nd
from core.base import MXNetError
from gluoncv import model_zoo
from gluoncv.model_zoo import smot
from gluoncv.model_zoo.smot import general_detector, presets, utils
from gluoncv.utils.bbox import bbox_iou

CLASSES = ("person", "car", "dog")


class Squares:
    """In place of a detector: objects 8 pixels wide at random anchors, found with scores and at places by chance."""

    def __init__(self):
        self.random = np.random.RandomState(7)
        corners = self.random.rand(400, 2) * 80
        self.corners = np.concatenate([corners, corners + 6 + self.random.rand(400, 2) * 12], axis=1).astype("float32")

    def anchors(self):
        return nd.array(self.corners)

    def prepare_for_frame(self, frame):
        return None

    def detect_and_track(self, frame, anchors, weights, classes):
        found = self.random.choice(400, 6, replace=False)
        again = np.array([])
        if len(anchors):
            corners = (self.corners[anchors.astype(int)] * weights[..., None]).sum(axis=1)
            again = np.concatenate(
                [corners + self.random.rand(len(anchors), 4), self.random.rand(len(anchors), 1)], axis=1
            )
        scores, labels = self.random.rand(6, 1), self.random.randint(3, size=(6, 1)) * [[1]]
        found_boxes = np.concatenate([self.corners[found], scores, np.array([0, 2, 16])[labels]], axis=1)
        return found_boxes, found[:, None], again, {}


def followed(**options):
    """(frame, number, age, class, left, top, width, height) of each object in six frames."""
    tracker = smot.SMOTTracker(tracking_classes=CLASSES, match_top_k=3, gpu_id=None, **options)
    frames = ((k, np.zeros((100, 100, 3), "uint8")) for k in range(6))
    rows = [
        [number, one["track_id"], one["age"], one["class_id"], *one["bbox"].values()]
        for number, objects in tracker.process_frame_sequence(frames, Squares())
        for one in objects
    ]
    return tracker, np.array(rows)


# how anchors are weighted, objects in all frames, objects in all, sums of the columns
FOLLOWED = [
    ("iou", 98, 32, [308, 1118, 245, 700, 4328.7779, 4127.5949, 1173.3632, 1250.6176]),
    ("avg", 94, 31, [289, 1044, 233, 634, 4121.8273, 3958.8960, 1145.1650, 1193.6542]),
    ("max", 99, 34, [312, 1170, 244, 714, 4438.9308, 4153.1961, 1155.5572, 1291.2800]),
]


@pytest.mark.parametrize("method, count, numbers, total", FOLLOWED)
def test_objects_are_those_of_gluoncv(method, count, numbers, total):
    tracker, rows = followed(anchor_assignment_method=method, track_keep_alive_thresh=0.2)
    assert (len(rows), tracker.all_track_id) == (count, numbers)
    np.testing.assert_allclose(rows.sum(axis=0), total, rtol=1e-6)


def test_objects_that_are_not_seen():
    track = smot.Track(np.zeros(4), 3, (np.array([1]), np.array([1])), keep_alive_thresh=0.5, max_missing=1)
    track.update(np.array([1, 2, 3, 4, 0.4]))
    assert track.is_mising() and track.mean.tolist() == [1, 2, 3, 4]
    track.update(np.array([1, 2, 3, 4, 0.6]))
    assert track.is_active() and track.linkable
    track.predict()
    assert not track.is_deleted()
    track.predict()
    assert track.is_deleted() and track.age == 3
    part = smot.Track(np.zeros(4), 4, None)
    part.link_to(track)
    assert part.display_id == 3 and not part.linkable


def test_boxes_move_by_the_mean_flow_inside():
    class Flow(smot.motion_estimation.BaseFlowMotionEstimator):
        def prepare_frame(self, frame):
            return frame[::2, ::2, 0]

        def compute_flow(self, prev_frame_cache, prepared_new_frame):
            flow = np.zeros((*prepared_new_frame.shape, 2))
            flow[2:4, 1:3] = (3, -1)
            return flow

    frame, boxes = np.zeros((16, 24, 3)), np.array([[2.0, 4, 6, 8], [2, 4, 10, 8], [30, 30, 40, 40]])
    estimator = Flow()
    moved, cache = estimator.predict_new_locations(estimator.initialize(frame, None), boxes, frame)
    assert moved.tolist() == [[8, 2, 12, 6], [5, 3, 13, 7], [30, 30, 40, 40]] and cache.shape == (8, 12)
    still, _ = estimator.predict_new_locations(cache, boxes, frame, skip=True)
    assert still is boxes
    with pytest.raises(MXNetError, match="one size"):
        estimator.predict_new_locations(cache, boxes, frame[:8])


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A detector of the zoo with random weights, and their file."""
    net = model_zoo.get_model("ssd_300_mobilenet0.25_custom", classes=CLASSES, pretrained_base=False)
    net.initialize()
    net(nd.zeros((1, 3, 64, 64)))
    path = tmp_path_factory.mktemp("smot") / "net.params"
    net.save_parameters(str(path))
    return net, str(path)


def test_a_detector_looks_again_where_objects_were(weights):
    plain, path = weights
    net = general_detector.get_net(CLASSES, "ssd_300_mobilenet0.25_custom", param_path=path)
    x = nd.random.uniform(-1, 1, (1, 3, 64, 64))
    *found, sources, again, anchors = net(x, nd.array([[3, 200], [5, 5]]), nd.array([[0.25, 0.75], [1, 0]]))
    for ours, theirs in zip(found, plain(x), strict=True):
        np.testing.assert_allclose(ours.asnumpy(), theirs.asnumpy(), rtol=1e-4, atol=1e-5)
    plain.set_nms(0)
    entries = nd.concat(*plain(x), dim=-1)[0].asnumpy()
    count = anchors.shape[1]
    assert entries.shape == (count * len(CLASSES), 6)
    np.testing.assert_allclose(again[0, :6].asnumpy(), 0.25 * entries[3] + 0.75 * entries[200], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(again[1].asnumpy(), [*entries[5], 5], rtol=1e-4, atol=1e-4)
    label, score, box, source = (part[0, 0].asnumpy() for part in (*found, sources))
    entry = entries[int(label[0]) * count + int(source[0])]
    np.testing.assert_allclose(entry, [*label, *score, *box], rtol=1e-4, atol=1e-4)


def test_videos_of_any_size(weights):
    frame = np.random.RandomState(0).randint(0, 255, (40, 60, 3)).astype("uint8")
    tracktor = smot.GluonSSDMultiClassTracktor(
        None, 0.0, "ssd_300_mobilenet0.25_custom", param_path=weights[1], data_shape=64, classes=CLASSES
    )
    with pytest.raises(ValueError, match="after the first frame"):
        tracktor.anchors()
    tracker = smot.SMOTTracker(tracking_classes=CLASSES, class_names=CLASSES, gpu_id=None, track_keep_alive_thresh=0)
    (_, first), (_, second) = tracker.process_frame_sequence([(0, frame), (1, frame)], tracktor)
    assert first and second
    anchors = tracktor.anchors().asnumpy()
    # The picture lies in the middle of a square of 60 pixels, which is 64 in the network.
    assert (anchors[:3, 0] + anchors[:3, 2]).tolist() == pytest.approx([2 * 4 * 60 / 64] * 3)
    assert (anchors[:3, 1] + anchors[:3, 3]).tolist() == pytest.approx([2 * (4 * 60 / 64 - 10)] * 3)
    again = {one["track_id"]: one for one in second}
    for one in first:
        if one["track_id"] in again:
            boxes = (np.array([list(found["bbox"].values())]) for found in (one, again[one["track_id"]]))
            a, b = (np.concatenate([box[:, :2], box[:, :2] + box[:, 2:]], axis=1) for box in boxes)
            assert bbox_iou(a, b)[0, 0] > 0.3


def test_pictures_become_inputs():
    picture = np.full((2, 4, 3), 255, "uint8")
    one = nd.ones(3)
    data, width, height, border = utils.mxnet_frame_preprocessing(picture, 4, 1.0, one * 0, one * 0.5, None)
    assert (width, height, border) == (4, 4, (0, 1, 4, 4))
    assert data.asnumpy()[0, 0].tolist() == [[0] * 4, [2] * 4, [2] * 4, [0] * 4]
    boxes = utils.remap_bboxes(nd.array([[0, 8, 16, 16, 7]]), 4, 4, border, 16, 1.0)
    assert boxes.asnumpy().tolist() == [[0, 1, 4, 3, 7]]


def test_what_is_not_known_is_told():
    for wrong, what in (
        ({"tracking_classes": ["unicorn"]}, "unicorn"),
        ({"tracking_classes": []}, "tracking_classes"),
        ({"tracking_classes": ["dog"], "motion_model": "kalman"}, "farneback"),
        ({"tracking_classes": ["dog"], "anchor_assignment_method": "most"}, "iou, avg, max"),
    ):
        with pytest.raises(ValueError, match=what):
            smot.SMOTTracker(**wrong)
    with pytest.raises(NotImplementedError, match="faces"):
        smot.SMOTTracker(tracking_classes=["dog"], joint_linking=True)
    with pytest.raises(MXNetError, match="no network 'ssd'"):
        general_detector.get_net(model_name="ssd")
    with pytest.raises(MXNetError, match="param_path"):
        general_detector.get_net(model_name="ssd_512_resnet50_v1_voc")
    assert presets.ssd_512_mobilenet1_0_coco is presets.ssd_base_models["ssd_512_mobilenet1.0_coco"]


def test_flow_is_computed_on_small_pictures(monkeypatch):
    calls = []
    monkeypatch.setitem(sys.modules, "cv2", types.SimpleNamespace(
        INTER_NEAREST=0, COLOR_BGR2GRAY=6,
        resize=lambda frame, size, interpolation: calls.append(size) or np.zeros((size[1], size[0], 3)),
        cvtColor=lambda frame, code: frame[..., 0],
        calcOpticalFlowFarneback=lambda before, after, *_: np.full((*before.shape, 2), 2.0),
    ))  # fmt: skip
    model = smot.motion_estimation.FarneBeckFlowMotionEstimator(flow_scale=64)
    assert model.prepare_frame(np.zeros((100, 200, 3), "uint8")).shape == (32, 64)
    assert model.prepare_frame(np.zeros((400, 200, 3), "uint8")).shape == (64, 32)
    assert calls == [(64, 32), (32, 64)]
    before = model.initialize(np.zeros((128, 128, 3), "uint8"), None)
    boxes = np.array([[20.0, 20, 60, 60], [200, 200, 220, 220]])
    moved, _ = model.predict_new_locations(before, boxes, np.zeros((128, 128, 3), "uint8"))
    # Two pixels of the small picture are four; what is outside of it stays.
    assert moved.tolist() == [[24, 24, 64, 64], [200, 200, 220, 220]]
