"""Where NumPy's loops are the kernels: it sorts and searches by vectors, where ATen goes from element to element."""

from __future__ import annotations

import numpy as np
import torch

NUMPY = {torch.float32: np.float32, torch.float64: np.float64, torch.int32: np.int32, torch.int64: np.int64}

FEW = 4  # threads of ATen's, of which more are ahead of NumPy's one


def is_ahead(x: torch.Tensor, least: int = 1 << 12) -> bool:
    """Whether `x` is large enough (`least` elements) for NumPy,
    and ATen has not so many threads that it is ahead of NumPy's one.
    """
    return x.numel() >= least and torch.get_num_threads() <= FEW
