"""Between the arrays that users hold and the NumPy arrays in which images are worked on."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np


def pixels_of(image) -> np.ndarray:
    """The NumPy array of an NDArray, or of what is one already."""
    return image if isinstance(image, np.ndarray) else image.asnumpy()


def like(pixels: np.ndarray, image):
    """`pixels` as the kind of array that `image` is."""
    if isinstance(image, np.ndarray):
        return pixels
    return to_array(pixels, type(image))


def to_array(pixels: np.ndarray, kind: type | None = None):
    """A new NDArray of the same dtype; of the class `kind`, or the one that `npx.set_np` asks for."""
    from core import ndarray, numpy, util

    numpy_face = util.is_np_array() if kind is None else issubclass(kind, numpy.ndarray)
    return (numpy if numpy_face else ndarray).array(pixels, dtype=pixels.dtype)


def on_pixels(function: Callable) -> Callable:
    """Lets a function of NumPy pixels take and give either kind of array; of a tuple the first member is the image."""

    @functools.wraps(function)
    def wrapper(src, *args, **kwargs):
        result = function(pixels_of(src), *args, **kwargs)
        if isinstance(result, tuple):
            return like(result[0], src), *result[1:]
        return like(result, src)

    return wrapper
