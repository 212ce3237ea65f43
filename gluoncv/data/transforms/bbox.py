"""Boxes that follow their picture: (N, 4 or more) NumPy arrays of left, top, right, bottom, and what comes behind."""

from gluon.contrib.data.vision.boxes import bbox_crop as crop
from gluon.contrib.data.vision.boxes import bbox_flip as flip
from gluon.contrib.data.vision.boxes import bbox_resize as resize
from gluon.contrib.data.vision.boxes import bbox_translate as translate
from gluoncv.data.transforms.affine import affine_transform, get_3rd_point, get_affine_transform
from gluoncv.data.transforms.affine import get_dir as get_rot_dir

__all__ = [
    "affine_transform", "crop", "flip", "get_3rd_point", "get_affine_transform", "get_rot_dir", "resize", "translate",
]  # fmt: skip
