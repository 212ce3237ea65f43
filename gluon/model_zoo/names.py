"""Names and layouts of parameters in other libraries, by rules that are read in both directions.

A rule is a pattern of names here and a target there. A pattern matches whole segments at the beginning of a name, and
the target takes their place; what is behind stays, but for `RENAMED`. The first rule that matches counts; a name that
none matches is the same there. In patterns and targets

- `{n}` stands for any number, `{a*n+b}` for one from which `n` follows, `{a*n+b:c}` for that with n below c;
- `<x>` stands for any segment;
- a negative number counts from the end of a sequence.

A target of two, `["layer{s+1}.{b}", "bottleneck"]`, goes on behind with the rules of that set. Behind a bar stands how
the value differs there, one of `LAYOUTS`: `"classifier.1|dense"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from core.base import MXNetError

# Parameters of layers that are called otherwise there.
RENAMED = {"gamma": "weight", "beta": "bias"}
Rules = Mapping[str, "str | list[str]"]


class Counterpart(NamedTuple):
    """An array there: its name, and how its layout differs, with the numbers that this takes."""

    name: str
    layout: str = ""


def counterparts(
    names: Iterable[str], rules: Rules, sets: Mapping[str, Rules], lengths: Mapping[str, int] | None = None
) -> dict[str, Counterpart]:
    """The counterpart of each name. sets: further rules by name. lengths: of sequences, for negative numbers.

    >>> counterparts(["features.4.0.gamma"], {"features.{s+4}": "layer{s+1}"}, {})
    {'features.4.0.gamma': Counterpart(name='layer1.0.weight', layout='')}
    """
    return {name: _counterpart(name, rules, sets, lengths or {}) for name in names}


def to_theirs(value: np.ndarray, layout: str) -> np.ndarray:
    """A value here as it is laid out there."""
    kind, *numbers = layout.split()
    return LAYOUTS[kind][0](value, *map(int, numbers))


def to_ours(value: np.ndarray, layout: str, shape: tuple[int, ...]) -> np.ndarray:
    """A value there as it is laid out here, where `shape` may have zeros for extents that are not known yet."""
    kind, *numbers = layout.split() or ("",)
    value = LAYOUTS[kind][1](value, *map(int, numbers)) if kind else value
    # A 1x1 convolution and a dense layer have the same numbers.
    if value.ndim > len(shape):
        value = value.reshape(*value.shape[: len(shape) - 1], -1)
    value = value.reshape(value.shape + (1,) * (len(shape) - value.ndim))
    if any(ours not in (0, theirs) for ours, theirs in zip(shape, value.shape, strict=True)):
        raise MXNetError(f"has the shape {tuple(shape)} here and {value.shape} there")
    return value


def matched(pattern: str, name: str) -> tuple[dict[str, int | str], str] | None:
    """What the holes of a pattern stand for in a name, and what is behind; None if it does not match."""
    expression, holes = _compiled(pattern)
    found = expression.match(name)
    if found is None:
        return None
    values: dict[str, int | str] = {}
    for (factor, letter, offset, limit, word), text in zip(holes, found.groups()[:-1], strict=True):
        if word:
            values[word] = text
            continue
        number, rest = divmod(int(text) - int(offset or 0), int(factor or 1))
        if rest or number < 0 or (limit and number >= int(limit)):
            return None
        values[letter] = number
    return values, found.groups()[-1] or ""


def filled(template: str, values: Mapping[str, int | str]) -> str:
    """A target with its holes filled."""

    def fill(hole):
        factor, letter, offset, _, word = hole.groups()
        return str(values[word]) if word else str(int(factor or 1) * int(values[letter]) + int(offset or 0))

    return _HOLE.sub(fill, template)


# How a value is laid out there -> (from here to there, from there to here)
LAYOUTS = {
    "dense": (lambda v: v.reshape(v.shape[:2]) if v.ndim > 2 else v, lambda v: v),
    "conv": (lambda v: v.reshape(*v.shape, 1, 1) if v.ndim == 2 else v, lambda v: v),
    # a dense layer on all of a picture is a convolution as large as the picture
    "patches": (lambda v, n: v.reshape(len(v), -1, n, n), lambda v, n: v),
    "flat": (lambda v: v.reshape(-1), lambda v: v.reshape(1, -1, 1, 1)),
    # the masks of MXNet's deformable convolutions are twice those of others
    "twice": (lambda v: v * 2, lambda v: v / 2),
    "transposed": (lambda v: v.T, lambda v: v.T),
    # a 1x1 convolution that sees only the last of the features that the dense layer sees here
    "last": (
        lambda v, n, width: _last(v, n).reshape(len(v), n, 1, 1),
        lambda v, n, width: np.pad(v.reshape(len(v), n), ((0, 0), (width - n, 0))),
    ),
    # as many rows in front that have no meaning here
    "behind": (lambda v, n: np.concatenate([np.zeros_like(v[:n]), v]), lambda v, n: v[n:]),
}  # fmt: skip


def _last(value, count):
    if value[:, :-count].any():
        raise MXNetError(
            f"the layer sees {value.shape[1]} features here and has weights for others than the last {count}"
        )
    return value[:, -count:]


_HOLE = re.compile(r"\{(?:(\d+)\*)?([a-z])([+-]\d+)?(?::(\d+))?\}|<([a-z]+)>")


@cache
def _compiled(pattern):
    holes = [hole.groups() for hole in _HOLE.finditer(pattern)]
    literals = map(re.escape, _HOLE.split(pattern)[:: _HOLE.groups + 1])
    parts = [next(literals)]
    for literal, hole in zip(literals, holes, strict=True):
        parts += [r"([^.]+)" if hole[-1] else r"(\d+)", literal]
    return re.compile("".join(parts) + r"(?:\.(.*))?$"), holes


def _counterpart(name, rules, sets, lengths):
    for key in (name, _from_the_end(name, lengths)):
        found = key and _first(key, rules, sets)
        if found:
            text, _, layout = found.partition("|")
            return Counterpart(text, layout)
    return Counterpart(_renamed(name))


def _first(name, rules, sets):
    """The target of the first rule that matches, or None."""
    for pattern, target in rules.items():
        found = matched(pattern, name)
        if found is None:
            continue
        values, rest = found
        template, then = (target, None) if isinstance(target, str) else target
        text, bar, layout = filled(template, values).partition("|")
        behind = _first(rest, sets[then], sets) if then and rest else None
        return ".".join(filter(None, (text, behind or _renamed(rest)))) + bar + layout
    return None


def _renamed(name):
    module, dot, last = name.rpartition(".")
    return module + dot + RENAMED.get(last, last)


def _from_the_end(name, lengths):
    first, _, rest = name.partition(".")
    index, dot, behind = rest.partition(".")
    if first not in lengths or not index.isdigit():
        return None
    return f"{first}.{int(index) - lengths[first]}{dot}{behind}"
