"""Convolutions with one input channel a group, which leaves nothing to multiply as matrices; see `conv`."""

from __future__ import annotations

import math

import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton._counting import blocks_of, program
from core.kernels.triton._kernel import jit
from core.kernels.triton.aot import AotCase
from core.kernels.triton.autotune import Config, choose, shape_class
from core.kernels.triton.targets import target_of
from core.kernels.triton.tiles import (
    accumulator,
    activate,
    add_partials,
    ends,
    in_triton,
    or_else,
    partials_of,
    split_along,
)
from core.kernels.triton.windows import (
    EXTENTS,
    FAR,
    FUSED,
    LAYER,
    Geometry,
    block_of,
    blocks,
    reach,
    three,
    unravel3,
    wide,
)

CONFIGS = [
    Config({"BLOCK_R": rows, "BLOCK_C": channels}, num_warps, 2)
    for rows, channels, num_warps in ((16, 64, 4), (8, 128, 4), (32, 32, 4), (64, 16, 4))
]


def depthwise(
    target: Tensor, source: Tensor, w: Tensor, how: Geometry, backward: bool, bias=None, residual=None, activation=None
):  # fmt: skip
    """Fills target (N, *positions, channels) from source, of the same kind: y from x, or (`backward`) dx from dy."""
    if not target.numel():
        return
    rows, channels = math.prod(target.shape[:-1]), target.shape[-1]

    def run(config: Config) -> None:
        _depthwise[blocks(rows, channels, config)](
            source, w, or_else(bias, w), or_else(residual, w), target, rows, *three(target.shape[1:-1], 1),
            *three(source.shape[1:-1], 1), channels, **how.constexprs(), **ends(bias, residual, activation),
            MULTIPLIER=how.channels[0], BACKWARD=backward, WIDE=wide(target, source, w),
            ACCUMULATOR=in_triton(accumulator(target.dtype)),
            **config.launch_options(),
        )  # fmt: skip

    key = (target.dtype, backward, *how.constexprs().values(), *shape_class(rows, channels))
    run(choose("depthwise", key, CONFIGS, run))


def depthwise_weight(dw: Tensor, dy: Tensor, x: Tensor, how: Geometry) -> None:
    """Fills dw, the gradient by w, from dy and x."""
    if not dw.numel():
        return
    rows, channels, taps = math.prod(dy.shape[:-1]), dy.shape[-1], math.prod(how.kernel)

    def run(config: Config) -> None:
        tiles = taps * triton.cdiv(channels, config["BLOCK_C"])
        splits, each = split_along(rows, config["BLOCK_R"], tiles, 4 * target_of(dw.device).processors)
        partials = partials_of(splits, dw)
        _depthwise_weight[(tiles * splits,)](
            dy, x, dw if partials is None else partials, rows, *three(dy.shape[1:-1], 1), *three(x.shape[1:-1], 1),
            channels, each, **how.constexprs(), MULTIPLIER=how.channels[0], WIDE=wide(dy, x, dw),
            ACCUMULATOR=in_triton(accumulator(dw.dtype)), **config.launch_options(),
        )  # fmt: skip
        if splits > 1:
            add_partials(partials, dw)

    key = (dw.dtype, *how.constexprs().values(), *shape_class(rows, channels))
    run(choose("depthwise_weight", key, CONFIGS, run))


