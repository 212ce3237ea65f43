"""Python pickles read as data.

The few files of MXNet that are pickles (trainer states above all) are read by this small machine. It decodes the
opcodes, keeps a stack and builds plain containers, NumPy arrays and inert `Instance`s. Nothing is imported and
nothing is called but the constructors in `BUILDERS`; every other global name is refused
(https://docs.python.org/3/library/pickletools.html describes the opcodes).
"""

from __future__ import annotations

import io
import math
import os
import pickletools
import re
import struct
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from core.base import MXNetError
from core.files.reader import MAX_NDIM, DamagedFile, Reader

Builders = Mapping[str, Callable]
MAX_DEPTH = 200
# A few bytes of a pickle may say that a list holds another one many times: whoever goes through such a thing never ends.
VISITED_FREELY, VISITED_PER_BYTE = 100_000, 64


@dataclass(frozen=True)
class Global:
    """A class or function that a pickle names."""

    name: str


@dataclass
class Instance:
    """An object of a class that is known by name only: its constructor's arguments and its attributes."""

    name: str
    args: tuple = ()
    state: object = None
    items: list = field(default_factory=list)

    @property
    def attributes(self) -> dict:
        """The attributes by name; empty where the object had none."""
        return self.state if isinstance(self.state, dict) else {}


def read_pickle(path: str | os.PathLike, builders: Builders | None = None, inert: str = r"(?!)"):
    """The object in the pickle file at `path`; see `load_pickle`."""
    with Reader.open(path) as reader:
        return load_pickle(reader.bytes(reader.size), reader.name, builders, inert)


def load_pickle(
    data: bytes, name: str = "<buffer>", builders: Builders | None = None, inert: str = r"(?!)",
    persistent: Callable | None = None,
):  # fmt: skip
    """The object that the pickle `data` describes: None, numbers, strings, containers, NumPy arrays, `Instance`s.

    `builders` adds constructors by qualified name to those known here; names that match the regular expression
    `inert` become `Instance`s when they are called; `persistent` gives what a persistent id stands for. Any other name,
    and any damage, raises MXNetError with the name and the offset.
    """
    return load_pickles(data, 1, name, builders, inert, persistent)[0][0]


def load_pickles(
    data: bytes, count: int, name: str = "<buffer>", builders: Builders | None = None, inert: str = r"(?!)",
    persistent: Callable | None = None, first=None,
) -> tuple[list, int]:  # fmt: skip
    """`count` pickles that follow one another, and the offset behind them; see `load_pickle`.

    `first`, if given, is what the first one must hold: without it the data are something else.
    """
    known, pattern, stream = {**BUILDERS, **(builders or {})}, re.compile(inert), io.BytesIO(data)
    position, budget, results = 0, 16 * len(data) + 4096, []
    try:
        while len(results) < count:
            machine = _Machine(known, pattern, budget, persistent)
            for opcode, argument, offset in pickletools.genops(stream):
                position = offset
                machine.step(opcode.name, argument)
            budget = machine.budget
            if not results and first is not None and machine.result != first:
                raise MXNetError("not a file of this kind")
            _check_extent(machine.result, VISITED_FREELY + VISITED_PER_BYTE * len(data))
            results.append(machine.result)
        return results, stream.tell()
    except MXNetError as error:
        raise DamagedFile(f"{name!r}: {error} (at byte {position} of {len(data)})") from None
    except DAMAGE as error:
        message = f"damaged pickle: {type(error).__name__}: {error}"
        raise DamagedFile(f"{name!r}: {message} (at byte {position} of {len(data)})") from error


def _check_extent(value, limit: int) -> None:
    """Raises for a value that is nested too deeply, holds itself, or has too many parts for whoever visits each."""
    sizes: dict[int, int] = {}  # of the containers that were gone through
    way: list[tuple[int, list]] = [(id(value), _parts(value))]
    open_ones, totals = {id(value)}, [1]
    while way:
        key, parts = way[-1]
        if parts:
            part = parts.pop()
            if (inner := _parts(part)) is None or id(part) in sizes:
                totals[-1] += sizes.get(id(part), 1) if inner is not None else 1
                continue
            if id(part) in open_ones:
                raise MXNetError("damaged pickle: a container that holds itself")
            if len(way) >= MAX_DEPTH:
                raise MXNetError(f"damaged pickle: containers nested more than {MAX_DEPTH} deep")
            way.append((id(part), inner))
            open_ones.add(id(part))
            totals.append(1)
            continue
        way.pop()
        open_ones.discard(key)
        sizes[key] = totals.pop()
        if sizes[key] > limit:
            raise MXNetError(f"damaged pickle: it unfolds into more than {limit} values")
        if totals:
            totals[-1] += sizes[key]


