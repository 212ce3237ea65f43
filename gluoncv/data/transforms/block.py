"""Steps for pictures of classification, as blocks."""

from __future__ import annotations

import math
import random

import numpy as np

from core import image, nd
from gluon.block import Block

__all__ = ["RandomCrop", "RandomErasing"]


class RandomCrop(Block):
    """A random part of `size` (a number or (width, height)) of a picture; smaller ones are enlarged.

    pad: zeros around it first, one number for all four sides, or as `numpy.pad` takes them. interpolation: see
    `mx.image.imresize`.

    >>> from gluoncv.data.transforms.block import RandomCrop
    >>> RandomCrop(4, pad=2)(nd.zeros((6, 6, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, size, pad=None, interpolation=2):
        super().__init__()
        self._args = ((size, size) if np.isscalar(size) else size, interpolation)
        self.pad = ((pad, pad), (pad, pad), (0, 0)) if isinstance(pad, int) else pad

    def forward(self, x):
        if self.pad:
            x = nd.array(np.pad(x.asnumpy(), self.pad))
        return image.random_crop(x, *self._args)[0]


class RandomErasing(Block):
    """A rectangle of a picture in the colour `mean`, with `probability` (Zhong et al., 2017).

    Its area is `s_min` to `s_max` of the picture's, its aspect `ratio` to 1 / `ratio`.

    >>> from gluoncv.data.transforms.block import RandomErasing
    >>> RandomErasing(probability=1.0)(nd.zeros((20, 20, 3))).shape
    (20, 20, 3)
    """

    def __init__(self, probability=0.5, s_min=0.02, s_max=0.4, ratio=0.3, mean=(125.31, 122.96, 113.86)):
        super().__init__()
        for name, value in (("probability", probability), ("s_min", s_min), ("s_max", s_max), ("ratio", ratio)):
            if not isinstance(value, float):
                raise TypeError(f"RandomErasing: {name} is a float, given {value!r}")
        if not isinstance(mean, int | tuple):
            raise TypeError(f"RandomErasing: mean is a number or a tuple, given {mean!r}")
        self.probability, self.s_min, self.s_max, self.ratio, self.mean = probability, s_min, s_max, ratio, mean

    def forward(self, x):
        if random.uniform(0, 1) > self.probability:
            return x
        rows, columns = x.shape[:2]
        area = random.uniform(self.s_min, self.s_max) * rows * columns
        aspect = random.uniform(self.ratio, 1 / self.ratio)
        h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if h >= rows or w >= columns:
            return x
        top, left = random.randint(0, rows - h), random.randint(0, columns - w)
        pixels = x.asnumpy().copy()
        pixels[top : top + h, left : left + w] = np.asarray(self.mean)
        return nd.array(pixels, ctx=x.context, dtype=x.dtype)
