"""What trackers are trained with: boxes by corners or centres, and crops moved, blurred and coloured at random."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gluoncv.data.transforms import affine

__all__ = ["Center", "Corner", "SiamRPNaugmentation", "center2corner", "corner2center"]


class Corner(NamedTuple):
    """A box by its left, top, right and bottom."""

    x1: float
    y1: float
    x2: float
    y2: float


class Center(NamedTuple):
    """A box by its centre and extent."""

    x: float
    y: float
    w: float
    h: float


def corner2center(corner):
    """A `Corner`, or four numbers of it, as a `Center`, or a tuple."""
    x1, y1, x2, y2 = corner[0], corner[1], corner[2], corner[3]
    center = Center((x1 + x2) * 0.5, (y1 + y2) * 0.5, x2 - x1, y2 - y1)
    return center if isinstance(corner, Corner) else tuple(center)


def center2corner(center):
    """A `Center`, or four numbers of it, as a `Corner`, or a tuple."""
    x, y, w, h = center[0], center[1], center[2], center[3]
    corner = Corner(x - w * 0.5, y - h * 0.5, x + w * 0.5, y + h * 0.5)
    return corner if isinstance(center, Center) else tuple(corner)


# Spread of the colours of ImageNet's pictures along their principal components
_COLORS = np.array(
    [[-0.55919361, 0.98062831, -0.41940627], [1.72091413, 0.19879334, -1.82968581],
     [4.64467907, 4.73710203, 4.88324118]],
    dtype="float32",
)  # fmt: skip


class SiamRPNaugmentation:
    """Called with a NumPy picture (S, S, 3), a `Corner` of the target, and the size of the crop.

    Gives (crop, `Corner` in it).

    shift: pixels that the crop moves at most. scale: by how much its sides change. blur, flip, color: probabilities.
    """

    def __init__(self, shift, scale, blur, flip, color):
        self.shift, self.scale, self.blur, self.flip, self.color = shift, scale, blur, flip, color

    @staticmethod
    def random():
        """A number between -1 and 1."""
        return np.random.random() * 2 - 1.0

    def __call__(self, image, bbox, size, gray=False):
        window = center2corner(Center(image.shape[0] // 2, image.shape[1] // 2, size - 1, size - 1))
        if gray:
            image = _gray(image)
        image, bbox = self._moved(image, bbox, window, size)
        if self.color > np.random.random():
            image = image - np.dot(_COLORS, np.random.randn(3, 1))[::-1].reshape(3)
        if self.blur > np.random.random():
            image = _blurred(image)
        if self.flip and self.flip > np.random.random():
            width = image.shape[1]
            image, bbox = image[:, ::-1], Corner(width - 1 - bbox.x2, bbox.y1, width - 1 - bbox.x1, bbox.y2)
        return image, bbox

    def _moved(self, image, bbox, window, size):
        height, width = image.shape[:2]
        scale_x = scale_y = 1.0
        if self.scale:
            x, y, w, h = corner2center(window)
            scale_x, scale_y = (1.0 + self.random() * self.scale for _ in range(2))
            scale_x, scale_y = min(scale_x, width / w), min(scale_y, height / h)
            window = center2corner(Center(x, y, w * scale_x, h * scale_y))
        if self.shift:
            dx, dy = (self.random() * self.shift for _ in range(2))
            dx, dy = max(-window.x1, min(width - 1 - window.x2, dx)), max(-window.y1, min(height - 1 - window.y2, dy))
            window = Corner(window.x1 + dx, window.y1 + dy, window.x2 + dx, window.y2 + dy)
        left, top = window.x1, window.y1
        bbox = Corner(
            (bbox.x1 - left) / scale_x, (bbox.y1 - top) / scale_y, (bbox.x2 - left) / scale_x, (bbox.y2 - top) / scale_y
        )
        return crop_box(image, window, size), bbox


def crop_box(image, bbox, size, fill=0):
    """The box (left, top, right, bottom) of a NumPy picture as (size, size); `fill` outside of the picture."""
    left, top, right, bottom = (float(v) for v in bbox)
    a, b = (size - 1) / (right - left), (size - 1) / (bottom - top)
    return affine.warp(image, [[a, 0, -a * left], [0, b, -b * top]], (size, size), fill)


def _gray(image):
    """Three equal channels, of blue, green and red in fixed point as OpenCV computes them."""
    gray = (image.astype("int64") @ np.array([3735, 19235, 9798]) + (1 << 14)) >> 15
    return np.repeat(gray[:, :, None].astype(image.dtype), 3, axis=2)


def _blurred(image):
    """Means of a random number of pixels across and down, in random shares."""
    size = int(np.random.choice(np.arange(5, 46, 2)))
    share, half = np.random.random(), size // 2
    padded = np.pad(image.astype("float64"), ((half, half), (half, half), (0, 0)), "reflect")
    h, w = image.shape[:2]
    down = sum(padded[k : k + h, half : half + w] for k in range(size))
    across = sum(padded[half : half + h, k : k + w] for k in range(size))
    mean = (down * share + across * (1 - share)) / size
    return np.clip(np.rint(mean), 0, 255).astype("uint8") if image.dtype == np.uint8 else mean
