"""Gradients as symbols: a node that holds the graph to differentiate and runs its tape."""

from __future__ import annotations

from core import autograd
from core.base import MXNetError, nearest
from core.name import NameManager
from core.ops.registry import TABLE
from core.symbol import graph
from core.symbol.graph import Node
from core.symbol.symbol import Symbol


def gradient(symbol: Symbol, wrt: list[str]) -> Symbol:
    """The gradients of the sum of the outputs by the variables called `wrt`; differentiable itself.

    MXNetError where there is no such variable. MXNet 1.9.1 cannot read the JSON of this node.
    """
    names = symbol.list_inputs()
    for name in wrt:
        if name not in names:
            raise MXNetError(f"there is no variable {name!r} to differentiate by.{nearest(name, names)}")
    sub = graph.copy(symbol._entries)
    inputs = [(node, 0) for node in graph.order(symbol._entries) if node.op is None]
    texts = {"num_outputs": str(len(wrt)), "wrt": str([names.index(name) for name in wrt])}
    node = Node(TABLE["_gradient"], NameManager.current.get(None, "_gradient"), texts, inputs, subgraphs=[sub])
    return type(symbol)([(node, k) for k in range(len(wrt))])


def run(node: Node, inputs) -> list:
    """The gradients on arrays."""
    (sub,), names = node.subgraphs, [n.name for n in graph.order(node.subgraphs[0]) if n.op is None]
    again = autograd.is_recording()
    # Outside a recording, the caller's places on the tape are left alone.
    values = [x if again and x._entry is not None else x.detach() for x in inputs]
    wrt = [values[k] for k in node.parsed["wrt"]]
    for x in wrt:
        if x._entry is None:
            x.attach_grad()
    with autograd.record(autograd.is_training()):
        outputs = graph.run(sub, dict(zip(names, values, strict=True)), inputs[0]._ctx, type(inputs[0]))
        return autograd.grad(outputs, wrt, create_graph=again, train_mode=autograd.is_training())
