"""Memory planning: which values alias, how long they live, when their memory may be overwritten, and their buffers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from core import storage
from core.graph.ir import Node, Value


class Sharing:
    """Groups of values that may lie in the same memory, and when each one is read for the last time."""

    def __init__(self, nodes: Sequence[Node], kept: Collection[Value]):
        self._kept = set(kept)
        self._group: dict[Value, set[Value]] = {}
        self.last: dict[Value, int] = {}
        for k, node in enumerate(nodes):
            self.last.update((v, k) for v in node.reads())
        for node in nodes:
            reads = node.reads()
            for v in reads:
                self._group.setdefault(v, {v})
            for out in node.outputs:
                self._group[out] = {out}
                for v in (*reads, *node.outputs):
                    known = v is not out and v in self._group
                    if known and (not out.opaque or out in self.last) and _may_share(node, v, out):
                        self._join(v, out)

    def free_after(self, value: Value, k: int) -> bool:
        """Whether nobody reads the memory of `value` after step `k`, which reads it, and it is the plan's own."""
        if value in self._kept or self.last.get(value) != k or not fresh(value):
            return False
        return all(
            v is value or (v.source is not None and v not in self._kept and self.last.get(v, -1) < k)
            for v in self._group[value]
        )

    def dead_at(self, k: int, value: Value) -> bool:
        """Whether the memory of `value` holds nothing that is read after step `k`."""
        return not any(v in self._kept or v.source is None or self.last.get(v, -1) > k for v in self._group[value])

    def group(self, value: Value) -> set[Value]:
        """The values that may lie in the memory of `value`, itself among them."""
        return self._group[value]

    def knows(self, value: Value) -> bool:
        """Whether some node reads or makes `value`."""
        return value in self._group

    def _join(self, a: Value, b: Value) -> None:
        into, other = self._group[a], self._group[b]
        if into is not other:
            into |= other
            for v in other:
                self._group[v] = into


def fresh(value: Value) -> bool:
    """Whether the value has memory of its own that is written to element by element: no view, no repeated elements."""
    node = value.source
    if node is None or value.opaque or _views(node):
        return False
    others = (v for v in (*node.reads(), *node.outputs) if v is not value)
    shared = any(not v.opaque and storage.same_memory(v.meta, value.meta) for v in others)
    return not shared and storage.is_dense(value.meta)


def buffers(
    nodes: Sequence[Node], sharing: Sharing, places: dict[int, int], in_place: dict[Value, Value]
) -> dict[Value, int]:
    """Numbers of the buffers that values lie in: the memory of what is dead is taken again.

    places: numbers of the nodes, by id. in_place: values that are written over others. Values that
    share memory share a number.
    """
    placed: dict[Value, int] = {}
    free: list[tuple[int, int]] = []  # (bytes, number)
    sizes: dict[int, int] = {}
    living: list[Value] = []
    for node in nodes:
        for out in node.outputs:
            if out.opaque:
                continue
            source = in_place.get(out)
            known = next((placed[v] for v in sharing.group(out) if v in placed), None)
            if source is not None and source in placed:
                placed[out] = placed[source]
            elif known is not None:
                placed[out] = known
            else:
                fits = [f for f in free if f[0] >= out.nbytes]
                if fits:
                    free.remove(min(fits))
                    placed[out] = min(fits)[1]
                else:
                    placed[out] = len(sizes)
                    sizes[placed[out]] = out.nbytes
            living.append(out)
        dead = [v for v in living if sharing.dead_at(places[id(node)], v)]
        living = [v for v in living if v not in dead]
        taken = {placed[v] for v in living} | {n for _, n in free}
        free += [(sizes[n], n) for n in sorted({placed[v] for v in dead} - taken)]
    return placed


def _views(node: Node) -> bool:
    """Whether what the node gives may lie in the memory of what it reads, for all that its operator's record says."""
    return node.op.memory != "new" and bool(node.reads())


def _may_share(node: Node, a: Value, b: Value) -> bool:
    if a.opaque or b.opaque or _views(node):
        return True
    return storage.same_memory(a.meta, b.meta)