def _parts(value) -> list | None:
    """What a container holds, in a list of its own; None for other values."""
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    return [value.args, value.state, value.items] if isinstance(value, Instance) else None


class _Machine:
    """The stack, the memo and one method for each kind of opcode."""

    def __init__(self, builders: Builders, inert: re.Pattern, budget: int, persistent: Callable | None = None):
        self.builders, self.inert, self.persistent = builders, inert, persistent
        self.budget = budget  # bytes and items that constructors may copy: a few opcodes must not fill the memory
        self.stack, self.marks, self.memo = [], [], {}
        self.unfinished = 0
        self.result = None

    def step(self, name: str, argument) -> None:
        if name in LITERALS:
            self.stack.append(LITERALS[name]())
        elif name in VALUES:
            self.stack.append(argument)
        elif (method := getattr(self, "_" + name.lower(), None)) is not None:
            method(argument)
        elif name not in IGNORED:
            raise MXNetError(f"the opcode {name} is refused: it is used by no file that is read here")

    def _pop_to_mark(self) -> list:
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def _pop(self, _) -> None:
        if self.marks and self.marks[-1] == len(self.stack):
            self.marks.pop()
        else:
            self.stack.pop()

    def _mark(self, _) -> None:
        self.marks.append(len(self.stack))

    def _pop_mark(self, _) -> None:
        self._pop_to_mark()

    def _dup(self, _) -> None:
        self.stack.append(self.stack[-1])

    def _stop(self, _) -> None:
        if self.unfinished:
            raise MXNetError("damaged pickle: a NumPy array without content")
        self.result = self.stack.pop()

    # names, objects
    def _global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._push_global(module, name)

    def _stack_global(self, _) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self._push_global(module, name)

    def _push_global(self, module: str, name: str) -> None:
        qualified = f"{_expect(module, str)}.{_expect(name, str)}"
        if qualified not in self.builders and not self.inert.fullmatch(qualified):
            raise MXNetError(f"the pickle names {qualified!r}, which is refused: loading a file runs no code")
        self.stack.append(Global(qualified))

    def _binpersid(self, _) -> None:
        if self.persistent is None:
            raise MXNetError("the pickle refers to something outside of it, which is refused")
        self.stack.append(self.persistent(self.stack.pop()))

    def _reduce(self, _) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        self._call(function, arguments)

    def _newobj(self, _) -> None:
        self._reduce(_)

    def _newobj_ex(self, _) -> None:
        keywords, arguments, cls = self.stack.pop(), self.stack.pop(), self.stack.pop()
        if keywords:
            raise MXNetError("keyword arguments of a constructor are refused")
        self._call(cls, arguments)

    def _call(self, function, arguments) -> None:
        if not isinstance(function, Global) or not isinstance(arguments, tuple):
            raise MXNetError("damaged pickle: a call of something that is no class")
        builder = self.builders.get(function.name)
        if builder is None:
            self.stack.append(Instance(function.name, arguments))
            return
        self._spend(arguments)
        self.stack.append(builder(*arguments))
        self.unfinished += isinstance(self.stack[-1], _Unfinished)

    def _spend(self, arguments: tuple) -> None:
        self.budget -= sum(len(value) for value in arguments if isinstance(value, (bytes, bytearray, str, list, tuple)))
        if self.budget < 0:
            raise MXNetError("damaged pickle: it would take many times its own size")

    def _build(self, _) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if isinstance(target, Instance):
            target.state = state
        elif isinstance(target, _Unfinished):
            self._spend(_expect(state, tuple))
            self.stack[-1] = target.finish(state)
            self.unfinished -= 1
            if target.memo_key is not None:
                self.memo[target.memo_key] = self.stack[-1]
        elif not isinstance(target, OrderedDict):  # whose attributes (PyTorch's _metadata) say nothing of its content
            raise MXNetError(f"damaged pickle: attributes for a {type(target).__name__}")

    # containers
    def _list(self, _) -> None:
        self.stack.append(self._pop_to_mark())

    def _tuple(self, _) -> None:
        self.stack.append(tuple(self._pop_to_mark()))

    def _tuple1(self, _) -> None:
        self.stack[-1:] = [(self.stack[-1],)]

    def _tuple2(self, _) -> None:
        self.stack[-2:] = [(self.stack[-2], self.stack[-1])]

    def _tuple3(self, _) -> None:
        self.stack[-3:] = [(self.stack[-3], self.stack[-2], self.stack[-1])]

    def _dict(self, _) -> None:
        items, target = self._pop_to_mark(), {}
        self._set(target, items)
        self.stack.append(target)

    def _frozenset(self, _) -> None:
        self.stack.append(frozenset(map(_key, self._pop_to_mark())))

    def _append(self, _) -> None:
        value = self.stack.pop()
        self._extend(self.stack[-1], [value])

    def _appends(self, _) -> None:
        items = self._pop_to_mark()
        self._extend(self.stack[-1], items)

    def _extend(self, target, items: list) -> None:
        (target.items if isinstance(target, Instance) else _expect(target, list)).extend(items)

    def _setitem(self, _) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set(self.stack[-1], [key, value])

    def _setitems(self, _) -> None:
        items = self._pop_to_mark()
        self._set(self.stack[-1], items)

    def _set(self, target, items: list) -> None:
        pairs = list(zip(items[::2], items[1::2], strict=True))
        if isinstance(target, Instance):
            target.items.extend(pairs)
        else:
            _expect(target, dict).update((_key(key), value) for key, value in pairs)

    def _additems(self, _) -> None:
        items = self._pop_to_mark()
        _expect(self.stack[-1], set).update(map(_key, items))

    # memo
    def _memoize(self, _) -> None:
        self._put(len(self.memo))

    def _put(self, key: int) -> None:
        self.memo[key] = self.stack[-1]
        if isinstance(self.stack[-1], _Unfinished):
            self.stack[-1].memo_key = key

    def _get(self, key: int) -> None:
        self.stack.append(self.memo[key])

    _binput = _long_binput = _put
    _binget = _long_binget = _get


