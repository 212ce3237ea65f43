"""Where boxes of one frame of a video are expected in the next."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from core.base import MXNetError


class MotionEstimator(ABC):
    """What moves boxes from frame to frame; what it gives as cache it is given with the next frame."""

    @abstractmethod
    def initialize(self, first_frame, first_frame_motion_pred_data):
        """The cache after the first frame (H, W, 3)."""

    @abstractmethod
    def predict_new_locations(
        self, prev_frame_cache, prev_bboxes, new_frame, new_frame_motion_pred_data=None,
        tracked_boxes_anchor_indices=None, tracked_boxes_anchor_weights=None, skip=False, **kwargs,
    ):  # fmt: skip
        """(corners (N, 4) in `new_frame`, cache) of boxes with corners `prev_bboxes`.

        `skip`: leave them where they are.
        """


class DummyMotionEstimator(MotionEstimator):
    """Boxes stay where they are."""

    def initialize(self, first_frame, first_frame_motion_pred_data):
        return None

    def predict_new_locations(self, prev_frame_cache, prev_bboxes, new_frame, *args, **kwargs):
        return prev_bboxes, None


class BaseFlowMotionEstimator(MotionEstimator):
    """Boxes move by the mean of the optical flow in them."""

    @abstractmethod
    def prepare_frame(self, frame):
        """The cache: what `compute_flow` needs of a frame."""

    @abstractmethod
    def compute_flow(self, prev_frame_cache, prepared_new_frame):
        """The flow (h, w, 2) in x and y, in its own pixels."""

    def initialize(self, first_frame, first_frame_motion_pred_data):
        return self.prepare_frame(first_frame)

    def predict_new_locations(self, prev_frame_cache, prev_bboxes, new_frame, *args, skip=False, **kwargs):
        cache = self.prepare_frame(new_frame)
        if prev_frame_cache.shape != cache.shape:
            raise MXNetError(f"the frames of a video are of one size, given {prev_frame_cache.shape} and {cache.shape}")
        if skip:
            return prev_bboxes, cache
        flow = self.compute_flow(prev_frame_cache, cache)
        return self._warp_bbox(new_frame.shape, prev_bboxes, flow), cache

    @staticmethod
    def _warp_bbox(image_shape, bboxes, flow_map):
        """Corners (N, 4) in a picture of `image_shape`, moved by the flow."""
        height, width = image_shape[0] / flow_map.shape[0], image_shape[1] / flow_map.shape[1]
        moved = []
        for box in bboxes:
            left, top, right, bottom = (box / (width, height, width, height)).astype(int)
            inside = flow_map[top : max(bottom, top + 1), left : max(right, left + 1)]
            # A box outside of the picture stays where it is.
            step = inside.mean(axis=(0, 1)) * (width, height) if inside.size else np.zeros(2)
            moved.append(box if np.isnan(step).any() else box + np.tile(step, 2))
        return np.array(moved)


class FarneBeckFlowMotionEstimator(BaseFlowMotionEstimator):
    """Dense flow by polynomials (Farneback, 2003) of grey frames of at most `flow_scale` pixels; needs OpenCV."""

    def __init__(self, flow_scale=256):
        try:
            import cv2
        except ImportError as error:
            raise MXNetError("optical flow needs OpenCV: pip install opencv-python-headless") from error
        self._cv2, self.flow_scale = cv2, flow_scale

    def prepare_frame(self, frame):
        height, width = frame.shape[:2]
        ratio = min(self.flow_scale / width, self.flow_scale / height)
        size = (int(width * ratio), int(height * ratio))
        small = self._cv2.resize(frame, size, interpolation=self._cv2.INTER_NEAREST)
        return self._cv2.cvtColor(small, self._cv2.COLOR_BGR2GRAY)

    def compute_flow(self, prev_frame_cache, prepared_new_frame):
        return self._cv2.calcOpticalFlowFarneback(prev_frame_cache, prepared_new_frame, None, 0.5, 3, 15, 3, 5, 1.2, 0)
