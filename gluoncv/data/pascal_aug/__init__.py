"""PASCAL VOC with more masks."""

from gluoncv.data.pascal_aug.segmentation import VOCAugSegmentation