class _Unfinished:
    """Something of NumPy between its construction and its state, which decides what it is."""

    memo_key: int | None = None


class _DType(_Unfinished):
    accepted = r"([biufc]\d{1,2}|[SUV][1-9]\d{0,6})"

    def __init__(self, code: str, align=False, copy=True):
        self.code = _expect(code, str)

    def finish(self, state: tuple) -> np.dtype:
        order = state[1]
        if not re.fullmatch(self.accepted, self.code) or order not in ("<", ">", "|", "="):
            raise MXNetError(f"the NumPy dtype {self.code[:20]!r} is refused: plain numbers and strings are read")
        dtype = np.dtype(self.code).newbyteorder(order)
        # Fields, an alignment or flags that do not belong to the code would make NumPy take bytes for other things.
        expected = dtype.__reduce__()[2]
        if len(state) < 8 or state[2:5] != expected[2:5] or state[5:8] != expected[5:8] or any(state[8:]):
            raise MXNetError(f"the state of the NumPy dtype {self.code[:20]!r} is refused: it is not that of the type")
        return dtype


class _Array(_Unfinished):
    def __init__(self, cls: Global, shape: tuple, code: bytes):
        _expect(cls, Global)

    def finish(self, state: tuple) -> np.ndarray:
        _, shape, dtype, fortran, data = state
        return _array(data, dtype, shape, "F" if fortran is True else "C")


class _AnyDType(_DType):
    accepted = rf"O8?|{_DType.accepted}"


class _AnyArray(_Array):
    def finish(self, state: tuple) -> np.ndarray:
        _, shape, dtype, fortran, items = state
        if not _expect(dtype, np.dtype).hasobject:
            return super().finish(state)
        if len(_extents(shape)) > 1 and fortran:
            raise MXNetError("arrays of objects in Fortran's order are refused")
        plain = (str, bytes, int, float, complex, type(None), np.generic)
        if len(_expect(items, list)) != math.prod(shape) or not all(
            isinstance(item, plain) or (isinstance(item, np.ndarray) and not item.dtype.hasobject) for item in items
        ):
            raise MXNetError(f"an array of {math.prod(shape)} strings, numbers or arrays of numbers is expected")
        result = np.empty(len(items), object)
        for i, item in enumerate(items):
            result[i] = item
        return result.reshape(shape)


