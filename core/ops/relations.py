"""How the shapes of an operator's inputs and results hang together, both ways, where only some extents are known.

A relation is written once and named by the operators that it holds for: `operator("softmax", shape=FIRST)`. Of an
operator without one, shapes of results are found out by running it on tensors without memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, overload

from core.extents import length_of as places_of
from core.ops.values import Attrs

UNKNOWN = -1
Extents = tuple[int, ...] | None  # None: not even the number of axes
Shapes = list[Extents]


@overload
def merged(one: tuple[int, ...], other: Extents) -> tuple[int, ...]: ...
@overload
def merged(one: Extents, other: tuple[int, ...]) -> tuple[int, ...]: ...
@overload
def merged(one: Extents, other: Extents) -> Extents: ...
def merged(one: Extents, other: Extents) -> Extents:
    """What two descriptions of one shape say together; ValueError ("one, but the other") where they contradict."""
    if one is None or other is None:
        return other if one is None else one
    if len(one) != len(other) or any(UNKNOWN not in pair and pair[0] != pair[1] for pair in zip(one, other)):
        raise ValueError(f"{one}, but {other}")
    return tuple(b if a == UNKNOWN else a for a, b in zip(one, other))


class Relation:
    """Nothing but that the number of axes does not follow from anything.

    complete: whether results follow from the inputs by `refine` alone, so that the operator need not be run.
    """

    complete = False

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        """What follows for inputs and outputs from what is known of both, by position.

        ValueError where shapes contradict each other.
        """
        return inputs, outputs


class Same(Relation):
    """Some of the inputs, and as many results as are told (of all: None), have one shape."""

    def __init__(self, inputs: int | None = None, outputs: int | None = None) -> None:
        self._inputs, self._outputs = inputs, outputs
        self.complete = outputs is None

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        one = None
        for extents in (*inputs[: self._inputs], *outputs[: self._outputs]):
            one = merged(one, extents)
        (n, k) = (len(x[:count]) for x, count in ((inputs, self._inputs), (outputs, self._outputs)))
        return [one] * n + inputs[n:], [one] * k + outputs[k:]


class Broadcast(Relation):
    """Axes are repeated against each other, the last ones first; what an unknown extent meets is unknown, as in MXNet."""

    complete = True

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        found: tuple[int, ...] = ()
        for shape in inputs:
            if shape is None:
                return inputs, outputs
            pairs = zip_longest(reversed(found), reversed(shape))  # of an axis that one lacks, the other's is taken
            found = tuple(_together(a, b) for a, b in pairs)[::-1]
        return inputs, [merged(outputs[0], found)]


def _together(a: int | None, b: int | None) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return a if a == b else UNKNOWN if UNKNOWN in (a, b) or 1 not in (a, b) else max(a, b)


class Only(Relation):
    """Another relation, under some attributes; under others none."""

    def __init__(self, applies: Callable[[Attrs], bool], relation: Relation) -> None:
        self._applies, self._relation = applies, relation

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        return self._relation.refine(attrs, inputs, outputs) if self._applies(attrs) else (inputs, outputs)


class Pairwise(Relation):
    """Each result has the shape of the input in its place."""

    complete = True

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        both = [merged(a, b) for a, b in zip(inputs, outputs)]
        return both, both


class Drawn(Relation):
    """Samples for each element of the inputs, which have one shape; that of a sample comes behind it."""

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        ((one, *_), _), (result,) = SAME.refine(attrs, inputs, []), outputs
        count = len(attrs["shape"])
        if result is not None and count <= len(result):
            one = merged(one, result[: len(result) - count])
        return [one] * len(inputs), outputs


class Triangular(Relation):
    """A product with a square matrix from the left, or from the right: the second input has the shape of the result."""

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        square, one = inputs[0], merged(inputs[1], outputs[0])
        if one is None or len(one) < 2:
            return inputs, outputs
        k = len(one) - (1 if attrs["rightside"] else 2)  # the axis of the product that the matrix has twice
        square = merged(square, (*one[:-2], one[k], one[k]))
        length = max(square[-2:])
        one = merged(one, (*square[:-2], *(length if k == i else UNKNOWN for i in (len(one) - 2, len(one) - 1))))
        return [square, one], [one]


class Chosen(Relation):
    """What is chosen from, and the result, have one shape as soon as that of the condition, the first input, is known."""

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        condition, *others = inputs
        if condition is None or UNKNOWN in condition:
            return inputs, outputs
        others, outputs = SAME.refine(attrs, others, outputs)
        return [condition, *others], outputs


class Reshape(Relation):
    """As many elements as before: one extent that is missing follows from the others."""

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        (data, *rest), (result,) = inputs, outputs
        if data is None or result is None or data.count(UNKNOWN) != 1 or UNKNOWN in result:
            return inputs, outputs
        elements, beside = math.prod(result), math.prod(n for n in data if n != UNKNOWN)
        if beside and elements % beside == 0:
            data = tuple(elements // beside if n == UNKNOWN else n for n in data)
        return [data, *rest], outputs


class Transpose(Relation):
    """The axes in the order of `axes`, or reversed."""

    complete = True

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        (data,), (result,) = inputs, outputs
        if result is not None:
            axes = [a % len(result) for a in attrs["axes"] or range(len(result))[::-1]]
            if sorted(axes) == list(range(len(result))):
                data = merged(data, tuple(n for _, n in sorted(zip(axes, result, strict=True))))
        elif data is not None:
            axes = [a % len(data) for a in attrs["axes"] or range(len(data))[::-1]]
            result = tuple(data[a] for a in axes) if len(axes) == len(data) else None
        return [data], [result]


class FullyConnected(Relation):
    """The rows of the data are those of the result."""

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        (data, *rest), (result,) = inputs, outputs
        if data is not None and result is not None:
            rows = 1 if attrs["flatten"] else len(data) - 1
            data = merged(data, (*result[:rows], *(UNKNOWN,) * (len(data) - rows)))
        return [data, *rest], outputs


class Convolution(Relation):
    """Batch, and the extents in space, follow from those of the result."""

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        (data, *rest), (result,) = inputs, outputs
        if result is None or attrs["layout"] not in (None, "NCW", "NCHW", "NCDHW"):
            return inputs, outputs
        n = len(attrs["kernel"])
        strides, dilates, pads = (attrs[k] or (d,) * n for k, d in (("stride", 1), ("dilate", 1), ("pad", 0)))
        space = [
            UNKNOWN if out == UNKNOWN else (out - 1) * s + d * (k - 1) + 1 - 2 * p
            for out, k, s, d, p in zip(result[2:], attrs["kernel"], strides, dilates, pads)
        ]
        known = data or (UNKNOWN,) * (n + 2)
        # Several inputs give one result where the stride is more than 1: then only what is unknown is filled in.
        found = tuple(a if a != UNKNOWN else b for a, b in zip(known, (result[0], UNKNOWN, *space)))
        return [merged(data, found), *rest], outputs


class Cut(Relation):
    """Bounds are cut to an extent, so that nothing follows for one that is unknown.

    length(attrs, axis, rank, n): of the axis in the result.
    """

    complete = True

    def __init__(self, length: Callable[[Attrs, int, int, int], int]) -> None:
        self._length = length

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        (data,) = inputs
        if data is None:
            return inputs, outputs
        found = (n if n == UNKNOWN else self._length(attrs, axis, len(data), n) for axis, n in enumerate(data))
        return inputs, [merged(outputs[0], tuple(found))]


class Split(Relation):
    """Equal parts along an axis, or its single positions."""

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        (data,), axis, parts = inputs, attrs["axis"], attrs["num_outputs"]
        for part in outputs:
            if part is None:
                continue
            if attrs["squeeze_axis"]:
                axis %= len(part) + 1
                data = merged(data, (*part[:axis], parts, *part[axis:]))
            else:
                axis %= len(part)
                whole = UNKNOWN if part[axis] == UNKNOWN else part[axis] * parts
                data = merged(data, (*part[:axis], whole, *part[axis + 1 :]))
        return [data], outputs


class Joined(Relation):
    """Arrays one behind the other along an axis, and alike along all others; evenly: what is left is shared equally."""

    def __init__(self, evenly: bool = False) -> None:
        self._evenly = evenly

    def refine(self, attrs: Attrs, inputs: Shapes, outputs: Shapes) -> tuple[Shapes, Shapes]:
        rank = next((len(s) for s in (*outputs, *inputs) if s is not None), None)
        if rank is None:
            return inputs, outputs
        axis = attrs["dim"] % rank
        alike = (UNKNOWN,) * rank
        parts, whole = [merged(s, alike) for s in inputs], merged(outputs[0], alike)
        for extents in (*inputs, whole):
            if extents is not None:
                beside = tuple(UNKNOWN if i == axis else n for i, n in enumerate(extents))
                parts, whole = [merged(s, beside) for s in parts], merged(whole, beside)
        total = whole[axis]

        def along(n: int) -> tuple[int, ...]:
            return tuple(n if i == axis else UNKNOWN for i in range(rank))

        missing = [k for k, s in enumerate(parts) if s[axis] == UNKNOWN]
        known = sum(s[axis] for s in parts if s[axis] != UNKNOWN)
        if not missing:
            whole = merged(whole, along(known))
        elif total != UNKNOWN and (len(missing) == 1 or (self._evenly and (total - known) % len(missing) == 0)):
            each = along((total - known) // len(missing))
            parts = [merged(s, each) if k in missing else s for k, s in enumerate(parts)]
        return list(parts), [whole]


def length_of(part: slice) -> Callable[[int], int]:
    """How many positions of an axis a slice takes, by the axis's length."""
    return lambda n: places_of(part, n)


NONE = Relation()
SAME = Same()
FIRST = Same(1, 1)  # the first input and the first result
BROADCAST = Broadcast()
RESHAPE, TRANSPOSE, CHOSEN, SPLIT = Reshape(), Transpose(), Chosen(), Split()
JOINED, JOINED_EVENLY = Joined(), Joined(evenly=True)
FULLY_CONNECTED, CONVOLUTION, TRIANGULAR = FullyConnected(), Convolution(), Triangular()
PAIRWISE, DRAWN = Pairwise(), Drawn()


def known(shapes: Sequence[Extents]) -> bool:
    """Whether nothing is missing of these shapes."""
    return all(s is not None and UNKNOWN not in s for s in shapes)
