"""Pooling on the CPU through ATen.

Where ATen's own padding means the same windows (symmetric, at most half a kernel, or its ceil mode) the work is one
ATen call; other paddings are written out first.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import torch
from torch import Tensor

from core.base import MXNetError
from core.kernels.cpu._direct import direct
from core.kernels.layout import memory_format, unset

aten, quantized = torch.ops.aten, torch.ops.quantized
_bindings = torch._C._nn  # see `pointwise`
Ints = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]
MANY = 2**14  # elements from which on time goes into the windows rather than into calls


def max_pool(x: Tensor, kernel: Ints, stride: Ints, pad: Pads, positions: bool = True) -> tuple[Tensor, Tensor | None]:
    plan, elements = _plan(x.shape[2:], kernel, stride, pad), x.numel()
    if not elements or 0 in plan.out:
        shape = (*x.shape[:2], *plan.out)
        return x.new_full(shape, _lowest(x.dtype)), torch.full(shape, -1, dtype=torch.int64, device=x.device)
    if not positions and x.dtype is torch.uint8 and plan.padded is None and len(kernel) == 2:
        (k, s, p), ceil = plan.window, plan.ceil
        return quantized.max_pool2d.default(x, k, s, p, [1, 1], ceil), None
    if not positions and elements >= MANY and x.is_contiguous() and memory_format(x) is torch.contiguous_format:
        return _maxima(x, plan.out, kernel, stride, pad), None
    if plan.padded is None:
        if not positions and len(kernel) == 2:
            return torch.max_pool2d(x, *plan.short, 1, plan.ceil), None
        windows = _bindings.max_pool3d_with_indices if len(kernel) == 3 else _bindings.max_pool2d_with_indices
        return _squeeze(windows(_unsqueeze(x), *plan.window, 1, plan.ceil), len(kernel))
    y, argmax = max_pool(_widen(x, plan, _lowest(x.dtype)), kernel, stride, ((0, 0),) * len(kernel))
    return y, _to_unpadded(argmax, plan, tuple(x.shape[2:]))


def _maxima(x: Tensor, out: Ints, kernel: Ints, stride: Ints, pad: Pads) -> Tensor:
    """Maxima along one axis after the other: a tenth of the time of ATen's windows, where channels are not last."""
    for axis, (n, k, s, edges) in enumerate(zip(out, kernel, stride, pad, strict=True), 2):
        if any(edges):
            x = torch.constant_pad_nd(x, (0, 0) * (x.ndim - 1 - axis) + edges, _lowest(x.dtype))
        if n == 1:
            x = x.narrow(axis, 0, k).amax(axis, keepdim=True)
            continue
        taps = [x.narrow(axis, i, s * (n - 1) + 1)[(slice(None),) * axis + (slice(None, None, s),)] for i in range(k)]
        x = torch.maximum(taps[0], taps[1]) if k > 1 else taps[0].contiguous()
        for tap in taps[2:]:
            torch.maximum(x, tap, out=x)
    return x


def max_pool_grad(dy: Tensor, argmax: Tensor, x_shape: Ints, kernel: Ints, stride: Ints, pad: Pads) -> Tensor:
    plan = _plan(tuple(x_shape[2:]), kernel, stride, pad)
    if not dy.numel() or not math.prod(x_shape):
        return dy.new_zeros(x_shape)
    if plan.padded is not None:
        return _scatter(dy, argmax, x_shape)
    layout, n = memory_format(dy), len(plan.window[0])
    # ATen reads no value of x, only its shape and layout.
    x = unset(dy, (*x_shape[:2], *(1,) * (n - len(kernel)), *x_shape[2:]))
    dx = _aten(n, "max_pool{}d_with_indices_backward")(
        _unsqueeze(dy), x, *plan.window, (1,) * n, plan.ceil, _unsqueeze(argmax)
    )
    return _squeeze(dx, len(kernel)).contiguous(memory_format=layout)


