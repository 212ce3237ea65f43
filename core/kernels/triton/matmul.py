"""Matrix products in Triton.

Kernels compute tiles of the result, in an order that keeps the operands of neighbours in the L2 cache:

- `_gemm_tma` (Hopper and later): as many programs as processors, each of which takes tile after tile; operands come
  through TMA descriptors of three axes, so that the loads of the next tile overlap the end of this one (where no
  residual is added). A batch takes them too, if its matrices lie one behind the other.
- `_gemm_balanced` (the same): where the last round of tiles would leave many processors idle, each program takes its
  share of K blocks of that round and the one before, which may begin and end within a tile (`_balance`).
- `_gemm_pointers`: any strides, any alignment, any batch; one program a tile.
- `_gemm_balanced_pointers`: tiles shared out in the same way where there are no descriptors (Ampere, AMD's).

Thin results, with fewer tiles than processors, are split along K: each program writes a float32 partial product and
`tiles.add_partials` adds them in a fixed order. Bias, residual and activation are part of whichever kernel comes last.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from core.base import MXNetError
from core.kernels import formula as f
from core.kernels.epilogue import check_activation
from core.kernels.formula import Formula
from core.kernels.triton._balance import await_others, handed_on, part_of, share_of, shares_of, with_others, within
from core.kernels.triton._counting import blocks_of
from core.kernels.triton._filled import zeros
from core.kernels.triton._kernel import jit
from core.kernels.triton._types import in_type
from core.kernels.triton._waiting import announce, threads_of
from core.kernels.triton.aot import AotCase, tensor_core
from core.kernels.triton.autotune import Config, choose, shape_class
from core.kernels.triton.copies import contiguous, write_
from core.kernels.triton.pointwise import pointwise
from core.kernels.triton.targets import target_of
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
)  # fmt: skip


def matmul(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    if transpose_a:
        a = a.mT
    if transpose_b:
        b = b.mT
    lead = a.shape[:-2] or b.shape[:-2]
    shape = (*lead, a.shape[-2], b.shape[-1])
    if b.ndim == 2 and a.is_contiguous():
        a = a.view(math.prod(a.shape[:-1]), a.shape[-1])
    return _gemm(_as_batch(a), _as_batch(b)).view(shape)


def linear(x: Tensor, w: Tensor, b: Tensor | None = None, activation: str | None = None, residual=None) -> Tensor:
    check_activation("linear", activation)
    return _linear(x, w, b, activation, residual, x.dtype)


def _linear(
    x: Tensor, w: Tensor, b: Tensor | None, activation: str | None, residual, dtype: torch.dtype, out=None
) -> Tensor:
    """`linear` with a result, and perhaps a residual, of type `dtype`: what recurrences keep wider than their operands.

    out: contiguous memory for the result, which is not that of the residual.
    """
    shape, rows = (*x.shape[:-1], w.shape[0]), math.prod(x.shape[:-1])
    if residual is not None:
        residual = contiguous(residual.expand(shape).reshape(rows, w.shape[0]))
    x = x.reshape(rows, x.shape[-1])
    out = None if out is None else out.view(1, rows, w.shape[0])
    return _gemm(_as_batch(x), _as_batch(w.T), b, residual, activation, dtype, out).view(shape)


def quantized_linear(x: Tensor, w: Tensor, scale: Tensor, b: Tensor | None = None, rectify: bool = False) -> Tensor:
    sums = linear(in_type(x, torch.float32), in_type(w, torch.float32))
    return pointwise(_SCALED[b is not None, rectify], [sums, scale] + [b] * (b is not None), (), torch.float32)


_SCALED = {
    (False, False): Formula.of(lambda y, scale: y * scale, name="scaled"),
    (True, False): Formula.of(lambda y, scale, b: y * scale + b, name="scaled_b"),
    (False, True): Formula.of(lambda y, scale: f.maximum(y * scale, 0), name="scaled_relu"),
    (True, True): Formula.of(lambda y, scale, b: f.maximum(y * scale + b, 0), name="scaled_b_relu"),
}


def pack_quantized(w: Tensor, rows: int) -> Tensor:
    return contiguous(w)


def pack(w: Tensor, rows: int) -> Tensor:
    return contiguous(w)


# ---------------------------------------------------------------- configurations


def _tiles(m: int, n: int, k: int, num_warps: int, num_stages: int, group: int = 8, **more) -> Config:
    return Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": group, **more}, num_warps, num_stages)


# Fills the shared memory: a result wider than the operands finds no room beside it, and `choose` passes it over.
_DEEPEST = _tiles(128, 256, 64, 8, 4)
# By bytes of an element; for the TMA kernel and for the one with pointers.
TMA_CONFIGS = {
    2: [
        _tiles(128, 128, 64, 4, 4), _tiles(128, 256, 64, 8, 3), _tiles(256, 128, 64, 8, 3), _tiles(128, 128, 64, 8, 4),
        _tiles(64, 256, 64, 8, 4), _tiles(64, 128, 64, 4, 5), _tiles(64, 64, 128, 4, 4), _tiles(64, 32, 128, 4, 5),
        _DEEPEST,
        *(_tiles(*tile, BALANCED=True) for tile in ((128, 128, 64, 8, 4), (128, 256, 64, 8, 3), (256, 128, 64, 8, 3))),
    ],
    4: [
        _tiles(64, 64, 32, 8, 4), _tiles(128, 64, 32, 8, 3), _tiles(128, 128, 32, 8, 3),
        _tiles(128, 64, 32, 8, 3, BALANCED=True),
    ],
}  # fmt: skip
POINTER_CONFIGS = {
    2: [
        _tiles(64, 64, 32, 4, 4), _tiles(128, 128, 32, 8, 4), _tiles(128, 128, 64, 8, 3), _tiles(128, 64, 64, 4, 3),
        _tiles(64, 128, 64, 4, 3), _tiles(16, 128, 64, 4, 4), _tiles(16, 32, 128, 2, 4),
        *(_tiles(*tile, BALANCED=True) for tile in ((128, 128, 32, 8, 4), (128, 128, 64, 8, 3))),
    ],
    4: [
        _tiles(64, 64, 32, 8, 3), _tiles(128, 64, 32, 8, 3), _tiles(16, 64, 64, 4, 3),
        _tiles(128, 64, 32, 8, 3, BALANCED=True),
    ],
    8: [_tiles(32, 32, 16, 4, 2), _tiles(64, 64, 16, 8, 2)],
}  # fmt: skip
# Where rows are not 16-byte aligned, elements come one at a time through registers.
ODD_CONFIGS = {
    2: [POINTER_CONFIGS[2][0], _tiles(16, 64, 32, 4, 2)],
    4: [_tiles(64, 32, 32, 4, 3)],
    8: [_tiles(32, 32, 16, 8, 2)],
}
# Multiplications from which on odd operands are better copied to aligned memory first: about 10 microseconds' worth.
_WORTH_COPIES = 1 << 28
INTEGER_CONFIGS = [_tiles(16, 16, 16, 4, 2)]

# ---------------------------------------------------------------- launchers


def _gemm(
    a: Tensor, b: Tensor, bias=None, residual=None, activation: str | None = None, dtype=None, out=None
) -> Tensor:
    """a (B or 1, M, K) times b (B or 1, K, N) as a contiguous (B, M, N) of type `dtype`, by default that of a.

    residual is a contiguous (M, N), out memory for the result.
    """
    dtype = a.dtype if dtype is None else dtype
    if a.dtype != b.dtype:
        raise MXNetError(f"matmul: operands have dtypes {a.dtype} and {b.dtype}; they must be equal")
    if a.shape[2] != b.shape[1]:
        raise MXNetError(f"matmul: inner extents differ: {a.shape[2]} and {b.shape[1]}")
    (_, m, k), n = a.shape, b.shape[2]
    if out is None:
        batch = min(a.shape[0], b.shape[0]) and max(a.shape[0], b.shape[0])
        out = torch.empty((batch, m, n), dtype=dtype, device=a.device)
    if not out.numel():
        return out
    a, b = (t[:1] if t.stride(0) == 0 else t for t in (a, b))  # one matrix for the whole batch
    described = (a, b, out) if residual is None else (a, b, out, residual[None])
    tma = target_of(a.device).tma and all(map(describable, described))
    odd = not (_aligned(a) and _aligned(b)) and a.is_floating_point()
    worth = min(m, n) >= 16 and m * n * k >= _WORTH_COPIES  # a shorter side would grow manifold
    if odd and not tma and worth and n % 16 + k % 16 + m % 16 and a.element_size() <= 4:
        return write_(out, _gemm_padded(a, b, bias, residual, activation, dtype).expand(out.shape))
    launch = _launch_tma if tma else _launch_pointers
    if not a.is_floating_point():
        configs = INTEGER_CONFIGS
    else:
        configs = (TMA_CONFIGS if tma else ODD_CONFIGS if odd else POINTER_CONFIGS)[a.element_size()]

    def run(config: Config) -> None:
        launch(config, a, b, out, bias, residual, activation)

    key = (a.dtype, dtype, tma, odd, a.stride(2) == 1, b.stride(2) == 1, *shape_class(*out.shape, a.shape[2]))
    run(choose("matmul", key, configs, run))
    return out


def _gemm_padded(a, b, bias, residual, activation, dtype) -> Tensor:
    """The product, a view, of operands whose extents were rounded up to multiples of 16: copies, then full speed."""
    (_, m, k), n = a.shape, b.shape[2]
    wide_m, wide_n, wide_k = (triton.cdiv(extent, 16) * 16 for extent in (m, n, k))
    bias = None if bias is None else _padded(bias[None, None], 1, wide_n)[0, 0]
    residual = None if residual is None else _padded(residual[None], wide_m, wide_n)[0]
    out = _gemm(_padded(a, wide_m, wide_k), _padded(b, wide_k, wide_n), bias, residual, activation, dtype)
    return out[:, :m, :n]


def _padded(t: Tensor, rows: int, columns: int) -> Tensor:
    if t.stride(2) != 1 and t.stride(1) == 1:
        return _padded(t.mT, columns, rows).mT
    wide = zeros((t.shape[0], rows, columns), t.dtype, t.device)
    write_(wide[:, : t.shape[1], : t.shape[2]], t)
    return wide


def _launch_tma(config: Config, a, b, out, bias, residual, activation) -> None:
    (batches, m, n), k = out.shape, a.shape[2]
    block_m, block_n, block_k = (config[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
    tiles = batches * triton.cdiv(m, block_m) * triton.cdiv(n, block_n)
    processors = target_of(a.device).processors
    transposed_a, transposed_b = a.stride(2) != 1, b.stride(2) != 1
    described_a = _descriptor(a.mT, block_k, block_m) if transposed_a else _descriptor(a, block_m, block_k)
    described_b = _descriptor(b.mT, block_n, block_k) if transposed_b else _descriptor(b, block_k, block_n)
    half = block_m, _stored_columns(config)
    described_out = _descriptor(out, *half)
    described_residual = described_out if residual is None else _descriptor(residual[None], *half)
    operands = described_a, described_b, described_out, described_residual, or_else(bias, out)
    sizes = m, n, k, batches, a.shape[0], b.shape[0]
    options = config.launch_options()
    balanced = options.pop("BALANCED", False)
    options |= {"TRANSPOSED_A": transposed_a, "TRANSPOSED_B": transposed_b, "PRECISION": precision(a.dtype, a.device)}
    end = bias, residual, activation
    shares = shares_of(tiles, triton.cdiv(k, block_k), processors) if balanced else None
    if shares is not None:
        _gemm_balanced[(processors,)](
            *operands, *handed_on(config, processors, out), *sizes, *shares,
            **ends(*end), **options, launch_cooperative_grid=True,
        )  # fmt: skip
        return
    splits, k_each = split_along(k, block_k, tiles, processors)
    partials = partials_of(splits, out)
    last = ends(*(end if splits == 1 else (None, None, None)))
    _gemm_tma[(min(tiles * splits, processors),)](
        *operands, or_else(partials, out), *sizes, splits, k_each, PARTIAL=splits > 1, **last, **options
    )
    if splits > 1:
        add_partials(partials, out, *end)


def _launch_pointers(config: Config, a, b, out, bias, residual, activation) -> None:
    (batch, m, n), k = out.shape, a.shape[2]
    tiles = batch * triton.cdiv(m, config["BLOCK_M"]) * triton.cdiv(n, config["BLOCK_N"])
    target = target_of(a.device)
    end = bias, residual, activation
    strides = _batch_stride(a), a.stride(1), a.stride(2), _batch_stride(b), b.stride(1), b.stride(2)
    operands = a, b, or_else(bias, out), or_else(residual, out)
    options = config.launch_options()
    balanced = options.pop("BALANCED", False)
    options |= {"EVEN_K": k % config["BLOCK_K"] == 0, "PRECISION": precision(a.dtype, a.device)}
    shares = shares_of(tiles, triton.cdiv(k, config["BLOCK_K"]), target.processors) if balanced else None
    if shares is not None:
        _gemm_balanced_pointers[(target.processors,)](
            *operands, out, *handed_on(config, target.processors, out), m, n, k, *strides, batch, *shares,
            **ends(*end), **options, THREADS=threads_of(target.backend, config.num_warps), launch_cooperative_grid=True,
        )  # fmt: skip
        return
    splits, k_each = split_along(k, config["BLOCK_K"], tiles, target.processors)
    partials = partials_of(splits, out)
    last = ends(*(end if splits == 1 else (None, None, None)))
    _gemm_pointers[(tiles * splits,)](
        *operands, or_else(partials, out), m, n, k, *strides, batch, splits, k_each,
        **last, ACCUMULATOR=in_triton(accumulator(a.dtype)), **options,
    )  # fmt: skip
    if splits > 1:
        add_partials(partials, out, *end)


def _stored_columns(config: Config) -> int:
    return config["BLOCK_N"] // 2 if config["BLOCK_N"] >= 128 else config["BLOCK_N"]


def _as_batch(t: Tensor) -> Tensor:
    return t[None] if t.ndim == 2 else t if t.ndim == 3 else t.reshape(math.prod(t.shape[:-2]), *t.shape[-2:])


def _batch_stride(t: Tensor) -> int:
    return t.stride(0) if t.shape[0] > 1 else 0


def _aligned(t: Tensor) -> bool:
    """Whether Triton can tell that rows start at multiples of 16 elements and are read 16 bytes at a time."""
    inner, outer = sorted(t.stride()[1:])
    return inner == 1 and not any(n % 16 for n in (outer, _batch_stride(t), t.shape[1 if t.stride(1) == 1 else 2]))


def _descriptor(t: Tensor, rows: int, columns: int) -> TensorDescriptor:
    """Describes matrices (B, M, N) whose rows are contiguous, for blocks of one of them."""
    apart = t.stride(0) if t.shape[0] > 1 else t.shape[1] * t.stride(1)
    return TensorDescriptor(t, list(t.shape), [apart, t.stride(1), 1], [1, rows, columns])


# ---------------------------------------------------------------- kernels


@jit
def _gemm_tma(
    a, b, out, residual, bias, partials, m, n, k, batches, a_batches, b_batches, splits, k_each,
    TRANSPOSED_A: tl.constexpr, TRANSPOSED_B: tl.constexpr, PARTIAL: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_RESIDUAL: tl.constexpr, ACTIVATION: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    tiles = blocks_of(m, BLOCK_M) * blocks_of(n, BLOCK_N)
    # With a residual, what comes and what goes would not find room in shared memory beside one another.
    for item in tl.range(
        tl.program_id(0), tiles * batches * splits, tl.num_programs(0), flatten=not (PARTIAL or HAS_RESIDUAL)
    ):
        batch, split = (item // tiles) % batches, item // (tiles * batches)
        row, column = tile_of(item % tiles, m, n, BLOCK_M, BLOCK_N, GROUP)
        row, column = row * BLOCK_M, column * BLOCK_N
        start, stop = 0, k  # numbers that are the same for all tiles: of such loops the compiler makes one
        if PARTIAL:
            start = split * k_each
            stop = tl.minimum(start + k_each, k)
        sums = _sums(
            a, b, batch % a_batches, batch % b_batches, row, column, start, stop,
            TRANSPOSED_A, TRANSPOSED_B, PRECISION, BLOCK_M, BLOCK_N, BLOCK_K,
        )  # fmt: skip
        if PARTIAL:
            rows, columns = row + tl.arange(0, BLOCK_M), column + tl.arange(0, BLOCK_N)
            matrix = (split * batches + batch).to(tl.int64) * m * n
            positions = matrix + rows[:, None].to(tl.int64) * n + columns[None, :]
            tl.store(partials + positions, sums, mask=(rows[:, None] < m) & (columns[None, :] < n))
        elif BLOCK_N >= 128:
            left, right = _halves(sums)
            _finish(left, batch, row, column, out, residual, bias, n, HAS_BIAS, HAS_RESIDUAL, ACTIVATION)
            column += BLOCK_N // 2
            _finish(right, batch, row, column, out, residual, bias, n, HAS_BIAS, HAS_RESIDUAL, ACTIVATION)
        else:
            _finish(sums, batch, row, column, out, residual, bias, n, HAS_BIAS, HAS_RESIDUAL, ACTIVATION)


@jit
def _gemm_balanced(
    a, b, out, residual, bias, begun, left, m, n, k, batches, a_batches, b_batches, whole, each,
    TRANSPOSED_A: tl.constexpr, TRANSPOSED_B: tl.constexpr,
    HAS_BIAS: tl.constexpr, HAS_RESIDUAL: tl.constexpr, ACTIVATION: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """A program makes `whole` tiles, then `each` blocks of K of the others."""
    tiles, steps = blocks_of(m, BLOCK_M) * blocks_of(n, BLOCK_N), blocks_of(k, BLOCK_K)
    first, last = share_of(tiles * batches, steps, whole, each)
    for item in range(whole + tl.cdiv(last, steps) - first // steps):
        tile, start, stop = part_of(item, first, last, steps, whole)
        batch = tile // tiles
        row, column = tile_of(tile % tiles, m, n, BLOCK_M, BLOCK_N, GROUP)
        row, column = row * BLOCK_M, column * BLOCK_N
        sums = _sums(
            a, b, batch % a_batches, batch % b_batches, row, column, start * BLOCK_K, tl.minimum(stop * BLOCK_K, k),
            TRANSPOSED_A, TRANSPOSED_B, PRECISION, BLOCK_M, BLOCK_N, BLOCK_K,
        )  # fmt: skip
        leaves, others = await_others(start, stop, steps, each, left, THREADS=0)
        mine = begun + tl.program_id(0).to(tl.int64) * (BLOCK_M * BLOCK_N)
        if BLOCK_N >= 128:
            one, two = _halves(sums)
            _hand_on(
                one, leaves, others, mine, BLOCK_M * BLOCK_N,
                batch, row, column, out, residual, bias, n, HAS_BIAS, HAS_RESIDUAL, ACTIVATION,
            )  # fmt: skip
            _hand_on(
                two, leaves, others, mine + BLOCK_M * BLOCK_N // 2, BLOCK_M * BLOCK_N,
                batch, row, column + BLOCK_N // 2, out, residual, bias, n, HAS_BIAS, HAS_RESIDUAL, ACTIVATION,
            )  # fmt: skip
        else:
            _hand_on(
                sums, leaves, others, mine, BLOCK_M * BLOCK_N,
                batch, row, column, out, residual, bias, n, HAS_BIAS, HAS_RESIDUAL, ACTIVATION,
            )  # fmt: skip
        if leaves:
            announce(left + tl.program_id(0), THREADS=0)


@jit
def _sums(
    a, b, a_batch, b_batch, row, column, start, stop,
    TRANSPOSED_A: tl.constexpr, TRANSPOSED_B: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """What K from `start` to `stop` adds to a tile."""
    sums = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for at in tl.range(start, stop, BLOCK_K):
        x = _block(a, a_batch, at, row).T if TRANSPOSED_A else _block(a, a_batch, row, at)
        y = _block(b, b_batch, column, at).T if TRANSPOSED_B else _block(b, b_batch, at, column)
        sums = multiply_add(x, y, sums, PRECISION)
    return sums


@jit
def _halves(sums):
    """The left and the right half of a tile, lest its end spill registers."""
    return tl.split(tl.permute(tl.reshape(sums, (sums.shape[0], 2, sums.shape[1] // 2)), (0, 2, 1)))


@jit
def _hand_on(
    sums, leaves, others, mine, SIZE: tl.constexpr,
    batch, row, column, out, residual, bias, n,
    HAS_BIAS: tl.constexpr, HAS_RESIDUAL: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    """Leaves the sums in memory that is this program's, or adds those of others and finishes them."""
    if leaves:
        tl.store(mine + within(sums), sums)
    else:
        sums = with_others(sums, others, mine, SIZE)
        _finish(sums, batch, row, column, out, residual, bias, n, HAS_BIAS, HAS_RESIDUAL, ACTIVATION)


