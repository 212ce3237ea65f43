"""Shapes of which only some extents are known: what follows from them, forwards and backwards.

Forwards, an operator is run twice on tensors without memory, with two numbers in place of what is unknown: extents of
the result that differ are unknown too. Backwards, a few operators tell extents of their inputs from those of the
result.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from core.base import MXNetError
from core.symbol.graph import Node, is_open

UNKNOWN = -1
Extents = tuple[int, ...] | None  # None: not even the number of axes
_PROBES = (2520, 5040)  # both are multiples of 1 to 10, for operators that split


def shapes(
    nodes: list[Node], known: dict[str, Extents], outputs: Callable, inside: Callable
) -> dict[tuple[int, int], Extents]:
    """Extents of everything in the graph, by (id of the node, output), from those of the variables.

    outputs(node, shapes of inputs): shapes of the results; parameters follow from the operators' `infer` rules, and for
    loops and branches, whose extents `inside(node, extents)` fills in, from their subgraphs. MXNetError where extents
    contradict each other.
    """
    found: dict[tuple[int, int], Extents] = {(id(n), 0): known.get(n.name) for n in nodes if n.op is None}
    tried: dict[int, tuple] = {}
    changed = True

    def refine(entry, extents: Extents) -> None:
        nonlocal changed
        place = id(entry[0]), entry[1]
        merged = _merged(found.get(place), extents, entry[0])
        if merged != found.get(place):
            found[place], changed = merged, True

    def of(entry) -> Extents:
        return found.get((id(entry[0]), entry[1]))

    while changed:
        changed = False
        for node in nodes:
            if node.op is None:
                continue
            told = inside if node.subgraphs else _parameters
            for entry, extents in zip(node.inputs, told(node, [of(e) for e in node.inputs]), strict=True):
                refine(entry, extents)
            inputs = tuple(of(e) for e in node.inputs)
            if tried.get(id(node)) != inputs and all(s is not None for s in inputs):
                tried[id(node)] = inputs
                for k, extents in enumerate(_forward(node, inputs, outputs)):
                    refine((node, k), extents)
        for node in reversed(nodes):
            if node.op is not None and not node.subgraphs:
                _backward(node, of, refine)
    return found


# ----------------------------------------------------------------------------------------------


def _merged(one: Extents, other: Extents, node: Node) -> Extents:
    if one is None or other is None:
        return other if one is None else one
    if len(one) != len(other) or any(UNKNOWN not in pair and pair[0] != pair[1] for pair in zip(one, other)):
        raise MXNetError(f"node {node.name!r}: the shape is {one}, but {other} follows from what surrounds it")
    return tuple(b if a == UNKNOWN else a for a, b in zip(one, other))


def _forward(node: Node, inputs: tuple, outputs: Callable) -> list:
    results = []
    for probe in _PROBES:
        filled = [tuple(probe if n == UNKNOWN else n for n in s) for s in inputs]
        try:
            results.append(outputs(node, filled))
        except (MXNetError, RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError):
            return []  # the operator does not work on these numbers, which says nothing of others
    found = [
        tuple(n if n == m else UNKNOWN for n, m in zip(a, b)) if len(a) == len(b) else None
        for a, b in zip(*results, strict=True)
    ]
    if is_open(node):  # a first state, whose batch size is that of what follows
        found = [tuple(n or UNKNOWN for n in found[0])]
    if node.op.name in ("slice", "slice_axis"):  # bounds are cut to an extent that may be smaller than any tried
        found = [tuple(UNKNOWN if n == UNKNOWN else m for n, m in zip(inputs[0], found[0]))]
    return found


def _parameters(node: Node, found: list) -> list:
    """What the operator's `infer` rule tells of its inputs when the first is known in part."""
    if node.op.infer is None or not found or found[0] is None:
        return found
    by_slot = dict.fromkeys(node.op.inputs)
    for slot, extents in zip(node.slots, found, strict=True):
        by_slot[slot] = None if extents is None else tuple(max(n, 0) for n in extents)
    try:
        node.op.infer(by_slot, node.parsed)
    except (IndexError, TypeError, KeyError, ValueError, ZeroDivisionError, MXNetError):
        return found
    unknown = UNKNOWN in found[0]  # then a product of extents, as in a weight, may be 0

    def told(extents: Extents, inferred) -> Extents:
        if inferred is None or (extents is not None and UNKNOWN not in extents):
            return extents
        return tuple(n or UNKNOWN for n in inferred) if unknown or extents is not None else tuple(inferred)

    return [told(extents, by_slot[slot]) for slot, extents in zip(node.slots, found, strict=True)]


def _backward(node: Node, of: Callable, refine: Callable) -> None:
    """Refines the inputs of a node by what its result tells of them."""
    kind = node.op.name
    if kind in _ALIKE:
        alike = [*node.inputs, (node, 0)]
        for extents in [of(e) for e in alike]:
            for entry in alike:
                refine(entry, extents)
        return
    if kind in _FIRST_ALIKE or (node.op.formula is not None and len(node.inputs) == 1):
        refine(node.inputs[0], of((node, 0)))
        refine((node, 0), of(node.inputs[0]))
    if kind in _OF_RESULT:
        result = of((node, 0))
        if result is not None:
            _OF_RESULT[kind](node, of(node.inputs[0]), result, refine)
    elif kind in _OF_ALL:
        _OF_ALL[kind](node, of, refine)


