"""Epilogues: what is added to a product in prediction, and the activation behind that, end the product's own kernel.

activation(product + other) becomes one node, for convolutions and linear layers: the sum and the activation go over
numbers that are still in registers, instead of over memory again. A product whose result others read too stays whole.
"""

from __future__ import annotations

from core.graph.ir import Node, apply
from core.graph.rewrite import Made, Rule, Walk, predicts
from core.kernels.epilogue import ACTIVATIONS
from core.kernels.formula import Expr


def _begin(node: Node, walk: Walk) -> Made | None:
    """A product that may take what follows; None where it reads what is written to."""
    if any(v in walk.written for v in node.reads()):
        return None
    *before, product = node.op.product(node, apply)
    walk.memory[node.outputs[0]] = product
    return Made([*before, product], product.outputs)


def _continue(node: Node, walk: Walk) -> Made | None:
    """The product that a node continues, with it; None if there is none."""
    ending, products = _ending(node), walk.memory
    # Of two products that are added the later one takes the other.
    for value in reversed([v for v in products if v in node.inputs and walk.counts[v] == 1]):
        product = products[value]
        if product.attrs["activation"] is not None:
            continue
        inputs, others = product.inputs, [v for v in node.inputs if v is not value]
        if not others and ending and ending in ACTIVATIONS:
            made = apply(product.op, inputs, {**product.attrs, "activation": ending}, value)
        else:
            alike = ending == "add" and [v for v in others if (v.shape, v.dtype) == (value.shape, value.dtype)]
            if not alike or len(inputs) >= 4:
                continue
            padded = [*inputs, *[None] * (3 - len(inputs))]
            made = apply(product.op, [*padded, *alike], product.attrs, value)
        products[node.outputs[0]] = made
        return Made([made], made.outputs, without=(product,))
    return None


def _ending(node: Node) -> str | None:
    """The name of a pointwise node's formula: that of its only step, if it has but one."""
    if node.op.formula is None or len(node.outputs) != 1:
        return None
    root = node.op.formula.root
    operands = [a.op for a in root.args if isinstance(a, Expr)]
    return root.op if operands in (["input"], ["input"] * 2) else node.op.formula.name


def _join(node: Node, walk: Walk) -> Made | None:
    made = _begin(node, walk) if node.op.product is not None else None
    return made or _continue(node, walk)


epilogues = Rule(
    "epilogues", lambda node: node.op.product is not None or node.op.formula is not None, _join, if_=predicts
)
