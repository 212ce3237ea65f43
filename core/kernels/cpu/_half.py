"""Half precision: results are stored in it, and summed in float32."""

from __future__ import annotations

import torch

HALF = (torch.float16, torch.bfloat16)


def accumulator(dtype: torch.dtype) -> torch.dtype:
    """The type in which sums of this type are kept: float32 for half precision, else the type itself."""
    return torch.float32 if dtype in HALF else dtype
