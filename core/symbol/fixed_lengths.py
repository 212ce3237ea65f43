"""What a symbol that was traced tells of the lengths that its inputs must have: a loop over an axis that was unrolled,
for one, is right for as many steps as there were.

A variable holds them as `__shape__`, with 0 for any length, and in `__fixed__` what needs the others.
"""

from __future__ import annotations

import ast

from core.base import MXNetError
from core.symbol import graph
from core.symbol.symbol import Symbol

Fixed = dict[str, tuple[tuple[int, ...], str]]  # shape and reason by name of the variable


def note(outputs: Symbol, name: str, shape: tuple[int, ...], reasons: dict[int, str]) -> bool:
    """Tells the variable `name` which of its lengths are fixed, and why, by axis; whether there is one."""
    found = next((v for v in graph.variables(outputs._entries) if v.name == name), None)
    if found is not None:
        found.texts["__shape__"] = str(tuple(n if axis in reasons else 0 for axis, n in enumerate(shape)))
        found.texts["__fixed__"] = said(reasons)
    return found is not None


def said(reasons: dict[int, str]) -> str:
    """The reasons as one text."""
    return "; ".join(dict.fromkeys(reasons.values()))


def fixed_lengths(outputs: Symbol) -> Fixed:
    """What the variables of a symbol hold. MXNetError where that is damaged."""
    variables = [v for v in graph.variables(outputs._entries) if "__fixed__" in v.texts]
    try:
        return {
            v.name: (tuple(map(int, ast.literal_eval(v.texts["__shape__"]))), v.texts["__fixed__"]) for v in variables
        }
    except (KeyError, ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise MXNetError(f"the __shape__ of a variable with fixed lengths is damaged: {error!r}") from None


def check(fixed: Fixed, shapes: dict[str, tuple]) -> None:
    """MXNetError where an input has another length than the one that its network was exported for."""
    for name, (wanted, reason) in fixed.items():
        for axis, (n, m) in enumerate(zip(wanted, shapes.get(name, ()))):
            if n not in (0, m):
                raise MXNetError(
                    f"the network was exported for {name} of length {n} along axis {axis}, given shape {shapes[name]}: "
                    f"{reason}"
                )
