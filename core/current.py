"""Classes with a current instance, one for each thread."""

from __future__ import annotations

import threading


class _Instance(threading.local):
    """`value`: the thread's instance of a class, at first a new one."""

    def __init__(self, kind: type):
        self.value = kind()


class Current(type):
    """Class of classes whose attribute `current` is an instance per thread, at first a new one; it can be assigned.

    Programs for MXNet 1.x write `_current.value` for it.
    """

    def __init__(cls, *definition):
        super().__init__(*definition)
        if not hasattr(cls, "_current"):  # subclasses share it
            cls._current = _Instance(cls)

    @property
    def current(cls):
        return cls._current.value

    @current.setter
    def current(cls, value):
        cls._current.value = value
