"""Variations of a sample (see `tests.support.samples`), generated from the table entry of its operator.

One thing is changed at a time: an attribute takes another value of its type, an axis of the operands has size 0 or 1,
or one operand is broadcast along an axis. Not every variation fits the operator; what does not is refused by it.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from core.ops import attributes
from core.ops.registry import REQUIRED, Operator
from tests.support.samples import Draw, Free, Sample

AXES = {"axis", "axes", "dim", "dim1", "dim2", "axis1", "axis2", "lhs_axes", "rhs_axes"}
WINDOWS = {"kernel", "stride", "dilate", "pad"}
KEPT = {"dtype", "out_dtype", "is_int"}  # types have tests of their own


def variations(op: Operator, sample: Sample) -> Iterator[tuple[str, Sample]]:
    """(what is changed, the changed sample): "size 0", "size 1", "broadcast" or the name of an attribute."""
    for name, (kind, default) in op.attrs.items():
        if name not in KEPT:
            current = sample.attrs.get(name, None if default is REQUIRED else default)
            for value in values(name, kind, current, sample):
                yield name, dataclasses.replace(sample, attrs={**sample.attrs, name: value})
    for old, new in itertools.product(sorted(sizes(sample)), (0, 1)):
        if new < old:
            operands = tuple(resized(o, old, new) for o in sample.operands)
            changed = {k: replaced(v, old, new) for k, v in sample.attrs.items()}
            yield f"size {new}", dataclasses.replace(sample, operands=operands)
            if changed != sample.attrs:
                yield f"size {new}", dataclasses.replace(sample, operands=operands, attrs=changed)
    for k, operand in enumerate(sample.operands):
        for axis, size in enumerate(shape(operand)):
            if size > 1 and len(sample.operands) > 1:
                operands = list(sample.operands)
                operands[k] = cut(operand, axis, 1)
                yield "broadcast", dataclasses.replace(sample, operands=tuple(operands))


def values(name: str, kind, current, sample: Sample) -> list:
    """Other values that an attribute of this name and type may take."""
    if isinstance(kind, attributes.Optional):
        return [*values(name, kind.inner, current, sample), *([None] if current is not None else [])]
    rank = len(shape(sample.operands[0]))
    if name in AXES:
        single = list(range(-rank, rank))
        if isinstance(kind, attributes.IntType):
            return [a for a in single if a != current]
        pairs = [*itertools.combinations(range(rank), 2), (-1, 0)][:4] if rank > 1 else []
        return [a for a in [None, (), *single, *pairs, tuple(range(rank))[::-1]] if a != current]
    if name in WINDOWS and isinstance(kind, attributes.ShapeType):
        count = len(current) if current else rank - 2
        mixed = tuple(1 + k % 2 for k in range(count))
        found = [(1,) * count, (2,) * count, mixed, mixed[::-1], (3,) * count]
        return [f for f in found + [(0,) * count] * (name == "pad") if f != current]
    if isinstance(kind, attributes.BoolType):
        return [not current]
    if isinstance(kind, attributes.Choice):
        return [o for o in kind.options if o != current]
    if isinstance(kind, attributes.IntType):
        return [v for v in (-1, 0, 1, 2, 3) if v != current]
    if isinstance(kind, attributes.ScalarType):
        return [v for v in (2, -1.5) if v != current]
    if isinstance(kind, attributes.FloatType):
        return [0.0, 0.25 + 0.5 * (current or 1.0)]
    if isinstance(kind, attributes.ShapeType) and isinstance(current, tuple) and current:
        return [current[::-1], (*current[:-1], 1), (1, *current[1:]), (*current[:-1], -1)]
    return []


# ---------------------------------------------------------------------------------------------- operands


def shape(operand) -> tuple:
    if isinstance(operand, tuple):
        return operand
    return operand.shape if isinstance(operand, Draw) else np.shape(getattr(operand, "values", operand))


def sizes(sample: Sample) -> set[int]:
    return {n for o in sample.operands if o is not None for n in shape(o)}


def resized(operand, old: int, new: int):
    """The operand with `new` elements along every axis that has `old`."""
    for axis, size in enumerate(shape(operand) if operand is not None else ()):
        if size == old:
            operand = cut(operand, axis, new)
    return operand


def cut(operand, axis: int, size: int):
    """The operand with `size` elements along an axis: the first ones where its values are given."""
    if isinstance(operand, tuple):
        return (*operand[:axis], size, *operand[axis + 1 :])
    if isinstance(operand, Draw):
        return dataclasses.replace(operand, shape=cut(operand.shape, axis, size))
    if isinstance(operand, Free):
        return dataclasses.replace(operand, values=cut(np.asarray(operand.values), axis, size))
    return operand[(slice(None),) * axis + (slice(size),)]


def replaced(value, old: int, new: int):
    """An attribute in which the number `old` is `new`."""
    if isinstance(value, tuple):
        return tuple(replaced(v, old, new) for v in value)
    return new if type(value) is int and value == old else value