def max_pool_gather(ddx: Tensor, argmax: Tensor) -> Tensor:
    at = argmax.flatten(2)
    picked = ddx.flatten(2).gather(2, at.clamp(min=0)).masked_fill_(at < 0, 0)
    return picked.view(argmax.shape).clone(memory_format=memory_format(ddx))


def avg_pool(x: Tensor, kernel: Ints, stride: Ints, pad: Pads, count_include_pad: bool) -> Tensor:
    plan = _plan(tuple(x.shape[2:]), kernel, stride, pad)
    if not x.numel() or not math.prod(plan.out):
        return x.new_zeros((*x.shape[:2], *plan.out))
    wide = _averaged_in(x.dtype, len(kernel))
    if wide != x.dtype:
        return avg_pool(x.to(wide), kernel, stride, pad, count_include_pad).to(x.dtype)
    call = _aten(len(kernel), "avg_pool{}d")
    if plan.padded is None:
        y = _squeeze(call(_unsqueeze(x), *plan.window, plan.ceil, count_include_pad), len(kernel))
    else:
        y = _squeeze(call(_unsqueeze(_widen(x, plan, 0)), *plan.window), len(kernel))
        y.mul_(_share(tuple(x.shape[2:]), plan.out, kernel, stride, pad, count_include_pad, x))
    return y.contiguous(memory_format=memory_format(x)) if len(kernel) == 3 else y


def avg_pool_grad(dy: Tensor, x_shape: Ints, kernel: Ints, stride: Ints, pad: Pads, count_include_pad: bool) -> Tensor:
    plan = _plan(tuple(x_shape[2:]), kernel, stride, pad)
    if not dy.numel() or not math.prod(x_shape):
        return dy.new_zeros(x_shape)
    wide = _averaged_in(dy.dtype, len(kernel))
    if wide != dy.dtype:
        return avg_pool_grad(dy.to(wide), x_shape, kernel, stride, pad, count_include_pad).to(dy.dtype)
    layout, lead = memory_format(dy), (1,) * (len(kernel) == 1)
    extent, options = tuple(x_shape[2:]), (plan.ceil, count_include_pad, None)
    if plan.padded is not None:
        dy = dy * _share(extent, plan.out, kernel, stride, pad, count_include_pad, dy)
        extent, options = plan.padded, (False, True, None)
    x = torch.empty((*x_shape[:2], *lead, *extent), dtype=dy.dtype, device=dy.device, memory_format=layout)
    dx = _aten(len(kernel), "avg_pool{}d_backward")(_unsqueeze(dy), x, *plan.window, *options)
    dx = _squeeze(dx, len(kernel))
    if plan.padded is not None:
        for axis, ((lo, _), size) in enumerate(zip(pad, x_shape[2:], strict=True), 2):
            dx = dx.narrow(axis, lo, size)
    return dx.contiguous(memory_format=layout)


class _Plan(NamedTuple):
    """How ATen is to be asked: kernel, stride and symmetric padding, or an extent to be padded first."""

    out: Ints
    window: tuple[Ints, Ints, Ints]
    ceil: bool
    padded: Ints | None
    extra: Ints
    short: tuple[int | Ints, ...]  # the window, numbers that are all equal as one, which ATen reads in 0.2 us less


