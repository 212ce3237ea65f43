"""Symbols of traced blocks for other lengths than those that the block was called with.

The block is traced with symbols (`core.extents`) for the lengths of its inputs, one axis after the other: those lengths
stay open that its operators take as they come, or that files have a form for. An axis of which the program needs the
length as a number, as a loop over it does, is noted in the file, with the line that does.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence

from core.extents import Space, same
from core.graph.ir import Graph
from core.graph.trace import Slot, Traced
from core.symbol import Symbol, infer
from core.symbol.fixed_lengths import note, said
from core.symbol.traced import NeedsNumber, symbols
from core.util import np_shape
from gluon.block.operators import leaves

__all__ = ["opened", "plain", "results"]

Place = tuple[int, int]  # an input by its number, and an axis of it
Made = tuple[Symbol, dict[str, object]]  # and the constants in it, by name


def plain(whole: Callable[..., Traced], names: Callable[[int], list[str]], held: dict[int, Symbol]) -> Made:
    """The symbol of a block for the lengths that it was called with; arguments as of `opened`."""
    traced = whole()
    return _symbol(traced, names(len(traced.graph.inputs)), held)


def opened(whole: Callable[..., Traced], names: Callable[[int], list[str]], held: dict[int, Symbol]) -> Made:
    """The symbol of a block with as many lengths of the inputs left open as can be.

    whole(shapes): traces the block (`Compiled.whole`). names(count): names of so many inputs. held: variables of
    parameters, by id of their arrays. Warns of axes of which a line of the program needs the length.
    """
    shapes = [v.shape for v in whole().graph.inputs]
    called = names(len(shapes))
    made, open_, fixed = None, [], {}
    for group in _groups(shapes):
        try:
            made = _open(whole, called, held, shapes, [*open_, group])
            open_.append(group)
        except NeedsNumber as reason:
            fixed.update(dict.fromkeys(group, str(reason)))
        except Exception:  # whatever a block raises for lengths that it does not take
            continue
    if made is None:
        made = plain(whole, names, held)
    if fixed:
        _note(made[0], called, shapes, fixed)
    return made


def results(traced: Traced) -> list:
    """The results in their order, one that is given twice twice."""
    return [traced.graph.outputs[slot] for slot in leaves([traced.template]) if isinstance(slot, Slot)]


# ----------------------------------------------------------------------------------------------


def _groups(shapes: Sequence[tuple]) -> list[list[Place]]:
    """Places whose lengths are presumed to be one: of the same axis, with the same length."""
    groups: dict[tuple[int, int], list[Place]] = {}
    for k, shape in enumerate(shapes):
        for axis, n in enumerate(shape):
            groups.setdefault((axis, n), []).append((k, axis))
    return [groups[key] for key in sorted(groups, key=lambda key: key[0])]


def _open(
    whole: Callable, names: list[str], held: dict[int, Symbol], shapes: Sequence[tuple], groups: list[list[Place]]
) -> Made:
    """The symbol with a length of its own for each of these groups; NeedsNumber where one of them is needed."""
    space = Space()
    traced = whole(space.opened(shapes, groups))
    for symbol, line in space.pinned.items():
        if not line.by_operator:
            raise NeedsNumber(f"{os.path.basename(line)} needs the length", symbol.extent)
    made = _symbol(traced, names, held)
    if space.pinned:
        raise AssertionError(f"operators need {space.pinned}")
    for found, value in zip(_shapes(made, traced.graph, names, held), traced.graph.outputs, strict=True):
        if len(found) != len(value.shape) or not all(map(same, found, value.shape)):
            raise AssertionError(f"a symbol gives {found} for {value.shape}")
    return made


def _symbol(traced: Traced, names: list[str], held: dict[int, Symbol]) -> Made:
    found = traced.graph
    found.outputs = results(traced)
    return symbols(found, names, held)


def _shapes(made: Made, traced: Graph, names: list[str], held: dict[int, Symbol]) -> list[tuple]:
    """Shapes of the results, as they follow from those of the inputs."""
    out, constants = made
    given = {name: array.shape for name, array in constants.items()}
    given |= {held[id(x)].name: v.shape for v, x in zip(traced.held, traced.arrays, strict=True) if id(x) in held}
    given |= dict(zip(names, (v.shape for v in traced.inputs), strict=True))
    with np_shape():
        found = infer.arrays(out._entries, given, {})
    return [found[v][0] for v in out._entries]


def _note(out: Symbol, names: list[str], shapes: Sequence[tuple], fixed: dict[Place, str]) -> None:
    """Writes to the variables of inputs which of their lengths are fixed, and warns."""
    for k, (name, shape) in enumerate(zip(names, shapes, strict=True)):
        lines = {axis: fixed[k, axis] for axis in range(len(shape)) if (k, axis) in fixed}
        if lines and note(out, name, shape, lines):
            lengths = " and ".join(f"{shape[axis]} along axis {axis}" for axis in lines)
            warnings.warn(f"exported for {name} of length {lengths} alone: {said(lines)}", stacklevel=6)
