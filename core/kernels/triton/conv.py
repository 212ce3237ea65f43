"""Convolution in Triton as an implicit matrix product. Inside, and in results, channels lie next to each other.

- 1x1 kernels that move nothing are matrix products.
- `_gather_gemm`: one row for each position of the result, one column for each of its channels; the sum runs over taps
  of the kernel and channels of the source. The forward pass and the gradient by x differ only in where a tap leads.
  A gradient by x with strides is computed phase by phase (positions with equal remainder by the stride), so that it
  visits no tap that leads between positions.
  Where there is TMA, weights come by descriptors, and as many programs as the device holds take tile after tile, so
  that the loads of the next one overlap the end of this one. (Descriptors of what taps reach, im2col, are not in
  Triton's language.) Asked to, it ends each tile with the moments of its channels, so that a batch normalization
  behind it need not read the result once more for its statistics.
- `_weight_gemm`: rows are output channels, columns (tap, input channel), the sum runs over all positions and is split.
- One input channel a group leaves nothing to multiply as matrices: `core.kernels.triton._depthwise`.
"""

from __future__ import annotations

import dataclasses
import math

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from core.kernels import formula as f
from core.kernels.epilogue import check_activation
from core.kernels.formula import Formula
from core.kernels.triton import _per_channel, norm, reduce
from core.kernels.triton import matmul as products
from core.kernels.triton._counting import blocks_of, program
from core.kernels.triton._depthwise import depthwise, depthwise_weight
from core.kernels.triton._kernel import jit
from core.kernels.triton._moments import Parts, merged
from core.kernels.triton._types import in_type
from core.kernels.triton.aot import AotCase, tensor_core
from core.kernels.triton.autotune import Config, choose, shape_class
from core.kernels.triton.pointwise import pointwise
from core.kernels.triton.targets import Target, target_of
from core.kernels.triton.tiles import (
    accumulator,
    activate,
    add_partials,
    describable,
    ends,
    in_triton,
    multiply_add,
    or_else,
    partials_of,
    precision,
    split_along,
    tile_of,
)
from core.kernels.triton.windows import (
    EXTENTS,
    FAR,
    FUSED,
    LAYER,
    Geometry,
    channels_last,
    empty,
    reach,
    three,
    unravel3,
    wide,
)  # fmt: skip

Ints = tuple[int, ...]


def conv(
    x: Tensor, w: Tensor, b: Tensor | None, stride: Ints, dilate: Ints, pad: Ints, groups: int,
    activation: str | None = None, residual: Tensor | None = None, overwrite: bool = False,
) -> Tensor:  # fmt: skip
    check_activation("conv", activation)
    how = Geometry.of(w.shape, stride, dilate, pad, groups)
    x, w = channels_last(x), channels_last(w)
    residual = None if residual is None else channels_last(residual)
    y = empty((x.shape[0], *how.out(x.shape[1:-1]), w.shape[0]), x)
    if how.pointwise:
        y = products.linear(x, w.view(w.shape[0], w.shape[-1]), b, activation, residual)
    elif how.depthwise:
        depthwise(y, x, w, how, False, b, residual, activation)
    else:
        _launch_gather(y, x, w, how, False, b, residual, activation)
    return y.movedim(-1, 1)


