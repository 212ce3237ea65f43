"""Dynamic extents of ONNX files as symbols: shapes and what is computed of them are polynomials (`core.extents`).

Each extent that a file leaves open is a symbol; those of one name are the same. Where an operator needs two of them to
be equal that the file calls differently, or one to be a number, this is noted and the file converted again with it.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator

import numpy as np

from core import autograd
from core import symbol as sym
from core.base import MXNetError
from core.extents import Extent, Rounded, Space, evaluated, is_symbolic, same
from core.graph.ir import Value
from core.symbol import Symbol, infer

_HINT = 27720  # of arrays without memory, for an open extent: a multiple of 1 to 12; no extent follows from it


class Varying:
    """Numbers that follow from extents of the inputs, as of a shape: `values`, of ints and `Extent`s, of type `dtype`."""

    def __init__(self, values: np.ndarray, dtype: str = "int64"):
        self.values, self.dtype, self.shape, self.size = values, dtype, values.shape, values.size


def numbers(values, dtype: str = "int64") -> np.ndarray | Varying:
    """Numbers as a constant, or, with an extent among them, as what varies."""
    values = np.asarray(values, object)
    return Varying(values, dtype) if is_symbolic(values.reshape(-1).tolist()) else values.astype(dtype)


class Facts:
    """What was found out of open extents while a file was read, by the names of their symbols.

    equal: what they are equal to. steps: of what they are multiples, since halves that are doubled again meet them.
    highest: what they are presumed to be at most.
    """

    def __init__(self):
        self.equal: dict[str, object] = {}
        self.steps: dict[str, int] = {}
        self.highest: dict[str, int] = {}


class Again(Exception):
    """Raised where a fact was noted: the file is to be converted again."""


class Extents:
    """What is known of shapes and types while a graph is read."""

    def __init__(self, facts: Facts | None = None):
        self._facts, self._space, self._names = facts or Facts(), Space(large=True), {}
        self._known: dict[Value, object] = {}  # arrays without memory
        self._variables: dict[str, object] = {}
        self._sources: dict[Extent, tuple[Symbol, int]] = {}  # a symbol and its axis, by the extent that it has

    def variable(self, symbol: Symbol, dtype: str, extents: tuple | None) -> None:
        """Tells of an input or a parameter; open extents are names, or None.

        extents None: not even their number is known.
        """
        self._variables[symbol.name] = None
        if extents is not None:
            shape = tuple(
                n if isinstance(n, int) else self._open(n or (symbol.name, axis)) for axis, n in enumerate(extents)
            )
            self._note_sources(symbol, shape)
            self._variables[symbol.name] = infer.blank(shape or (1,), dtype)

    def bind(self, variable: Symbol, source: Symbol, element: bool) -> None:
        """Tells of a variable of an inner graph: it is another symbol's array, or an element of it along axis 0."""
        found = self._array(source._entries[0])
        if found is not None and element:
            found = infer.blank(found.shape[1:], np.dtype(found.dtype).name)
        self._known[variable._entries[0]] = found

    @contextlib.contextmanager
    def inside(self):
        """Within it extents of symbols of an inner graph may be met, which mean nothing outside."""
        sources = dict(self._sources)
        yield
        self._sources = sources

    def shape(self, symbol: Symbol) -> tuple | None:
        """The shape, of ints and `Extent`s, whose symbol then tells them; None where it does not follow."""
        found = self._array(symbol._entries[0])
        if found is None:
            return None
        self._note_sources(symbol, tuple(found.shape))
        return tuple(found.shape)

    def dtype(self, symbol: Symbol) -> str:
        """The name of the element type, float32 where it does not follow."""
        found = self._array(symbol._entries[0])
        return "float32" if found is None else np.dtype(found.dtype).name

    def followed(self, function, *given):
        """`function(*given)`; None where it needs an extent as a number, or does not work on extents."""
        try:
            result = function(*given)
        except (MXNetError, RuntimeError, LookupError, ValueError, TypeError, AssertionError, ArithmeticError):
            result = None
        pinned = bool(self._space.pinned)
        self._space.pinned.clear()
        return None if pinned else result

    def presume_at_most(self, extent: Extent, most: int) -> None:
        """Presumes it where nothing speaks against it, and begins anew; a sum is divided among its symbols."""
        share = sum(c for monomial, c in extent.terms.items() if monomial)
        highest = (most - extent.terms.get((), 0)) // max(share, 1)
        names = {s.text for s in extent.symbols()} - self._facts.highest.keys()
        if names and highest > 1 and all(c > 0 for monomial, c in extent.terms.items() if monomial):
            self._facts.highest.update(dict.fromkeys(names, highest))
            raise Again

    # ------------------------------------------------------------------ symbols of what follows from extents

    def line(self, extent) -> Symbol | None:
        """Ones along one axis, as many as the extent says; None where nothing known tells it."""
        if type(extent) is not Extent:
            return sym.ones((extent,))
        if extent in self._sources:
            symbol, axis = self._sources[extent]
            return sym.Cast(sym.ones_like(sym.contrib.arange_like(symbol, axis=axis)), dtype="float32")
        for source in self._sources:
            times = extent // source
            if same(times * source, extent):
                return _grid(self.line(times), self.line(source))
        return self._line_of_terms(extent)

    def _line_of_terms(self, extent: Extent) -> Symbol | None:
        constant = extent.terms.get((), 0)
        if any(c < 0 for monomial, c in extent.terms.items() if monomial):
            return None
        parts = []
        for monomial, c in extent.terms.items():
            if monomial:
                parts.append(functools.reduce(_grid, map(self._line_of_atom, monomial), self.line(c)))
        parts += [self.line(constant)] if constant > 0 else []
        if any(part is None for part in parts):
            return None
        whole = sym.Concat(*parts, dim=0) if len(parts) > 1 else parts[0]
        return sym.slice_axis(whole, axis=0, begin=-constant, end=None) if constant < 0 else whole

    def _line_of_atom(self, atom) -> Symbol | None:
        of, step = self._dividend(atom)
        whole = None if of is None or type(step) is not int else self.line(of)  # the last of each `step` places
        return whole if whole is None or step == 1 else sym.slice(whole, begin=(step - 1,), end=(None,), step=(step,))

    def _dividend(self, atom) -> tuple:
        """(extent, divisor) whose floor an atom is; None for what nothing known tells."""
        if type(atom) is Rounded:
            return atom.of if len(atom.of) == 2 else (None, None)
        for source in self._sources:
            if source.terms.keys() == {(atom,)}:
                return source, source.terms[atom,]
        return None, None

    def like(self, shape: tuple) -> Symbol | None:
        """A symbol of this shape, one that has it or ones; None where nothing known tells an extent of it."""
        for symbol in dict.fromkeys(symbol for n in shape if n in self._sources for symbol, _ in [self._sources[n]]):
            if len(own := self.shape(symbol) or ()) == len(shape) and all(map(same, own, shape)):
                return symbol
        made = sym.ones(tuple(n if type(n) is int else 1 for n in shape) or (1,))
        for axis, n in enumerate(shape):
            if type(n) is int:
                continue
            line = self.line(n)
            if line is None:
                return None
            spread = (*(1,) * axis, -1, *(1,) * (len(shape) - axis - 1))
            made = sym.broadcast_mul(made, sym.Reshape(line, shape=spread))
        return made

    def number(self, extent) -> Symbol | None:
        """An array (1,) of int64 that holds the extent; None where nothing known tells it."""
        if type(extent) is not Extent:
            return sym.Cast(sym.full((1,), float(extent)), dtype="int64")
        if extent in self._sources:
            symbol, axis = self._sources[extent]
            return sym.slice_axis(sym.shape_array(symbol), axis=0, begin=axis, end=axis + 1)
        total = None
        for monomial, c in extent.terms.items():
            factors = [self.number(c)] if c != 1 or not monomial else []
            factors += [self._number_of_atom(atom) for atom in monomial]
            if any(factor is None for factor in factors):
                return None
            product = functools.reduce(operator.mul, factors)
            total = product if total is None else total + product
        return total

    def _number_of_atom(self, atom) -> Symbol | None:
        parts = [None if n is None else self.number(n) for n in self._dividend(atom)]
        return None if any(p is None for p in parts) else sym.broadcast_div(*parts)  # whole numbers: the floor

    # ------------------------------------------------------------------ inference

    def _open(self, key) -> object:
        if key not in self._names:
            made = self._space.symbol(_HINT)
            (symbol,) = made.symbols()
            step = self._facts.steps.get(symbol.text, 1)
            if symbol.text in self._facts.equal:
                made = evaluated(self._facts.equal[symbol.text], {str(n): e for n, e in self._named()})
            elif symbol.text in self._facts.highest:
                symbol.high = symbol.hint = made.hint = self._facts.highest[symbol.text]
            else:
                symbol.hint = made.hint = _HINT // step
            self._names[key] = made * step
        return self._names[key]

    def _named(self):
        return zip((s.text for s in self._space.symbols), self._names.values())

    def _note_sources(self, symbol: Symbol, shape: tuple) -> None:
        for axis, n in enumerate(shape):
            if type(n) is Extent:
                self._sources.setdefault(n, (symbol, axis))

    def _array(self, value: Value):
        """An array without memory of a value; None where that does not follow."""
        waiting = [value.maker]
        while waiting:
            node = waiting[-1]
            if node.outputs[0] in self._known:
                waiting.pop()
                continue
            missing = [v.maker for v in node.given if v.maker.outputs[0] not in self._known]
            waiting += missing
            if not missing:
                self._enter(node)
                waiting.pop()
        return self._known.get(value)

    def _enter(self, node) -> None:
        self._known[node.outputs[0]] = self._variables.get(node.name) if node.op is None else None
        if node.op is None:
            return
        inputs = [self._known.get(v) for v in node.given]
        if any(x is None for x in inputs):
            return
        self._space.unequal.clear()
        with autograd.pause():
            found = self.followed(infer.applied, node, inputs)
        if found is None and self._space.unequal:
            self._equate(self._space.unequal[-1])
        self._known.update(zip(node.outputs, found or ()))

    def _equate(self, difference: Extent) -> None:
        """Notes that two extents are equal, for the symbol that came last, and begins anew."""
        common = set.intersection(*map(set, difference.terms))
        scale = math.gcd(*difference.terms.values())
        for atom in common:
            difference = difference // Extent(difference.space, {(atom,): 1})
        if type(difference) is not Extent:
            return
        difference = difference // scale
        step = math.lcm(*(_step(atom) for monomial in difference.terms for atom in monomial))
        steps = {s.text: math.lcm(step, self._facts.steps.get(s.text, 1)) for s in difference.symbols()}
        if step > 1 and not steps.items() <= self._facts.steps.items():
            self._facts.steps.update(steps)
            raise Again
        last = max(difference.symbols())
        c = difference.terms.get((last,), 0)
        rest = difference - c * last.extent
        value = rest * -c
        if abs(c) == 1 and (type(value) is int or last not in value.symbols()) and value > 0:
            self._facts.equal[last.text] = value
            raise Again


def _grid(rows: Symbol | None, columns: Symbol | None) -> Symbol | None:
    """Ones along one axis, as many as the product of two."""
    if rows is None or columns is None:
        return None
    grid = sym.broadcast_mul(sym.expand_dims(rows, axis=1), sym.expand_dims(columns, axis=0))
    return sym.Reshape(grid, shape=(-1,))


def _step(value) -> int:
    """The number of which symbols are multiples when no floor in a value has a rest."""
    if type(value) is Extent:
        return math.lcm(*(_step(atom) for monomial in value.terms for atom in monomial))
    return value.of[1] * _step(value.of[0]) if type(value) is Rounded and type(value.of[-1]) is int else 1
