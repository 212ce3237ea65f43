"""Row programs: formulas that also reduce along rows, several results in one pass over the operands.

What softmax, normalisations, their gradients and sums have in common: an element depends on its row. The operands
broadcast to `shape`, whose last `axes` axes are a row. A result is of one of three kinds: "whole" (an element for each
element), "row" (one element per row: constant along it), "column" (its sum over all rows).
"""

from __future__ import annotations

import dataclasses
import math

from core.kernels.formula import Expr, postorder

WHOLE, ROW, COLUMN = "whole", "row", "column"


@dataclasses.dataclass(frozen=True)
class Result:
    """One result: the expression of an element (of a "column" one: of what is summed), its shape and dtype's name."""

    root: Expr
    kind: str
    shape: tuple[int, ...]
    dtype: str


@dataclasses.dataclass(frozen=True, repr=False)
class RowProgram:
    """Results over operands that broadcast to `shape`; `Expr("input", i)` is the i-th of them."""

    results: tuple[Result, ...]
    shape: tuple[int, ...]
    axes: int

    def __repr__(self):
        kinds = ", ".join(r.kind for r in self.results)
        return f"<{len(postorder([r.root for r in self.results]))} steps over rows of {self.columns}: {kinds}>"

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return math.prod(self.shape[: len(self.shape) - self.axes])

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return math.prod(self.shape[len(self.shape) - self.axes :])

    @property
    def row_axes(self) -> tuple[int, ...]:
        """The axes of a row, counted from the end."""
        return tuple(range(-self.axes, 0))


def kept(shape: tuple[int, ...], axes: int) -> tuple[int, ...]:
    """The shape of what has one element per row, with the axes of the row kept."""
    return (*shape[: len(shape) - axes], *(1,) * axes)
