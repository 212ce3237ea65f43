"""PASCAL VOC."""

from gluoncv.data.pascal_voc.detection import CustomVOCDetection, CustomVOCDetectionBase, VOCDetection
from gluoncv.data.pascal_voc.segmentation import VOCSegmentation
