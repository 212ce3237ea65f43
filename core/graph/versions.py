"""What compiled blocks look at besides their arguments: counters of changes, and what a thread is within."""

from __future__ import annotations

import threading


class Versions:
    """`arrays` grows whenever some parameter gets another array, dtype, place or request for gradients, `values`
    whenever an optimizer writes new values, which kernels of a GPU do without the tensor's noticing it, `rules`
    whenever operators begin to act otherwise, as under mixed precision.
    """

    arrays = 0
    values = 0
    rules = 0


def arrays_changed() -> None:
    """Notifies compiled blocks that parameters changed in more than their values."""
    Versions.arrays += 1


def values_changed() -> None:
    """Notifies compiled blocks that an optimizer has written to parameters."""
    Versions.values += 1


def rules_changed() -> None:
    """Notifies compiled blocks that what they traced is computed in another way now."""
    Versions.rules += 1


class _Thread(threading.local):
    """Of a thread that runs a function operator by operator which was to be compiled.

    untraced: the function has no plan for its arguments; waiting: for now, so that its parts get none either.
    """

    untraced = False
    waiting = False


thread = _Thread()
