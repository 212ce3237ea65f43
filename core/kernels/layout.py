"""Channels-last or not, and other questions about memory layout that both backends ask."""

from __future__ import annotations

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


def laid_out_as(x: Tensor, dy: Tensor) -> Tensor:
    """`dy` in the strides of `x`."""
    return dy if dy.stride() == x.stride() else torch.empty_like(x).copy_(dy)
