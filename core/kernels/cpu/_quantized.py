"""Quantization of real numbers to 8-bit integers, block by block, so that intermediate results stay in the caches."""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 2**17  # elements


def quantized(data: Tensor, high: float, low: float, nan: float) -> Tensor:
    """The data rounded to integers (halves to even) and clipped to [low, high], NaN as `nan`: int8 where low < 0,
    else uint8.
    """
    return _blocked(data, None, None, None, high, low, nan)


def scaled_quantized(data: Tensor, scale: Tensor, high: float, low: float, nan: float) -> Tensor:
    """`quantized` of data * scale."""
    return _blocked(data, scale, None, None, high, low, nan)


def summed_quantized(
    data: Tensor, scale: Tensor, addend: Tensor, meaning: Tensor, high: float, low: float, nan: float
) -> Tensor:
    """`quantized` of data * scale + addend * meaning, the sum rounded once to float32."""
    return _blocked(data, scale, addend, meaning, high, low, nan)


def _blocked(data, scale, addend, meaning, high, low, nan):
    kind = torch.uint8 if low >= 0 else torch.int8
    operands = data, scale, addend, meaning
    rows = [_rows(x, data) for x in operands]
    if data.numel() <= BLOCK or any(r is None and x is not None for r, x in zip(rows, operands)):
        return _values(*operands, high, low, nan).to(kind)
    data_rows, scale, addend, meaning = rows
    result = torch.empty_like(data, dtype=kind)
    result_rows, step = _rows(result, result), max(1, BLOCK // data_rows.shape[1])
    for start in range(0, data_rows.shape[0], step):
        at = slice(start, start + step)
        some = None if addend is None else addend[at]
        result_rows[at].copy_(_values(data_rows[at], scale, some, meaning, high, low, nan))
    return result


def _values(data, scale, addend, meaning, high, low, nan):
    y = data.clone() if scale is None else data * scale
    if addend is not None:
        y = (y.double() + addend.double() * meaning.double()).to(y.dtype)
    return torch.nan_to_num_(y.round_().clamp_(low, high), nan=nan)


def _rows(x: Tensor | None, data: Tensor) -> Tensor | None:
    """x as (rows, channels) in the order of the memory of the data, or as (1, channels) or (1, 1).

    None where it lies otherwise.
    """
    if x is None:
        return None
    if x.numel() == 1:
        return x.reshape(1, 1)
    last = data.ndim == 4 and data.is_contiguous(memory_format=torch.channels_last)
    if not last and not data.is_contiguous():
        return None
    if x.shape == data.shape:
        if x.stride() != data.stride():
            return None
        return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1]) if last else x.view(-1, x.shape[-1])
    if last and x.shape == (1, data.shape[1], 1, 1):
        return x.reshape(1, -1)
    return None