@jit
def _finish(
    sums, batch, row, column, out, residual, bias, n,
    HAS_BIAS: tl.constexpr, HAS_RESIDUAL: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    if HAS_BIAS:
        columns = column + tl.arange(0, sums.shape[1])
        sums += tl.load(bias + columns, mask=columns < n, other=0).to(tl.float32)[None, :]
    if HAS_RESIDUAL:
        sums += _block(residual, batch, row, column).to(tl.float32)
    y = activate(sums, ACTIVATION).to(out.dtype)
    out.store([batch, row, column], y.reshape(1, y.shape[0], y.shape[1]))


@jit
def _block(matrices, batch, row, column):
    """A block of one of the matrices of a descriptor."""
    block = matrices.load([batch, row, column])
    return block.reshape(block.shape[1], block.shape[2])


@jit
def _gemm_pointers(
    a, b, bias, residual, out, m, n, k,
    a_batch, a_row, a_column, b_batch, b_row, b_column, batches, splits, k_each,
    EVEN_K: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_RESIDUAL: tl.constexpr, ACTIVATION: tl.constexpr,
    ACCUMULATOR: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    tiles = blocks_of(m, BLOCK_M) * blocks_of(n, BLOCK_N)
    item = tl.program_id(0)
    row, column = tile_of(item % tiles, m, n, BLOCK_M, BLOCK_N, GROUP)
    batch, split = (item // tiles) % batches, item // (tiles * batches)
    start = split.to(tl.int64) * k_each
    length = tl.minimum(k - start, k_each).to(k_each.dtype)
    sums = _sums_at(
        a + batch.to(tl.int64) * a_batch + start * a_column, b + batch.to(tl.int64) * b_batch + start * b_row,
        row, column, m, n, length, a_row, a_column, b_row, b_column,
        EVEN_K, ACCUMULATOR, PRECISION, BLOCK_M, BLOCK_N, BLOCK_K,
    )  # fmt: skip
    matrix = split * batches + batch
    _finish_at(sums, matrix, row, column, out, residual, bias, m, n, HAS_BIAS, HAS_RESIDUAL, ACTIVATION)


@jit
def _gemm_balanced_pointers(
    a, b, bias, residual, out, begun, left, m, n, k,
    a_batch, a_row, a_column, b_batch, b_row, b_column, batches, whole, each,
    EVEN_K: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_RESIDUAL: tl.constexpr, ACTIVATION: tl.constexpr,
    PRECISION: tl.constexpr, THREADS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Shares tiles out as `_gemm_balanced` does."""
    tiles, steps = blocks_of(m, BLOCK_M) * blocks_of(n, BLOCK_N), blocks_of(k, BLOCK_K)
    first, last = share_of(tiles * batches, steps, whole, each)
    for item in range(whole + tl.cdiv(last, steps) - first // steps):
        tile, start, stop = part_of(item, first, last, steps, whole)
        row, column = tile_of(tile % tiles, m, n, BLOCK_M, BLOCK_N, GROUP)
        batch, at = (tile // tiles).to(tl.int64), start.to(tl.int64) * BLOCK_K
        sums = _sums_at(
            a + batch * a_batch + at * a_column, b + batch * b_batch + at * b_row,
            row, column, m, n, tl.minimum(stop * BLOCK_K, k) - start * BLOCK_K, a_row, a_column, b_row, b_column,
            EVEN_K, tl.float32, PRECISION, BLOCK_M, BLOCK_N, BLOCK_K,
        )  # fmt: skip
        leaves, others = await_others(start, stop, steps, each, left, THREADS)
        mine = begun + tl.program_id(0).to(tl.int64) * (BLOCK_M * BLOCK_N)
        if leaves:
            tl.store(mine + within(sums), sums)
            announce(left + tl.program_id(0), THREADS)
        else:
            sums = with_others(sums, others, mine, BLOCK_M * BLOCK_N)
            _finish_at(sums, batch, row, column, out, residual, bias, m, n, HAS_BIAS, HAS_RESIDUAL, ACTIVATION)


@jit
def _sums_at(
    a, b, row, column, m, n, length, a_row, a_column, b_row, b_column,
    EVEN_K: tl.constexpr, ACCUMULATOR: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """What K from where the pointers are on, so many elements of it, adds to a tile."""
    rows, columns = row * BLOCK_M + tl.arange(0, BLOCK_M), column * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_places = a + rows[:, None].to(tl.int64) * a_row + inner[None, :].to(tl.int64) * a_column
    b_places = b + inner[:, None].to(tl.int64) * b_row + columns[None, :].to(tl.int64) * b_column
    sums = tl.zeros((BLOCK_M, BLOCK_N), ACCUMULATOR)
    for at in tl.range(0, length, BLOCK_K):
        a_mask, b_mask = (rows < m)[:, None], (columns < n)[None, :]
        if not EVEN_K:
            a_mask, b_mask = a_mask & (inner < length - at)[None, :], b_mask & (inner < length - at)[:, None]
        x = tl.load(a_places, mask=a_mask, other=0)
        y = tl.load(b_places, mask=b_mask, other=0)
        sums = multiply_add(x, y, sums, PRECISION)
        a_places += tl.cast(a_column, tl.int64) * BLOCK_K
        b_places += tl.cast(b_row, tl.int64) * BLOCK_K
    return sums


@jit
def _finish_at(
    sums, matrix, row, column, out, residual, bias, m, n,
    HAS_BIAS: tl.constexpr, HAS_RESIDUAL: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    rows = row * sums.shape[0] + tl.arange(0, sums.shape[0])
    columns = column * sums.shape[1] + tl.arange(0, sums.shape[1])
    if HAS_BIAS:
        sums += tl.load(bias + columns, mask=columns < n, other=0).to(sums.dtype)[None, :]
    positions = (matrix.to(tl.int64) * m + rows[:, None]) * n + columns[None, :]
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    if HAS_RESIDUAL:
        sums += tl.load(residual + positions, mask=mask, other=0).to(sums.dtype)
    tl.store(out + positions, activate(sums, ACTIVATION).to(out.dtype.element_ty), mask=mask)


# ---------------------------------------------------------------- ahead of time

_SIZES = {"m": "i32", "n": "i32:16", "k": "i32:16"}
_PLAIN = {"HAS_BIAS": False, "HAS_RESIDUAL": False, "ACTIVATION": None}
_FUSED = {"HAS_BIAS": True, "HAS_RESIDUAL": True, "ACTIVATION": "gelu"}
_ACTIVATED = _FUSED | {"HAS_RESIDUAL": False}


# Which operand is transposed: x w^T, and the products that make its gradients.
_FORWARD, _GRADIENTS = (False, True), ((False, False), (True, False))
_BATCHES = ("batches", "a_batches", "b_batches")


def _aot_tma(
    kind: str, config: Config, transposed=_FORWARD, last=_PLAIN, result: str | None = None, batched: bool = False
) -> AotCase:
    m, n, k = (config[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
    blocks = {
        "a": (k, m) if transposed[0] else (m, k), "b": (n, k) if transposed[1] else (k, n),
        "out": (m, _stored_columns(config)), "residual": (m, _stored_columns(config)),
    }  # fmt: skip
    kinds = {"a": kind, "b": kind, "out": result or kind, "residual": result or kind}
    signature = {name: f"tensordesc<{kinds[name]}[1, {rows}, {columns}]>" for name, (rows, columns) in blocks.items()}
    signature |= {"bias": f"*{kind}", **_SIZES} | (dict.fromkeys(_BATCHES, "i32") if batched else {})
    constexprs = {
        **({} if batched else dict.fromkeys(_BATCHES, 1)), **config.constexprs, **last,
        "TRANSPOSED_A": transposed[0], "TRANSPOSED_B": transposed[1],
        "PRECISION": "tf32x3" if kind == "fp32" else "ieee",
    }  # fmt: skip
    if constexprs.pop("BALANCED", False):
        kernel = _gemm_balanced
        signature |= {"begun": "*fp32", "left": "*i32", "whole": "i32", "each": "i32"}
    else:
        kernel = _gemm_tma
        signature |= {"partials": "*fp32", "splits": "i32", "k_each": "i32:16"}
        constexprs["PARTIAL"] = False
    demanded = tensor_core(m, config.num_warps, kind)
    return AotCase(kernel, signature, constexprs, config.num_warps, config.num_stages, demanded, "tma", since=90)


def _aot_pointers(kind: str, config: Config, last=_PLAIN, aligned: bool = True, backend: str | None = None) -> AotCase:
    strides = {"a_batch": "i64:16", "a_row": "i32:16", "b_batch": "i64:16", "b_column": "i32:16"}
    signature = {name: f"*{kind}" for name in ("a", "b", "bias", "residual", "out")}
    signature |= {**_SIZES, **strides, "batches": "i32"}
    constexprs = {
        "a_column": 1, "b_row": 1, "EVEN_K": aligned, **last, "PRECISION": "tf32x3" if kind == "fp32" else "ieee",
        **config.constexprs,
    }  # fmt: skip
    if constexprs.pop("BALANCED", False):
        kernel = _gemm_balanced_pointers
        signature |= {"begun": "*fp32", "left": "*i32", "whole": "i32", "each": "i32"}
        constexprs["THREADS"] = threads_of(backend, config.num_warps)
    else:
        kernel = _gemm_pointers
        signature |= {"splits": "i32", "k_each": "i32:16"}
        constexprs["ACCUMULATOR"] = {"fp64": tl.float64, "i32": tl.int64}.get(kind, tl.float32)
    if not aligned:
        signature = {name: given.partition(":")[0] for name, given in signature.items()}
    demanded = None if kind == "i32" else tensor_core(config["BLOCK_M"], config.num_warps, kind)
    copies = "cp.async" if aligned and demanded else None
    return AotCase(kernel, signature, constexprs, config.num_warps, config.num_stages, demanded, copies, only=backend)


def _pointer_cases(kind: str, configs: list[Config], last=_PLAIN) -> list[AotCase]:
    """Programs that wait for one another do so in the backend's way."""
    return [
        _aot_pointers(kind, config, last, backend=backend)
        for config in configs
        for backend in (("cuda", "hip") if config.constexprs.get("BALANCED") else (None,))
    ]


AOT = [
    *(_aot_tma("fp16", config, last=last) for last in (_FUSED, _ACTIVATED) for config in TMA_CONFIGS[2]),
    *(_aot_tma("fp16", config, last=_FUSED, result="fp32") for config in TMA_CONFIGS[2] if config != _DEEPEST),
    *(_aot_tma("fp16", config, transposed) for transposed in _GRADIENTS for config in TMA_CONFIGS[2]),
    *(_aot_tma("fp32", config, transposed) for transposed in (_FORWARD, *_GRADIENTS) for config in TMA_CONFIGS[4]),
    *(_aot_tma("fp16", config, batched=True) for config in TMA_CONFIGS[2]),
    *(_aot_tma("fp32", config, batched=True) for config in TMA_CONFIGS[4]),
    *_pointer_cases("fp16", POINTER_CONFIGS[2], _FUSED),
    *_pointer_cases("fp32", POINTER_CONFIGS[4]),
    *(_aot_pointers("fp64", config) for config in POINTER_CONFIGS[8]),
    *(_aot_pointers("i32", config) for config in INTEGER_CONFIGS),
    *(_aot_pointers("fp16", config, _FUSED, aligned=False) for config in ODD_CONFIGS[2]),
    *(_aot_pointers(kind, ODD_CONFIGS[size][0], aligned=False) for kind, size in (("fp32", 4), ("fp64", 8))),
]  # fmt: skip
