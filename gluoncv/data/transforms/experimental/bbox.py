"""Random crops that keep enough of some box."""

from gluon.contrib.data.vision.boxes import bbox_crop, bbox_iou
from gluon.contrib.data.vision.boxes import bbox_random_crop_with_constraints as random_crop_with_constraints

__all__ = ["bbox_crop", "bbox_iou", "random_crop_with_constraints"]
