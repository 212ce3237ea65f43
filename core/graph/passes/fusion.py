"""Fusion: neighbouring pointwise operators, and those among them that reduce rows, become one generated kernel.

On a GPU such a kernel is as fast as the memory that it reads and writes, so every intermediate result that is not read
again from there is time saved. On the CPU the steps of a plan write in place what fits in a cache, and stay as they
are.
"""

from __future__ import annotations

from collections.abc import Callable

from core import kernels
from core.extents import is_symbolic
from core.graph.ir import Graph, Node, Value, apply
from core.graph.rewrite import Made, Rule, Walk
from core.kernels.contracts.rules import broadcast
from core.kernels.formula import Expr, Formula, inputs_of, lift, postorder, substitute
from core.kernels.row_program import COLUMN, ROW, WHOLE, Result, RowProgram, kept
from core.ops.pointwise import make_pointwise
from core.ops.registry import F, Operator

MOST_OPERANDS = 8  # a kernel with more pointers runs out of registers before it saves memory traffic
MOST_RESULTS = 4
MOST_STEPS = 64
MOST_HELD = 3 * 2**14  # elements of a row in all operands and results, which one program holds in its registers


def fusion(graph: Graph) -> Graph:
    """The graph with groups of nodes as one node each, where that saves a pass over memory.

    A group is pointwise over one shape and gives one result, or goes by rows: then it has reductions over the last axes
    in it, and gives what others read of it, up to a few results. All its nodes are in one part of the graph.
    """
    if not any(on_gpu(node) for node in graph.nodes):
        return graph
    graph = _expansions(graph)
    groups = _Groups(Walk(graph))
    nodes: list[Node] = []
    replace: dict[Value, Value] = {}
    for node in graph.nodes:
        group = groups.of.get(node)
        if group is None or len(group.nodes) == 1:
            nodes.append(node)
        elif node is group.nodes[-1]:
            fused = _rows(group) if group.axes else _pointwise(group)
            fused.early = node.early
            replace.update(zip(group.results, fused.outputs, strict=True))
            nodes.append(fused)
    return graph.replaced(nodes, replace) if replace else graph


def _expand(node: Node, walk: Walk) -> Made | None:
    """What is repeated over axes it lacks, as sums' gradients are, as operators that fuse."""
    made = node.op.expansion(node, apply)
    for part in made:
        part.early = node.early
    return None if made[-1] is node else Made(made, made[-1].outputs)


_expansions = Rule("expansions", lambda node: node.op.expansion is not None, _expand)


class _Group:
    """Nodes of one kernel, in order. shape: of an element for each element; axes: how many last ones are a row, 0 for a
    pointwise group; operands, results: values that it reads and gives; values: expressions of what its nodes make."""

    def __init__(
        self, nodes: list[Node], shape: tuple[int, ...], axes: int, results: Callable[[list[Node]], list[Value]]
    ):
        self.nodes, self.shape, self.axes, self.results = nodes, shape, axes, results(nodes)
        made = {v for node in nodes for v in node.outputs}
        self.operands = list(dict.fromkeys(v for node in nodes for v in node.inputs if v not in made))
        self.values = {v: Expr("input", k) for k, v in enumerate(self.operands)}
        self.kinds: dict[Value, str] = {}
        for node in nodes:
            rule = _rule(node)
            found = rule.values(node, [self.values[v] for v in node.inputs])
            for v, value, kind in zip(node.outputs, found, rule.kinds(node), strict=True):
                self.values[v], self.kinds[v] = value, kind

    def fits(self) -> bool:
        """Whether one kernel can do it."""
        if len(self.operands) > MOST_OPERANDS or len(postorder([self.values[v] for v in self.results])) > MOST_STEPS:
            return False
        if not self.axes:  # a formula's result has the shape of its operands together
            return len(self.results) == 1 and broadcast([v.shape for v in self.operands]) == self.shape
        # What has no place among the elements of a row is a result only.
        inside = {self.shape, kept(self.shape, self.axes)}
        ends = {v for v, kind in self.kinds.items() if kind == COLUMN or v.shape not in inside}
        if any(v in ends for node in self.nodes for v in node.inputs) or len(self.results) > MOST_RESULTS:
            return False
        width = RowProgram((), self.shape, self.axes).columns
        return 2 ** (width - 1).bit_length() * (len(self.operands) + len(self.results) + 2) <= MOST_HELD


