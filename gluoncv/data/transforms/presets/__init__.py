"""What networks were trained and tested with."""

from gluoncv.data.transforms.presets import alpha_pose, center_net, imagenet, rcnn, segmentation, simple_pose, ssd, yolo
