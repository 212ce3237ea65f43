"""Where NumPy's loops are the kernels: it sorts and searches by vectors, where ATen goes from element to element."""

from __future__ import annotations

import torch


def is_ahead(x: torch.Tensor) -> bool:
    """Whether `x` is large enough for NumPy, and ATen has not so many threads that it is ahead of NumPy's one."""
    return x.numel() >= 1 << 12 and not x.is_meta and torch.get_num_threads() <= 4
