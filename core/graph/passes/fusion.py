"""Fusion: neighbouring pointwise operators, and the reduction behind them, become one formula, hence one kernel."""

from __future__ import annotations

from math import prod

from core import kernels
from core.graph.ir import Graph, Node, Value, apply, uses
from core.kernels.formula import Expr, Formula, inputs_of, lift, postorder, substitute
from core.ops.reduce import reduction_axes
from core.ops.registry import F, Operator, make_pointwise

MOST_OPERANDS = 8  # a kernel with more pointers runs out of registers before it saves memory traffic
MOST_STEPS = 64
MOST_REDUCED = (
    2**14
)  # elements of a row, which one program reduces: longer ones are shared out by the reduction's own kernel


def fusion(graph: Graph) -> Graph:
    """The graph with chains of pointwise operators fused where each saves a pass over memory.

    On a GPU a pointwise kernel is as fast as the memory that it reads and writes, so every intermediate result that is
    not written is time saved. On the CPU the steps of a plan write in place what fits in a cache, and stay as they are.
    A node goes into the one node that reads it, of the same shape and dtype, in the same part of the graph; a reduction
    over the last axes takes what it alone reads, and writes its results only.
    """
    if not any(_on_gpu(node) for node in graph.nodes):
        return graph
    counts = uses(graph)
    groups: dict[Node, tuple[Expr, list[Value]]] = {}  # what each pointwise node computes, from which values
    swallowed: set[Node] = set()
    reductions: dict[Node, Node] = {}  # with the pointwise node that each takes
    for node in graph.nodes:
        if _reduces_rows(node) and (inner := node.inputs[0].source) in groups and counts[node.inputs[0]] == 1:
            if inner.backward is node.backward and inner.early is node.early:
                reductions[node] = inner
                swallowed.add(inner)
            continue
        if not _fusible(node):
            continue
        root, operands = _expression(node, node.inputs)
        for value in list(operands):
            inner = value.source
            if inner not in groups or counts[value] != node.inputs.count(value):
                continue
            if (
                inner.backward is not node.backward
                or inner.early is not node.early
                or value.shape != node.outputs[0].shape
            ):
                continue
            joined = _joined(root, operands, value, *groups[inner])
            if len(joined[1]) <= MOST_OPERANDS and len(postorder([joined[0]])) <= MOST_STEPS:
                root, operands = joined
                swallowed.add(inner)
        groups[node] = root, operands
    nodes, replace = [], {}
    for node in graph.nodes:
        if node in swallowed:
            continue
        root, operands = groups.get(reductions.get(node, node), (None, []))
        if node in reductions:
            fused = _reduction(node, _operator(root, len(operands)).formula, operands)
            fused.early = node.early
            replace[node.outputs[0]] = fused.outputs[0]
            nodes.append(fused)
            continue
        if root is None or operands == [v for v in node.inputs if v is not None]:
            nodes.append(node)
            continue
        fused = apply(_operator(root, len(operands)), operands, {}, node.outputs[0], node.backward)
        fused.early = node.early
        replace[node.outputs[0]] = fused.outputs[0]
        nodes.append(fused)
    return graph.replaced(nodes, replace) if replace else graph


def _on_gpu(node: Node) -> bool:
    return kernels.wing() == "triton" or node.ctx.device_type == "gpu"


def _fusible(node: Node) -> bool:
    """Whether a node is a formula whose operands and result are of one floating type."""
    formula = node.op.formula
    if formula is None or not _on_gpu(node) or len(node.outputs) != 1:
        return False
    kinds = {v.dtype for v in (*node.inputs, *node.outputs)}
    return len(kinds) == 1 and "float" in kinds.pop() and not any(isinstance(v, Value) for v in node.attrs.values())


def _reduces_rows(node: Node) -> bool:
    """Whether a node reduces short rows: over the last axes of an array of floating-point numbers."""
    if node.op not in (F.sum, F.mean, F.max, F.min) or not _on_gpu(node):
        return False
    data = node.inputs[0]
    axes = _axes(node)
    last = axes == tuple(range(len(data.shape) - len(axes), len(data.shape)))
    exact = data.dtype in ("float32", "float64", "bfloat16") or (data.dtype == "float16" and node.op is not F.mean)
    return bool(axes) and last and exact and 0 < prod(data.shape[a] for a in axes) <= MOST_REDUCED


def _axes(node: Node) -> tuple[int, ...]:
    return reduction_axes(node.attrs["axis"], node.attrs["exclude"], len(node.inputs[0].shape), node.op.name)


def _reduction(node: Node, formula: Formula, operands: list[Value]) -> Node:
    """A reduction with the formula that makes its operand."""
    how = {"combine": node.op.name, "axes": _axes(node), "keepdims": node.attrs["keepdims"]}
    return apply(F._plan_reduce, operands, {"formula": formula, **how}, node.outputs[0], node.backward)


def _expression(node: Node, inputs: list[Value]) -> tuple[Expr, list[Value]]:
    """The formula of a node over its distinct inputs, attributes filled in."""
    operands = list(dict.fromkeys(inputs))

    def leaf(e: Expr):
        if e.op == "input":
            return Expr("input", operands.index(inputs[e.args[0]]))
        return lift(node.attrs[e.args[0]]) if e.op == "attr" else None

    return substitute(node.op.formula.root, leaf), operands


def _joined(root: Expr, operands: list[Value], slot: Value, inner: Expr, inner_operands: list[Value]):
    """`root` with operand `slot` computed by `inner`."""
    kept = [v for v in operands if v is not slot]
    merged = list(dict.fromkeys([*kept, *inner_operands]))
    moved = substitute(
        inner, lambda e: Expr("input", merged.index(inner_operands[e.args[0]])) if e.op == "input" else None
    )

    def leaf(e: Expr):
        if e.op != "input":
            return None
        value = operands[e.args[0]]
        return moved if value is slot else Expr("input", merged.index(value))

    return substitute(root, leaf), merged


_operators: dict[tuple[Expr, int], Operator] = {}


def _operator(root: Expr, count: int) -> Operator:
    """The operator for a fused formula; equal ones share one, and so their kernels."""
    made = _operators.get((root, count))
    if made is None:
        used = inputs_of([root])
        formula = Formula(f"fused{len(_operators)}", [f"x{i}" for i in range(count)], [], root)
        op = Operator(f"_{formula.name}", lambda: None)
        op.inputs = list(formula.inputs)
        op.doc = f"{len(postorder([root]))} steps over inputs {used}."
        made = _operators[root, count] = make_pointwise(op, formula, "first", differentiable=False)
    return made
