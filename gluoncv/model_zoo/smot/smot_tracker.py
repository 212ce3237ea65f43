"""The tracker of SMOT (Li et al., 2020, arXiv 2010.16031): a detector looks again at the anchors where objects were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

import core as mx
from core import nd
from gluoncv.data.classes import COCO
from gluoncv.model_zoo.smot.motion_estimation import DummyMotionEstimator, FarneBeckFlowMotionEstimator
from gluoncv.model_zoo.smot.track import Track
from gluoncv.utils.bbox import bbox_iou

MOTIONS = {"no": DummyMotionEstimator, "farneback": FarneBeckFlowMotionEstimator}
# How the anchors nearest to a box are weighted; 'max' takes one only.
ASSIGNMENTS = ("iou", "avg", "max")
# Overlap that a box has with one anchor at least.
LEAST_OVERLAP = 0.1


class SMOTTracker:
    """Follows objects of COCO's classes named in `tracking_classes` through the frames of a video.

    motion_model: 'no' or 'farneback', see `MOTIONS`. anchor_array: corners of the detector's anchors (A, 4), None for
    those of the first frame. use_motion: move boxes by the motion model. match_top_k: anchors of a box.
    track_keep_alive_thresh: score below which an object is missing. new_track_iou_thresh: overlap with an object of its
    class above which a detection is no new one. track_nms_thresh: overlap above which the lesser of two objects of a
    class is missing. gpu_id: number of the GPU on which anchors are compared, None for the CPU.
    anchor_assignment_method: see `ASSIGNMENTS`. ValueError for other classes, motions and assignments;
    NotImplementedError for joint_linking, faces as parts of bodies, of which GluonCV has the detector no more than
    this.
    """

    def __init__(
        self, motion_model="no", anchor_array=None, use_motion=True, tracking_classes=(), match_top_k=10,
        track_keep_alive_thresh=0.1, new_track_iou_thresh=0.3, track_nms_thresh=0.5, gpu_id=0,
        anchor_assignment_method="iou", joint_linking=False, tracktor=None, class_names=COCO,
    ):  # fmt: skip
        unknown = [name for name in tracking_classes if name not in class_names]
        if unknown or not tracking_classes:
            raise ValueError(
                f"tracking_classes are some of the detector's classes, given {list(tracking_classes)}: "
                f"{', '.join(class_names)}"
            )
        for what, given, known in (
            ("motion_model", motion_model, MOTIONS),
            ("anchor_assignment_method", anchor_assignment_method, ASSIGNMENTS),
        ):
            if given not in known:
                raise ValueError(f"{what} is one of {', '.join(known)}, given {given!r}")
        if joint_linking:
            raise NotImplementedError("there is no detector of faces with bodies: leave joint_linking out")
        self.motion_estimator = MOTIONS[motion_model]()
        self.use_motion, self.class_names, self.class_set = use_motion, class_names, set(tracking_classes)
        self.k, self.anchor_assignment_method = match_top_k, anchor_assignment_method
        self.keep_alive, self.new_track_iou_thresh = track_keep_alive_thresh, new_track_iou_thresh
        self.track_nms_thresh = track_nms_thresh
        self.mx_ctx = mx.cpu() if gpu_id is None else mx.gpu(gpu_id)
        self.tracks: list[Track] = []
        self.all_track_id = 0
        self.anchor_array = None
        self._expected: list[Track] = []
        self._cache, self._started = None, False
        if anchor_array is not None:
            self.set_anchor_array(anchor_array)

    def process_frame_sequence(self, frame_iterator: Iterable, tracktor) -> Iterator[tuple]:
        """(number, objects) of each (number, frame), frames (H, W, 3) of bytes; `tracktor`: a
        `BaseAnchorBasedTracktor`.

        An object is a dictionary of bbox (left, top, width, height), track_id, age in frames, class_id, class_name and,
        where they are known, landmarks.
        """
        for number, frame in frame_iterator:
            known = tracktor.prepare_for_frame(frame)
            anchors, weights, classes = self.motion_predict(frame, known)
            found, sources, again, extra = tracktor.detect_and_track(frame, anchors, weights, classes)
            if self.anchor_array is None:
                self.set_anchor_array(tracktor.anchors())
            self.update(found, again, sources, anchors, weights, classes, extra)
            yield number, self._produce_frame_result()

    @property
    def active_tracks(self) -> Iterator[Track]:
        """The objects that are seen."""
        return (track for track in self.tracks if track.is_active())

    def set_anchor_array(self, anchor_array) -> None:
        """Tells the corners of the detector's anchors (A, 4)."""
        self.anchor_array = anchor_array
        self.anchor_tensor = nd.array(anchor_array, ctx=self.mx_ctx, dtype="float32")

    def motion_predict(self, new_frame, motion_pred_data=None):
        """Where the objects are looked for in a frame: anchors (T, K), their weights (T, K) and classes (T, 1).

        Those that no anchor fits are missing.
        """
        tracks = list(self.active_tracks)
        boxes = self._moved(new_frame, tracks, motion_pred_data)
        self._expected = []
        if not tracks:
            return (np.array([]),) * 3
        anchors, weights, valid = self._assign_box_to_anchors(boxes)
        for track, fits in zip(tracks, valid, strict=True):
            if fits:
                self._expected.append(track)
            else:
                track.mark_missed()
        classes = np.array([[track.class_id] for track in self._expected])
        return anchors[valid], weights[valid], classes

    def update(
        self, new_detections, tracking_predictions, detection_anchor_indices, tracking_anchor_indices,
        tracking_anchor_weights, tracking_classes, extra_info=None,
    ):  # fmt: skip
        """Takes what a detector has found in a frame, see `BaseAnchorBasedTracktor.detect_and_track`, of what
        `motion_predict` gave for it."""
        extra = extra_info or {}
        for track in self.tracks:
            track.predict()
        kept = self._distinct(tracking_predictions, tracking_classes)
        landmarks = extra.get("tracking_landmarks")
        for i, track in enumerate(self._expected):
            if i in kept:
                source = (tracking_anchor_indices[i], tracking_anchor_weights[i])
                track.update(tracking_predictions[i], source, None if landmarks is None else landmarks[i])
            else:
                track.mark_missed()
        seen = [i for i, track in enumerate(self._expected) if track.is_active()]
        landmarks = extra.get("detection_landmarks")
        for i in self._new(new_detections, tracking_predictions, tracking_classes, seen):
            box = new_detections[i]
            self.tracks.append(
                Track(
                    box[:4], self.all_track_id, (detection_anchor_indices[i], np.array([1])), self.keep_alive,
                    class_id=box[-1], attributes=None if landmarks is None else landmarks[i],
                )
            )  # fmt: skip
            self.all_track_id += 1

    def _moved(self, frame, tracks, motion_pred_data):
        """Corners (T, 4) of the objects in a new frame."""
        boxes = np.array([track.mean for track in tracks])
        if not self._started:
            self._started = True
            self._cache = self.motion_estimator.initialize(frame, motion_pred_data)
            return boxes
        boxes, self._cache = self.motion_estimator.predict_new_locations(
            self._cache, boxes, frame, motion_pred_data,
            tracked_boxes_anchor_indices=[track.source[0] for track in tracks],
            tracked_boxes_anchor_weights=[track.source[1] for track in tracks],
            skip=not (self.use_motion and tracks),
        )  # fmt: skip
        return boxes

    def _assign_box_to_anchors(self, boxes):
        """Anchors (T, K) of boxes (T, 4), weights (T, K), and which boxes have one (T,)."""
        overlaps = gpu_iou(self.anchor_tensor, nd.array(boxes, ctx=self.mx_ctx))
        most = 1 if self.anchor_assignment_method == "max" else self.k
        values, anchors = (
            part.T.asnumpy() for part in nd.topk(overlaps, axis=0, k=most, ret_typ="both", dtype="int32")
        )
        valid = values[:, 0] >= LEAST_OVERLAP
        if self.anchor_assignment_method == "iou":
            weights = values / np.where(valid, values.sum(axis=1), 1)[:, None]
        else:
            weights = np.full(anchors.shape, 1 / most)
        return anchors, weights, valid

    def _distinct(self, found, classes):
        """Numbers of the objects, found at corners with scores (T, 5),
        that overlap no better one of their class (T, 1).
        """
        kept = set()
        for label in set(np.ravel(classes)):
            (same,) = np.nonzero(np.ravel(classes) == label)
            kept.update(same[nms_fallback(found[same], self.track_nms_thresh)])
        return kept

    def _new(self, detections, found, classes, seen):
        """Numbers of the detections (N, 6) that are none of the objects that are `seen`."""
        if not seen or not len(detections):
            return range(len(detections))
        overlaps = bbox_iou(detections[:, :4], found[seen, :4]) * (detections[:, -1:] == classes[seen].T)
        return np.nonzero(overlaps.max(axis=1) <= self.new_track_iou_thresh)[0]

    def _produce_frame_result(self):
        results = []
        for track in self.active_tracks:
            name = self.class_names[int(track.class_id)]
            if name not in self.class_set:
                continue
            left, top, right, bottom = track.mean
            box = {"left": left, "top": top, "width": right - left, "height": bottom - top}
            result = {
                "bbox": box, "track_id": track.display_id, "age": track.age, "class_id": track.class_id,
                "class_name": name,
            }  # fmt: skip
            if track.attributes is not None:
                result["landmarks"] = track.attributes
            results.append(result)
        return results


def nms_fallback(boxes, thresh):
    """Numbers of the boxes, corners and score (N, 5), that overlap no better one by over `thresh`; the best first."""
    order, kept = np.argsort(boxes[:, -1])[::-1], []
    overlaps = bbox_iou(boxes[:, :4], boxes[:, :4])
    while len(order):
        best, order = order[0], order[1:]
        kept.append(best)
        order = order[overlaps[best, order] <= thresh]
    return kept


def gpu_iou(bbox_a_tensor, bbox_b_tensor):
    """Intersection over union (A, B) of corners (A, 4 or more) and (B, 4 or more); IndexError for fewer columns."""
    if min(bbox_a_tensor.shape[1], bbox_b_tensor.shape[1]) < 4:
        raise IndexError(f"boxes have 4 corners, given {bbox_a_tensor.shape} and {bbox_b_tensor.shape}")
    return nd.contrib.box_iou(bbox_a_tensor[:, :4], bbox_b_tensor[:, :4])
