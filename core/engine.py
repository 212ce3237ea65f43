"""The engine's settings of MXNet. Kernels run in program order here, so these are kept and have no effect.

Errors are raised by the call that is wrong, as under MXNet's NaiveEngine; other engines of MXNet raise them when a
result is read (`asnumpy`, `wait_to_read`, `waitall`).
"""

from __future__ import annotations

_bulk_size = 15


def set_bulk_size(size: int) -> int:
    """Sets how many operators MXNet would run as one; returns what it was before."""
    global _bulk_size
    before, _bulk_size = _bulk_size, int(size)
    return before


class _BulkScope:
    def __init__(self, size: int):
        self._size = size

    def __enter__(self):
        self._before = set_bulk_size(self._size)
        return self

    def __exit__(self, *_):
        set_bulk_size(self._before)


def bulk(size: int) -> _BulkScope:
    """A scope with another bulk size."""
    return _BulkScope(size)
