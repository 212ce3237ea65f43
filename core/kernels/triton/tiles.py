"""What matrix products and convolutions share: the order of tiles, the end of a sum, sums that are split.

float32 operands go through the tensor cores in a way that keeps float32 accuracy (on NVIDIA's GPUs three TF32 products),
or in a faster one if MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION=1 (MXNet's variable) gives accuracy away for speed.
"""

from __future__ import annotations

import os

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.precision import wide_type
from core.kernels.triton._counting import WIDE, blocks_of
from core.kernels.triton._kernel import jit
from core.kernels.triton.aot import AotCase
from core.kernels.triton.autotune import INTERPRETED
from core.kernels.triton.targets import target_of


def describable(t: Tensor) -> bool:
    """Whether a TMA descriptor can describe the matrices in `t`, either way round.

    Lines begin at multiples of 16 bytes. Matrices lie one behind the other, a whole number of lines apart, as
    `cuTensorMapEncodeTiled` is documented (CUDA driver API, tensor map object management).
    """
    if min(t.shape[1:]) < 2 or not t.is_floating_point() or t.element_size() > 4:
        return False
    if max(t.shape) >= WIDE:  # its coordinates are of 32 bits
        return False
    inner, line = sorted(t.stride()[1:])
    if inner != 1 or line * t.element_size() % 16 or t.data_ptr() % 16:
        return False
    lines = t.shape[2] if t.stride(1) == 1 else t.shape[1]
    return t.shape[0] == 1 or (t.stride(0) >= lines * line and t.stride(0) % line == 0)


def precision(dtype: torch.dtype, device: torch.device) -> str:
    """How `tl.dot` treats operands of `dtype`."""
    if dtype != torch.float32:
        return "ieee"
    target = target_of(device)
    return target.fast if os.environ.get("MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION") == "1" else target.accurate


def accumulator(dtype: torch.dtype) -> torch.dtype:
    """The dtype in which sums of `dtype` are kept."""
    if not dtype.is_floating_point:
        return torch.int64
    return wide_type(dtype)


def in_triton(dtype: torch.dtype) -> tl.dtype:
    """Triton's name of an accumulator's dtype."""
    return {torch.float32: tl.float32, torch.float64: tl.float64, torch.int64: tl.int64}[dtype]


def or_else(t: Tensor | None, stand_in: Tensor) -> Tensor:
    """A kernel takes a pointer even where it reads nothing."""
    return stand_in if t is None else t


def split_along(k: int, block_k: int, tiles: int, processors: int) -> tuple[int, int]:
    """Into how many parts K is cut so that `tiles` results keep all processors busy, and the length of a part."""
    steps = triton.cdiv(k, block_k)
    splits = max(1, min(processors // tiles, steps // MINIMAL_STEPS))
    each = triton.cdiv(max(steps, 1), splits)
    return triton.cdiv(max(steps, 1), each), each * block_k


def partials_of(splits: int, out: Tensor) -> Tensor | None:
    """Memory for the partial sums of `out`; None if there is only one."""
    if splits == 1:
        return None
    return torch.empty((splits, *out.shape), dtype=accumulator(out.dtype), device=out.device)


def ends(bias, residual, activation: str | None) -> dict:
    """The parameters of a kernel that say what comes after the product."""
    return {"HAS_BIAS": bias is not None, "HAS_RESIDUAL": residual is not None, "ACTIVATION": activation}


def add_partials(partials: Tensor, out: Tensor, bias=None, residual=None, activation: str | None = None) -> Tensor:
    """out = activation(sum of partials over axis 0 + bias + residual), added in a fixed order.

    partials (S, *shape) of the accumulating dtype, out (*shape), bias of the last axis; all contiguous.
    """
    options = ends(bias, residual, activation)
    grid = (triton.cdiv(out.numel(), _ADD_BLOCK),)
    _add_partials[grid](
        partials, or_else(bias, out), or_else(residual, out), out, partials.shape[0], out.numel(), out.shape[-1],
        **options, BLOCK=_ADD_BLOCK,
    )  # fmt: skip
    return out


_ADD_BLOCK = 1024
MINIMAL_STEPS = 8  # blocks of a split: fewer would spend their time on filling the pipeline
# The interpreter's tl.dot multiplies the bit patterns of bfloat16.
_WIDEN = tl.constexpr(INTERPRETED)


# ---------------------------------------------------------------- device code


@jit
def tile_of(tile, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    """Row and column of a tile: columns of GROUP tiles, one after another, share what they read in the L2 cache."""
    rows, columns = blocks_of(m, BLOCK_M), blocks_of(n, BLOCK_N)
    first = tile // (GROUP * columns) * GROUP
    height = tl.minimum(rows - first, GROUP)
    within = tile % (GROUP * columns)
    return first + within % height, within // height


@jit
def multiply_add(x, y, sums, PRECISION: tl.constexpr):
    """sums + x y. Integers, which tensor cores do not take at all widths, are multiplied one by one."""
    if _WIDEN and x.dtype == tl.bfloat16:
        x, y = x.to(tl.float32), y.to(tl.float32)
    if x.dtype.is_floating():
        return tl.dot(x, y, sums, input_precision=PRECISION, out_dtype=sums.dtype)
    else:
        return sums + tl.sum(x.to(sums.dtype)[:, :, None] * y.to(sums.dtype)[None, :, :], axis=1)


@jit
def activate(y, ACTIVATION: tl.constexpr):
    """The activation that ends a product."""
    if ACTIVATION == "relu":
        return tl.maximum(y, 0, propagate_nan=tl.PropagateNan.ALL)
    elif ACTIVATION == "gelu":
        return 0.5 * y * (1 + tl.erf(y * 0.7071067811865476))
    elif ACTIVATION == "sigmoid":
        return 1 / (1 + tl.exp(-y))
    elif ACTIVATION == "tanh":
        return 1 - 2 / (tl.exp(2 * y) + 1)
    elif ACTIVATION == "silu":
        return y / (1 + tl.exp(-y))
    elif ACTIVATION == "hard_swish":
        return y * (tl.clamp(y + 3, 0.0, 6.0, propagate_nan=tl.PropagateNan.ALL) / 6)
    elif ACTIVATION == "hard_gate":
        return tl.clamp(y + 3, 0.0, 6.0, propagate_nan=tl.PropagateNan.ALL) / 6
    elif ACTIVATION == "relu6":
        return tl.clamp(y, 0.0, 6.0, propagate_nan=tl.PropagateNan.ALL)
    else:
        return y


@jit
def _add_partials(
    partials, bias, residual, out, splits, size, columns,
    ACTIVATION: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_RESIDUAL: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK,), partials.dtype.element_ty)
    for _ in range(splits):
        sums += tl.load(partials + at, mask=at < size, other=0)
        partials += size
    if HAS_BIAS:
        sums += tl.load(bias + at % columns, mask=at < size, other=0).to(sums.dtype)
    if HAS_RESIDUAL:
        sums += tl.load(residual + at, mask=at < size, other=0).to(sums.dtype)
    tl.store(out + at, activate(sums, ACTIVATION).to(out.dtype.element_ty), mask=at < size)


AOT = [
    AotCase(
        _add_partials,
        {"partials": "*fp32", "bias": "*fp16", "residual": "*fp16", "out": "*fp16",
         "splits": "i32", "size": "i32:16", "columns": "i32:16"},
        {"HAS_BIAS": True, "HAS_RESIDUAL": True, "ACTIVATION": "gelu", "BLOCK": _ADD_BLOCK},
    ),
]  # fmt: skip
