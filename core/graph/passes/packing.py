"""Packing: weights that stay the same from call to call are brought into the order in which their kernel reads them, once.

Packing belongs to the early part, which runs again when a parameter changes. Small products stay as they are, bit for
bit what they are without a plan.
"""

from __future__ import annotations

from math import prod

from core.dtypes import FLOATS
from core.extents import hints
from core.graph.ir import HELD, Node, Value, apply, over
from core.graph.rewrite import Made, Rule, Walk

# Multiplications of a product that is done in microseconds: packing gains nothing, and changes last digits.
SMALL = 2**20
# Where a weight meets few data (a convolution by channels, a layer of one row), reading it in the wrong order costs more.
THIN = 2**17


def _pays(node: Node, walk: Walk) -> bool:
    """Whether the weight is constant or made early, and the product is large; sums of integers are exact in any order."""
    weight = node.inputs[1]
    fixed = (weight.role == HELD and weight not in walk.changing) or (weight.source is not None and weight.source.early)
    size = prod(hints(node.outputs[0].shape)) * prod(weight.shape[1:])
    least = THIN if weight.shape[1] == 1 or size == prod(weight.shape) else SMALL
    return fixed and (size >= least or weight.dtype == "int8")


def _pack(node: Node, walk: Walk) -> Made:
    data, weight, *rest = node.inputs
    packer, how = node.op.packing(node, _whole(data))
    key = (weight, *how.values())
    new = []
    if key not in walk.memory:
        walk.memory[key] = apply(packer, [weight], how, weight)
        walk.memory[key].early = True
        new = [walk.memory[key]]
    return Made([*new, over(node, [data, walk.memory[key].outputs[0], *rest], node.attrs)], None)


def _whole(value: Value) -> bool:
    """Whether these are whole numbers in a type of fractions, as those of networks on quantized values."""
    made = value.source
    return made is not None and made.op.identity and made.inputs[0].dtype not in FLOATS


packing = Rule("packing", lambda node: node.op.packing is not None, _pack, _pays)
