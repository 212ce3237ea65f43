"""NumPy semantics of the whole process: `set_np`, `use_np` and the questions that code asks about them."""

from __future__ import annotations

import functools
import os
import threading

import numpy as onp

from core import late_names, storage
from core.base import MXNetError, NotSupportedError, WrongKind, is_of_nodes
from core.context import gpu_memory_info, num_gpus
from core.dtypes import dtype_name
from core.tracebacks import set_full_traceback as set_full_traceback


class _State(threading.local):
    shape_of_all = False  # of the class: what `set_np_shape(2)` asks for in all threads
    shape = False
    array = False
    dtype = False
    flushes = False


_state = _State()


def is_np_shape() -> bool:
    """Whether shapes may have zero dimensions and zero lengths."""
    return _State.shape_of_all or _state.shape


def is_np_array() -> bool:
    """Whether Gluon makes `np` arrays."""
    return _state.array


def set_np_shape(active: bool | int) -> bool:
    """Switches NumPy shapes, with 2 in all threads; returns what was before."""
    before = is_np_shape()
    _State.shape_of_all = active == 2 or (_State.shape_of_all and bool(active))
    _state.shape = bool(active)
    return before


def set_np(shape: bool = True, array: bool = True, dtype: bool = False) -> None:
    """Switches NumPy shapes and arrays on."""
    if array and not shape:
        raise ValueError("NumPy arrays need NumPy shapes: set_np(shape=True, array=True)")
    _state.shape, _state.array, _state.dtype = bool(shape), bool(array), bool(dtype)


def reset_np() -> None:
    """Back to how the program began: to the classic semantics, or to NumPy's after `begin_with_np`."""
    _state.__dict__.clear()


def begin_with_np() -> None:
    """Makes NumPy shapes and arrays what every thread begins with, as MXNet 2 does."""
    _State.shape = _State.array = True


def is_np_default_dtype() -> bool:
    """Whether `np` makes float64 and int64, as NumPy does, where no type is given, instead of float32."""
    return _state.dtype


def set_np_default_dtype(is_np_default_dtype: bool = True) -> bool:
    """Switches NumPy's default types; returns what was before."""
    before, _state.dtype = _state.dtype, bool(is_np_default_dtype)
    return before


def dtype_from_number(number) -> type:
    """The type that MXNet 2 gives a number: int64, or uint64 where it needs the range, for integers;
    float32 for others.

    float64 beyond 2**24, where float32 no longer holds every integer, and where `npx.set_np(dtype=True)` makes it the
    default; a number of NumPy keeps its own. OverflowError for an integer of more than 64 bits.
    """
    if isinstance(number, onp.generic) and not isinstance(number, float):
        return number.dtype
    if isinstance(number, int):
        for kind in (onp.int64, onp.uint64):
            if onp.iinfo(kind).min <= number <= onp.iinfo(kind).max:
                return kind
        raise OverflowError(f"{number} does not fit 64 bits")
    return onp.float64 if abs(number) > 2**24 or is_np_default_dtype() else onp.float32


def set_flush_denorms(value: bool) -> bool:
    """Whether numbers too small for full precision count as 0 in this thread's computations on the CPU;
    what was before.
    """
    before, _state.flushes = _state.flushes, bool(value)
    storage.flush_denormals(bool(value))
    return before


def default_float() -> str:
    """The type of numbers with fractions that `np` makes where none is given."""
    return "float64" if _state.dtype else "float32"


class _Switch:
    """Scope of NumPy (or classic) semantics: of shapes, arrays and default types; those not named stay."""

    def __init__(self, **wanted: bool):
        self._wanted = wanted

    def __enter__(self):
        self._before = {"shape": _state.shape, "array": _state.array, "dtype": _state.dtype}
        for name, value in self._wanted.items():
            setattr(_state, name, value)
        return self

    def __exit__(self, *_):
        for name, value in self._before.items():
            setattr(_state, name, value)


class _Assigned(type):
    @property
    def _current(cls):
        return cls(_state.array)

    @_current.setter
    def _current(cls, scope):
        _state.array = scope._is_np_array


class _NumpyArrayScope(_Switch, metaclass=_Assigned):
    """Scope of NumPy arrays by the name that programs assign from: `_NumpyArrayScope._current` is the thread's.

    MXNet 1.x keeps it in `_current.value`.
    """

    def __init__(self, is_np_array: bool):
        super().__init__(array=bool(is_np_array))
        self._is_np_array = bool(is_np_array)

    @property
    def value(self) -> _NumpyArrayScope:
        return self

    @value.setter
    def value(self, scope: _NumpyArrayScope) -> None:
        type(self)._current = scope


def np_shape(active: bool = True) -> _Switch:
    """Scope of NumPy shapes."""
    return _Switch(shape=active)


def np_array(active: bool = True) -> _Switch:
    """Scope of NumPy arrays."""
    return _NumpyArrayScope(active)


def np_default_dtype(active: bool = True) -> _Switch:
    """Scope of NumPy's default types."""
    return _Switch(dtype=active)