def conv_batch_norm(
    x: Tensor, w: Tensor, b: Tensor | None, gamma: Tensor | None, beta: Tensor | None, stride: Ints, dilate: Ints,
    pad: Ints, groups: int, eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    how = Geometry.of(w.shape, stride, dilate, pad, groups)
    if how.depthwise or (how.pointwise and w.shape[1] % 16):  # a product, whose tiles the gathering kernel has not
        y = conv(x, w, b, stride, dilate, pad, groups)
        return y, *norm.batch_norm(y, gamma, beta, 1, eps)
    x, w = channels_last(x), channels_last(w)
    y = empty((x.shape[0], *how.out(x.shape[1:-1]), w.shape[0]), x)
    parts = _launch_gather(y, x, w, how, False, b, moments=True)
    y = y.movedim(-1, 1)
    if parts is None:
        return y, *norm.batch_norm(y, gamma, beta, 1, eps)
    mean, rstd = merged(parts, parts.means.dtype, eps)
    return y, _per_channel.apply(_per_channel.channels(y, 1), gamma, beta, mean, rstd), mean, rstd


def pack(w: Tensor, x_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int, exact: bool = False) -> Tensor:
    return channels_last(w).movedim(-1, 1)


def quantized_conv(
    x: Tensor, w: Tensor, b: Tensor | None, stride: Ints, dilate: Ints, pad: Ints, groups: int
) -> Tensor:
    return conv(in_type(x, torch.float32), in_type(w, torch.float32), b, stride, dilate, pad, groups)


def requantized_conv(
    x: Tensor, w: Tensor, b: Tensor | None, scale: Tensor, stride: Ints, dilate: Ints, pad: Ints, groups: int,
    signed: bool, residual: Tensor | None = None, meaning: Tensor | None = None, overwrite: bool = False,
) -> Tensor:  # fmt: skip
    sums = quantized_conv(x, w, None, stride, dilate, pad, groups)
    by_channel = (-1, *(1,) * (sums.dim() - 2))
    operands = [sums, scale.view(by_channel)]
    operands += [] if b is None else [b.view(by_channel)]
    operands += [] if residual is None else [residual, meaning.view((1,) * sums.dim())]
    low, high = (-128, 127) if signed else (0, 255)
    high = high if residual is None else min(high, torch.iinfo(residual.dtype).max)
    formula = _REQUANTIZED[b is not None, residual is not None]
    return pointwise(formula, operands, (low, high), torch.int8 if signed else torch.uint8)


def _requantized(with_bias: bool, with_residual: bool) -> Formula:
    def shifted(y, scale, b, residual, meaning, low, high):
        y = y * scale if b is None else y * scale + b
        y = y if residual is None else y + f.cast(residual, "float32") * meaning
        return f.minimum(f.maximum(f.rint(y), low), high)

    functions = {
        (False, False): lambda y, scale, *, low, high: shifted(y, scale, None, None, None, low, high),
        (True, False): lambda y, scale, b, *, low, high: shifted(y, scale, b, None, None, low, high),
        (False, True): lambda y, scale, r, m, *, low, high: shifted(y, scale, None, r, m, low, high),
        (True, True): lambda y, scale, b, r, m, *, low, high: shifted(y, scale, b, r, m, low, high),
    }
    return Formula.of(functions[with_bias, with_residual], name=f"requantized{'_b' * with_bias}{'_r' * with_residual}")


_REQUANTIZED = {(b, r): _requantized(b, r) for b in (False, True) for r in (False, True)}


def pack_quantized(
    w: Tensor, x_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int, signed: bool
) -> Tensor:
    return pack(w, x_shape, stride, dilate, pad, groups)


def conv_data_grad(dy: Tensor, w: Tensor, x_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int) -> Tensor:
    how = Geometry.of(w.shape, stride, dilate, pad, groups)
    dy, w = channels_last(dy), channels_last(w)
    dx = empty((x_shape[0], *x_shape[2:], x_shape[1]), dy)
    if how.pointwise:
        dx = products.matmul(dy, w.view(w.shape[0], w.shape[-1]))
    elif how.depthwise:
        depthwise(dx, dy, w, how, backward=True)
    else:
        _launch_gather(dx, dy, w, how, backward=True)
    return dx.movedim(-1, 1)


def conv_weight_grad(
    dy: Tensor, x: Tensor, w_shape: Ints, stride: Ints, dilate: Ints, pad: Ints, groups: int
) -> Tensor:
    how = Geometry.of(w_shape, stride, dilate, pad, groups)
    dy, x = channels_last(dy), channels_last(x)
    dw = empty((w_shape[0], *w_shape[2:], w_shape[1]), dy)
    if how.pointwise:
        rows = math.prod(dy.shape[:-1])
        dw = products.matmul(dy.view(rows, dy.shape[-1]), x.view(rows, x.shape[-1]), transpose_a=True).view(dw.shape)
    elif how.depthwise:
        depthwise_weight(dw, dy, x, how)
    else:
        _launch_weight(dw, dy, x, how)
    return dw.movedim(-1, 1)


def conv_bias_grad(dy: Tensor) -> Tensor:
    return reduce.sum(dy, (0, *range(2, dy.dim())), False)


# ---------------------------------------------------------------- configurations


def _tiles(m: int, n: int, k: int, num_warps: int, num_stages: int) -> Config:
    return Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 8}, num_warps, num_stages)


