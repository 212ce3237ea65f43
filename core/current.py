"""Classes with a current instance, one for each thread."""

from __future__ import annotations

import threading


class Current(type):
    """Class of classes whose attribute `current` is an instance per thread, at first a new one; it can be assigned."""

    def __init__(cls, *definition):
        super().__init__(*definition)
        if not hasattr(cls, "_state"):  # subclasses share it
            cls._state, cls._root = threading.local(), cls

    @property
    def current(cls):
        current = getattr(cls._state, "current", None)
        if current is None:
            current = cls._state.current = cls._root()
        return current

    @current.setter
    def current(cls, value):
        cls._state.current = value
