"""What notebooks show of networks."""

from __future__ import annotations

from html import escape
from typing import Any

from core.dtypes import dtype_name
from core.html import table

__all__ = ["of_block"]


def of_block(block: Any, name: str = "", depth: int = 0) -> str:
    """A tree of blocks that opens and closes, with shapes of parameters, and how many numbers each block learns."""
    text = repr(block)
    title = escape(f"{name + ': ' if name else ''}{type(block).__name__ if chr(10) in text else text}")
    count = sum(_size(p) for p in block.collect_params().values())
    title = f"<b>{title}</b> {f'{count:,} numbers' if count else ''}"
    own = [(key, tuple(p.shape or ()), dtype_name(p.dtype)) for key, p in block._reg_params.items()]
    inner = (table(own, ("parameter", "shape", "type")) if own else "") + "".join(
        of_block(child, key, depth + 1) for key, child in block._children.items()
    )
    if not inner:
        return f'<div style="margin-left:1.2em">{title}</div>'
    return (
        f'<details style="margin-left:{1.2 * bool(depth)}em"{" open" if depth == 0 else ""}><summary>{title}</summary>'
        f"{inner}</details>"
    )


def _size(parameter: Any) -> int:
    """How many numbers a parameter has; 0 where the first call is still to tell."""
    total = 1
    for extent in parameter.shape or (0,):
        total *= max(extent, 0)
    return total
