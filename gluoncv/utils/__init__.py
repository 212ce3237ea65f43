"""Boxes in NumPy, and metrics."""

from gluoncv.utils import bbox, metrics
from gluoncv.utils.bbox import bbox_iou
