"""What notebooks show of arrays, networks, data sets and results, as HTML without scripts or styles from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

CELL = 'style="text-align:left;padding:0 0.8em"'
BARS = 24
# Arrays of more elements are described by so many of them, spread evenly.
MOST = 100_000


def of_array(array: Any) -> str:
    """Values, shape, type and device of an array, and a histogram of its numbers."""
    facts = f"{type(array).__name__} {tuple(array.shape)} {np.dtype(array.dtype).name} @{array.ctx}"
    values = array.asnumpy()
    shown = escape(np.array2string(values, threshold=60, edgeitems=2, precision=4))
    numbers = values.ravel()[:: max(1, values.size // MOST)].astype("float64")
    finite = numbers[np.isfinite(numbers)]
    lines = ""
    if finite.size > 1:
        lines = f"{histogram(finite)}<br>{finite.min():.4g} to {finite.max():.4g}, mean {finite.mean():.4g}"
    if finite.size < numbers.size:
        lines += f", {numbers.size - finite.size} not finite"
    return f"<div><b>{escape(facts)}</b><pre>{shown}</pre>{lines}</div>"


def histogram(values: np.ndarray) -> str:
    """How often numbers of each range occur, as a picture."""
    counts, edges = np.histogram(values, bins=BARS)
    heights = 40 * counts / counts.max()
    bars = "".join(
        f'<rect x="{8 * k}" y="{40 - h:.1f}" width="7" height="{h:.1f}" fill="#4c78a8">'
        f"<title>{edges[k]:.4g} to {edges[k + 1]:.4g}: {n}</title></rect>"
        for k, (h, n) in enumerate(zip(heights, counts, strict=True))
    )
    return f'<svg width="{8 * BARS}" height="40" role="img" aria-label="histogram">{bars}</svg>'


def table(rows: Iterable[Sequence[object]], heads: Sequence[str]) -> str:
    """A table of texts."""
    top = "".join(f"<th {CELL}>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td {CELL}>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def curves(columns: dict[str, Sequence[float]]) -> str:
    """Numbers by epoch as lines, each from its least to its greatest value."""
    colors = ("#4c78a8", "#e45756", "#54a24b", "#f58518", "#72b7b2", "#b279a2")
    lines, legend = "", ""
    for k, (name, values) in enumerate(columns.items()):
        low, high = min(values), max(values)
        span, last = (high - low) or 1, max(1, len(values) - 1)
        points = " ".join(f"{300 * x / last:.1f},{95 - 90 * (y - low) / span:.1f}" for x, y in enumerate(values))
        color = colors[k % len(colors)]
        lines += f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>'
        legend += f'<span style="color:{color};padding-right:1em">{escape(name)} {low:.4g} to {high:.4g}</span>'
    return f'<div><svg width="310" height="100" role="img" aria-label="curves">{lines}</svg><br>{legend}</div>'
