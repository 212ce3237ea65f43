"""What networks were trained and tested with."""

from gluoncv.data.transforms.presets import imagenet, rcnn, segmentation, ssd, yolo
