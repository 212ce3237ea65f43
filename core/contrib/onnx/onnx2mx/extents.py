"""Dynamic extents of ONNX files, traced by trial.

Each extent that a file leaves open is given two numbers far from each other. What a computation makes of both tells
whether its result is constant, an extent of an input, or a multiple of one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np

from core import autograd
from core import symbol as sym
from core.base import MXNetError
from core.symbol import Symbol, infer
from core.util import is_np_shape

# Numbers that are tried for open extents. The first are multiples of 1 to 10 (operators split and merge axes), large
# enough for pictures, the second small enough for tables of places that end somewhere.
_LARGE = tuple((2520 * a, 2520 * b) for a, b in ((11, 37), (13, 41), (17, 43), (19, 47), (23, 53), (29, 59), (31, 61)))
_SMALL = ((24, 30), (36, 42), (40, 54), (28, 44), (20, 52), (32, 50), (26, 56))
# How open extents are taken, in the order in which it is tried: (by their axes, the numbers).
ASSUMPTIONS = ((False, _LARGE), (True, _LARGE), (False, _SMALL), (True, _SMALL))
PROBES = (0, 1)


class Varying:
    """Numbers that follow from extents of the inputs, as of a shape: `numbers` under each probe;
    `make()` gives the symbol.
    """

    def __init__(self, numbers: tuple[np.ndarray, ...], make: Callable[[], Symbol], of: Symbol | None = None):
        self.numbers, self.make, self.of = numbers, make, of


class Extents:
    """What is known of shapes and types while a graph is read, under both probes.

    assumption: whether open extents are the same in all inputs where their axes are, whatever the file calls them
    (otherwise those of one name are, and what has no name differs from all others); and the numbers to try.
    """

    def __init__(self, assumption: tuple = ASSUMPTIONS[0]):
        self.contradicted = False  # whether operands did not fit each other
        (self._by_axis, self._numbers), self._names = assumption, {}
        self._known: dict[tuple[int, int], tuple | None] = {}  # arrays without memory by (id of the node, output)
        self._nodes: list = []  # which their ids are of
        self._variables: dict[str, tuple | None] = {}
        self._sources: list[tuple[Symbol, int, tuple[int, int]]] = []

    def variable(self, symbol: Symbol, dtype: str, extents: tuple | None) -> None:
        """Tells of an input or a parameter; open extents are names, or None.

        extents None: not even their number is known.
        """
        name = symbol.name
        if extents is None:
            self._variables[name] = None
            return
        shapes = [[], []]
        for axis, extent in enumerate(extents):
            pair = (extent, extent) if isinstance(extent, int) else self._tried(name, axis, extent)
            for shape, n in zip(shapes, pair):
                shape.append(n)
            if pair[0] != pair[1]:
                self._sources.append((symbol, axis, pair))
        self._variables[name] = tuple(
            infer.blank(tuple(shape) or (() if is_np_shape() else (1,)), dtype) for shape in shapes
        )

    def _tried(self, name: str, axis: int, extent: str | None) -> tuple[int, int]:
        key = axis if self._by_axis else extent or (name, axis)
        numbers = self._numbers
        if key not in self._names and len(self._names) == len(numbers):
            raise MXNetError(f"more than {len(numbers)} extents of the inputs are open; give some of them numbers")
        return self._names.setdefault(key, numbers[len(self._names) % len(numbers)])

    def bind(self, variable: Symbol, source: Symbol, element: bool) -> None:
        """Tells of a variable of an inner graph: it is another symbol's array, or an element of it along axis 0."""
        found = self._arrays(source._entries[0])
        if found is not None and element:
            found = tuple(infer.blank(x.shape[1:], np.dtype(x.dtype).name) for x in found)
        node = variable._entries[0][0]
        self._nodes.append(node)
        self._known[id(node), 0] = found

    @contextlib.contextmanager
    def inside(self):
        """Within it extents of symbols of an inner graph may be met, which mean nothing outside."""
        count = len(self._sources)
        yield
        del self._sources[count:]

    def shapes(self, symbol: Symbol) -> tuple | None:
        """The shape under each probe; None where it does not follow."""
        found = self._arrays(symbol._entries[0])
        return None if found is None else tuple(tuple(x.shape) for x in found)

    def dtype(self, symbol: Symbol) -> str:
        """The name of the element type, float32 where it does not follow."""
        found = self._arrays(symbol._entries[0])
        return "float32" if found is None else np.dtype(found[0].dtype).name

    def size(self, node) -> int | None:
        """Elements of the results of a node; None where they do not follow."""
        self._arrays((node, 0))
        found = [self._known.get((id(node), k)) for k in range(node.outputs if node.op is not None else 1)]
        return None if None in found else sum(max(x.size for x in arrays) for arrays in found)

    def measured(self, symbol: Symbol, start: int, end: int | None) -> tuple | None:
        """The extents from axis `start` to `end` under each probe."""
        shapes = self.shapes(symbol)
        if shapes is None:
            return None
        for axis, pair in enumerate(zip(*shapes)):
            if pair[0] != pair[1] and all(pair != known for _, _, known in self._sources):
                self._sources.append((symbol, axis, pair))
        return tuple(np.array(shape[start:end], np.int64) for shape in shapes)

    def line(self, pair: tuple[int, int]) -> Symbol | None:
        """Ones along one axis, as many as `pair` tells; None where no extent is known that they are a multiple of."""
        if pair[0] == pair[1]:
            return sym.ones((int(pair[0]),))
        for symbol, axis, known in self._sources:
            if pair[0] % known[0] == 0 and pair[0] * known[1] == pair[1] * known[0]:
                ones = sym.Cast(sym.ones_like(sym.contrib.arange_like(symbol, axis=axis)), dtype="float32")
                return ones if pair == known else sym.tile(ones, reps=(int(pair[0] // known[0]),))
        for k, (_, _, first) in enumerate(self._sources):
            for _, _, second in self._sources[k:]:
                if all(n % (a * b) == 0 for n, a, b in zip(pair, first, second)) and pair[0] // (
                    first[0] * second[0]
                ) == (pair[1] // (first[1] * second[1])):
                    rows, columns = self.line(first), self.line(tuple(n // a for n, a in zip(pair, first)))
                    grid = sym.broadcast_mul(sym.expand_dims(rows, axis=1), sym.expand_dims(columns, axis=0))
                    return sym.Reshape(grid, shape=(-1,))
        return None

    def ones(self, shapes: tuple) -> Symbol | None:
        """Ones of the shape that is told under each probe; None where an extent of it is not that of anything known."""
        pairs = list(zip(*(map(int, shape) for shape in shapes)))
        made = sym.ones(tuple(a if a == b else 1 for a, b in pairs) or (1,))
        for axis, pair in enumerate(pairs):
            if pair[0] == pair[1]:
                continue
            line = self.line(pair)
            if line is None:
                return None
            spread = (*(1,) * axis, -1, *(1,) * (len(pairs) - axis - 1))
            made = sym.broadcast_mul(made, sym.Reshape(line, shape=spread))
        return made

    def _arrays(self, entry) -> tuple | None:
        """Arrays without memory of what an entry gives under each probe."""
        waiting = [entry[0]]
        while waiting:
            node = waiting[-1]
            if (id(node), 0) in self._known:
                waiting.pop()
                continue
            missing = [parent for parent, _ in node.inputs if (id(parent), 0) not in self._known]
            waiting += missing
            if not missing:
                self._nodes.append(node)
                self._enter(node)
                waiting.pop()
        return self._known.get((id(entry[0]), entry[1]))

    def _enter(self, node) -> None:
        place = id(node)
        if node.op is None:
            self._known[place, 0] = self._variables.get(node.name)
            return
        self._known[place, 0] = None
        inputs = [self._known.get((id(parent), k)) for parent, k in node.inputs]
        if None in inputs:
            return
        try:
            with autograd.pause():
                found = [infer.applied(node, [x[p] for x in inputs]) for p in PROBES]
        except (MXNetError, RuntimeError, ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError):
            self.contradicted = True
            return
        for k, arrays in enumerate(zip(*found)):
            self._known[place, k] = arrays
