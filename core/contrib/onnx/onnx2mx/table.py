"""The table of conversions from ONNX, and the network in the making that they read and write."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core import symbol as sym
from core.base import MXNetError
from core.symbol import Symbol

CONVERSIONS: dict[str, Callable] = {}


def converts(*operators: str) -> Callable[[Callable], Callable]:
    """Decorates the conversion of ONNX operators: `function(net, attrs, *inputs)` gives a symbol or a list.

    Inputs are symbols, NumPy arrays (constants), what `Shape` gives, or None where one is left out.
    """

    def enter(function):
        CONVERSIONS.update(dict.fromkeys(operators, function))
        return function

    return enter


class ShapeOf:
    """The extents of a symbol from axis `start` to `end`, which no symbol can hold: who reads them knows what to do."""

    def __init__(self, of: Symbol, start: int = 0, end: int | None = None):
        self.of, self.start, self.end = of, start, end

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.end is None


class Extents:
    """A shape whose parts come from symbols and constants."""

    def __init__(self, parts: list):
        self.parts = parts


class Extent:
    """One extent of a symbol."""

    def __init__(self, of: Symbol, axis: int):
        self.of, self.axis = of, axis


class Network:
    """Values by name while a graph is walked over."""

    def __init__(self, opset: int):
        self.opset = opset
        self.values: dict[str, object] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.used: dict[str, np.ndarray] = {}  # constants that became parameters
        self.where, self.name, self.outputs = "", "", 1  # of the node that is converted
        self._names: dict[int, str] = {}
        self._symbols: dict[str, Symbol] = {}

    def constant(self, name: str, value: np.ndarray) -> None:
        """A tensor whose value the file holds."""
        self.values[name] = self.constants[name] = value
        self._names[id(value)] = name

    def input(self, name: str, dtype: int, shape: tuple) -> None:
        """A tensor that callers give."""
        self.values[name] = sym.var(name)

    def symbol(self, value) -> Symbol:
        """A value as a symbol; constants become parameters."""
        if isinstance(value, Symbol):
            return value
        if isinstance(value, ShapeOf):
            made = sym.shape_array(value.of)
            return made if value.whole else sym.slice_axis(made, axis=0, begin=value.start, end=value.end)
        if isinstance(value, Extent):
            axis = value.axis
            return sym.slice_axis(sym.shape_array(value.of), axis=0, begin=axis, end=axis + 1 if axis != -1 else None)
        return self.parameter(value, self._names.get(id(value)))

    def parameter(self, value: np.ndarray, name: str | None = None) -> Symbol:
        """A parameter of the network with this value."""
        name = name or f"{self.name}_constant{len(self.used)}"
        if name not in self._symbols:
            self._symbols[name] = sym.var(name)
            # A classic array has at least one axis.
            self.used[name] = value.reshape(1) if value.ndim == 0 else value
        return self._symbols[name]

    def number(self, value, what: str) -> np.ndarray:
        """The value of an input that must be a constant."""
        if not isinstance(value, np.ndarray):
            raise self.refuse(f"{what} is computed from the input, which a symbol cannot follow")
        return value

    def ints(self, value, what: str) -> tuple[int, ...]:
        """A constant input as a tuple of ints."""
        return tuple(int(n) for n in self.number(value, what).reshape(-1))

    def refuse(self, why: str) -> MXNetError:
        """The error for a node that has no form here."""
        return MXNetError(f"{self.where}: {why}")
