"""Loops and branches of symbols as those of ONNX, whose inner graphs read what is around them.

A conversion gets the builder, the node's attributes, the names of its inputs, and `walk(k, values)`, which adds the
nodes of subgraph k with these names in place of the node's inputs and gives the names of its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from core.contrib.onnx.mx2onnx.table import Builder, Name, ints


def foreach(g: Builder, a, given: list[Name], walk: Callable) -> list[Name]:
    """`Scan`: states first, where symbols have stacked outputs first."""
    data, states = len(a.in_data_locs), len(a.in_state_locs)
    slices, held = given[:data], [g.whole(x) for x in given[data : data + states]]
    with g.inner() as body:
        state_names = [body.take(x, *g.described(x)) for x in held]
        slice_names = [_one_axis(g, body.take(x, *_element(*g.described(x)))) for x in slices]
        results = walk(0, [*slice_names, *state_names, *given[data + states :]])
        outputs, last = results[: a.num_out_data], results[a.num_out_data :]
        inner = body.graph([*last, *outputs])
    made = g.add("Scan", *held, *slices, outputs=len(results), body=inner, num_scan_inputs=data)
    return [*made[states:], *made[:states]]


def while_loop(g: Builder, a, given: list[Name], walk: Callable) -> list[Name]:
    """`Loop`: with as many rows of outputs as steps, to which zeros are added here."""
    loop = a.num_outputs - a.num_out_data
    held = [g.whole(x) for x in given[:loop]]
    first = _truth(g, walk(0, [*held, *given[loop:]])[0])
    with g.inner() as body:
        body.take(first, (), "int64")
        body.take(first, (), "bool")
        names = [body.take(x, *g.described(x)) for x in held]
        results = walk(1, [*names, *given[loop:]])
        outputs, new = results[: a.num_out_data], results[a.num_out_data :]
        inner = body.graph([_truth(g, walk(0, [*new, *given[loop:]])[0]), *new, *outputs])
    most = a.max_iterations
    made = g.add("Loop", np.int64(most), first, *held, outputs=len(results), body=inner)
    return [*(_filled(g, x, most, len(g.outputs[k][0])) for k, x in enumerate(made[loop:])), *made[:loop]]


def cond(g: Builder, a, given: list[Name], walk: Callable) -> list[Name]:
    """`If`."""
    condition = _truth(g, walk(0, given)[0])
    branches = []
    for k in (1, 2):
        with g.inner() as body:
            branches.append(body.graph([g.whole(x) for x in walk(k, given)]))
    return g.add("If", condition, outputs=a.num_outputs, then_branch=branches[0], else_branch=branches[1])


CONTROL: dict[str, Callable] = {"_foreach": foreach, "_while_loop": while_loop, "_cond": cond}


# ----------------------------------------------------------------------------------------------


def _element(shape: Sequence, dtype: str) -> tuple:
    """Shape and dtype of what is at one place of axis 0."""
    return shape[1:], dtype


def _one_axis(g: Builder, element: Name) -> Name:
    """A classic array has at least one axis."""
    return element if g.shape(element) else g.add("Reshape", element, ints(1))


def _truth(g: Builder, number: Name) -> Name:
    """A number as ONNX's conditions have it: a truth value without axes."""
    made = g.add("Reshape", g.truth(number), np.zeros(0, np.int64))
    g.know(made, (), "bool")
    return made


def _filled(g: Builder, rows: Name, most: int, rank: int) -> Name:
    """Rows, and zeros behind them up to `most`."""
    left = g.add("Sub", ints(most), g.add("Shape", rows, start=0, end=1))
    nothing = np.zeros(rank, np.int64)
    widths = g.add("Concat", nothing, left, nothing[1:], axis=0) if rank > 1 else g.add("Concat", nothing, left, axis=0)
    return g.add("Pad", rows, widths)
