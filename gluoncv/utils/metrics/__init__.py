"""Metrics of vision."""

from core.documentation.classes import complete as _complete
from gluoncv.utils.metrics.accuracy import Accuracy
from gluoncv.utils.metrics.coco_detection import COCODetectionMetric
from gluoncv.utils.metrics.coco_instance import COCOInstanceMetric
from gluoncv.utils.metrics.coco_keypoints import COCOKeyPointsMetric
from gluoncv.utils.metrics.heatmap_accuracy import HeatmapAccuracy
from gluoncv.utils.metrics.segmentation import SegmentationMetric
from gluoncv.utils.metrics.voc_detection import VOC07MApMetric, VOCMApMetric

_complete(globals())
