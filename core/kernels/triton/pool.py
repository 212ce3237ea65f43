"""Pooling in Triton. In results, channels lie next to each other.

One program makes a tile of positions times channels and visits the taps of the window one after another. Gradients are
gathered: a position asks every window that may hold it, so that nothing is added atomically and results repeat.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.base import MXNetError
from core.kernels.triton._counting import WIDE
from core.kernels.triton._kernel import jit
from core.kernels.triton.aot import AotCase
from core.kernels.triton.autotune import Config, choose, shape_class
from core.kernels.triton.tiles import accumulator, in_triton
from core.kernels.triton.windows import block_of, blocks, channels_last, empty, reach, three, unravel3

Ints = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]


def max_pool(x: Tensor, kernel: Ints, stride: Ints, pad: Pads, positions: bool = True) -> tuple[Tensor, Tensor | None]:
    x = channels_last(x)
    y = empty((x.shape[0], *_out(x.shape[1:-1], kernel, stride, pad), x.shape[-1]), x)
    argmax = torch.empty_like(y, dtype=torch.int32 if math.prod(x.shape[1:-1]) < 2**31 else torch.int64)
    lowest = -math.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
    _launch(_max_pool, y, (x, y, argmax), x, _windows(kernel, stride, pad), LOWEST=lowest, ACCUMULATOR=_sums(x))
    return y.movedim(-1, 1), argmax.movedim(-1, 1)


def max_pool_grad(dy: Tensor, argmax: Tensor, x_shape: Ints, kernel: Ints, stride: Ints, pad: Pads) -> Tensor:
    dy, argmax = channels_last(dy), channels_last(argmax)
    dx = empty((x_shape[0], *x_shape[2:], x_shape[1]), dy)
    _launch(_max_pool_grad, dx, (dy, argmax, dx), dy, _windows(kernel, stride, pad), ACCUMULATOR=_sums(dy))
    return dx.movedim(-1, 1)


def max_pool_gather(ddx: Tensor, argmax: Tensor) -> Tensor:
    ddx, argmax = channels_last(ddx), channels_last(argmax)
    y = empty(argmax.shape, ddx)
    if y.numel():
        images, channels = ddx.shape[0], ddx.shape[-1]
        grid = (triton.cdiv(y.numel(), _GATHER_BLOCK),)
        _max_pool_gather[grid](
            ddx, argmax, y, y.numel(), channels, y.numel() // (images * channels), ddx.numel() // (images * channels),
            BLOCK=_GATHER_BLOCK,
        )  # fmt: skip
    return y.movedim(-1, 1)


def avg_pool(x: Tensor, kernel: Ints, stride: Ints, pad: Pads, count_include_pad: bool) -> Tensor:
    x = channels_last(x)
    y = empty((x.shape[0], *_out(x.shape[1:-1], kernel, stride, pad), x.shape[-1]), x)
    how = {"INCLUDE_PAD": count_include_pad, "ACCUMULATOR": _sums(x)}
    _launch(_avg_pool, y, (x, y), x, _windows(kernel, stride, pad), **how)
    return y.movedim(-1, 1)


def avg_pool_grad(dy: Tensor, x_shape: Ints, kernel: Ints, stride: Ints, pad: Pads, count_include_pad: bool) -> Tensor:
    dy = channels_last(dy)
    dx = empty((x_shape[0], *x_shape[2:], x_shape[1]), dy)
    how = {"INCLUDE_PAD": count_include_pad, "ACCUMULATOR": _sums(dy)}
    _launch(_avg_pool_grad, dx, (dy, dx), dy, _windows(kernel, stride, pad), **how)
    return dx.movedim(-1, 1)


CONFIGS = [
    Config({"BLOCK_R": rows, "BLOCK_C": channels}, num_warps, 2)
    for rows, channels, num_warps in ((16, 64, 4), (8, 128, 4), (32, 32, 4), (64, 8, 4), (128, 1, 4))
]
_GATHER_BLOCK = 1024
_NO_DILATION = tl.constexpr((1, 1, 1))


def _launch(kernel, made: Tensor, tensors: tuple[Tensor, ...], read: Tensor, windows: dict, **constexprs) -> None:
    """Runs `kernel` over all positions of `made`, whose windows lie in (or come from) `read`."""
    if not made.numel():
        return
    rows, channels = made.numel() // made.shape[-1], made.shape[-1]
    extents = *three(made.shape[1:-1], 1), *three(read.shape[1:-1], 1)
    wide = max(rows, read.numel() // channels) >= WIDE

    def run(config: Config) -> None:
        kernel[blocks(rows, channels, config)](
            *tensors, rows, channels, *extents, **windows, **constexprs, WIDE=wide, **config.launch_options()
        )

    key = (made.dtype, *windows.values(), *shape_class(rows, channels))
    run(choose(kernel.__name__, key, CONFIGS, run))


def _windows(kernel: Ints, stride: Ints, pad: Pads) -> dict[str, Ints]:
    lows = [lo for lo, _ in pad]
    return {"KERNEL": three(kernel, 1), "STRIDE": three(stride, 1), "PAD": three(lows, 0)}


def _out(extent: Ints, kernel: Ints, stride: Ints, pad: Pads) -> Ints:
    out = tuple((n + lo + hi - k) // s + 1 for n, k, s, (lo, hi) in zip(extent, kernel, stride, pad, strict=True))
    if any(o < 1 for o in out):
        raise MXNetError(f"pooling: kernel {kernel} is larger than the extent {tuple(extent)} padded by {pad}")
    return out


def _sums(t: Tensor) -> tl.dtype:
    return in_triton(accumulator(t.dtype))


# ---------------------------------------------------------------- kernels


@jit
def _max_pool(
    x, y, argmax, rows, channels, positions_d, positions_h, positions_w, reached_d, reached_h, reached_w,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr, LOWEST: tl.constexpr, ACCUMULATOR: tl.constexpr,
    WIDE: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    at, channel, mask, image, d, h, v = _tile(
        rows, channels, positions_d, positions_h, positions_w, WIDE, BLOCK_R, BLOCK_C
    )
    best = tl.full((BLOCK_R, BLOCK_C), LOWEST, ACCUMULATOR)
    where = tl.full((BLOCK_R, BLOCK_C), -1, argmax.dtype.element_ty)
    x += image.to(tl.int64)[:, None] * reached_d * reached_h * reached_w * channels + channel[None, :]
    for tap in range(KERNEL[0] * KERNEL[1] * KERNEL[2]):
        tap_d, tap_h, tap_w = unravel3(tap, KERNEL[1], KERNEL[2])
        position, inside = reach(
            0, d, h, v, tap_d, tap_h, tap_w, reached_d, reached_h, reached_w, STRIDE, _NO_DILATION, PAD, False
        )
        inside = inside[:, None] & mask
        value = tl.load(x + position.to(tl.int64)[:, None] * channels, mask=inside, other=0).to(ACCUMULATOR)
        # Like ATen: the first of equal values, and NaN before all.
        better = inside & ((value > best) | (value != value) | (where < 0))
        best = tl.where(better, value, best)
        where = tl.where(better, position[:, None].to(where.dtype), where)
    to = at.to(tl.int64)[:, None] * channels + channel[None, :]
    tl.store(y + to, best.to(y.dtype.element_ty), mask=mask)
    tl.store(argmax + to, where, mask=mask)


@jit
def _max_pool_grad(
    dy, argmax, dx, rows, channels, positions_d, positions_h, positions_w, reached_d, reached_h, reached_w,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr, ACCUMULATOR: tl.constexpr,
    WIDE: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    at, channel, mask, image, d, h, v = _tile(
        rows, channels, positions_d, positions_h, positions_w, WIDE, BLOCK_R, BLOCK_C
    )
    here = (d * positions_h + h) * positions_w + v
    sums = tl.zeros((BLOCK_R, BLOCK_C), ACCUMULATOR)
    for tap in range(KERNEL[0] * KERNEL[1] * KERNEL[2]):
        tap_d, tap_h, tap_w = unravel3(tap, KERNEL[1], KERNEL[2])
        position, inside = reach(
            image, d, h, v, tap_d, tap_h, tap_w, reached_d, reached_h, reached_w, STRIDE, _NO_DILATION, PAD, True
        )
        inside = inside[:, None] & mask
        window = position.to(tl.int64)[:, None] * channels + channel[None, :]
        chosen = inside & (tl.load(argmax + window, mask=inside, other=-1) == here[:, None])
        sums += tl.load(dy + window, mask=chosen, other=0).to(ACCUMULATOR)
    tl.store(dx + at.to(tl.int64)[:, None] * channels + channel[None, :], sums.to(dx.dtype.element_ty), mask=mask)


@jit
def _max_pool_gather(ddx, argmax, y, size, channels, windows, positions, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    image, channel = at // channels // windows, at % channels
    position = tl.load(argmax + at, mask=at < size, other=-1).to(tl.int64)
    value = tl.load(
        ddx + (image * positions + position) * channels + channel, mask=(at < size) & (position >= 0), other=0
    )
    tl.store(y + at, value, mask=at < size)


@jit
def _avg_pool(
    x, y, rows, channels, positions_d, positions_h, positions_w, reached_d, reached_h, reached_w,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr,
    INCLUDE_PAD: tl.constexpr, ACCUMULATOR: tl.constexpr, WIDE: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    at, channel, mask, image, d, h, v = _tile(
        rows, channels, positions_d, positions_h, positions_w, WIDE, BLOCK_R, BLOCK_C
    )
    sums = tl.zeros((BLOCK_R, BLOCK_C), ACCUMULATOR)
    for tap in range(KERNEL[0] * KERNEL[1] * KERNEL[2]):
        tap_d, tap_h, tap_w = unravel3(tap, KERNEL[1], KERNEL[2])
        position, inside = reach(
            image, d, h, v, tap_d, tap_h, tap_w, reached_d, reached_h, reached_w, STRIDE, _NO_DILATION, PAD, False
        )
        source = position.to(tl.int64)[:, None] * channels + channel[None, :]
        sums += tl.load(x + source, mask=inside[:, None] & mask, other=0).to(ACCUMULATOR)
    count = _count(d, h, v, reached_d, reached_h, reached_w, KERNEL, STRIDE, PAD, INCLUDE_PAD)[:, None]
    mean = sums / count if ACCUMULATOR.is_floating() else sums.to(tl.float64) / count
    tl.store(y + at.to(tl.int64)[:, None] * channels + channel[None, :], mean.to(y.dtype.element_ty), mask=mask)


@jit
def _avg_pool_grad(
    dy, dx, rows, channels, positions_d, positions_h, positions_w, reached_d, reached_h, reached_w,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr,
    INCLUDE_PAD: tl.constexpr, ACCUMULATOR: tl.constexpr, WIDE: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    at, channel, mask, image, d, h, v = _tile(
        rows, channels, positions_d, positions_h, positions_w, WIDE, BLOCK_R, BLOCK_C
    )
    sums = tl.zeros((BLOCK_R, BLOCK_C), ACCUMULATOR)
    for tap in range(KERNEL[0] * KERNEL[1] * KERNEL[2]):
        tap_d, tap_h, tap_w = unravel3(tap, KERNEL[1], KERNEL[2])
        position, inside = reach(
            image, d, h, v, tap_d, tap_h, tap_w, reached_d, reached_h, reached_w, STRIDE, _NO_DILATION, PAD, True
        )
        source = position.to(tl.int64)[:, None] * channels + channel[None, :]
        value = tl.load(dy + source, mask=inside[:, None] & mask, other=0).to(ACCUMULATOR)
        _, window_d, window_h = unravel3(position // reached_w, reached_d, reached_h)
        window_w = position % reached_w
        count = _count(
            window_d, window_h, window_w, positions_d, positions_h, positions_w, KERNEL, STRIDE, PAD, INCLUDE_PAD
        )
        sums += value / count[:, None]
    tl.store(dx + at.to(tl.int64)[:, None] * channels + channel[None, :], sums.to(dx.dtype.element_ty), mask=mask)


@jit
def _tile(
    rows, channels, positions_d, positions_h, positions_w, WIDE: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr
):  # fmt: skip
    """Positions (flat, and as image and three coordinates) and channels of this program, and which of them exist."""
    at, channel = block_of(rows, WIDE, BLOCK_R, BLOCK_C)
    image = at // (positions_d * positions_h * positions_w)
    d, h, v = unravel3(at % (positions_d * positions_h * positions_w), positions_h, positions_w)
    return at, channel, (at < rows)[:, None] & (channel < channels)[None, :], image, d, h, v


@jit
def _count(
    d, h, v, extent_d, extent_h, extent_w,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr, INCLUDE_PAD: tl.constexpr,
):  # fmt: skip
    """By how much the window at (d, h, v) divides; at least 1. Extents are those of x."""
    count = _count1(d, extent_d, KERNEL[0], STRIDE[0], PAD[0], INCLUDE_PAD)
    count *= _count1(h, extent_h, KERNEL[1], STRIDE[1], PAD[1], INCLUDE_PAD)
    return tl.maximum(count * _count1(v, extent_w, KERNEL[2], STRIDE[2], PAD[2], INCLUDE_PAD), 1)


@jit
def _count1(window, extent, KERNEL: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr, INCLUDE_PAD: tl.constexpr):
    start = window * STRIDE - PAD
    if INCLUDE_PAD:
        return tl.maximum(tl.minimum(start + KERNEL, extent + PAD) - start, 0)
    else:
        return tl.maximum(tl.minimum(start + KERNEL, extent) - tl.maximum(start, 0), 0)


# ---------------------------------------------------------------- ahead of time

_EXTENTS = {f"{name}_{axis}": "i32" for name in ("positions", "reached") for axis in "dhw"}
_WINDOWS = {"KERNEL": (1, 3, 3), "STRIDE": (1, 2, 2), "PAD": (0, 1, 1)}


def _aot(kernel, pointers: dict[str, str], config: Config, **constexprs) -> AotCase:
    signature = {**pointers, "rows": "i32", "channels": "i32:16", **_EXTENTS}
    return AotCase(
        kernel, signature, {**_WINDOWS, "WIDE": False, **constexprs, **config.constexprs}, config.num_warps,
        config.num_stages,
    )  # fmt: skip


AOT = [
    *(
        _aot(_max_pool, {"x": "*fp16", "y": "*fp16", "argmax": "*i32"}, config, LOWEST=-math.inf,
             ACCUMULATOR=tl.float32)
        for config in CONFIGS
    ),
    _aot(
        _max_pool, {"x": "*fp16", "y": "*fp16", "argmax": "*i64"}, CONFIGS[0], LOWEST=-math.inf, ACCUMULATOR=tl.float32,
        WIDE=True,
    ),
    *(
        _aot(_max_pool_grad, {"dy": "*fp16", "argmax": "*i32", "dx": "*fp16"}, config, ACCUMULATOR=tl.float32)
        for config in CONFIGS
    ),
    *(
        _aot(kernel, {name: f"*{kind}" for name in names}, config, INCLUDE_PAD=True, ACCUMULATOR=sums)
        for kernel, names in ((_avg_pool, ("x", "y")), (_avg_pool_grad, ("dy", "dx")))
        for kind, sums, config in (("fp16", tl.float32, CONFIGS[0]), ("fp64", tl.float64, CONFIGS[2]))
    ),
    AotCase(
        _max_pool_gather,
        {"ddx": "*fp16", "argmax": "*i32", "y": "*fp16", "size": "i32", "channels": "i32:16", "windows": "i32",
         "positions": "i32"},
        {"BLOCK": _GATHER_BLOCK},
    ),
]  # fmt: skip
