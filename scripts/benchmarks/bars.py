"""A bar chart as an SVG picture: the same numbers give the same bytes."""

from __future__ import annotations

from html import escape

from gluon.finetune.curves import COLOURS

LEFT, WIDTH, RIGHT, TOP, HEIGHT, GAP = 330, 420, 60, 30, 16, 12


def svg(title: str, bars: list[tuple[str, str, float, float | None]]) -> str:
    """Horizontal bars (group, name, value, bar to stay under); values over 3 are cut, what is written is exact."""
    names = list(dict.fromkeys(name for _, name, _, _ in bars))
    longest = min(max(value for _, _, value, _ in bars), 3.0)
    y, before, parts = TOP - GAP, None, []
    for group, name, value, limit in bars:
        if group != before:
            y += GAP
            parts.append(f'<text x="6" y="{y + 12}" font-weight="bold">{escape(group)}</text>')
        before, colour = group, COLOURS[names.index(name) % len(COLOURS)]
        end = round(LEFT + WIDTH * min(value / longest, 1.0), 1)
        parts += [
            f'<text x="{LEFT - 5}" y="{y + 12}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{y + 1}" width="{round(end - LEFT, 1)}" height="{HEIGHT - 2}" fill="{colour}"/>',
            f'<text x="{end + 4}" y="{y + 12}">{value:.2f}</text>',
        ]
        if limit is not None:
            at = round(LEFT + WIDTH * limit / longest, 1)
            parts.append(f'<path d="M{at},{y - 1}V{y + HEIGHT + 1}" stroke="black" stroke-width="2"/>')
        y += HEIGHT
    size = f'width="{LEFT + WIDTH + RIGHT}" height="{y + GAP}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">\n'
        f'<rect {size} fill="white"/>\n<text x="{LEFT}" y="18">{escape(title)}</text>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
