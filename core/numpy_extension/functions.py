"""Functions of the `npx` namespace that are more than an operator."""

from __future__ import annotations

from core import ndarray as _nd
from core import random as _random
from core import storage as _storage


def waitall() -> None:
    """Waits until every device has finished its work.

    >>> npx.waitall()
    """
    _storage.synchronize()


def seed(seed: int, ctx="all", device=None) -> None:
    """Starts the random state anew, of all contexts or of one.

    >>> npx.seed(3)
    >>> x = np.random.uniform(size=2)
    >>> npx.seed(3)
    >>> bool((np.random.uniform(size=2) == x).all())
    True
    """
    _random.seed(seed, device or ctx)


def from_numpy(ndarray, zero_copy: bool = True):
    """An array over the memory of a NumPy array, which then must be contiguous; a copy without `zero_copy`.

    >>> npx.from_numpy(onp.ones(2, "float32"))
    array([1., 1.])
    """
    return _nd.from_numpy(ndarray, zero_copy).as_np_ndarray()


def from_dlpack(dlpack):
    """An array on the memory of an object that has `__dlpack__`, or of a DLPack capsule.

    >>> npx.from_dlpack(onp.ones(2, "float32"))
    array([1., 1.])
    """
    return _nd.from_dlpack(dlpack).as_np_ndarray()


to_dlpack_for_read, to_dlpack_for_write = _nd.to_dlpack_for_read, _nd.to_dlpack_for_write
