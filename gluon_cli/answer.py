"""What a command answers: a value for JSON, a text for readers, an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """value: for `--json`; text: otherwise; code: 0 where all is well."""

    value: Any
    text: str
    code: int = 0


def columns(rows: Sequence[Sequence[object]]) -> str:
    """Rows of a table as lines, with columns of equal width."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells)
