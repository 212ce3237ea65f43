"""Loaders of labelled pictures with their augmentation, and transforms of pictures with their boxes (MXNet 2)."""

from gluon.contrib.data.vision import boxes
from gluon.contrib.data.vision.bbox import (
    ImageBboxCrop,
    ImageBboxRandomCropWithConstraints,
    ImageBboxRandomExpand,
    ImageBboxRandomFlipLeftRight,
    ImageBboxResize,
)
from gluon.contrib.data.vision.dataloader import (
    BboxLabelTransform,
    ImageBboxDataLoader,
    ImageDataLoader,
    create_bbox_augment,
    create_image_augment,
)

__all__ = [
    "BboxLabelTransform",
    "ImageBboxCrop",
    "ImageBboxDataLoader",
    "ImageBboxRandomCropWithConstraints",
    "ImageBboxRandomExpand",
    "ImageBboxRandomFlipLeftRight",
    "ImageBboxResize",
    "ImageDataLoader",
    "boxes",
    "create_bbox_augment",
    "create_image_augment",
]