class _Groups:
    """The groups of a graph; `of` tells the one of each node that can be in one."""

    def __init__(self, walk: Walk):
        self.of: dict[Node, _Group] = {}
        self._kept, self._readers = walk.results, walk.readers
        self._place = {node: k for k, node in enumerate(walk.graph.nodes)}
        for node in walk.graph.nodes:
            rule = _rule(node)
            if rule is not None and on_gpu(node) and not walk.written.intersection((*node.reads(), *node.outputs)):
                self._set(_Group([node], *rule.domain(node), self._results))
        # A value that nobody else reads costs a write and a read, another one the read only: those come second.
        for vanishing in (True, False):
            for node in list(self.of):
                while any(self._join(v, node, vanishing) for v in self.of[node].operands):
                    pass

    def _set(self, group: _Group) -> None:
        self.of.update(dict.fromkeys(group.nodes, group))

    def _results(self, nodes: list[Node]) -> list[Value]:
        """Values that others read, or somebody outside gets."""
        inside = set(nodes)
        made = [v for node in nodes for v in node.outputs]
        return [v for v in made if v in self._kept or not inside.issuperset(self._readers.get(v, ()))]

    def _join(self, value: Value, node: Node, vanishing: bool) -> bool:
        """Makes one group of the one that gives `value` and that of `node`, which reads it, if they fit;
        whether it did.

        vanishing: only if nobody else reads the value then.
        """
        a, b = self.of.get(value.source), self.of[node]
        if a is None or any(getattr(a.nodes[0], name) != getattr(node, name) for name in ("backward", "early", "ctx")):
            return False
        domain = _domain(a, b)
        if domain is None:
            return False
        group = _Group(sorted(a.nodes + b.nodes, key=self._place.__getitem__), *domain, self._results)
        if (vanishing and value in group.results) or not group.fits() or self._is_read_before(group):
            return False
        self._set(group)
        return True

    def _is_read_before(self, group: _Group) -> bool:
        """Whether somebody else reads a result before the last of the group's nodes, where the kernel comes."""
        inside, last = set(group.nodes), self._place[group.nodes[-1]]
        readers = (r for v in group.results for r in self._readers.get(v, ()))
        return any(self._place[r] < last and r not in inside for r in readers)


def _domain(a: _Group, b: _Group) -> tuple[tuple[int, ...], int] | None:
    """The shape and the axes of a row of two groups as one: what is pointwise may be so over the rows of the other."""
    if (a.axes and b.axes) or not (a.axes or b.axes):
        return (a.shape, a.axes) if (a.shape, a.axes) == (b.shape, b.axes) else None
    rows, other = (a, b) if a.axes else (b, a)
    return (rows.shape, rows.axes) if other.shape in (rows.shape, kept(rows.shape, rows.axes)) else None


def on_gpu(node: Node) -> bool:
    """Whether Triton's kernels compute it."""
    return kernels.forced_backend() == "triton" or node.ctx.device_type == "gpu"


class _Pointwise:
    """The rule of a formula."""

    def domain(self, node: Node):
        return node.outputs[0].shape, 0

    def kinds(self, node: Node):
        return (WHOLE,)

    def values(self, node: Node, inputs: list[Expr]):
        return (formula_of(node, inputs),)


_POINTWISE = _Pointwise()


def formula_of(node: Node, inputs: list[Expr]) -> Expr:
    """The formula of a pointwise node over its inputs, attributes filled in."""

    def leaf(e: Expr):
        if e.op == "input":
            return inputs[e.args[0]]
        return lift(node.attrs[e.args[0]]) if e.op == "attr" else None

    return substitute(node.op.formula.root, leaf)


def _rule(node: Node):
    """What a node computes, as expressions; None for one that cannot be part of a group."""
    if any(isinstance(v, Value) for v in node.attrs.values()) or not node.inputs or None in node.inputs:
        return None
    kinds = {v.dtype for v in (*node.inputs, *node.outputs)}
    if not all("float" in kind for kind in kinds) or any(0 in v.shape for v in node.inputs):
        return None
    if node.op.formula is not None:
        return _POINTWISE if len(kinds) == 1 and len(node.outputs) == 1 else None
    rule = node.op.rows
    if rule is None or is_symbolic(rule.shape(node)):  # the width of a row is compiled into its kernel
        return None
    return rule if rule.holds(node) else None


def _rows(group: _Group) -> Node:
    """The node of a group that goes by rows."""

    def kind(v: Value) -> str:
        return COLUMN if group.kinds[v] == COLUMN else WHOLE if v.shape == group.shape else ROW

    results = tuple(Result(group.values[v], kind(v), v.shape, v.dtype) for v in group.results)
    like = group.results[0]
    program = RowProgram(results, group.shape, group.axes)
    return apply(F._plan_rows, group.operands, {"program": program}, like, group.nodes[-1].backward)


def _pointwise(group: _Group) -> Node:
    """The node of a pointwise group."""
    (result,) = group.results
    op = _operator(group.values[result], len(group.operands), result.dtype)
    return apply(op, group.operands, {}, result, group.nodes[-1].backward)


_operators: dict[tuple[Expr, int, str], Operator] = {}


def _operator(root: Expr, count: int, dtype: str) -> Operator:
    """The operator for a fused formula; equal ones share one, and so their kernels."""
    made = _operators.get((root, count, dtype))
    if made is None:
        used = inputs_of([root])
        formula = Formula(f"fused{len(_operators)}", [f"x{i}" for i in range(count)], [], root)
        op = Operator(f"_{formula.name}", lambda: None)
        op.inputs = list(formula.inputs)
        op.doc = f"{len(postorder([root]))} steps over inputs {used}."
        made = _operators[root, count, dtype] = make_pointwise(op, formula, dtype, differentiable=False)
    return made
