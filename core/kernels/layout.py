"""Channels-last or not, and other questions about memory layout that both backends ask."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def memory_format(t: Tensor) -> torch.memory_format:
    """The format in which results that belong to `t` are laid out: channels-last if t is, else contiguous.

    Where the sizes allow both readings (one spatial position), the strides say which one was meant.
    """
    layout = CHANNELS_LAST.get(t.ndim)
    if layout is not None and t.stride(-1) == t.shape[1] > 1 and t.is_contiguous(memory_format=layout):
        return layout
    return torch.contiguous_format


def unset(dy: Tensor, shape: Sequence[int]) -> Tensor:
    """Memory of unset values, of another shape, that is laid out as results that belong to `dy` are."""
    layout = memory_format(dy)
    if layout is torch.contiguous_format:
        return dy.new_empty(shape)  # the shorter call
    return torch.empty(shape, dtype=dy.dtype, device=dy.device, memory_format=layout)


def laid_out_as(x: Tensor, dy: Tensor) -> Tensor:
    """`dy` in the strides of `x`."""
    return dy if dy.stride() == x.stride() else torch.empty_like(x).copy_(dy)


def from_front(axis: int, ndim: int) -> int:
    """`axis` of so many, counted from the front; IndexError where there is none."""
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of bounds for {ndim} axes")
    return axis % ndim