@jit
def _depthwise(
    source, w, bias, residual, target, rows, positions_d, positions_h, positions_w, reached_d, reached_h, reached_w, channels,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr,
    MULTIPLIER: tl.constexpr, BACKWARD: tl.constexpr, WIDE: tl.constexpr, HAS_BIAS: tl.constexpr,
    HAS_RESIDUAL: tl.constexpr, ACTIVATION: tl.constexpr, ACCUMULATOR: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    at, channel = block_of(rows, WIDE, BLOCK_R, BLOCK_C)
    image = at // (positions_d * positions_h * positions_w)
    d, h, v = unravel3(at % (positions_d * positions_h * positions_w), positions_h, positions_w)
    TAPS: tl.constexpr = KERNEL[0] * KERNEL[1] * KERNEL[2]
    sums = tl.zeros((BLOCK_R, BLOCK_C), ACCUMULATOR)
    for item in range(TAPS * MULTIPLIER if BACKWARD else TAPS):
        tap = item % TAPS
        tap_d, tap_h, tap_w = unravel3(tap, KERNEL[1], KERNEL[2])
        position, inside = reach(
            image, d, h, v, tap_d, tap_h, tap_w, reached_d, reached_h, reached_w, STRIDE, DILATE, PAD, BACKWARD
        )
        mask = (inside & (at < rows))[:, None] & (channel < channels)[None, :]
        if BACKWARD:
            made = channel * MULTIPLIER + item // TAPS
            read, width = made, channels * MULTIPLIER
        else:
            made = channel
            read, width = channel // MULTIPLIER, channels // MULTIPLIER
        x = tl.load(source + position.to(tl.int64)[:, None] * width + read[None, :], mask=mask, other=0)
        y = tl.load(w + made * TAPS + tap, mask=channel < channels, other=0)
        sums += x.to(ACCUMULATOR) * y.to(ACCUMULATOR)[None, :]
    if HAS_BIAS:
        sums += tl.load(bias + channel, mask=channel < channels, other=0).to(ACCUMULATOR)[None, :]
    to = at.to(tl.int64)[:, None] * channels + channel[None, :]
    mask = (at < rows)[:, None] & (channel < channels)[None, :]
    if HAS_RESIDUAL:
        sums += tl.load(residual + to, mask=mask, other=0).to(ACCUMULATOR)
    tl.store(target + to, activate(sums, ACTIVATION).to(target.dtype.element_ty), mask=mask)


@jit
def _depthwise_weight(
    dy, x, dw, rows, positions_d, positions_h, positions_w, reached_d, reached_h, reached_w, channels, each,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr,
    MULTIPLIER: tl.constexpr, WIDE: tl.constexpr, ACCUMULATOR: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    TAPS: tl.constexpr = KERNEL[0] * KERNEL[1] * KERNEL[2]
    item = program(0, WIDE)
    tap, item = item % TAPS, item // TAPS
    across = blocks_of(channels, BLOCK_C)
    channel, split = item % across * BLOCK_C + tl.arange(0, BLOCK_C), item // across
    tap_d, tap_h, tap_w = unravel3(tap, KERNEL[1], KERNEL[2])
    sums = tl.zeros((BLOCK_C,), ACCUMULATOR)
    for start in range(split * each, tl.minimum(split * each + each, rows), BLOCK_R):
        at = start + tl.arange(0, BLOCK_R)
        image = at // (positions_d * positions_h * positions_w)
        d, h, v = unravel3(at % (positions_d * positions_h * positions_w), positions_h, positions_w)
        position, inside = reach(
            image, d, h, v, tap_d, tap_h, tap_w, reached_d, reached_h, reached_w, STRIDE, DILATE, PAD, False
        )
        mask = (inside & (at < rows))[:, None] & (channel < channels)[None, :]
        read = position.to(tl.int64)[:, None] * (channels // MULTIPLIER) + (channel // MULTIPLIER)[None, :]
        a = tl.load(x + read, mask=mask, other=0)
        b = tl.load(dy + at.to(tl.int64)[:, None] * channels + channel[None, :], mask=mask, other=0)
        sums += tl.sum(a.to(ACCUMULATOR) * b.to(ACCUMULATOR), axis=0)
    dw += split.to(tl.int64) * channels * TAPS
    tl.store(dw + channel * TAPS + tap, sums.to(dw.dtype.element_ty), mask=channel < channels)


# ---------------------------------------------------------------- ahead of time


def _aot(kernel, config: Config, pointers: tuple[str, ...], more: dict) -> AotCase:
    signature = {name: "*fp16" for name in pointers} | {"rows": "i32", **EXTENTS, "channels": "i32:16"}
    signature |= {"each": "i32"} if kernel is _depthwise_weight else {}
    constexprs = {**LAYER, "MULTIPLIER": 1, "ACCUMULATOR": tl.float32, **more, **config.constexprs}
    return AotCase(kernel, signature, constexprs, config.num_warps, config.num_stages)


AOT = [
    *(
        _aot(_depthwise, config, ("source", "w", "bias", "residual", "target"), {"BACKWARD": False, **FUSED})
        for config in CONFIGS
    ),
    *(_aot(_depthwise_weight, config, ("dy", "x", "dw"), {}) for config in CONFIGS),
    _aot(
        _depthwise,
        CONFIGS[0],
        ("source", "w", "bias", "residual", "target"),
        {"BACKWARD": False, **FUSED, **FAR},
    ),
]
