"""Branches and loops of ONNX as those of symbols.

A conversion gets the network, the node's attributes and inputs, and `walk(graph, bound)`, which converts the nodes of
an inner graph with values bound to the names of its inputs and gives those of its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.extents import Varying
from core.contrib.onnx.onnx2mx.table import Network
from core.symbol import Symbol

_MOST = 2**31 - 1  # steps of a loop that tells no number


def branch(net: Network, attrs: dict, walk: Callable, condition) -> list:
    """`If`: what one of two graphs gives. Exporters ask for shapes so too, which are known while the file is read."""
    graphs = attrs["then_branch"], attrs["else_branch"]
    if not isinstance(condition, Symbol):
        return walk(graphs[not _true(net, condition, "the condition")], {})
    found = []

    def results(graph):
        made = [net.symbol(x) for x in walk(graph, {})]
        found.append([_form(net, x) for x in made])
        return made

    made = sym.contrib.cond(condition, lambda: results(graphs[0]), lambda: results(graphs[1]))
    if found[0] != found[1]:
        raise net.refuse(f"its branches give arrays of different shapes or types, {found[0]} and {found[1]}")
    return made


def loop(net: Network, attrs: dict, walk: Callable, most, condition, *states) -> list:
    """`Loop`: last states, and what each step gives, stacked.

    A number of steps that values decide leaves states alone.
    """
    body = attrs["body"]
    _check_counts(net, body, 2 + len(states), 1 + len(states))
    endless = condition is None or (not isinstance(condition, Symbol) and _true(net, condition, "the condition"))
    if endless and most is not None and not isinstance(most, Symbol) and _goes_on(net, body):
        number, going, *names = [v.name for v in body.input]
        elements = {number: (sym.Reshape(_numbers(net, most), shape=(-1, 1)), True)}
        held = dict(zip(names, states))
        return _each(net, body, walk, elements, held, {going: np.array(True)}, body.output[1:])
    if len(body.output) > 1 + len(states):
        raise net.refuse("it stacks what its steps give, whose number depends on values")
    return _while(net, body, walk, most, condition, list(states))


def scan(net: Network, attrs: dict, walk: Callable, *given) -> list:
    """`Scan`: last states, and what each step along some inputs gives, stacked."""
    body, count = attrs["body"], attrs["num_scan_inputs"]
    if not 0 < count <= len(given):
        raise net.refuse(f"it goes along {count} of {len(given)} inputs")
    if net.opset < 9:
        raise net.refuse("the form of opset 8, with an axis of sequences, is not converted")
    _check_counts(net, body, len(given), len(given) - count)
    names, states = [v.name for v in body.input], given[: len(given) - count]
    elements = {}
    for k, (name, x) in enumerate(zip(names[len(states) :], given[len(states) :])):
        x, rank = net.symbol(x), net.rank(x)
        axis = net.place(_nth(attrs, "scan_input_axes", k), rank)
        x = sym.transpose(x, axes=(axis, *(i for i in range(rank) if i != axis))) if axis else x
        x = sym.reverse(x, axis=0) if _nth(attrs, "scan_input_directions", k) else x
        elements[name] = sym.Reshape(x, shape=(-1, 1)) if rank == 1 else x, rank == 1
    made = _each(net, body, walk, elements, dict(zip(names, states)), {}, body.output)
    for k in range(len(states), len(made)):
        x, n = made[k], k - len(states)
        axis = net.place(_nth(attrs, "scan_output_axes", n), net.rank(x))
        x = sym.reverse(x, axis=0) if _nth(attrs, "scan_output_directions", n) else x
        made[k] = sym.transpose(x, axes=(*range(1, axis + 1), 0, *range(axis + 1, net.rank(x)))) if axis else x
    return made


CONTROL: dict[str, Callable] = {"If": branch, "Loop": loop, "Scan": scan}


# ----------------------------------------------------------------------------------------------


def _each(net, body, walk, elements: dict, states: dict, bound: dict, outputs: Sequence) -> list:
    """The body once for each element of symbols along axis 0: last states, and what else is among its outputs, stacked.

    elements: (symbol, whether its elements are single numbers) by name; states and bound: values by name; outputs: what
    the body declares of new states and the rest.
    """
    read = _names_read(body)
    states = {name: net.symbol(x) for name, x in states.items()}
    kept = [k for k, name in enumerate(states) if name in read]  # a state that is not read is what the last step gives
    held = {name: x for name, x in states.items() if name in read}
    counts = [] if read & elements.keys() else [sym.zeros((1,), dtype="int64")]  # symbols go along what they read
    along = {name: x for name, x in elements.items() if name in read} or {"": (_places(elements), True)}

    def step(slices, variables):
        for x, (source, single) in zip(slices, along.values()):
            _bind(net, x, source, True, single)
        for x, source in zip(variables, held.values()):
            _bind(net, x, source, False, net.is_single(source))
        values = bound | dict(zip(along, slices)) | dict(zip(held, variables))
        made = [net.symbol(x) for x in walk(body, values)[-len(outputs) :]]
        for k, x in zip(kept, variables):
            _check_state(net, x, made[k])
        counted = [sym.broadcast_add(variables[-1], slices[0])] if counts else []
        return [x for k, x in enumerate(made) if k not in kept], [made[k] for k in kept] + counted

    stacked, last = sym.contrib.foreach(step, [x for x, _ in along.values()], [*held.values(), *counts])
    stacked, last = iter(stacked), iter(last)
    made = []
    for k, declared in enumerate(outputs):
        x = next(last if k in kept else stacked)
        if k < len(states) and k not in kept:
            x = sym.squeeze(sym.slice_axis(x, axis=0, begin=-1, end=None), axis=0)
        elif k >= len(states) and is_number(declared.type):
            x = sym.Reshape(x, shape=(-1,))
        made.append(x)
    return made


def _while(net, body, walk, most, condition, states: list) -> list:
    """The body while it says so, `most` times at most; last states."""
    limit = _MOST
    if isinstance(most, np.ndarray):
        limit, most = min(int(most.item()), _MOST), None
    if limit < 1:
        return states
    states = [net.symbol(x) for x in states]
    goes_on = net.symbol(np.array([True]) if condition is None else condition)
    most = None if most is None else net.symbol(most)
    variables = [sym.zeros((1,), dtype="int64"), sym.Cast(goes_on, dtype="bool"), *states]

    def test(number, going, *held):
        going = sym.Cast(going, dtype="float32")
        return going if most is None else going * sym.Cast(sym.broadcast_lesser(number, most), dtype="float32")

    def step(number, going, *held):
        given = number, going, *held
        for x, source in zip(given, variables):
            _bind(net, x, source, False, x is number or net.is_single(source))
        going, *made = [net.symbol(x) for x in walk(body, {v.name: x for v, x in zip(body.input, given)})]
        for x, new in zip(held, made):
            _check_state(net, x, new)
        return [], [number + 1, sym.Cast(going, dtype="bool"), *made]

    return list(sym.contrib.while_loop(test, step, variables, max_iterations=limit)[1])[2:]


def _bind(net: Network, variable: Symbol, source: Symbol, element: bool, single: bool) -> None:
    """Tells what a variable of a body stands for. element: of the source along axis 0; single: it is a number."""
    net.extents.bind(variable, source, element)
    if single:
        net.note_single(variable)


def _places(elements: dict) -> Symbol:
    """0, 1, ... for each element."""
    first, _ = next(iter(elements.values()))
    return sym.Reshape(sym.Cast(sym.contrib.arange_like(first, axis=0), dtype="int64"), shape=(-1, 1))


def _numbers(net: Network, most) -> Symbol:
    """0, 1, ... as many as a constant says, or a number that follows from extents."""
    if isinstance(most, Varying):
        like = net.like((most.values.item(),), "the number of steps")
        return sym.Cast(sym.contrib.arange_like(like, axis=0), dtype="int64")
    count = int(most.item())
    if count < 1:
        raise net.refuse(f"a loop of {count} steps")
    net.bounded(count, "a loop")
    return sym.arange(start=0, stop=count, dtype="int64")


def _goes_on(net: Network, body) -> bool:
    """Whether the condition that a body gives is always true: what came in, or a constant."""
    name, made = body.output[0].name, {n: node for node in body.node for n in node.output}
    while name in made and made[name].op_type == "Identity":
        name = made[name].input[0]
    values = {t.name: t for t in body.initializer}
    if name in made and made[name].op_type == "Constant" and made[name].attribute:
        values[name] = made[name].attribute[0].t
    if name in values:
        return len(values[name].dims) < 2 and any([*values[name].raw_data, *values[name].int32_data])
    return name == body.input[1].name


def _names_read(graph) -> set[str]:
    """Names that the nodes of a graph, and of graphs inside, read, or that it gives as they are."""
    inner = [a.g for node in graph.node for a in node.attribute if a.HasField("g")]
    own = {n for node in graph.node for n in node.input} | {v.name for v in graph.output}
    return own.union(*map(_names_read, inner))


def _check_counts(net: Network, body, inputs: int, outputs: int) -> None:
    if len(body.input) != inputs or len(body.output) < outputs or outputs < 0:
        raise net.refuse(f"its body has {len(body.input)} inputs and {len(body.output)} outputs")


def _check_state(net: Network, before: Symbol, after: Symbol) -> None:
    if _form(net, before) != _form(net, after):
        raise net.refuse(f"a state changes from {_form(net, before)} to {_form(net, after)}")


def _form(net: Network, x: Symbol) -> tuple:
    """(shape, dtype), as far as they are known."""
    return net.lengths(x), net.dtype(x)


def _true(net: Network, value, what: str) -> bool:
    return bool(net.number(value, what).item())


def _nth(attrs: dict, name: str, k: int) -> int:
    return attrs.get(name, (0,) * (k + 1))[k]


def is_number(type_) -> bool:
    """Whether a type, as ONNX tells it, is that of a single number."""
    return type_.tensor_type.HasField("shape") and not type_.tensor_type.shape.dim