def _reshape(node: Node, data: Extents, result: Extents, refine: Callable) -> None:
    if data is None or data.count(UNKNOWN) != 1 or UNKNOWN in result:
        return
    elements, beside = math.prod(result), math.prod(n for n in data if n != UNKNOWN)
    if beside and elements % beside == 0:
        refine(node.inputs[0], tuple(elements // beside if n == UNKNOWN else n for n in data))


def _transpose(node: Node, data: Extents, result: Extents, refine: Callable) -> None:
    axes = node.parsed["axes"] or range(len(result))[::-1]
    refine(node.inputs[0], tuple(n for _, n in sorted(zip(axes, result, strict=True))))


def _fully_connected(node: Node, data: Extents, result: Extents, refine: Callable) -> None:
    if data is not None:
        rows = 1 if node.parsed["flatten"] else len(data) - 1
        refine(node.inputs[0], (*result[:rows], *(UNKNOWN,) * (len(data) - rows)))


def _convolution(node: Node, data: Extents, result: Extents, refine: Callable) -> None:
    attrs = node.parsed
    if attrs["layout"] not in (None, "NCW", "NCHW", "NCDHW"):
        return
    n = len(attrs["kernel"])
    strides, dilates, pads = (attrs[k] or (d,) * n for k, d in (("stride", 1), ("dilate", 1), ("pad", 0)))
    space = [
        UNKNOWN if out == UNKNOWN else (out - 1) * s + d * (k - 1) + 1 - 2 * p
        for out, k, s, d, p in zip(result[2:], attrs["kernel"], strides, dilates, pads)
    ]
    known = data or (UNKNOWN,) * (n + 2)
    # Several inputs give one result where the stride is more than 1: then only what is unknown is filled in.
    refine(node.inputs[0], tuple(a if a != UNKNOWN else b for a, b in zip(known, (result[0], UNKNOWN, *space))))


def _slice_channel(node: Node, of: Callable, refine: Callable) -> None:
    axis, parts = node.parsed["axis"], node.parsed["num_outputs"]
    for k in range(node.outputs):
        part = of((node, k))
        if part is None:
            continue
        if node.parsed["squeeze_axis"]:
            axis %= len(part) + 1
            refine(node.inputs[0], (*part[:axis], parts, *part[axis:]))
        else:
            axis %= len(part)
            whole = UNKNOWN if part[axis] == UNKNOWN else part[axis] * parts
            refine(node.inputs[0], (*part[:axis], whole, *part[axis + 1 :]))


def _concat(node: Node, of: Callable, refine: Callable) -> None:
    parts, whole = [of(e) for e in node.inputs], of((node, 0))
    rank = next((len(s) for s in (whole, *parts) if s is not None), None)
    if rank is None:
        return
    axis = node.parsed["dim"] % rank
    for extents in (*parts, whole):
        if extents is not None:
            beside = tuple(UNKNOWN if i == axis else n for i, n in enumerate(extents))
            for entry in (*node.inputs, (node, 0)):
                refine(entry, beside)
    along = [UNKNOWN if s is None else s[axis] for s in parts]
    total = UNKNOWN if whole is None else whole[axis]

    def place(n):
        return tuple(n if i == axis else UNKNOWN for i in range(rank))

    missing = [entry for entry, n in zip(node.inputs, along, strict=True) if n == UNKNOWN]
    if not missing:
        refine((node, 0), place(sum(along)))
    elif total != UNKNOWN and (len(missing) == 1 or _weights_of_one_shape(missing, of)):
        rest = total - sum(n for n in along if n != UNKNOWN)
        for entry in missing if rest % len(missing) == 0 else ():
            refine(entry, place(rest // len(missing)))


def _weights_of_one_shape(entries: list, of: Callable) -> bool:
    """Whether these are flat matrices of as many rows each, as the two directions of a recurrent layer have them."""
    flat = all(n.op is not None and n.op.name == "Reshape" and n.parsed["shape"] == (-1,) for n, _ in entries)
    shapes = {of(n.inputs[0]) for n, _ in entries} if flat else set()
    return len(shapes) == 1 and len(next(iter(shapes)) or ()) == 2


# What the result tells of the first input, and what all results and inputs tell of each other.
_OF_RESULT = {
    "Reshape": _reshape, "transpose": _transpose, "FullyConnected": _fully_connected, "Convolution": _convolution,
}  # fmt: skip
_OF_ALL = {"Concat": _concat, "SliceChannel": _slice_channel}
# Operators whose operands and result have one shape, and those whose first operand and result do.
_ALIKE = frozenset(
    "elemwise_add elemwise_sub elemwise_mul elemwise_div _mod _power _maximum _minimum _hypot _equal _not_equal "
    "_greater "
    "_greater_equal _lesser _lesser_equal add_n _identity_with_attr_like_rhs".split()
)
_FIRST_ALIKE = frozenset(
    "Activation LeakyReLU Dropout BatchNorm LayerNorm softmax log_softmax Cast BlockGrad _copy clip reverse zeros_like "
    "ones_like make_loss".split()
)
