"""The table of conversions from ONNX, and the network in the making that they read and write."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np

from core import symbol as sym
from core.base import MXNetError
from core.contrib.onnx import package
from core.contrib.onnx.onnx2mx.extents import Extents, Facts, Varying
from core.graph.ir import Value
from core.symbol import Symbol

CONVERSIONS: dict[str, Callable] = {}
LARGEST = 1 << 24  # elements of what is worked out while reading: a few bytes of a file may ask for any number


def converts(*operators: str) -> Callable[[Callable], Callable]:
    """Decorates the conversion of ONNX operators: `function(net, attrs, *inputs)` gives a symbol, an array or a list.

    Inputs are symbols, NumPy arrays (constants), `Varying` numbers, or None where one is left out.
    """

    def enter(function):
        CONVERSIONS.update(dict.fromkeys(operators, function))
        return function

    return enter


def composes(*operators: str) -> Callable[[Callable], Callable]:
    """Decorates an expression of symbols that ONNX operators are: `function(*inputs, **attributes)`.

    Its defaults are ONNX's; attributes that it does not name are those of older versions, which say nothing here.
    """

    def enter(function):
        known = inspect.signature(function).parameters

        def convert(net, attrs, *inputs):
            given = {key: value for key, value in attrs.items() if key in known}
            return function(*(x if x is None else net.symbol(x) for x in inputs), **given)

        converts(*operators)(convert)
        return function

    return enter


class Network:
    """Values by name while a graph is walked over; facts: see `Extents`."""

    def __init__(self, opset: int, facts: Facts | None = None):
        self.opset = opset
        self.values: dict[str, object] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.used: dict[str, np.ndarray] = {}  # constants that became parameters
        self.extents = Extents(facts)
        self._singles: set[Value] = set()  # of symbols that stand for single numbers
        self.where, self.name, self.outputs = "", "", 1  # of the node that is converted
        self._names: dict[int, str] = {}
        self._symbols: dict[str, Symbol] = {}
        self._sources: dict[str, np.ndarray] = {}  # what the parameters were made of

    def constant(self, name: str, value: np.ndarray) -> None:
        """A tensor whose value the file holds."""
        self.values[name] = self.constants[name] = value
        self._names[id(value)] = name

    def input(self, name: str, dtype: str, extents: tuple) -> None:
        """A tensor that callers give; open extents are names, or None."""
        self.values[name] = sym.var(name)
        self.extents.variable(self.values[name], dtype, extents)
        if extents == ():
            self.note_single(self.values[name])

    def symbol(self, value) -> Symbol:
        """A value as a symbol; constants become parameters."""
        if isinstance(value, Symbol):
            return value
        if isinstance(value, Varying):
            return self._of_extents(value)
        return self.parameter(value, self._names.get(id(value)))

    def _of_extents(self, value: Varying) -> Symbol:
        parts = [self.extents.number(n) for n in value.values.reshape(-1)]
        if any(part is None for part in parts):
            raise self.refuse(f"{value.values.tolist()} follow from extents that no input has")
        made = sym.Concat(*parts, dim=0) if len(parts) > 1 else parts[0]
        made = made if value.dtype == "int64" else sym.Cast(made, dtype=value.dtype)
        if value.shape == ():
            self.note_single(made)
        return made if len(value.shape) < 2 else sym.Reshape(made, shape=value.shape)

    def parameter(self, value: np.ndarray, name: str | None = None) -> Symbol:
        """A parameter of the network with this value."""
        name = name or f"{self.name}_constant{len(self.used)}"
        if self._sources.get(name, value) is not value:  # inner graphs may call other things by the same name
            name = f"{name}_{len(self.used)}"
        if name not in self._symbols:
            self._symbols[name], self._sources[name] = sym.var(name), value
            self.used[name] = value.reshape(1) if value.ndim == 0 else value  # a classic array has axes
            self.extents.variable(self._symbols[name], value.dtype.name, self.used[name].shape)
        return self._symbols[name]

    def shape(self, value) -> tuple[int, ...] | None:
        """The shape of a value, with -1 for extents that vary; None where it does not follow."""
        found = self.lengths(value)
        return None if found is None else tuple(n if type(n) is int else -1 for n in found)

    def lengths(self, value) -> tuple | None:
        """The shape of a value, of ints and `Extent`s; None where it does not follow."""
        return self.extents.shape(value) if isinstance(value, Symbol) else value.shape

    def dtype(self, value) -> str:
        """The name of the element type of a value, float32 where it does not follow."""
        if isinstance(value, Symbol):
            return self.extents.dtype(value)
        return np.dtype(value.dtype).name

    def type(self, value):
        """The type of a value as ONNX tells it, an empty one of None."""
        if value is None:
            return package().TypeProto()
        helper, shape = package().helper, () if self.is_single(value) else self.shape(value)
        code = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype(value)))
        return helper.make_tensor_type_proto(code, shape and [None if n < 0 else n for n in shape])

    def is_single(self, value) -> bool:
        """Whether a value is a single number: ONNX gives it no axis, a classic array has one."""
        if isinstance(value, Symbol):
            return value._entries[0] in self._singles
        return isinstance(value, (np.ndarray, Varying)) and value.shape == ()

    def note_single(self, value: Symbol) -> None:
        """Notes that a symbol stands for a single number."""
        self._singles.add(value._entries[0])

    def rank(self, value, what: str = "the input") -> int:
        """The number of axes of a value; MXNetError where it does not follow."""
        shape = self.shape(value)
        if shape is None:
            raise self.refuse(f"the number of axes of {what} depends on values")
        return len(shape)

    def number(self, value, what: str) -> np.ndarray:
        """The value of an input that must be a constant."""
        if not isinstance(value, np.ndarray):
            raise self.refuse(f"{what} is computed from the input, which a symbol cannot follow")
        return value

    def ints(self, value, what: str) -> tuple[int, ...]:
        """A constant input as a tuple of ints."""
        return tuple(int(n) for n in self.number(value, what).reshape(-1))

    def whole(self, value, what: str) -> tuple:
        """An input of whole numbers, ints and `Extent`s."""
        return tuple(value.values.reshape(-1)) if isinstance(value, Varying) else self.ints(value, what)

    def place(self, axis: int, rank: int) -> int:
        """An axis counted from the front, the end (`rank`) included; MXNetError where there is none."""
        if not -rank <= axis <= rank:
            raise self.refuse(f"axis {axis} of {rank}")
        return axis + rank if axis < 0 else axis

    def bounded(self, count: int, what: str) -> None:
        """MXNetError where a file asks for more numbers than are worked out while reading."""
        if count > LARGEST:
            raise self.refuse(f"{what} of {count} elements")

    def like(self, shape: tuple, what: str) -> Symbol:
        """A symbol of this shape, of ints and `Extent`s."""
        made = self.extents.like(shape)
        if made is None:
            raise self.refuse(f"{what}, {shape}, has an extent that is that of no input")
        return made

    def refuse(self, why: str) -> MXNetError:
        """The error for a node that has no form here."""
        return MXNetError(f"{self.where}: {why}")
