"""Classes of shapes: calls of a compiled function that differ in lengths of axes alone.

The first call of a class has a plan for its own shape. The second shape shows which axes vary: their lengths become
symbols, those that agree in both calls one symbol, and the graph is traced for them all at once. Lengths of 0 and 1
broadcast, so that they belong to the class's name. Where a later shape does not fit (another axis varies, two lengths
that agreed do not, a guard fails), there is one more plan.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.extents import LOWEST, Space
from core.graph.ir import Graph

MOST = 3  # plans of a class that are made at once; more have to come as often as pays for them
KEPT = 64  # plans of a class; the oldest goes first
Shapes = list[tuple[int, ...]]


class ShapeClass:
    """What is known of one class.

    first: the shapes of its first call; varying: (array, axis) of the lengths that differed in some call; fixed: those
    of them that the program needs as numbers; plans: those made for open lengths, the latest first; closed: why there
    are no more of these, if that is so.
    """

    def __init__(self, first: Shapes):
        self.first, self.plans, self.closed = first, [], ""
        self.varying: set[tuple[int, int]] = set()
        self.fixed: dict[tuple[int, int], str] = {}  # with the line that needs the number

    def serving(self, shapes: Shapes):
        """The plan for these shapes, None where there is none yet."""
        return next((plan for plan in self.plans if plan.shapes.hold(shapes)), None)

    def opened(self, shapes: Shapes) -> OpenShapes:
        """These shapes with symbols for what varies, but for what is `fixed`."""
        for k, (before, now) in enumerate(zip(self.first, shapes, strict=True)):
            self.varying.update((k, axis) for axis, (n, m) in enumerate(zip(before, now, strict=True)) if n != m)
        return OpenShapes(self.first, shapes, self.varying - self.fixed.keys())

    def add(self, plan) -> None:
        """Takes a plan, in place of those whose shapes it serves as well."""
        self.plans = [plan, *(p for p in self.plans if not plan.shapes.hold(p.shapes.example))][:KEPT]


class OpenShapes:
    """Shapes of inputs in which some lengths are symbols. example: the shapes with numbers; extents: with symbols."""

    def __init__(self, first: Shapes, shapes: Shapes, varying: set[tuple[int, int]]):
        self.space, self.example = Space(), shapes
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for k, axis in sorted(varying):
            found.setdefault((first[k][axis], shapes[k][axis]), []).append((k, axis))
        self._places = list(found.values())  # of each symbol
        self.extents = self.space.opened(shapes, self._places)

    def pinned(self) -> dict[tuple[int, int], str]:
        """(array, axis) of the lengths that the trace needed as numbers, and the line that did."""
        found = self.space.pinned
        symbols = zip(self.space.symbols, self._places, strict=True)
        return {place: found[symbol] for symbol, places in symbols if symbol in found for place in places}

    def mark(self, graph: Graph) -> None:
        """Tells a graph where its symbols are read."""
        graph.space, graph.lengths = self.space, [places[0] for places in self._places]

    def close(self) -> None:
        """Compiles the guards, of which there are no more from here on."""
        self._accepts = self.space.accepts()

    def hold(self, shapes: Shapes) -> bool:
        """Whether these shapes belong to the class: their open lengths fulfil the guards, the others are equal."""
        lengths = []
        for places in self._places:
            n, *others = (shapes[k][axis] for k, axis in places)
            if any(m != n for m in others):
                return False
            lengths.append(n)
        open_ = {place for places in self._places for place in places}
        for k, (mine, its) in enumerate(zip(self.example, shapes, strict=True)):
            if any(n != m and (k, axis) not in open_ for axis, (n, m) in enumerate(zip(mine, its, strict=True))):
                return False
        return self._accepts(*lengths)


def class_of(signature: Sequence) -> tuple[tuple, Shapes]:
    """The name of the class that a signature of arguments (`core.graph.compiled`) belongs to, and the arrays' shapes."""
    shapes: Shapes = []
    return _class_of(signature, shapes), shapes


def _class_of(signature: Sequence, shapes: Shapes) -> tuple:
    name = []
    for part in signature:
        if type(part) is tuple and len(part) == 7:  # of an array: class, shape, strides, dtype, device, ...
            kind, shape, strides, *rest = part
            shapes.append(tuple(shape))
            open_ = strides is None  # row-major
            name.append((kind, tuple(n if n < LOWEST or not open_ else None for n in shape), strides, *rest))
        elif type(part) is tuple and part and part[0] in (list, tuple):
            name.append((part[0], *_class_of(part[1:], shapes)))
        else:
            name.append(part)
    return tuple(name)
