"""NumPy semantics of the whole process: `set_np`, `use_np` and the questions that code asks about them."""

from __future__ import annotations

import functools
import threading


class _State(threading.local):
    shape = False
    array = False


_state = _State()


def is_np_shape() -> bool:
    """Whether shapes may have zero dimensions and zero lengths."""
    return _state.shape


def is_np_array() -> bool:
    """Whether Gluon makes `np` arrays."""
    return _state.array


def set_np_shape(active: bool) -> bool:
    """Switches NumPy shapes; returns what was before."""
    before, _state.shape = _state.shape, bool(active)
    return before


def set_np(shape: bool = True, array: bool = True, dtype: bool = False) -> None:
    """Switches NumPy shapes and arrays on."""
    if array and not shape:
        raise ValueError("NumPy arrays need NumPy shapes: set_np(shape=True, array=True)")
    _state.shape, _state.array = bool(shape), bool(array)


def reset_np() -> None:
    """Back to the classic semantics."""
    _state.shape = _state.array = False


class _Switch:
    """Scope of NumPy (or classic) semantics."""

    def __init__(self, shape: bool | None, array: bool | None):
        self._wanted = shape, array

    def __enter__(self):
        self._before = _state.shape, _state.array
        shape, array = self._wanted
        _state.shape = _state.shape if shape is None else shape
        _state.array = _state.array if array is None else array
        return self

    def __exit__(self, *_):
        _state.shape, _state.array = self._before


def np_shape(active: bool = True) -> _Switch:
    """Scope of NumPy shapes."""
    return _Switch(active, None)


def np_array(active: bool = True) -> _Switch:
    """Scope of NumPy arrays."""
    return _Switch(None, active)


def use_np(func):
    """Decorates a function or class: it runs with NumPy semantics."""
    return _wrap(func, True, True)


def use_np_shape(func):
    """Decorates a function or class: it runs with NumPy shapes."""
    return _wrap(func, True, None)


def use_np_array(func):
    """Decorates a function or class: it runs with NumPy arrays."""
    return _wrap(func, None, True)


def _wrap(func, shape, array):
    if isinstance(func, type):
        for name, value in list(vars(func).items()):
            if callable(value) and not isinstance(value, type):
                setattr(func, name, _wrap(value, shape, array))
        return func

    @functools.wraps(func)
    def run(*args, **kwargs):
        with _Switch(shape, array):
            return func(*args, **kwargs)

    return run
