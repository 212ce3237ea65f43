"""Detectors that follow objects, as `SMOTTracker` asks them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from core import nd
from gluoncv.model_zoo.smot.general_detector import GeneralDetector


class BaseAnchorBasedTracktor(ABC):
    """A detector with anchors, of which some tell where an object is that was seen before."""

    @abstractmethod
    def anchors(self):
        """Corners of the anchors (A, 4) in pixels of the picture."""

    @abstractmethod
    def prepare_for_frame(self, frame):
        """What the estimate of motion needs of a frame (H, W, 3); None for nothing."""

    @abstractmethod
    def detect_and_track(self, frame, tracking_anchor_indices, tracking_anchor_weights, tracking_classes):
        """Finds what there is in a frame, and the objects of classes (T, 1) at anchors (T, K) with weights (T, K).

        Gives corners, score and class of what is found (N, 6) and the anchor of each (N, 1), corners and score of the
        objects (T, 5), and a dictionary of what else is known: detection_landmarks (N, ...) and tracking_landmarks (T,
        ...).
        """

    @abstractmethod
    def clean_up(self):
        """After the last frame of a video."""


class GluonSSDMultiClassTracktor(BaseAnchorBasedTracktor):
    """A single shot detector; what scores no more than `detector_thresh` is not there.

    The rest as in `GeneralDetector`.
    """

    def __init__(
        self,
        gpu_id=0,
        detector_thresh=0.5,
        model_name="",
        use_pretrained=False,
        param_path="",
        data_shape=512,
        classes=None,
    ):
        self.detector = GeneralDetector(
            gpu_id, data_shape=data_shape, model_name=model_name, use_pretrained=use_pretrained, param_path=param_path,
            classes=classes,
        )  # fmt: skip
        self._detector_thresh = detector_thresh

    def anchors(self):
        if self.detector.anchor_tensor is None:
            raise ValueError("the anchors are known after the first frame")
        return self.detector.anchor_tensor

    def prepare_for_frame(self, frame):
        return None

    def clean_up(self):
        return None

    def detect_and_track(self, frame, tracking_anchor_indices, tracking_anchor_weights, tracking_classes):
        known = len(tracking_anchor_indices) > 0
        expected = (tracking_anchor_indices, tracking_anchor_weights, np.reshape(tracking_classes, (-1, 1)))
        asked = [nd.array(part if known else [[0]], ctx=self.detector.ctx) for part in expected]
        ids, scores, boxes, again, sources = self.detector.run_detection(frame, *asked)
        found = int((scores > self._detector_thresh).sum().asscalar())
        detections = nd.concat(boxes, scores, ids, dim=1).asnumpy()[:found]
        return detections, sources[:found], again.asnumpy() if known else np.array([]), {}