def use_np(func):
    """Decorates a function or class: it runs with NumPy semantics."""
    return _wrap(func, shape=True, array=True)


def use_np_shape(func):
    """Decorates a function or class: it runs with NumPy shapes."""
    return _wrap(func, shape=True)


def use_np_array(func):
    """Decorates a function or class: it runs with NumPy arrays."""
    return _wrap(func, array=True)


def use_np_default_dtype(func):
    """Decorates a function or class: it runs with NumPy's default types."""
    return _wrap(func, dtype=True)


def set_module(module):
    """Decorator: sets the module that a function or class says it is from."""

    def decorate(func):
        if module is not None:
            func.__module__ = module
        return func

    return decorate


def wrap_np_unary_func(func):
    """Decorates a NumPy function of one array: the arguments `where`, `casting`, `order`, ... keep their defaults.

    TypeError for names of another kind, NotImplementedError for other values.
    """
    return _with_ufunc_arguments(func)


def wrap_np_binary_func(func):
    """As `wrap_np_unary_func`, for functions of two arrays."""
    return _with_ufunc_arguments(func)


def np_ufunc_legal_option(key, value) -> bool:
    """Whether NumPy's universal functions take an argument with this value."""
    options = {
        "where": lambda v: True,
        "casting": lambda v: v in ("no", "equiv", "safe", "same_kind", "unsafe"),
        "order": lambda v: isinstance(v, str),
        "dtype": _is_dtype,
        "subok": lambda v: isinstance(v, bool),
    }
    return key in options and options[key](value)


def _is_dtype(value) -> bool:
    try:
        return value is None or bool(dtype_name(value))
    except TypeError:
        return False


_UFUNC_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}


def _with_ufunc_arguments(func):
    @functools.wraps(func)
    def run(*args, out=None, **kwargs):
        check_ufunc_arguments(func.__name__, kwargs)
        return func(*args, out=out)

    return run


def require(function: str, argument: str, given: object, *accepted: object) -> None:
    """NotSupportedError for a value that the original or NumPy gives a meaning and this implementation does not.

    >>> require("np.zeros", "order", "C", "C")
    """
    if not any(given is value or given == value for value in accepted):
        values = " or ".join(repr(value) for value in accepted)
        raise NotSupportedError(f"{function}: {argument}={given!r} is not supported; accepted is {values}")


def no_more(function: str, given: dict) -> None:
    """TypeError for keywords that are left over.

    `name` and names such as `__layout__` are of the nodes of symbols, and say nothing of an array.

    >>> no_more("nd.zeros", {"name": "zeros0"})
    """
    unknown = sorted(key for key in given if key != "name" and not is_of_nodes(key))
    if unknown:
        raise WrongKind(f"{function} has no argument {', '.join(map(repr, unknown))}")


def check_ufunc_arguments(name: str, given: dict) -> None:
    """NotImplementedError for arguments of NumPy's universal functions at other than their defaults.

    TypeError for names and values that NumPy does not know either.
    """
    for key, value in given.items():
        if key not in _UFUNC_DEFAULTS:
            raise TypeError(f"{key!r} is no argument of {name}; accepted are out, {', '.join(_UFUNC_DEFAULTS)}")
        if value != _UFUNC_DEFAULTS[key]:
            if not np_ufunc_legal_option(key, value):
                raise TypeError(f"{name}: {key}={value!r} is not valid")
            raise NotImplementedError(f"{name}: {key}={value!r} is not implemented")


def get_gpu_count() -> int:
    """How many GPUs there are."""
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """(free, total) bytes of a GPU."""
    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx) -> int:
    """The compute capability of a GPU as major * 10 + minor."""
    if ctx.device_type != "gpu":
        raise ValueError(f"{ctx} is no GPU")
    if ctx.device_id >= num_gpus():
        raise MXNetError(f"there is no {ctx}: this machine has {num_gpus()}")
    return storage.compute_capability(ctx.device_id)


def getenv(name: str) -> str | None:
    """An environment variable, None where it is not set."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Sets an environment variable, or removes it with None."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def wrap_ctx_to_device_func(func):
    """Decorator: a function with a keyword `device` takes it as `ctx` too."""

    @functools.wraps(func)
    def run(*args, **kwargs):
        ctx = kwargs.pop("ctx", None)
        return func(*args, **kwargs) if ctx is None else func(*args, device=ctx, **kwargs)

    return run


def _wrap(func, **wanted):
    if isinstance(func, type):
        for name, value in list(vars(func).items()):
            if callable(value) and not isinstance(value, type):
                setattr(func, name, _wrap(value, **wanted))
        return func

    @functools.wraps(func)
    def run(*args, **kwargs):
        with _Switch(**wanted):
            return func(*args, **kwargs)

    return run


def makedirs(d: str) -> None:
    """Makes a folder with those above it, unless it is there."""
    os.makedirs(os.path.expanduser(d), exist_ok=True)


def __getattr__(name: str):
    return late_names.find(__name__, name)


def __dir__():
    return late_names.offered(globals(), ("set_check_values", "is_check_values", "default_array", "numpy_fallback"))
