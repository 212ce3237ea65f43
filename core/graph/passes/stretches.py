"""Stretches: in prediction, nodes that follow one another and for which the backend has a library's primitives become one.

Their kernels' calls are shown to a recorder of the backend (`core.kernels.cpu.stretch`), in order, until it does not take
one. What it took runs without a dispatcher, without memory of its own for each result, and in one layout.
"""

from __future__ import annotations

from typing import Any

from core import kernels, storage
from core.graph.ir import HELD, Graph, Node, Value, apply
from core.graph.passes.joins import axis_joined
from core.graph.rewrite import Walk, predicts
from core.ops.registry import F

# Multiplications of a stretch from which it is taken: below, numbers stay digit by digit what they are without a plan.
LEAST = 2**22


def stretches(graph: Graph) -> Graph:
    """The graph in prediction, of fixed shapes, with nodes for what a library runs at one go."""
    late = [node for node in graph.nodes if not node.early]
    if not predicts(graph) or graph.space is not None or not late:
        return graph
    if kernels.recorder(storage.device(late[0].ctx)) is None:
        return graph
    walk = Walk(graph)
    last = {v: k for k, node in enumerate(late) for v in node.reads()} | dict.fromkeys(walk.results, len(late))
    early, nodes = [node for node in graph.nodes if node.early], []
    replace: dict[Value, Value] = {}
    stretch = _Stretch(walk, last)
    for k, node in enumerate(late):
        if stretch.take(node, k):
            continue
        if stretch.may_follow(node):
            nodes.append(node)
        else:
            stretch.close(k, early, nodes, replace)
            stretch = _Stretch(walk, last)
            if not stretch.take(node, k):
                nodes.append(node)
    stretch.close(len(late), early, nodes, replace)
    return graph.replaced([*early, *nodes], replace) if replace else graph


