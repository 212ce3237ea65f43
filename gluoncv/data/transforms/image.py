"""Geometry and colour of pictures (`mx.nd` or `mx.np` arrays of shape (height, width, 3)) for training recipes."""

from __future__ import annotations

import random

import numpy as np

from core import image
from core.image.arrays import like, pixels_of

__all__ = [
    "imresize", "random_expand", "random_flip", "random_pca_lighting", "resize_contain", "resize_long",
    "resize_short_within", "ten_crop",
]  # fmt: skip


def imresize(src, w, h, interp=1):
    """The picture in another size; `interp` as in `mx.image.imresize`, 9 for the best one, 10 for one at random."""
    height, width = src.shape[:2]
    return image.imresize(src, w, h, interp=_interpolation(interp, (height, width, h, w)))


def _interpolation(interp, sizes):
    """The method that codes 9 (by the change of size) and 10 (random) stand for."""
    if interp == 9:
        old_h, old_w, new_h, new_w = sizes
        if new_h > old_h and new_w > old_w:
            return 2
        return 3 if new_h < old_h and new_w < old_w else 1
    if interp == 10:
        return random.randint(0, 4)
    if interp not in range(5):
        raise ValueError(f"interp is one of 0 to 4, 9 and 10, given {interp}")
    return interp


def resize_long(src, size, interp=2):
    """The picture with its long side of `size` pixels."""
    h, w = src.shape[:2]
    new_h, new_w = (size, size * w // h) if h > w else (size * h // w, size)
    return imresize(src, new_w, new_h, interp)


def resize_short_within(src, short, max_size, mult_base=1, interp=2):
    """The picture with its short side of `short` pixels, or less where the long one would pass `max_size`.

    Sides are multiples of `mult_base`.
    """
    h, w = src.shape[:2]
    small, large = min(h, w), max(h, w)
    scale = short / small
    if np.round(scale * large / mult_base) * mult_base > max_size:
        scale = np.floor(max_size / mult_base) * mult_base / large
    new_w, new_h = (int(np.round(side * scale / mult_base) * mult_base) for side in (w, h))
    return imresize(src, new_w, new_h, interp)


def random_pca_lighting(src, alphastd, eigval=None, eigvec=None):
    """Noise along the principal components of ImageNet's colours (Krizhevsky et al., 2012), of deviation `alphastd`."""
    if alphastd <= 0:
        return src
    eigval = np.array([55.46, 4.794, 1.148]) if eigval is None else eigval
    if eigvec is None:
        eigvec = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
    alpha = np.random.normal(0, alphastd, size=(3,))
    return like(pixels_of(src) + np.dot(eigvec * alpha, eigval).astype(np.dtype(src.dtype)), src)


def random_expand(src, max_ratio=4, fill=0, keep_ratio=True):
    """The picture at a random place of a larger one of colour `fill`; gives it and (x, y, new width, new height)."""
    if max_ratio <= 1:
        return src, (0, 0, src.shape[1], src.shape[0])
    h, w = src.shape[:2]
    ratio_x = random.uniform(1, max_ratio)
    ratio_y = ratio_x if keep_ratio else random.uniform(1, max_ratio)
    new_h, new_w = int(h * ratio_y), int(w * ratio_x)
    y, x = random.randint(0, new_h - h), random.randint(0, new_w - w)
    return _placed(src, (new_w, new_h), (x, y), fill), (x, y, new_w, new_h)


def random_flip(src, px=0, py=0, copy=False):
    """The picture mirrored left-right with probability `px` and up-down with `py`.

    Gives it and (flipped x, flipped y).
    """
    flip_y, flip_x = (bool(np.random.choice([False, True], p=[1 - p, p])) for p in (py, px))
    if flip_y:
        src = src[::-1]
    if flip_x:
        src = src[:, ::-1]
    return (src.copy() if copy else src), (flip_x, flip_y)


def resize_contain(src, size, fill=0):
    """The picture in the middle of one of `size` = (width, height), smaller where it does not fit.

    Gives it and (x, y, width, height) of the old one. fill: one number, or one for each channel; then it is float32.
    """
    h, w = src.shape[:2]
    out_w, out_h = size
    scale = min(out_h / h, out_w / w, 1)
    new_w, new_h = int(w * scale), int(h * scale)
    if scale < 1:
        src = image.imresize(src, new_w, new_h)
    if np.ndim(fill):
        src = src.astype("float32")
    x, y = (out_w - new_w) // 2, (out_h - new_h) // 2
    return _placed(src, size, (x, y), fill), (x, y, new_w, new_h)


def _placed(src, size, place, fill):
    """A picture of `size` = (width, height) in the colour `fill`, with `src` at `place` = (x, y)."""
    (width, height), (x, y), (h, w, channels) = size, place, src.shape
    fill = np.asarray(fill)
    if fill.size not in (1, channels):
        raise ValueError(f"fill is one number or {channels}, given {fill.size}")
    out = np.empty((height, width, channels), dtype=np.dtype(src.dtype))
    out[:] = fill.astype(out.dtype)
    out[y : y + h, x : x + w] = pixels_of(src)
    return like(out, src)


def ten_crop(src, size):
    """The four corners and the middle of `size` = (width, height), and their mirror images: (10, height, width, 3)."""
    h, w = src.shape[:2]
    out_w, out_h = size
    if out_w > w or out_h > h:
        raise ValueError(f"crops of {size} do not fit into a picture of {(w, h)}")
    right, bottom, middle_x, middle_y = w - out_w, h - out_h, (w - out_w) // 2, (h - out_h) // 2
    corners = [(middle_x, middle_y), (0, 0), (0, bottom), (right, 0), (right, bottom)]
    pixels = pixels_of(src)
    crops = np.stack([pixels[y : y + out_h, x : x + out_w] for x, y in corners])
    return like(np.concatenate([crops, crops[:, :, ::-1]]), src)
