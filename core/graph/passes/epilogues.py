"""Epilogues: what is added to a product in prediction, and the activation behind that, end the product's own kernel."""

from __future__ import annotations

from core.graph.ir import Graph, Node, Value, apply, uses, written
from core.kernels.epilogue import ACTIVATIONS
from core.kernels.formula import Expr


def epilogues(graph: Graph) -> Graph:
    """The graph with activation(product + other) as one node, for convolutions and linear layers.

    The sum and the activation go over numbers that are still in registers, instead of over memory again. A product
    whose result others read too stays whole.
    """
    if graph.heads:
        return graph
    counts, moving = uses(graph), written(graph.nodes)
    products: dict[Value, Node] = {}  # those that may still take more, by the value that they stand for
    nodes: list[Node] = []
    replace: dict[Value, Value] = {}
    for node in graph.nodes:
        if node.op.product is not None and not any(v in moving for v in node.reads()):
            *before, product = node.op.product(node, apply)
            nodes += before
        else:
            inner, product = _continued(node, products, counts)
            if product is None:
                nodes.append(node)
                continue
            nodes.remove(inner)
        nodes.append(product)
        products[node.outputs[0]] = product
        replace[node.outputs[0]] = product.outputs[0]
    return graph.replaced(nodes, replace) if replace else graph


def _continued(node: Node, products: dict[Value, Node], counts: dict[Value, int]) -> tuple[Node | None, Node | None]:
    """The product that a node continues, and the two as one; (None, None) if there is none."""
    ending = _ending(node)
    # Of two products that are added the later one takes the other.
    found = [v for v in products if v in node.inputs and counts[v] == 1 and products[v].attrs["activation"] is None]
    for value in reversed(found):
        product = products[value]
        inputs, others = product.inputs, [v for v in node.inputs if v is not value]
        if not others and ending and ending in ACTIVATIONS:
            return product, apply(product.op, inputs, {**product.attrs, "activation": ending}, value)
        alike = ending == "add" and [v for v in others if (v.shape, v.dtype) == (value.shape, value.dtype)]
        if alike and len(inputs) < 4:
            padded = [*inputs, *[None] * (3 - len(inputs))]
            return product, apply(product.op, [*padded, *alike], product.attrs, value)
    return None, None


def _ending(node: Node) -> str | None:
    """The name of a pointwise node's formula: that of its only step, if it has but one."""
    if node.op.formula is None or len(node.outputs) != 1:
        return None
    root = node.op.formula.root
    return (
        root.op
        if [a.op for a in root.args if isinstance(a, Expr)] in (["input"], ["input"] * 2)
        else node.op.formula.name
    )