# By bytes of an element. Where channels come in whole blocks of BLOCK_K, one tap serves a block.
GATHER_CONFIGS = {
    2: [
        _tiles(64, 64, 32, 4, 3), _tiles(128, 128, 64, 8, 3), _tiles(128, 64, 64, 4, 3), _tiles(128, 64, 32, 4, 4),
        _tiles(64, 128, 64, 4, 3), _tiles(128, 32, 32, 4, 4), _tiles(64, 32, 64, 4, 4), _tiles(128, 16, 16, 4, 4),
    ],
    4: [_tiles(64, 32, 32, 4, 3), _tiles(64, 64, 32, 8, 3), _tiles(128, 64, 32, 8, 3), _tiles(64, 16, 16, 4, 3)],
    8: [_tiles(32, 32, 16, 4, 2)],
}  # fmt: skip
# With weights by descriptors. 128x32 spills registers there on sm_100, where it gives moments.
DESCRIBED_CONFIGS = GATHER_CONFIGS | {
    2: [
        _tiles(64, 64, 32, 4, 3), _tiles(128, 128, 64, 8, 3), _tiles(128, 64, 64, 4, 3), _tiles(128, 64, 32, 4, 4),
        _tiles(64, 128, 64, 4, 3), _tiles(64, 32, 64, 4, 4), _tiles(128, 16, 16, 4, 4), _tiles(128, 256, 64, 8, 3),
        _tiles(256, 64, 64, 8, 4),
    ],
}  # fmt: skip
FLAT_CONFIGS = {
    2: [_tiles(64, 32, 16, 4, 3), _tiles(64, 64, 32, 8, 3), _tiles(64, 16, 16, 4, 3)],
    4: [_tiles(32, 32, 16, 4, 3), _tiles(64, 64, 16, 8, 2), _tiles(64, 16, 16, 4, 3)],
    8: [_tiles(32, 32, 16, 4, 2)],
}
WEIGHT_CONFIGS = {
    2: [
        _tiles(64, 64, 32, 4, 3), _tiles(128, 128, 64, 8, 3), _tiles(128, 64, 64, 8, 3), _tiles(64, 128, 64, 8, 3),
        _tiles(32, 64, 64, 4, 3), _tiles(16, 32, 64, 4, 3),
    ],
    4: [_tiles(32, 32, 32, 4, 3), _tiles(64, 64, 32, 8, 3)],
    8: [_tiles(32, 32, 16, 4, 2)],
}  # fmt: skip
INTEGER_CONFIGS = [_tiles(16, 16, 16, 4, 2)]
_SPILL_WITH_PHASES = (128, 32), (64, 128)  # on sm_80 or sm_100, with Triton 3.6 or 3.9

# ---------------------------------------------------------------- launchers


