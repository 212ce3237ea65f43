"""Between the arrays that users hold and the NumPy arrays in which images are worked on."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from core import storage
from core.context import cpu
from core.dtypes import dtype_name
from core.ndarray.ndarray import NDArray
from core.util import is_np_array


def pixels_of(image) -> np.ndarray:
    """The NumPy array of an NDArray, or of what is one already; only to be read, for it may be the same memory."""
    if isinstance(image, np.ndarray):
        return image
    on_host = image.ctx.device_type != "gpu" and dtype_name(image.dtype) != "bfloat16"
    return storage.share_numpy(image._data) if on_host else image.asnumpy()


def like(pixels: np.ndarray, image):
    """`pixels` as the kind of array that `image` is."""
    if isinstance(image, np.ndarray):
        return pixels
    return to_array(pixels, type(image))


def to_array(pixels: np.ndarray, kind: type | None = None):
    """The NDArray, on the CPU, that holds `pixels` from now on; of the class `kind`, or the one of the namespace in use."""
    kind = kind or _face()
    return kind._wrap(storage.from_numpy(pixels, copy=False), cpu())


def _face() -> type:
    """The class of arrays that users expect now: `np.ndarray` under `npx.set_np()`, else NDArray."""
    if not is_np_array():
        return NDArray
    from core import numpy

    return numpy.ndarray


def on_pixels(function: Callable) -> Callable:
    """Lets a function of NumPy pixels take and give either kind of array; of a tuple the first member is the image.

    The result never shares memory with an NDArray that was given. `out`: an array to write it to.
    """

    @functools.wraps(function)
    def wrapper(src, *args, out=None, **kwargs):
        given = pixels_of(src)
        result = function(given, *args, **kwargs)
        image, rest = (result[0], result[1:]) if isinstance(result, tuple) else (result, None)
        if given is not src and np.may_share_memory(image, given):
            image = image.copy()
        if out is not None:
            out[:] = image
        image = like(image, src) if out is None else out
        return image if rest is None else (image, *rest)

    return wrapper
