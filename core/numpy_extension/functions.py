"""Functions of the `npx` namespace that are more than an operator."""

from __future__ import annotations

from core import ndarray as _nd
from core import random as _random
from core import storage as _storage


def waitall() -> None:
    """Waits until every device has finished its work."""
    _storage.synchronize()


def seed(seed: int, ctx="all", device=None) -> None:
    """Starts the random state anew, of all contexts or of one."""
    _random.seed(seed, device or ctx)


def from_numpy(ndarray, zero_copy: bool = True):
    """An array over the memory of a NumPy array, which then must be contiguous; a copy without `zero_copy`."""
    return _nd.from_numpy(ndarray, zero_copy).as_np_ndarray()


def from_dlpack(dlpack):
    """An array on the memory of an object that has `__dlpack__`, or of a DLPack capsule."""
    return _nd.from_dlpack(dlpack).as_np_ndarray()


to_dlpack_for_read, to_dlpack_for_write = _nd.to_dlpack_for_read, _nd.to_dlpack_for_write


def cond(pred, then_func, else_func, inputs=(), name="cond"):
    """`then_func()` or `else_func()` (of the inputs), as `pred` says."""
    if callable(pred):
        pred, then_func, else_func = pred(*inputs), _bound(then_func, inputs), _bound(else_func, inputs)
    return _nd.contrib.cond(pred, then_func, else_func, name)


def _bound(func, inputs):
    return lambda: func(*inputs)


foreach, while_loop = _nd.contrib.foreach, _nd.contrib.while_loop