class _Stretch:
    """Nodes that follow one another, and what the recorder made of them. last: numbers of the nodes that read values
    for the last time, the number of all for those that the caller gets.
    """

    def __init__(self, walk: Walk, last: dict[Value, int]):
        self._walk, self._last, self._blocks = walk, last, True
        self._begin()

    def _begin(self) -> None:
        self._recorder: Any = None
        self._nodes: list[tuple[Node, int]] = []
        self._known: dict[Value, Any] = {}
        self._outside: dict[Value, Any] = {}

    def take(self, node: Node, k: int) -> bool:
        """Adds the k-th node, if the recorder takes what it calls; whether it did."""
        draws = node.op.rng and node.op.draws(node.attrs)
        if node.effect or draws or not node.op.inputs or any(v in self._last for v in node.outputs[1:]):
            return False
        if self._recorder is None:
            self._recorder = kernels.recorder(storage.device(node.ctx), self._blocks)
        made = self._made(node, k)
        if made is None and self._in_blocks(k) and self._leaves_blocks():
            made = self._made(node, k)
        if made is None:
            return False
        self._nodes.append((node, k))
        self._known[node.outputs[0]] = made
        return True

    def _in_blocks(self, end: int) -> bool:
        """Whether somebody from node `end` on reads an image that lies in blocks."""
        return any(self._recorder.lies_in_blocks(self._known[v]) for v in self._results(end))

    def _leaves_blocks(self) -> bool:
        """Records all again with images channels-last; whether that is possible."""
        if not self._blocks:
            return False
        self._blocks, before = False, (self._recorder, self._nodes, self._known, self._outside)
        self._begin()
        if all(self.take(node, k) for node, k in before[1]):
            return True
        self._recorder, self._nodes, self._known, self._outside = before
        return False

    def _results(self, end: int) -> list[Value]:
        """What nodes from number `end` on read."""
        return [node.outputs[0] for node, _ in self._nodes if self._last.get(node.outputs[0], -1) >= end]

    def may_follow(self, node: Node) -> bool:
        """Whether the nodes that were taken may as well come behind this one, which reads nothing of theirs."""
        return bool(self._nodes) and not node.effect and self._known.keys().isdisjoint(node.reads())

    def _made(self, node: Node, k: int) -> Any:
        """What the recorder makes of a node, None where it does not take it."""
        tensors = [None if v is None else v.meta for v in node.inputs]
        plain = {key: v.meta if isinstance(v, Value) else v for key, v in node.attrs.items()}
        result, called = kernels.observe(lambda: node.op.forward(*tensors, **plain))
        shape = node.outputs[0].shape
        if (shown := _shown(node, shape)) is not None:
            known = self._known.get(node.inputs[0])
            return None if known is None else self._recorder.view(known, shown)
        if node.op.identity and not called:
            known = self._known.get(node.inputs[0])
            return None if known is None else self._recorder.cast(known, result.dtype)
        values = {id(v.meta): v for v in node.reads()}
        if (axis := axis_joined(node)) is not None:
            parts = [self._described(x, values) for x in tensors]
            return self._recorder.concat(parts, axis, shape, self._goes_on(node, axis))
        if len(called) != 1 or _first(called[0].result) is not _first(result):
            return None
        family, name, args, kwargs, _ = called[0]
        args, kwargs = self._described(args, values), {key: self._described(a, values) for key, a in kwargs.items()}
        alone = self._walk.counts[node.inputs[0]] == 1
        return self._recorder.take(f"{family}.{name}", args, kwargs, shape, self._overwrites(node, k), alone)

    def _goes_on(self, node: Node, axis: int) -> bool:
        """Whether another concatenation goes on from this one."""
        value = node.outputs[0]
        return any(axis_joined(r) == axis and r.inputs[0] is value for r in self._walk.readers.get(value, []))

    def _described(self, argument: Any, values: dict[int, Value]) -> Any:
        """The recorder's word for an argument of a kernel."""
        if type(argument) in (list, tuple):
            return type(argument)(self._described(a, values) for a in argument)
        if not storage.is_tensor(argument):
            return argument
        value = values.get(id(argument))
        if value in self._known:
            return self._known[value]
        if value is None or value.opaque:
            return None
        fixed = value.role == HELD and value not in self._walk.changing
        if fixed or (value.source is not None and value.source.early):
            return self._recorder.parameter(value, argument, self._walk.number(value))
        if value not in self._outside:
            self._outside[value] = self._recorder.data(value, argument)
        return self._outside[value]

    def _overwrites(self, node: Node, k: int) -> bool:
        """Whether the result may lie in the memory of what is added, which nobody reads later."""
        place = node.op.inputs.index("residual") if "residual" in node.op.inputs else len(node.inputs)
        added = self._known.get(node.inputs[place]) if place < len(node.inputs) else None
        if added is None:
            return False
        return all(self._last.get(v, -1) <= k for v, other in self._known.items() if other.memory is added.memory)

    def close(self, end: int, early: list[Node], nodes: list[Node], replace: dict[Value, Value]) -> None:
        """Adds the one node for those that were taken, before node `end`, or these as they are."""
        results = self._results(end)
        if not results or self._recorder.work < LEAST:
            nodes += [node for node, _ in self._nodes]
            return
        if self._recorder.blocks_in_vain or self._in_blocks(end):
            self._leaves_blocks()
        program = self._recorder.program([self._known[v] for v in results])
        inputs = [data.key for data in program.inputs]
        for parameter in program.parameters:
            value = parameter.key
            if parameter.packed is not None:
                early.append(apply(F._plan_stretch_weight, [value], {"packed": parameter.packed}, value))
                early[-1].early = True
                value = early[-1].outputs[0]
            inputs.append(value)
        made = apply(F._plan_stretch, inputs, {"program": program}, results[0])
        nodes.append(made)
        replace.update(zip(results, made.outputs, strict=True))


def _first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


def _shown(node: Node, shape: tuple[int, ...]) -> Any:
    """How a node shows the elements of its first input, as a function of tensors; None where it does something else."""
    if node.op.reshapes:
        return lambda x: x.view(shape)
    if node.op.permutes is None:
        return None
    order = node.op.permutes(node.attrs, len(shape))
    return None if order is None else lambda x: x.permute(order)
