"""Activations by their names: a chain of pointwise steps behind a product that spells one becomes the one operator.

x * clip(x + 3, 0, 6) / 6 is `_hard_swish`, in any of the ways in which networks write it: the product takes it for its
epilogue, in place of four passes over memory. The formulas are compared, not the steps' names. Elsewhere the steps stay,
and with them every digit of what they give without a plan.
"""

from __future__ import annotations

from core.graph.ir import Graph, Node, Value, apply
from core.graph.passes.dead_code import dead_code
from core.graph.passes.fusion import formula_of
from core.graph.rewrite import Made, Rule, Walk, predicts
from core.kernels.formula import Expr, maximum, minimum, sigmoid
from core.ops.registry import F

LONGEST = 4  # steps of a chain

_X = Expr("input", 0)


def _spellings() -> dict[Expr, str]:
    """Formulas of one input, and the operators that they are."""
    found = {minimum(maximum(_X, 0.0), 6.0): "_relu6"}
    for product in (_X * sigmoid(_X), sigmoid(_X) * _X):
        found[product] = "silu"
    gate = minimum(maximum(_X + 3.0, 0.0), 6.0)
    sixth = minimum(maximum(1 / 6 * _X + 0.5, 0), 1)
    found |= {gate / 6.0: "_hard_gate", sixth: "_hard_gate"}
    for product in (_X * (gate / 6.0), gate / 6.0 * _X, _X * gate / 6.0, gate * _X / 6.0, _X * sixth, sixth * _X):
        found[product] = "_hard_swish"
    return found


_KNOWN = _spellings()


def _name(node: Node, walk: Walk) -> Made | None:
    """The operator that a chain of steps spells which ends in this node; notes what the node is of values before it."""
    out = node.outputs[0]
    ways = [{v: (_X, 0), **walk.memory.get(v, {})} for v in node.inputs]
    own = walk.memory[out] = {}
    for value in ways[0]:
        steps = 1 + max(way.get(value, (_X, LONGEST))[1] for way in ways)
        if steps <= LONGEST and (value.shape, value.dtype) == (out.shape, out.dtype):
            own[value] = formula_of(node, [way[value][0] for way in ways]), steps
    for value, (root, _) in own.items():
        if root in _KNOWN and value.source is not None and value.source.op.product is not None:
            made = apply(getattr(F, _KNOWN[root]), [value], {}, out)
            return Made([made], made.outputs)
    return None


def _is_step(node: Node) -> bool:
    whole = node.op.formula is not None and len(node.outputs) == 1 and bool(node.inputs) and None not in node.inputs
    return whole and "float" in node.outputs[0].dtype and not any(isinstance(v, Value) for v in node.attrs.values())


_names = Rule("activations", _is_step, _name, if_=predicts)


def activations(graph: Graph) -> Graph:
    """The graph with chains that have a name as one operator, without their steps, which products would count as readers."""
    named = _names(graph)
    return graph if named is graph else dead_code(named)
