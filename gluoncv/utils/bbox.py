"""Boxes in arrays of NumPy (N, 4 or more), or in tuples of four numbers."""

from gluon.contrib.data.vision.boxes import bbox_clip_xyxy, bbox_iou, bbox_xywh_to_xyxy, bbox_xyxy_to_xywh

__all__ = ["bbox_clip_xyxy", "bbox_iou", "bbox_xywh_to_xyxy", "bbox_xyxy_to_xywh"]
