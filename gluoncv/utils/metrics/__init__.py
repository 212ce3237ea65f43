"""Metrics of vision."""

from gluoncv.utils.metrics.coco_detection import COCODetectionMetric
from gluoncv.utils.metrics.segmentation import SegmentationMetric
from gluoncv.utils.metrics.voc_detection import VOC07MApMetric, VOCMApMetric
