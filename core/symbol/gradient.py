"""Gradients as symbols: a node that holds the graph to differentiate, and runs its tape (`control_flow.Gradient`)."""

from __future__ import annotations

from core.base import MXNetError, nearest
from core.name import NameManager
from core.ops.registry import TABLE
from core.symbol import graph
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
    inputs = graph.variables(symbol._entries)
    texts = {"num_outputs": str(len(wrt)), "wrt": str([names.index(name) for name in wrt])}
    node = graph.applied(TABLE["_gradient"], NameManager.current.get(None, "_gradient"), texts, inputs, subgraphs=[sub])
    return type(symbol)(node.outputs)
