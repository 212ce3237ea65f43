"""The table of conversions from ONNX, and the network in the making that they read and write."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core import symbol as sym
from core.base import MXNetError
from core.contrib.onnx.onnx2mx.extents import ASSUMPTIONS, Extents, Varying
from core.contrib.onnx.onnx2mx.singles import Singles
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


class Network:
    """Values by name while a graph is walked over.

    assumption: see `Extents`. scalar: the shape of a single number: a classic array has at least one axis, a constant
    that is computed while reading may have none.
    """

    def __init__(self, opset: int, assumption: tuple = ASSUMPTIONS[0], scalar: tuple = (1,)):
        self.opset, self.scalar = opset, scalar
        self.values: dict[str, object] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.used: dict[str, np.ndarray] = {}  # constants that became parameters
        self.extents, self.singles = Extents(assumption), Singles()
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
            self.singles.add(self.values[name])

    def symbol(self, value) -> Symbol:
        """A value as a symbol; constants become parameters."""
        if isinstance(value, Symbol):
            return value
        if isinstance(value, Varying):
            return value.make()
        return self.parameter(value, self._names.get(id(value)))

    def parameter(self, value: np.ndarray, name: str | None = None) -> Symbol:
        """A parameter of the network with this value."""
        name = name or f"{self.name}_constant{len(self.used)}"
        if self._sources.get(name, value) is not value:  # inner graphs may call other things by the same name
            name = f"{name}_{len(self.used)}"
        if name not in self._symbols:
            self._symbols[name], self._sources[name] = sym.var(name), value
            self.used[name] = value.reshape(self.scalar) if value.ndim == 0 else value
            self.extents.variable(self._symbols[name], value.dtype.name, self.used[name].shape)
        return self._symbols[name]

    def shape(self, value) -> tuple[int, ...] | None:
        """The shape of a value, with -1 for extents that vary; None where it does not follow."""
        if isinstance(value, np.ndarray):
            return value.shape
        if isinstance(value, Varying):
            return value.numbers[0].shape
        found = self.extents.shapes(value)
        return None if found is None else tuple(a if a == b else -1 for a, b in zip(*found))

    def dtype(self, value) -> str:
        """The name of the element type of a value, float32 where it does not follow."""
        if isinstance(value, np.ndarray):
            return value.dtype.name
        return value.numbers[0].dtype.name if isinstance(value, Varying) else self.extents.dtype(value)

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

    def tried(self, value, what: str) -> tuple[tuple[int, ...], ...]:
        """An input of whole numbers under each probe."""
        if isinstance(value, Varying):
            return tuple(tuple(map(int, n.reshape(-1))) for n in value.numbers)
        return (self.ints(value, what),) * 2

    def place(self, axis: int, rank: int) -> int:
        """An axis counted from the front, the end (`rank`) included; MXNetError where there is none."""
        if not -rank <= axis <= rank:
            raise self.refuse(f"axis {axis} of {rank}")
        return axis + rank if axis < 0 else axis

    def bounded(self, count: int, what: str) -> None:
        """MXNetError where a file asks for more numbers than are worked out while reading."""
        if count > LARGEST:
            raise self.refuse(f"{what} of {count} elements")

    def ones(self, shapes: tuple, what: str) -> Symbol:
        """Ones of the shape that is told under each probe."""
        made = self.extents.ones(shapes)
        if made is None:
            raise self.refuse(f"{what} has an extent that is that of no input")
        return made

    def refuse(self, why: str) -> MXNetError:
        """The error for a node that has no form here."""
        return MXNetError(f"{self.where}: {why}")
