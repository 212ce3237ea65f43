"""Plans as tables."""

from __future__ import annotations

from core.graph.plan import Part
from core.graph.trace import Untraceable


def explain(block, *inputs) -> str:
    """Prints the plan that a hybridized `block` runs on these inputs, and gives the text.

    One row per step: its number, the kernel, shapes and bytes of what it makes, and the numbers of the buffers where
    that lies. Inside `autograd.record()` the backward part follows behind a row that says so; it has buffers of its
    own. Of a plan for a class of shapes the inputs' shapes follow, with names for the lengths that are open, and the
    conditions that these must fulfil; of a plan on a GPU, for which shapes it is captured as a CUDA graph, or why not.
    """
    plan = block.plan_of(*inputs)
    if isinstance(plan, Untraceable):
        text = f"run operator by operator, for {plan}"
    else:
        rows = [("step", "kernel", "shape", "bytes", "buffer")]
        notes = []
        for title, part in (("forward", plan.forward), ("backward", plan.backward)):
            if part is not None:
                rows += [("", title, "", "", "")] if title == "backward" else []
                rows += _rows(part)
                count = len(set(part.buffers.values()))
                notes.append(f"{title}: {len(part.steps)} steps, {_held(part)} bytes in {count} buffers")
        widths = [max(len(row[k]) for row in rows) for k in range(5)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        captured = [] if plan.captured is None else [plan.captured.describe()]
        text = "\n".join([*lines, *notes, *_shapes(plan), *captured])
    print(text)
    return text


def _shapes(plan) -> list[str]:
    """The shapes that a plan serves, where that is more than those that it was made for."""
    if plan.shapes is None:
        return []
    lines = ["inputs: " + ", ".join(str(tuple(extents)) for extents in plan.shapes.extents)]
    return [*lines, *(f"where {condition}" for condition in plan.shapes.space.guards)]


def _rows(part: Part) -> list[tuple[str, ...]]:
    rows = []
    for k, step in enumerate(part.steps):
        made = [v for v in step.node.outputs if not v.opaque]
        shapes = ", ".join(f"{v.dtype}{list(v.shape)}" for v in made)
        places = ", ".join(str(part.buffers[v]) for v in made)
        rows.append((str(k), step.kernel, shapes, str(sum(v.nbytes for v in made)), places))
    return rows


def _held(part: Part) -> int:
    """Bytes of all buffers."""
    sizes: dict[int, int] = {}
    for v, number in part.buffers.items():
        sizes[number] = max(sizes.get(number, 0), v.nbytes)
    return sum(sizes.values())
