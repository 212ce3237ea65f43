"""The rewriter: one walk over a graph, in which a rule puts other nodes in the place of some.

A rule is a pattern (which operators it is about), a condition (when it holds, by what is known of the graph) and a
replacement. What rules ask of a graph is worked out once for each walk, when the first one asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from core import kernels
from core.graph.ir import HELD, Graph, Node, Value, apply, uses, written
from core.graph.memory import Sharing


class Made(NamedTuple):
    """What stands in the place of a node.

    nodes: new ones, in order. outputs: values for those of the node, None where the new nodes give the very same.
    besides: values for those of others. without: nodes before it that go, for they are part of the new ones.
    """

    nodes: list[Node]
    outputs: Iterable[Value] | None
    besides: dict[Value, Value] = {}
    without: tuple[Node, ...] = ()


class Walk:
    """A walk over a graph: what is known of it, and what a rule noted on the way (`memory`)."""

    def __init__(self, graph: Graph):
        self.graph, self.memory = graph, {}
        self._tensors: dict[Value | None, Any] = {}
        self.nodes: list[Node] = []
        self.replace: dict[Value, Value] = {}

    @property
    def predicts(self) -> bool:
        """Whether there is no backward part."""
        return not self.graph.dys

    @cached_property
    def counts(self) -> dict[Value, int]:
        """How often each value is read, by nodes and from outside."""
        return uses(self.graph)

    @cached_property
    def readers(self) -> dict[Value, list[Node]]:
        """The nodes that read each value."""
        found: dict[Value, list[Node]] = {}
        for node in self.graph.nodes:
            for v in dict.fromkeys(node.reads()):
                found.setdefault(v, []).append(node)
        return found

    @cached_property
    def results(self) -> set[Value]:
        """Values that somebody outside gets."""
        return self.graph.results()

    @cached_property
    def sharing(self) -> Sharing:
        """Which values may lie in the same memory."""
        return Sharing(self.graph.nodes, self.results)

    @cached_property
    def written(self) -> set[Value]:
        """Values whose memory some node writes to."""
        return written(self.graph.nodes)

    @cached_property
    def changing(self) -> set[Value]:
        """Values whose memory is written to, by nodes or behind the forward part."""
        return self.written | {target for target, _ in self.graph.writes}

    @cached_property
    def constant(self) -> set[Value]:
        """Values that follow from held arrays alone."""
        known = {v for v in self.graph.held if v.role == HELD}
        for node in self.graph.nodes:
            reads = node.reads()
            if reads and not (node.op.rng or node.effect or node.sized) and all(v in known for v in reads):
                known.update(node.outputs)
        return known

    def number(self, value: Value) -> float | None:
        """What a value of one element always is; None where it follows from arrays, which may change."""
        if value.opaque or value.meta.numel() != 1:
            return None
        found = self._computed(value)
        return None if found is None else kernels.shape.numbers(found)[0]

    def _computed(self, value: Value | None) -> Any:
        """The tensor of a value that follows from no array."""
        if value not in self._tensors:
            node, found = None if value is None else value.source, None
            if node is not None and node.single and not (node.op.rng or node.effect or node.sized):
                given = [self._computed(v) for v in node.reads()]
                if len(given) == len(node.inputs) and all(x is not None for x in given):
                    place = {} if given else {"ctx": node.ctx}
                    found = node.op.forward(*given, **place, **node.attrs)
            self._tensors[value] = found
        return self._tensors[value]

    def leaves(self, values: Iterable[Value]) -> bool:
        """Whether the caller gets one of these, or what may lie in its memory, and may write to it."""
        return any(self.sharing.group(v) & self.results for v in values)

    def final(self, value: Value | None) -> Value | None:
        """What stands for a value by now."""
        while value in self.replace:
            value = self.replace[value]
        return value


@dataclass(frozen=True)
class Rule:
    """pattern(node): whether the rule is about it. condition(node, walk): whether it holds there. replacement(node,
    walk): what stands in its place, None where it stays after all. if_: for which graphs there is a walk at all.
    """

    name: str
    pattern: Callable[[Node], bool]
    replacement: Callable[[Node, Walk], Made | None]
    condition: Callable[[Node, Walk], bool] = lambda node, walk: True
    if_: Callable[[Graph], bool] = field(default=lambda graph: True)

    def __call__(self, graph: Graph) -> Graph:
        """The graph after the walk; itself where nothing was replaced."""
        if not self.if_(graph):
            return graph
        walk, changed = Walk(graph), False
        for node in graph.nodes:
            made = self.replacement(node, walk) if self.pattern(node) and self.condition(node, walk) else None
            if made is None:
                walk.nodes.append(node)
                continue
            changed = True
            for gone in made.without:
                walk.nodes.remove(gone)
            walk.nodes += made.nodes
            if made.outputs is not None:
                walk.replace.update(zip(node.outputs, made.outputs))
            walk.replace.update(made.besides)
        if not changed:
            return graph
        early = [node for node in walk.nodes if node.early]  # they run first
        nodes = [*early, *(node for node in walk.nodes if not node.early)] if early else walk.nodes
        return graph.replaced(nodes, walk.replace)


def adding(like: Value) -> tuple[list[Node], Callable[..., Value]]:
    """A list, and what adds an operator to it, of the kind and place of `like`: `do(op, *inputs, **attrs)`."""
    nodes: list[Node] = []

    def do(op, *inputs, **attrs) -> Value:
        nodes.append(apply(op, list(inputs), op.parse(attrs), like))
        return nodes[-1].outputs[0]

    return nodes, do


def predicts(graph: Graph) -> bool:
    """Whether a graph has no backward part."""
    return not graph.dys
