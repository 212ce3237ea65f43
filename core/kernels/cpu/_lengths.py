"""Lengths of samples as what attention adds to scores and multiplies results by."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def additive_mask(length: Tensor, keys: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """(B, 1, 1, keys): 0 for a valid key, -inf for one beyond. A row without keys would be NaN, so the first key always
    counts; samples of length 0 are mended afterwards."""
    beyond = torch.arange(keys, device=length.device) >= length.clamp(min=1).unsqueeze(1)
    mask = torch.zeros(beyond.shape, dtype=dtype, device=length.device).masked_fill_(beyond, -math.inf)
    return mask.view(-1, 1, 1, keys)


def seen(length: Tensor, inner: int, count: int) -> Tensor:
    """(count, 1): 1 for rows of samples that have keys, 0 for others; `inner` rows of one follow one another."""
    rows = (length > 0).float().repeat_interleave(inner)
    return rows.repeat(count // rows.numel()).unsqueeze(1)