def _launch_gather(
    target: Tensor, source: Tensor, w: Tensor, how: Geometry, backward: bool, bias=None, residual=None, activation=None,
    moments: bool = False,
) -> Parts | None:  # fmt: skip
    """Fills target (N, *positions, channels) from source, of the same kind: y from x, or (`backward`) dx from dy.

    moments: gives those of the rows of each tile by channels, None where sums are split, and no tile sees them whole.
    """
    if not target.numel():
        return None
    positions, reached = three(target.shape[1:-1], 1), three(source.shape[1:-1], 1)
    phases = how.phases(backward)
    rows = target.shape[0] * math.prod(triton.cdiv(n, p) for n, p in zip(positions, phases, strict=True))
    o, c = how.channels
    made, read = (c, o) if backward else (o, c)
    taps, whole_taps = math.prod(how.kernel), math.prod(map(triton.cdiv, how.kernel, phases))
    stride_made, stride_read = (1, taps * c) if backward else (taps * c, 1)
    on, kind, far = target_of(target.device), accumulator(target.dtype), wide(target, source, w)
    matrix = w.view(w.shape[0], taps * c)
    described = on.tma and not far and describable(matrix[None])

    def run(config: Config) -> Parts | None:
        block_m, block_n, block_k = (config[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
        tiles = math.prod(phases) * how.groups * triton.cdiv(rows, block_m) * triton.cdiv(made, block_n)
        splits, k_each = split_along(whole_taps * read, block_k, tiles, on.processors)
        partials, parts = partials_of(splits, target), None
        last = (bias, residual, activation) if splits == 1 else (None, None, None)  # partial sums are finished later
        if moments and splits == 1:
            parts = Parts.empty(triton.cdiv(rows, block_m), target.shape[-1], kind, target.device, block_m, rows)
        uniform, weight, programs = read % block_k == 0, w, tiles * splits
        if described and uniform:
            weight = TensorDescriptor.from_tensor(matrix, [block_k, block_n] if backward else [block_n, block_k])
            programs = min(programs, on.processors * _resident(config, target.itemsize, on))
        _gather_gemm[(programs,)](
            source, weight, or_else(bias, w), or_else(residual, w), target if partials is None else partials,
            parts and parts.means, parts and parts.squares, rows, *positions, *reached,
            made, read, how.groups, stride_made, stride_read, c, splits, k_each, target.numel(),
            **how.constexprs(), **ends(*last), PHASES=phases, BACKWARD=backward, UNIFORM=uniform,
            DESCRIBED=weight is not w, WIDE=far, ACCUMULATOR=in_triton(kind),
            PRECISION=precision(target.dtype, target.device), **config.launch_options(),
        )  # fmt: skip
        if splits > 1:
            add_partials(partials, target, bias, residual, activation)
        return parts

    table = _gather_configs(_configs(DESCRIBED_CONFIGS if described else GATHER_CONFIGS, target.dtype), phases)
    configs = [config for config in table if read % config["BLOCK_K"] == 0]
    which = len(configs), how.groups, *shape_class(rows, made, read)
    key = (target.dtype, backward, described, moments, *how.constexprs().values(), *which)
    return run(choose("conv", key, configs or _configs(FLAT_CONFIGS, target.dtype), run))


def _resident(config: Config, itemsize: int, on: Target) -> int:
    """How many programs a processor holds at a time: by the memory of their tiles, and by 16 warps of 128 registers."""
    memory = config.num_stages * (config["BLOCK_M"] + config["BLOCK_N"]) * config["BLOCK_K"] * itemsize
    return max(min(on.shared // memory, 16 // config.num_warps), 1)


def _launch_weight(dw: Tensor, dy: Tensor, x: Tensor, how: Geometry) -> None:
    if not dw.numel():
        return
    rows, (o, c) = math.prod(dy.shape[:-1]), how.channels
    columns = math.prod(how.kernel) * c

    def run(config: Config) -> None:
        block_m, block_n, block_k = (config[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
        tiles = how.groups * triton.cdiv(o, block_m) * triton.cdiv(columns, block_n)
        splits, k_each = split_along(rows, block_k, tiles, 2 * target_of(dw.device).processors)
        partials = partials_of(splits, dw)
        _weight_gemm[(tiles * splits,)](
            dy, x, dw if partials is None else partials, rows, *three(dy.shape[1:-1], 1), *three(x.shape[1:-1], 1),
            o, c, how.groups, splits, k_each, dw.numel(), **how.constexprs(), UNIFORM=c % block_n == 0,
            WIDE=wide(dy, x, dw), ACCUMULATOR=in_triton(accumulator(dw.dtype)), PRECISION=precision(dw.dtype, dw.device),
            **config.launch_options(),
        )  # fmt: skip
        if splits > 1:
            add_partials(partials, dw)

    configs = _weight_configs(_configs(WEIGHT_CONFIGS, dw.dtype), c)
    key = (dw.dtype, *how.constexprs().values(), len(configs), how.groups, *shape_class(rows, o, c))
    run(choose("conv_weight", key, configs, run))


def _configs(table: dict[int, list[Config]], dtype: torch.dtype) -> list[Config]:
    return table[dtype.itemsize] if dtype.is_floating_point else INTEGER_CONFIGS


def _gather_configs(configs: list[Config], phases: tuple[int, ...]) -> list[Config]:
    """Those of a gradient with strides that spill no registers: larger tiles by 8 warps, some not at all."""
    if math.prod(phases) == 1:
        return configs
    fit = [c for c in configs if (c["BLOCK_M"], c["BLOCK_N"]) not in _SPILL_WITH_PHASES]
    return [dataclasses.replace(c, num_warps=8) if c["BLOCK_M"] * c["BLOCK_N"] >= 4096 else c for c in fit]


def _weight_configs(configs: list[Config], channels: int) -> list[Config]:
    """Those that spill no registers: where channels come in no whole blocks, every element has a position of its own."""
    return [c for c in configs if channels % c["BLOCK_N"] == 0 or c["BLOCK_K"] * c["BLOCK_N"] <= 512 * c.num_warps]


# ---------------------------------------------------------------- kernels


@jit
def _gather_gemm(
    source, w, bias, residual, target, means, squares, rows, positions_d, positions_h, positions_w,
    reached_d, reached_h, reached_w, made, read, groups, stride_made, stride_read, stride_tap, splits, k_each, size,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr, PHASES: tl.constexpr,
    BACKWARD: tl.constexpr, UNIFORM: tl.constexpr, DESCRIBED: tl.constexpr, WIDE: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_RESIDUAL: tl.constexpr, ACTIVATION: tl.constexpr, ACCUMULATOR: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    tiles = blocks_of(rows, BLOCK_M) * blocks_of(made, BLOCK_N)
    items = tiles * groups * splits * (PHASES[0] * PHASES[1] * PHASES[2])
    of_phase = blocks_of(positions_d, PHASES[0]), blocks_of(positions_h, PHASES[1]), blocks_of(positions_w, PHASES[2])
    inner = tl.arange(0, BLOCK_K)
    channels = groups * read
    turns = blocks_of(items - program(0, WIDE), tl.num_programs(0)) if DESCRIBED else 1
    for turn in tl.range(0, turns, flatten=DESCRIBED):
        item = program(0, WIDE) + turn * tl.num_programs(0)
        row, column = tile_of(item % tiles, rows, made, BLOCK_M, BLOCK_N, GROUP)
        group, split = item // tiles % groups, item // (tiles * groups) % splits
        phase_d, phase_h, phase_w = unravel3(item // (tiles * groups * splits), PHASES[1], PHASES[2])

        at = row * BLOCK_M + tl.arange(0, BLOCK_M)
        image = at // (of_phase[0] * of_phase[1] * of_phase[2])
        d, h, v = unravel3(at % (of_phase[0] * of_phase[1] * of_phase[2]), of_phase[1], of_phase[2])
        d, h, v = d * PHASES[0] + phase_d, h * PHASES[1] + phase_h, v * PHASES[2] + phase_w
        valid = (at < rows) & (d < positions_d) & (h < positions_h) & (v < positions_w)

        # The taps of this phase are first, first + PHASES, ...
        first_d, first_h, first_w = (
            (phase_d + PAD[0]) % PHASES[0], (phase_h + PAD[1]) % PHASES[1], (phase_w + PAD[2]) % PHASES[2]
        )  # fmt: skip
        taps_h, taps_w = tl.cdiv(KERNEL[1] - first_h, PHASES[1]), tl.cdiv(KERNEL[2] - first_w, PHASES[2])
        taps = tl.cdiv(KERNEL[0] - first_d, PHASES[0]) * taps_h * taps_w

        columns = column * BLOCK_N + tl.arange(0, BLOCK_N)
        x_at = source + group * read
        if not DESCRIBED:
            w_at = w + group * (read * stride_read if BACKWARD else made * stride_made)
        sums = tl.zeros((BLOCK_M, BLOCK_N), ACCUMULATOR)
        for start in tl.range(split * k_each, tl.minimum(split * k_each + k_each, taps * read), BLOCK_K):
            if UNIFORM:
                tap, channel = start // read, tl.multiple_of(start % read, BLOCK_K) + inner
            else:
                tap, channel = (start + inner) // read, (start + inner) % read
            tap_d, tap_h, tap_w = unravel3(tap, taps_h, taps_w)
            tap_d, tap_h, tap_w = first_d + tap_d * PHASES[0], first_h + tap_h * PHASES[1], first_w + tap_w * PHASES[2]
            if UNIFORM:
                position, inside = reach(
                    image, d, h, v, tap_d, tap_h, tap_w, reached_d, reached_h, reached_w,
                    STRIDE, DILATE, PAD, BACKWARD,
                )  # fmt: skip
                positions, mask = position[:, None], (inside & valid)[:, None]
                column_mask = (columns < made)[None, :]
            else:
                position, inside = reach(
                    image[:, None], d[:, None], h[:, None], v[:, None], tap_d[None, :], tap_h[None, :], tap_w[None, :],
                    reached_d, reached_h, reached_w, STRIDE, DILATE, PAD, BACKWARD,
                )  # fmt: skip
                real = start + inner < taps * read
                positions, mask = position, inside & valid[:, None] & real[None, :]
                column_mask = (columns < made)[None, :] & real[:, None]
            x = tl.load(x_at + positions.to(tl.int64) * channels + channel[None, :], mask=mask, other=0)
            tap = (tap_d * KERNEL[1] + tap_h) * KERNEL[2] + tap_w
            if DESCRIBED and BACKWARD:
                y = w.load([group * read + start % read, tap * stride_tap + column * BLOCK_N])
            elif DESCRIBED:
                y = w.load([group * made + column * BLOCK_N, tap * stride_tap + start % read]).T
            else:
                along = tap * stride_tap + channel * stride_read
                y = tl.load(w_at + along[:, None] + columns[None, :] * stride_made, mask=column_mask, other=0)
            sums = multiply_add(x, y, sums, PRECISION)
        if PHASES[0] * PHASES[1] * PHASES[2] > 1:
            at = ((image * positions_d + d) * positions_h + h) * positions_w + v
        else:
            valid = at < rows
        out = target + split.to(tl.int64) * size
        if BLOCK_N >= 128:
            # In halves, lest the end spill registers.
            HALF: tl.constexpr = BLOCK_N // 2
            left, right = tl.split(tl.permute(tl.reshape(sums, (BLOCK_M, 2, HALF)), (0, 2, 1)))
            _finish(
                left, at, valid, row, column * BLOCK_N, group, bias, residual, out, means, squares, rows, made, groups,
                HAS_BIAS, HAS_RESIDUAL, ACTIVATION,
            )  # fmt: skip
            _finish(
                right, at, valid, row, column * BLOCK_N + HALF, group, bias, residual, out, means, squares, rows, made,
                groups, HAS_BIAS, HAS_RESIDUAL, ACTIVATION,
            )  # fmt: skip
        else:
            _finish(
                sums, at, valid, row, column * BLOCK_N, group, bias, residual, out, means, squares, rows, made, groups,
                HAS_BIAS, HAS_RESIDUAL, ACTIVATION,
            )  # fmt: skip


@jit
def _finish(
    sums, at, valid, row, first, group, bias, residual, out, means, squares, rows, made, groups,
    HAS_BIAS: tl.constexpr, HAS_RESIDUAL: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    """Ends the sums of a tile for the channels of a group from `first` on, and stores them, and their moments."""
    columns = first + tl.arange(0, sums.shape[1])
    exists = columns < made
    columns += group * made
    if HAS_BIAS:
        sums += tl.load(bias + columns, mask=exists, other=0).to(sums.dtype)[None, :]
    to = at.to(tl.int64)[:, None] * (groups * made) + columns[None, :]
    mask = valid[:, None] & exists[None, :]
    if HAS_RESIDUAL:
        sums += tl.load(residual + to, mask=mask, other=0).to(sums.dtype)
    y = activate(sums, ACTIVATION).to(out.dtype.element_ty)
    tl.store(out + to, y, mask=mask)
    if means is not None:
        # Of what is stored, as a normalization of it would take them.
        number = tl.minimum(rows - row * sums.shape[0], sums.shape[0]).to(sums.dtype)
        y = tl.where(valid[:, None], y.to(sums.dtype), 0)
        mean = tl.sum(y, 0) / number
        away = tl.where(valid[:, None], y - mean[None, :], 0)
        place = row.to(tl.int64) * (groups * made) + columns
        tl.store(means + place, mean, mask=exists)
        tl.store(squares + place, tl.sum(away * away, 0), mask=exists)


@jit
def _weight_gemm(
    dy, x, dw, rows, positions_d, positions_h, positions_w, reached_d, reached_h, reached_w, o, c, groups, splits, k_each, size,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, DILATE: tl.constexpr, PAD: tl.constexpr,
    UNIFORM: tl.constexpr, WIDE: tl.constexpr, ACCUMULATOR: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    width = KERNEL[0] * KERNEL[1] * KERNEL[2] * c
    tiles = blocks_of(o, BLOCK_M) * blocks_of(width, BLOCK_N)
    item = program(0, WIDE)
    row, column = tile_of(item % tiles, o, width, BLOCK_M, BLOCK_N, GROUP)
    item = item // tiles
    group, split = item % groups, item // groups

    made = row * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = column * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    if UNIFORM:
        tap, channel = column * BLOCK_N // c, tl.multiple_of(column * BLOCK_N % c, BLOCK_N) + tl.arange(0, BLOCK_N)
    else:
        tap, channel = columns // c, columns % c
    tap_d, tap_h, tap_w = unravel3(tap, KERNEL[1], KERNEL[2])
    dy += group * o
    x += group * c
    sums = tl.zeros((BLOCK_M, BLOCK_N), ACCUMULATOR)
    for start in tl.range(split * k_each, tl.minimum(split * k_each + k_each, rows), BLOCK_K):
        at = start + inner
        image = at // (positions_d * positions_h * positions_w)
        d, h, v = unravel3(at % (positions_d * positions_h * positions_w), positions_h, positions_w)
        if UNIFORM:
            position, inside = reach(
                image, d, h, v, tap_d, tap_h, tap_w, reached_d, reached_h, reached_w, STRIDE, DILATE, PAD, False
            )
            positions, mask = position[:, None], (inside & (at < rows))[:, None]
        else:
            position, inside = reach(
                image[:, None], d[:, None], h[:, None], v[:, None], tap_d[None, :], tap_h[None, :], tap_w[None, :],
                reached_d, reached_h, reached_w, STRIDE, DILATE, PAD, False,
            )  # fmt: skip
            positions, mask = position, inside & (at < rows)[:, None] & (columns < width)[None, :]
        b = tl.load(x + positions.to(tl.int64) * (groups * c) + channel[None, :], mask=mask, other=0)
        a_mask = (made < o)[:, None] & (at < rows)[None, :]
        a = tl.load(dy + at[None, :].to(tl.int64) * (groups * o) + made[:, None], mask=a_mask, other=0)
        sums = multiply_add(a, b, sums, PRECISION)
    dw += split.to(tl.int64) * size + group.to(tl.int64) * o * width
    at = made[:, None].to(tl.int64) * width + columns[None, :]
    tl.store(dw + at, sums.to(dw.dtype.element_ty), mask=(made < o)[:, None] & (columns < width)[None, :])


# ---------------------------------------------------------------- ahead of time

_STRIDED = {**LAYER, "STRIDE": (1, 2, 2)}
_PLAIN = {"HAS_BIAS": False, "HAS_RESIDUAL": False, "ACTIVATION": None}


def _aot_gather(
    kind: str, config: Config, layer: dict, backward: bool = False, uniform: bool = True, described: bool = False,
    moments: bool = False,
) -> AotCase:  # fmt: skip
    pointers = ("source", "w", "bias", "residual", "target")
    signature = {name: f"*{kind}" for name in pointers} | {"rows": "i32", **EXTENTS}
    if described:
        n, k = config["BLOCK_N"], config["BLOCK_K"]
        signature["w"] = f"tensordesc<{kind}[{k}, {n}]>" if backward else f"tensordesc<{kind}[{n}, {k}]>"
    by_channel = "i32:16" if uniform else "i32"
    signature |= {"made": by_channel, "read": by_channel, "stride_tap": by_channel, "k_each": "i32:16"}
    signature |= {"groups": "i32", "splits": "i32", "size": by_channel}
    fast, slow = ("stride_made", "stride_read") if backward else ("stride_read", "stride_made")
    statistics = ("means", "squares")
    signature |= dict.fromkeys(statistics, "*fp32") if moments else {}
    constexprs = {
        fast: 1, **layer, "PHASES": layer["STRIDE"] if backward else (1, 1, 1), "BACKWARD": backward,
        **(_PLAIN if backward or moments else FUSED), "UNIFORM": uniform, "DESCRIBED": described,
        **({} if moments else dict.fromkeys(statistics)), **_aot_numbers(kind), **config.constexprs,
    }  # fmt: skip
    signature[slow] = by_channel
    demanded = None if kind == "i32" else tensor_core(config["BLOCK_M"], config.num_warps, kind)
    copies = "cp.async" if uniform else None  # else the taps of neighbours differ, and elements come one by one
    warps, stages, copies = config.num_warps, config.num_stages, "tma" if described else copies
    return AotCase(_gather_gemm, signature, constexprs, warps, stages, demanded, copies, since=90 if described else 80)


def _aot_weight(kind: str, config: Config, uniform: bool = True) -> AotCase:
    signature = {name: f"*{kind}" for name in ("dy", "x", "dw")} | {"rows": "i32", **EXTENTS}
    by_channel = "i32:16" if uniform else "i32"
    signature |= {"o": "i32:16", "c": by_channel, "groups": "i32", "splits": "i32", "k_each": "i32:16"}
    signature["size"] = by_channel
    constexprs = {**LAYER, "UNIFORM": uniform, **_aot_numbers(kind), **config.constexprs}
    demanded = tensor_core(config["BLOCK_M"], config.num_warps, kind)
    return AotCase(_weight_gemm, signature, constexprs, config.num_warps, config.num_stages, demanded, "cp.async")


def _aot_numbers(kind: str) -> dict:
    sums = {"fp64": tl.float64, "i32": tl.int64}.get(kind, tl.float32)
    return {"ACCUMULATOR": sums, "PRECISION": "tf32x3" if kind == "fp32" else "ieee"}


def _phased(configs: list[Config]) -> list[Config]:
    return _gather_configs(configs, _STRIDED["STRIDE"])


AOT = [
    *(_aot_gather("fp16", config, LAYER, described=True) for config in DESCRIBED_CONFIGS[2]),
    *(_aot_gather("fp16", config, _STRIDED, True, described=True) for config in _phased(DESCRIBED_CONFIGS[2])),
    *(_aot_gather("fp32", config, LAYER, described=True) for config in DESCRIBED_CONFIGS[4]),
    *(_aot_gather("fp32", config, _STRIDED, True, described=True) for config in _phased(DESCRIBED_CONFIGS[4])),
    *(_aot_gather("bf16", config, LAYER, described=True, moments=True) for config in DESCRIBED_CONFIGS[2]),
    *(_aot_gather("fp32", config, LAYER, described=True, moments=True) for config in DESCRIBED_CONFIGS[4]),
    *(_aot_gather("bf16", config, LAYER, moments=True) for config in GATHER_CONFIGS[2]),
    _aot_gather("bf16", FLAT_CONFIGS[2][0], _STRIDED, uniform=False, moments=True),
    *(_aot_gather("fp16", config, LAYER) for config in GATHER_CONFIGS[2]),
    *(_aot_gather("fp16", config, LAYER, backward=True) for config in GATHER_CONFIGS[2]),
    *(_aot_gather("fp16", config, _STRIDED, backward=True) for config in _phased(GATHER_CONFIGS[2])),
    *(_aot_gather("fp16", config, _STRIDED, uniform=False) for config in FLAT_CONFIGS[2]),
    *(_aot_gather("fp16", config, _STRIDED, backward=True, uniform=False) for config in FLAT_CONFIGS[2]),
    *(_aot_gather("fp32", config, LAYER) for config in GATHER_CONFIGS[4]),
    *(_aot_gather("fp32", config, _STRIDED, backward=True) for config in _phased(GATHER_CONFIGS[4])),
    *(_aot_gather("fp32", config, _STRIDED, backward=True, uniform=False) for config in FLAT_CONFIGS[4]),
    _aot_gather("fp64", FLAT_CONFIGS[8][0], LAYER, uniform=False),
    _aot_gather("i32", INTEGER_CONFIGS[0], LAYER, uniform=False),
    *(_aot_weight("fp16", config) for config in WEIGHT_CONFIGS[2]),
    *(_aot_weight("fp16", config, uniform=False) for config in _weight_configs(WEIGHT_CONFIGS[2], 3)),
    *(_aot_weight("fp32", config) for config in WEIGHT_CONFIGS[4]),
    _aot_weight("fp32", WEIGHT_CONFIGS[4][0], uniform=False),
    _aot_weight("fp64", WEIGHT_CONFIGS[8][0], uniform=False),
    _aot_gather("fp16", GATHER_CONFIGS[2][0], FAR),
]
