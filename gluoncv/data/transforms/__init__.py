"""Transformations of pictures, boxes and masks, and those that networks were trained with (`presets`)."""

from gluoncv.data.transforms import bbox, block, experimental, image, mask, pose, presets, track, video
from gluoncv.data.transforms.block import RandomCrop, RandomErasing
