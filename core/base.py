"""Errors that all of the project shares, and names that programs for MXNet take from its `base`."""

from __future__ import annotations

import ctypes
import difflib
import os
import weakref
from collections.abc import Callable, Iterable

import numpy as np

from core import late_names

# What MXNet programs ask for when they look at the kind of a value.
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)
string_types = (str,)
mx_real_t = np.float32


class MXNetError(RuntimeError):
    """Base of every error that this project raises on purpose."""


class NotSupportedError(MXNetError, NotImplementedError):
    """Something that the original offers and this implementation does not (yet)."""


class IndexOutOfBounds(MXNetError, IndexError):
    """A place that an array does not have, found by an operator. MXNet raises the one or the other, by operator."""


class NoAxis(IndexOutOfBounds, ValueError):
    """An axis that an array does not have, as NumPy's error of this kind is both as well."""


class BadValue(MXNetError, ValueError):
    """A value that cannot be read, or does not fit its place. MXNet raises the one or the other, by operator."""


class BadArgument(MXNetError, ValueError, AssertionError):
    """An argument that a function cannot use, which MXNet's functions assert."""


class WrongKind(MXNetError, TypeError, ValueError):
    """An argument that does not fit. MXNet raises the one or the other, by where it is found out."""


class NotAnArray(TypeError, AssertionError):
    """Something else where an operator takes an array, which MXNet's functions assert."""


class NotImplementedForSymbol(MXNetError):
    """Something that needs values, which a symbol does not have."""


class NotSupportedForSparseNDArray(MXNetError):
    """Something that a sparse array cannot do."""


def py_str(x: bytes | str) -> str:
    """Text from the bytes that MXNet's library gave; here it is text already."""
    return x if isinstance(x, str) else x.decode("utf-8")


class classproperty:
    """A property that is read on the class itself; decorates a class method."""

    def __init__(self, fget: Callable):
        self._get = fget

    def __get__(self, instance, owner):
        return self._get.__get__(instance, owner)()


def with_metaclass(meta: type, *bases: type) -> type:
    """A base for classes of the metaclass `meta`; `class C(A, metaclass=meta)` says the same."""
    return meta("_Base", bases or (object,), {})


error_types: dict[str, type] = {}


def register_error(func_name: str | type | None = None, cls: type | None = None):
    """Files an error class under a name, by default its own; also as decorator, with or without the name."""
    if isinstance(func_name, type):
        func_name, cls = None, func_name

    def register(klass: type) -> type:
        error_types[func_name or klass.__name__] = klass
        return klass

    return register if cls is None else register(cls)


def data_dir_default() -> str:
    """The folder of downloaded files where MXNET_HOME does not name another one: ~/.mxnet."""
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir() -> str:
    """The folder of downloaded files: MXNET_HOME, or ~/.mxnet."""
    return os.environ.get("MXNET_HOME") or data_dir_default()


def is_of_nodes(word: str) -> bool:
    """Whether a keyword such as `__layout__` describes a symbol's node: it says nothing of an array, and operators take it.

    >>> is_of_nodes("__layout__"), is_of_nodes("__layout")
    (True, False)
    """
    return word.startswith("__") and word.endswith("__")


def nearest(word: str, words: Iterable[str]) -> str:
    """A sentence that offers the valid name most like `word`, or an empty string.

    That is one that begins with it (`resnet50`), is spelled nearly so, or has it for its initials (`lr`). None is offered
    for names such as `__path__`, for which `import` asks modules each time.
    """
    if word.startswith("__"):
        return ""
    words = [w for w in words if isinstance(w, str)]
    match = sorted((w for w in words if len(word) > 2 and w.startswith(word)), key=lambda w: (len(w), w))
    match = match or difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    match = match or [w for w in words if "_" in w and "".join(part[:1] for part in w.split("_")) == word]
    return f" Did you mean {match[0]!r}?" if match else ""


def conversion(value: object) -> str:
    """What to do with a value that was given in place of an array, as a sentence; "" where that cannot be said."""
    package = type(value).__module__.partition(".")[0]
    if package == "torch":
        return ": convert it with mx.nd.array(x.detach().cpu().numpy())"
    if package == "numpy" or isinstance(value, (list, tuple, int, float)):
        return ": convert it with mx.nd.array(x)"
    if package == "PIL":
        return ": convert it with mx.nd.array(np.asarray(x)), or with the transform ToTensor"
    return ""


