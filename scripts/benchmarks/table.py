"""Prints what a benchmark measured and writes it to logs/benchmarks/."""

from __future__ import annotations

from pathlib import Path

from scripts.common.record import LOGS, Record


def report(name: str, title: str, rows: list[dict], folder: Path = LOGS, **details) -> None:
    """A table of `rows` (the same keys in each) with machine, versions and commit; the log and the JSON.

    `details` stand in the JSON alone.
    """
    record = Record("benchmarks", name, folder=folder)
    record.begin()
    record.say(title)
    cells = [list(rows[0])] + [[f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    for line in cells:
        record.say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    record.put(title=title, rows=rows, **details)
