"""Detectors that look at regions: Faster R-CNN, Mask R-CNN and relatives."""

from gluoncv.model_zoo.rcnn.faster_rcnn import RCNN, DoubleHeadRCNN, FasterRCNN
from gluoncv.model_zoo.rcnn.mask_rcnn import Mask, MaskRCNN
from gluoncv.model_zoo.rcnn.presets import custom_rcnn_fpn, get_doublehead_rcnn, get_faster_rcnn, get_mask_rcnn
from gluoncv.model_zoo.rcnn.rcnn_target import MaskTargetGenerator, RCNNTargetGenerator, RCNNTargetSampler
