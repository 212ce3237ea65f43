"""Nested lists of arrays as one list, and back: what loops over blocks of others build on."""

from __future__ import annotations

from core.ndarray import NDArray
from core.symbol import Symbol


def _flatten(args, inout_str: str) -> tuple[list, int | list]:
    """(the arrays, symbols and Nones in `args` in one list, their nesting for `_regroup`).

    In the nesting an array or a symbol of one output is 0, a symbol of n outputs n, None -1. ValueError for anything
    else; it names `inout_str`.
    """
    if args is None:
        return [None], -1
    if isinstance(args, Symbol):
        count = len(args.list_outputs())
        return [args], count if count > 1 else 0
    if isinstance(args, NDArray):
        return [args], 0
    if not isinstance(args, (list, tuple)):
        raise ValueError(
            f"{inout_str} is arrays or symbols, in lists or alone; given {args!r} of {type(args).__name__}"
        )
    parts = [_flatten(x, inout_str) for x in args]
    return [x for flat, _ in parts for x in flat], [form for _, form in parts]


def _regroup(args: list, fmt: int | list):
    """What `_flatten` made one list of, in its lists again."""
    return _take(list(args), fmt)


def form(values) -> int | list:
    """The nesting of arrays, as `_regroup` takes it."""
    if isinstance(values, (list, tuple)):
        return [form(x) for x in values]
    return -1 if values is None else 0


def _take(rest: list, form: int | list):
    if isinstance(form, list):
        return [_take(rest, x) for x in form]
    if form > 0:
        taken, rest[:form] = rest[:form], []
        return taken
    value = rest.pop(0)
    if form < 0 and value is not None:
        raise ValueError(f"None is expected at this position, given {value!r}")
    return value