class UnknownName(AttributeError):
    """A module has no such name. The nearest one is looked for when the message is read: `hasattr` never reads it."""

    def __init__(self, module: str, name: str, known: Callable[[], Iterable[str]], what: str = "function"):
        super().__init__(module, name)
        self.name, self._known, self._what = name, known, what

    def __str__(self):
        module, name = self.args
        return f"{module} has no {self._what} {name!r}.{nearest(name, self._known())}"


def as_list(value) -> list:
    """The elements of a list or tuple as a new list, anything else as a list of one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _as_list(obj) -> list:
    """A list or tuple as it is, anything else as a list of one."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


# ------------------------------------------------------------------------------------------ names of the C interface
# Modules import these beside what is of Python; the calls themselves need MXNet's own library.

mx_int, mx_uint, mx_int64, mx_float = ctypes.c_int, ctypes.c_uint, ctypes.c_int64, ctypes.c_float
mx_float_p = ctypes.POINTER(mx_float)
ExecutorHandle = CachedOpHandle = OpHandle = KVStoreHandle = ctypes.c_void_p
DataIterHandle = DataIterCreatorHandle = FunctionHandle = RecordIOHandle = ProfileHandle = DLPackHandle = (
    ctypes.c_void_p
)


def c_str(string: str) -> ctypes.c_char_p:
    """A string for a call of C."""
    return ctypes.c_char_p(string.encode("utf-8"))


def c_array(ctype: type, values) -> ctypes.Array:
    """Values as an array for a call of C."""
    return (ctype * len(values))(*values)


def c_str_array(strings) -> ctypes.Array:
    """Strings as an array for a call of C."""
    return c_array(ctypes.c_char_p, [s.encode("utf-8") for s in strings])


class SymbolHandle(ctypes.c_void_p):
    """What a symbol is to a call of C, which writes a result into an empty one.

    `Symbol(handle)` is that symbol again.
    """

    entries = ()

    def __iter__(self):
        return iter(self.entries)


class NDArrayHandle(ctypes.c_void_p):
    """What an array is to a call of C, which puts a result into an empty one: `NDArray(handle=handle)` is that array."""

    _held, _arrays = None, weakref.WeakValueDictionary()

    def hold(self, array) -> NDArrayHandle:
        """Makes it the handle of an array."""
        self._held, self.value = array, id(array)
        self._arrays[self.value] = array
        return self

    @property
    def array(self):
        """The array, which a handle that was cast from another finds by its number; None without one."""
        return self._arrays.get(self.value) if self._held is None else self._held

    def __eq__(self, other):
        return isinstance(other, NDArrayHandle) and self.value == other.value

    def __hash__(self):
        return hash(self.value)


class _Library:
    """Stands where MXNet has its shared library, with the calls that tools make of it (`core.c_interface`).

    Those here name the operators that a backend shall put into subgraphs. Graphs are cut when they are compiled, whatever a
    backend is asked for, so that a symbol with its subgraphs is the symbol (see `Symbol.optimize_for`).
    """

    def MXSetSubgraphPropertyOpNames(self, backend, count, names) -> int:
        return 0

    def MXRemoveSubgraphPropertyOpNames(self, backend) -> int:
        return 0

    MXSetSubgraphPropertyOpNamesV2 = MXSetSubgraphPropertyOpNames
    MXRemoveSubgraphPropertyOpNamesV2 = MXRemoveSubgraphPropertyOpNames

    def MXBuildSubgraphByOpNames(self, symbol: SymbolHandle, backend, count, names, result) -> int:
        result._obj.entries = symbol.entries
        return 0

    def __getattr__(self, name: str):
        try:
            return late_names.find("core.base._LIB", name)
        except AttributeError:
            raise NotSupportedError(
                f"{name} is a function of MXNet's shared library; this implementation has none"
            ) from None


_LIB = _Library()


def check_call(ret: int) -> None:
    """MXNetError where a call of C gave another status than 0."""
    if ret:
        raise MXNetError(f"a call of C failed with status {ret}")
