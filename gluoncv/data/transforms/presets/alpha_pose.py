"""AlphaPose: a person cut out, with a heat map for each joint."""

from __future__ import annotations

import random

import numpy as np

from core import nd
from gluoncv.data.transforms import pose

__all__ = ["AlphaPoseDefaultTrainTransform", "AlphaPoseDefaultValTransform", "flip_heatmap"]


class AlphaPoseDefaultTrainTransform:
    """Gives (input (3, height, width), heat maps (J, h, w), weights (J, 1, 1), `img_path`), sizes as (height, width).

    Called with a picture, {"bbox": corners, "joints_3d": (J, 3, 2)} and anything. scale_factor: lowest and highest
    growth of the box. random_sample: the box moves as detectors err. random_crop: halves and quarters of a person,
    where more than ten joints are visible. rotation_factor: degrees, at most twice as many.
    """

    def __init__(
        self, num_joints, joint_pairs, image_size=(256, 256), heatmap_size=(64, 64), sigma=1, random_flip=True,
        random_sample=False, random_crop=False, scale_factor=(0.2, 0.3), rotation_factor=30,
    ):  # fmt: skip
        self._num_joints, self._joint_pairs, self._sigma = num_joints, joint_pairs, sigma
        self._image_size, self._heatmap_size = image_size, heatmap_size
        self._random_flip, self._random_sample, self._random_crop = random_flip, random_sample, random_crop
        self._scale_factor, self._rotation_factor = scale_factor, rotation_factor

    def __call__(self, src, label, img_path):
        img, joints = src.asnumpy(), label["joints_3d"]
        for channel in range(3):
            img[:, :, channel] = (img[:, :, channel] * random.uniform(0.7, 1.3)).clip(0, 255)
        ul, br = self._box(label["bbox"], *img.shape[:2])
        count, visible = pose.count_visible(ul, br, joints)
        if self._random_crop and count > 10:
            ul, br = pose.random_crop_bbox(ul, br)
        target = np.zeros((self._num_joints, *self._heatmap_size), "float32")
        weight = np.ones((self._num_joints, 1, 1), "float32")
        if count < 1:
            return nd.zeros((3, *self._image_size)), target, weight, img_path
        img = pose.cv_cropBox(img, ul, br, *self._image_size)
        for heat, joint, seen in zip(target, joints, visible):
            if seen:
                place = pose.transformBox(joint[:2, 0], ul, br, *self._image_size, *self._heatmap_size)
                pose.drawGaussian(heat, place, self._sigma)
        if self._random_flip and random.random() > 0.5:
            img, target = img[:, ::-1], flip_heatmap(target, self._joint_pairs)
        turn = self._rotation_factor
        angle = np.clip(np.random.randn() * turn, -turn * 2, turn * 2) if random.random() <= 0.6 else 0
        img = pose.cv_rotate(img, angle, *self._image_size[::-1])
        target = pose.cv_rotate(target.transpose(1, 2, 0), angle, *self._heatmap_size[::-1]).transpose(2, 0, 1)
        return nd.array(pose.alpha_input(img)), target, weight, img_path

    def _box(self, bbox, height, width):
        """Corners of the grown box, in whole pixels."""
        ul, br = (np.array([int(v) for v in corner]) for corner in (bbox[:2], bbox[2:4]))
        (w, h), grow = br - ul, random.uniform(*self._scale_factor)
        ul[:] = np.maximum(0, ul - np.array([w, h]) * grow / 2)
        br[:] = np.minimum([width - 1, height - 1], br + np.array([w, h]) * grow / 2)
        return pose.random_sample_bbox(ul, br, w, h, width, height) if self._random_sample else (ul, br)


class AlphaPoseDefaultValTransform:
    """Gives (input (3, height, width), the grown box (1, 4), score of the person, `img_path`)."""

    def __init__(self, num_joints, joint_pairs, image_size=(256, 256), sigma=1):
        self._image_size = image_size

    def __call__(self, src, label, img_path):
        box = nd.array(np.array([label["bbox"]]))
        inputs, grown = pose.detector_to_alpha_pose(
            src, class_ids=nd.zeros((1, 1)), scores=nd.ones((1, 1)), bounding_boxs=box, output_shape=self._image_size
        )
        return inputs[0], grown, label.get("score", 1), img_path


def flip_heatmap(heatmap, joint_pairs, shift=False):
    """NumPy heat maps (J, H, W) of one person mirrored, see `pose.flip_heatmap`."""
    if heatmap.ndim != 3:
        raise AssertionError(f"heat maps of one person are (J, H, W), given {heatmap.shape}")
    return pose.mirrored(heatmap, joint_pairs, shift)
