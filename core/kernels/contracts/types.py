"""The types that the signatures of kernels speak of."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

Ints = tuple[int, ...]  # sizes, axes, strides: one number an axis
Floats = Sequence[float]
Pads = tuple[tuple[int, int], ...]  # (before, after) of each spatial axis
Key = int | Tensor | None  # of a random draw; None where nothing is drawn
Parameter = float | Tensor  # of a distribution: a number, or a tensor that broadcasts to the shape of the draw
Segments = Sequence[tuple[int, int, float, float]]  # (start, stop, lr_mult, wd_mult) of parameters in a flat tensor
