"""Affine maps (2, 3) of points (x, y), and pictures under them."""

from __future__ import annotations

import numpy as np

from core import resample

__all__ = ["affine_transform", "get_3rd_point", "get_affine_transform", "get_dir", "through_points", "warp"]


def get_affine_transform(center, scale, rot, output_size, shift=(0.0, 0.0), inv=0):
    """The map of a window of a picture to `output_size` = (width, height).

    center: of the window, (x, y). scale: its extent, one number or (width, height), of which the width counts. rot:
    degrees clockwise. shift: of the centre, in extents. inv: the map back.
    """
    scale = np.asarray(scale, "float32") if np.ndim(scale) else np.full(2, scale, "float32")
    width, height = output_size
    middle = np.asarray(center) + scale * np.asarray(shift, "float32")
    up = np.array(get_dir([0, scale[0] * -0.5], np.pi * rot / 180))
    source = _with_third([middle, middle + up])
    target = _with_third([[width * 0.5, height * 0.5], [width * 0.5, height * 0.5 - width * 0.5]])
    return through_points(target, source) if inv else through_points(source, target)


def through_points(source, target):
    """The map that takes three points (3, 2) to three others."""
    source, target = np.asarray(source, "float64"), np.asarray(target, "float64")
    return np.linalg.solve(np.column_stack([source, np.ones(3)]), target).T


def affine_transform(pt, t):
    """A point (x, y) under the map."""
    return np.dot(t, np.array([pt[0], pt[1], 1.0]))[:2]


def get_dir(src_point, rot_rad):
    """The vector turned by `rot_rad` radians."""
    sine, cosine = np.sin(rot_rad), np.cos(rot_rad)
    x, y = src_point
    return [x * cosine - y * sine, x * sine + y * cosine]


def get_3rd_point(a, b):
    """The corner of a triangle whose right angle is at `b`, as far from it as `a`."""
    direct = a - b
    return b + np.array([-direct[1], direct[0]], dtype="float32")


def warp(img, matrix, size, fill=0):
    """A picture (H, W, C), NumPy of bytes or float32, under the map, at `size` = (width, height); linear,
    by 1/32 of a pixel.
    """
    matrix, (width, height) = np.asarray(matrix), size
    return resample.warp(img, matrix[:, :2], matrix[:, 2], int(width), int(height), fill=fill)


def two_points(source, target):
    """The map without shear that takes two points to two others."""
    return through_points(_with_third(source), _with_third(target))


def _with_third(points):
    a, b = np.asarray(points, "float32")
    return np.stack([a, b, get_3rd_point(a, b)])
