"""Curves of a run as an SVG picture: the same numbers give the same bytes, so that a check can compare them."""

from __future__ import annotations

import math
from html import escape

WIDTH, HEIGHT = 420, 260
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 30, 34
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b")


def svg(rows: list[dict], x: str = "epoch") -> str:
    """One panel for the losses in `rows`, one for the other metrics; every row has `x` and the same numbers."""
    names = [name for name in rows[0] if name != x]
    panels = [[n for n in names if "loss" in n], [n for n in names if "loss" not in n]]
    panels = [panel for panel in panels if panel]
    body = "\n".join(
        f'<g transform="translate({index * WIDTH},0)">\n{_panel(rows, x, panel)}\n</g>'
        for index, panel in enumerate(panels)
    )
    size = f'width="{WIDTH * len(panels)}" height="{HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">\n'
        f'<rect {size} fill="white"/>\n{body}\n</svg>\n'
    )


def _panel(rows: list[dict], x: str, names: list[str]) -> str:
    xs = [row[x] for row in rows]
    ys = [row[name] for row in rows for name in names if math.isfinite(row[name])]
    x_scale = _scale(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    y_scale = _scale(min(ys, default=0), max(ys, default=1), HEIGHT - BOTTOM, TOP)
    parts = [
        f'<path d="M{LEFT},{TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="black"/>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x)}</text>',
    ]
    for value in _ticks(min(xs), max(xs)):
        parts.append(f'<text x="{x_scale(value)}" y="{HEIGHT - 19}" text-anchor="middle">{value:g}</text>')
    for value in _ticks(min(ys, default=0), max(ys, default=1)):
        at = y_scale(value)
        parts.append(f'<path d="M{LEFT},{at}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{at + 4}" text-anchor="end">{value:.6g}</text>')
    for index, name in enumerate(names):
        colour = COLOURS[index % len(COLOURS)]
        points = " ".join(f"{x_scale(row[x])},{y_scale(row[name])}" for row in rows if math.isfinite(row[name]))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(
            f'<text x="{LEFT + 8 + 130 * index}" y="18" fill="{colour}">{escape(name.replace("_", " "))}</text>'
        )
    return "\n".join(parts)


def _scale(low: float, high: float, start: float, end: float):
    span = (high - low) or 1.0
    return lambda value: round(start + (value - low) / span * (end - start), 1)


def _ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between `low` and `high`, about `count` of them."""
    if high <= low:
        return [low]
    raw = (high - low) / count
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = magnitude * min((1, 2, 5, 10), key=lambda factor: abs(factor - raw / magnitude))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]