@functools.lru_cache(maxsize=1024)
def _plan(extent: Ints, kernel: Ints, stride: Ints, pad: Pads) -> _Plan:
    out = tuple((n + lo + hi - k) // s + 1 for n, k, s, (lo, hi) in zip(extent, kernel, stride, pad, strict=True))
    if any(o < 1 for o in out):
        raise MXNetError(f"pooling: kernel {kernel} is larger than the extent {extent} padded by {pad}")
    lows = tuple(lo for lo, _ in pad)
    lead = (1,) if len(kernel) == 1 else ()
    still = (0,) * len(lead)
    small = len(kernel) == 3 and any(
        n < k for n, k in zip(extent, kernel, strict=True)
    )  # ATen's means refuse windows beyond
    if not small and all(2 * lo <= k for lo, k in zip(lows, kernel, strict=True)):
        for ceil in (False, True):
            if all(map(functools.partial(_aten_extent, ceil), extent, kernel, stride, lows, out)):
                window = lead + kernel, lead + stride, still + lows
                return _Plan(out, window, ceil, None, (), tuple(v[0] if len({*v}) == 1 else v for v in window))
    padded = tuple(n + lo + hi for n, (lo, hi) in zip(extent, pad, strict=True))
    extra = tuple(edge for pair in reversed(pad) for edge in pair)
    window = lead + kernel, lead + stride, still + (0,) * len(kernel)
    return _Plan(out, window, False, padded, extra, window)


def _aten_extent(ceil: bool, size: int, kernel: int, stride: int, lo: int, out: int) -> bool:
    """Whether ATen, padding by lo on both sides, makes `out` windows; its ceil mode drops windows past the end."""
    span = size + 2 * lo - kernel
    if not ceil:
        return span >= 0 and span // stride + 1 == out
    windows = -(-span // stride) + 1
    return (windows - 1 if (windows - 1) * stride >= size + lo else windows) == out


@functools.cache
def _aten(ndim: int, name: str):
    return direct(getattr(aten, name.format(max(ndim, 2))).default)


def _unsqueeze(t: Tensor) -> Tensor:
    """One spatial axis becomes two, for ATen's kernels start at two."""
    return t.unsqueeze(2) if t.ndim == 3 else t


def _squeeze(result, ndim: int):
    if ndim > 1:
        return result
    return tuple(t.squeeze(2) for t in result) if isinstance(result, tuple) else result.squeeze(2)


def _lowest(dtype: torch.dtype):
    return -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _widen(x: Tensor, plan: _Plan, value) -> Tensor:
    return torch.constant_pad_nd(x, plan.extra, value)


def _to_unpadded(argmax: Tensor, plan: _Plan, extent: Ints) -> Tensor:
    """Flat positions in the padded extent as flat positions in x; -1 outside of x."""
    position, outside, scale = torch.zeros_like(argmax), torch.zeros_like(argmax, dtype=torch.bool), 1
    for axis in reversed(range(len(extent))):
        lo = plan.extra[2 * (len(extent) - 1 - axis)]
        at = argmax % plan.padded[axis] - lo
        argmax = argmax // plan.padded[axis]
        outside |= (at < 0) | (at >= extent[axis])
        position += at * scale
        scale *= extent[axis]
    return position.masked_fill_(outside, -1)


def _scatter(dy: Tensor, argmax: Tensor, x_shape: Ints) -> Tensor:
    """The gradient for windows that ATen does not know."""
    at = argmax.flatten(2)
    flat = dy.new_zeros((*x_shape[:2], math.prod(x_shape[2:])))
    flat.scatter_add_(2, at.clamp(min=0), dy.flatten(2).masked_fill(at < 0, 0))
    return flat.view(x_shape).contiguous(memory_format=memory_format(dy))


def _averaged_in(dtype: torch.dtype, ndim: int) -> torch.dtype:
    """The dtype in which ATen can average: not in integers, and in space not in halves."""
    if not dtype.is_floating_point:
        return torch.float64
    return torch.float32 if ndim == 3 and dtype.itemsize == 2 else dtype


def _share(extent: Ints, out: Ints, kernel: Ints, stride: Ints, pad: Pads, count_include_pad: bool, like: Tensor):
    """Elements of a kernel over those that each window counts, of shape `out`: what turns ATen's mean into ours."""
    share = None
    for size, o, k, s, (lo, _) in zip(extent, out, kernel, stride, pad, strict=True):
        start = torch.arange(o, device=like.device) * s - lo
        end = (start + k).clamp(max=size + lo)
        if not count_include_pad:
            start, end = start.clamp(min=0), end.clamp(max=size)
        along = k / (end - start).clamp(min=1)
        share = along if share is None else share.unsqueeze(-1) * along
    return share.to(like.dtype)
