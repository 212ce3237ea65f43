"""SimplePose: a person turned and resized at random, with a heat map for each joint."""

from __future__ import annotations

import random
from functools import cached_property

import numpy as np

from core import nd
from gluoncv.data.transforms import affine
from gluoncv.data.transforms.pose import flip_joints_3d
from gluoncv.data.transforms.presets.common import MEAN, STD, to_input

__all__ = ["SimplePoseDefaultTrainTransform", "SimplePoseDefaultValTransform"]


class SimplePoseDefaultTrainTransform:
    """Gives (input (3, height, width), heat maps (J, h, w), weights (J, 1, 1), `img_path`), sizes as (height, width).

    Called with a picture, {"bbox": corners, "joints_3d": (J, 3, 2)} and anything. sigma: deviation of the peaks.
    scale_factor, rotation_factor: by how much the size varies, and by how many degrees, at most twice as many, a person
    turns.
    """

    def __init__(
        self, num_joints, joint_pairs, image_size=(256, 256), heatmap_size=(64, 64), sigma=2, mean=MEAN, std=STD,
        random_flip=True, scale_factor=0.25, rotation_factor=30,
    ):  # fmt: skip
        self._num_joints, self._joint_pairs, self._sigma = num_joints, joint_pairs, sigma
        self._size, self._map_size = image_size[::-1], heatmap_size[::-1]
        self._mean, self._std, self._random_flip = mean, std, random_flip
        self._scale_factor, self._rotation_factor = scale_factor, rotation_factor

    @cached_property
    def _target_generator(self):
        from gluoncv.model_zoo.simple_pose import SimplePoseGaussianTargetGenerator

        return SimplePoseGaussianTargetGenerator(self._num_joints, self._size, self._map_size, self._sigma)

    def __call__(self, src, label, img_path):
        joints = np.array(label["joints_3d"])
        center, scale = _center_scale(label["bbox"], self._size[0] / self._size[1])
        spread, turn = self._scale_factor, self._rotation_factor
        scale = scale * np.clip(np.random.randn() * spread + 1, 1 - spread, 1 + spread)
        angle = np.clip(np.random.randn() * turn, -turn * 2, turn * 2) if random.random() <= 0.6 else 0
        img = src.asnumpy()
        if self._random_flip and random.random() > 0.5:
            img, width = img[:, ::-1], src.shape[1]
            joints = flip_joints_3d(joints, width, self._joint_pairs)
            center[0] = width - center[0] - 1
        matrix = affine.get_affine_transform(center, scale, angle, self._size)
        img = affine.warp(img, matrix, self._size)
        for joint in joints:
            if joint[0, 1] > 0:
                joint[:2, 0] = affine.affine_transform(joint[:2, 0], matrix)
        target, weight = self._target_generator(joints)
        return to_input(nd.array(img), self._mean, self._std), target, weight, img_path


class SimplePoseDefaultValTransform:
    """Gives (input (3, height, width), extent of the window in the picture, its centre, score of the person,
    `img_path`).
    """

    def __init__(self, num_joints, joint_pairs, image_size=(256, 256), mean=MEAN, std=STD):
        self._size, self._mean, self._std = image_size[::-1], mean, std

    def __call__(self, src, label, img_path):
        center, scale = _center_scale(label["bbox"], self._size[0] / self._size[1])
        img = affine.warp(src.asnumpy(), affine.get_affine_transform(center, scale, 0, self._size), self._size)
        return to_input(nd.array(img), self._mean, self._std), scale, center, label.get("score", 1), img_path


def _center_scale(bbox, aspect, grow=1.25):
    """Centre and extent of the window of width / height `aspect` around a box, a quarter larger."""
    left, top, right, bottom = bbox
    w, h = right - left, bottom - top
    center = np.array([left + w * 0.5, top + h * 0.5], "float32")
    w, h = max(w, aspect * h), max(h, w / aspect)
    return center, np.array([w, h], "float32") * (grow if center[0] != -1 else 1)
