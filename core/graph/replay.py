"""Nodes of a graph, run one by one as an eager program would run them."""

from __future__ import annotations

from core import autograd, dispatch
from core.extents import evaluated, is_symbolic
from core.graph.ir import Draw, Graph, Node, Value
from core.ndarray.ndarray import NDArray
from core.tape import untraced


def run_node(node: Node, values: dict[Value, NDArray], lengths: dict[str, int] | None = None) -> None:
    """Applies one node to the arrays in `values` as an eager program would, and adds what it gives.

    lengths: of the symbols in its attributes, by name.
    """
    attrs = {k: v for k, v in node.attrs.items() if k in node.op.attrs and k != "training" and not isinstance(v, Draw)}
    if lengths:
        attrs = {k: evaluated(v, lengths) for k, v in attrs.items()}
    inputs = [None if v is None else values[v] for v in node.inputs]
    if inputs:
        kind = next(v.kind for v in node.inputs if v is not None)
        found = kind._apply_operator(node.op, inputs, attrs, None)
    else:
        found = dispatch.create(node.op, attrs, node.ctx, node.outputs[0].kind)
    found = found if isinstance(found, (list, tuple)) else [found]
    values.update(zip(node.outputs, found))


def run_forward(graph: Graph, values: dict[Value, NDArray], lengths: dict[str, int]) -> list[NDArray]:
    """The outputs of a graph for arrays of all that comes from outside, as a tape can record them."""
    for node in graph.nodes:
        if not node.backward:
            run_node(node, values, lengths)
    return [values[v] for v in graph.outputs]


def give_values(array: NDArray) -> bool:
    """Whether a traced array, which a block kept, is a constant: made of nothing that was given, or drawn;
    it gets its values then.

    In MXNet a block is traced once, so that what it keeps from then is part of its graph.
    """
    value = getattr(array._data, "traced", None)
    nodes = [] if value is None else _sources(value)
    if not nodes:
        return False
    values: dict[Value, NDArray] = {}
    with autograd.pause(), untraced():
        for node in nodes:
            run_node(node, values)
    array._data = values[value]._data
    return True


def _sources(value: Value) -> list[Node]:
    """The nodes that a value is made by, in their order; none where some of it comes from outside, from chance or
    from a length that is no number.
    """
    order, seen, stack = [], set(), [(value.source, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node is None or any(isinstance(a, Draw) or is_symbolic(a) for a in node.attrs.values()):
            return []
        elif id(node) not in seen:
            seen.add(id(node))
            stack += [(node, True), *((v.source, False) for v in node.inputs if v is not None)]
    return order