def _array(data: bytes, dtype: np.dtype, shape: tuple, order: str = "C") -> np.ndarray:
    _expect(dtype, np.dtype), _expect(data, (bytes, bytearray)), _extents(shape)
    if order not in ("C", "F"):
        raise MXNetError("damaged pickle: a NumPy array of an unknown order")
    if dtype.hasobject:
        raise MXNetError("damaged pickle: a NumPy array of objects in plain bytes")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise MXNetError(f"damaged pickle: a NumPy array of shape {shape} and dtype {dtype} in {len(data)} bytes")
    return np.frombuffer(bytearray(data), dtype).reshape(shape, order=order)


def _extents(shape: tuple) -> tuple[int, ...]:
    """`shape`, when it can be one; empty arrays as well may not pretend to have extents beyond all memory."""
    extents = _expect(shape, tuple)
    whole = all(type(extent) is int and extent >= 0 for extent in extents)
    if len(extents) > MAX_NDIM or not whole or math.prod(extent or 1 for extent in extents) >= 1 << 48:
        raise MXNetError("damaged pickle: a NumPy array of an impossible shape")
    return extents


def _scalar(dtype, data: bytes):
    return _array(data, dtype, ())[()]


def _encode(text: str, encoding: str = "latin1") -> bytes:
    if encoding not in ("latin1", "latin-1"):
        raise MXNetError(f"bytes in the encoding {encoding!r} are refused")
    return _expect(text, str).encode("latin1")


def _bytearray(data=b"", encoding: str | None = None) -> bytearray:
    return bytearray(_encode(data, encoding) if encoding else _expect(data, (bytes, bytearray)))


def _container(kind: type) -> Callable:
    """The constructor of a set or dictionary out of a list of members or pairs."""

    def build(items=()):
        items = _expect(items, (list, tuple))
        return kind((_key(key), value) for key, value in items) if issubclass(kind, dict) else kind(map(_key, items))

    return build


def _refuse_object(*_):
    raise MXNetError("damaged pickle: a bare object")


def _reconstructor(cls, base, state=None):
    """`copyreg._reconstructor`, which protocols 0 and 1 use for plain objects."""
    return Instance(_expect(cls, Global).name)


def _expect(value, kinds):
    if not isinstance(value, kinds):
        raise MXNetError(f"damaged pickle: a {type(value).__name__} where another type belongs")
    return value


def _key(value):
    """A dictionary key or set member; tuples of plain values only, because hashing deep ones exhausts the C stack."""
    plain = (str, bytes, int, float, complex, type(None), np.generic)
    if isinstance(value, plain) or (isinstance(value, tuple) and all(isinstance(part, plain) for part in value)):
        return value
    raise MXNetError(f"a {type(value).__name__} as a key or set member is refused")


# What genops and the machine run into when a pickle is damaged.
DAMAGE = (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError, MemoryError, struct.error)
LITERALS = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False,
    "EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict, "EMPTY_SET": set,
}  # fmt: skip
VALUES = frozenset(
    {
        "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
        "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "BINBYTES", "BINBYTES8",
        "SHORT_BINBYTES", "BYTEARRAY8",
    }
)  # fmt: skip
IGNORED = frozenset({"PROTO", "FRAME"})
_FUNCTIONS = {
    "bytearray": _bytearray, "bytes": lambda data=b"": bytes(_bytearray(data)), "set": _container(set),
    "frozenset": _container(frozenset), "object": _refuse_object,
    "complex": lambda real, imag=0.0: complex(_expect(real, float), _expect(imag, float)),
}  # fmt: skip
_NUMPY = {
    "multiarray._reconstruct": _Array, "multiarray.scalar": _scalar,
    "numeric._frombuffer": lambda data, dtype, shape, order="C": _array(data, dtype, shape, order),
}  # fmt: skip
BUILDERS: dict[str, Callable] = {
    **{f"{module}.{name}": build for module in ("builtins", "__builtin__") for name, build in _FUNCTIONS.items()},
    **{f"numpy.{core}.{name}": build for core in ("core", "_core") for name, build in _NUMPY.items()},
    "numpy.dtype": _DType,
    "numpy.ndarray": _Array,
    "collections.OrderedDict": _container(OrderedDict),
    "_codecs.encode": _encode,
    "copyreg._reconstructor": _reconstructor,
    "copy_reg._reconstructor": _reconstructor,
}
# For `load_pickle(builders=...)`: arrays of objects, too, as long as the objects are strings, numbers and arrays of them.
OBJECT_ARRAYS: dict[str, Callable] = {
    "numpy.dtype": _AnyDType,
    **{f"numpy.{core}.multiarray._reconstruct": _AnyArray for core in ("core", "_core")},
}
