"""Random colours."""

from __future__ import annotations

import random

import numpy as np

from core import nd

__all__ = ["random_color_distort"]

# From RGB to the lightness and chroma of NTSC television (YIQ), and back.
_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
_RGB = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])


def random_color_distort(
    src, brightness_delta=32, contrast_low=0.5, contrast_high=1.5, saturation_low=0.5, saturation_high=1.5, hue_delta=18
):
    """Brightness, contrast, saturation and hue changed at random, each with probability 1/2 (Liu et al., 2016)."""

    def coin():
        return np.random.uniform(0, 1) > 0.5

    def contrast(x):
        return x * random.uniform(contrast_low, contrast_high) if coin() else x

    x = src.astype("float32")
    if coin():
        x = x + random.uniform(-brightness_delta, brightness_delta)
    early = np.random.randint(0, 2)
    if early:
        x = contrast(x)
    if coin():  # towards or away from grey
        amount = random.uniform(saturation_low, saturation_high)
        grey = (x * nd.array([[[0.299, 0.587, 0.114]]], ctx=x.context)).sum(axis=2, keepdims=True)
        x = nd.broadcast_add(x * amount, grey * (1 - amount))
    if coin():  # chroma turned by an angle
        angle = random.uniform(-hue_delta, hue_delta) / 180 * np.pi
        turn = np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])
        x = nd.dot(x, nd.array((_RGB @ turn @ _YIQ).T, ctx=x.context))
    return x if early else contrast(x)
