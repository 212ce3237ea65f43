"""The cross-entropy of a linear layer in Triton, without its logits in memory.

Forward, each program takes a block of rows and a part of the classes: logits come out of the product tile by tile and go
into an online maximum and sum in registers; a second kernel joins the parts. Backward, a part of the classes at a time:
`_dlogits` multiplies again and ends each tile with exp(logit - lse) and the label's 1, and two products make the
gradients of it, dw at once and dx added up in the accumulating type. Nothing is added with atomics, so that results
repeat.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from core.kernels.triton import reduce
from core.kernels.triton._kernel import jit
from core.kernels.triton._types import in_type
from core.kernels.triton.aot import AotCase, tensor_core
from core.kernels.triton.autotune import Config, choose, shape_class
from core.kernels.triton.copies import contiguous, write_
from core.kernels.triton.fills import fill_
from core.kernels.triton.matmul import _as_batch, _gemm
from core.kernels.triton.targets import target_of
from core.kernels.triton.tiles import accumulator, describable, in_triton, multiply_add, or_else, precision

PART = 2**25  # elements of the gradient of the logits that are in memory at a time
ROWS = 128  # rows of one program where parts are joined


def linear_cross_entropy(x: Tensor, w: Tensor, b: Tensor | None, label: Tensor) -> tuple[Tensor, Tensor]:
    x, w, label = contiguous(x), contiguous(w), contiguous(label)
    (count, _), classes = x.shape, w.shape[0]
    loss = torch.empty(count, dtype=x.dtype, device=x.device)
    lse = torch.empty(count, dtype=accumulator(x.dtype), device=x.device)
    if not count:
        return loss, lse
    processors = target_of(x.device).processors

    def launch(config: Config) -> None:
        blocks, columns = triton.cdiv(count, config["BM"]), triton.cdiv(classes, config["BN"])
        each = triton.cdiv(columns, max(1, min(columns, 2 * processors // blocks))) * config["BN"]
        splits = triton.cdiv(classes, each)
        parts = torch.empty((3, splits, count), dtype=lse.dtype, device=x.device)
        _losses[(blocks * splits,)](
            *_operands(x, w, config), or_else(b, x), label, parts, count, classes, x.shape[1], splits, each,
            HAS_BIAS=b is not None, **_options(x, w), **config.launch_options(),
        )  # fmt: skip
        _join[(triton.cdiv(count, ROWS),)](parts, loss, lse, count, splits, ROWS=ROWS)

    launch(_choose("linear_cross_entropy", x, w, launch))
    return loss, lse


def linear_cross_entropy_grad(
    dloss: Tensor, x: Tensor, w: Tensor, b: Tensor | None, label: Tensor, lse: Tensor
) -> tuple[Tensor, Tensor, Tensor | None]:
    dloss, x, w, label, lse = map(contiguous, (dloss, x, w, label, lse))
    (count, _), classes = x.shape, w.shape[0]
    dw, db = torch.empty_like(w), None if b is None else torch.empty_like(b)
    if not count:
        return torch.empty_like(x), fill_(dw, 0), None if db is None else fill_(db, 0)
    step = max(PART // count // ROWS, 1) * ROWS
    sums = None
    for first in range(0, classes, step):
        part, bias = w[first : first + step], None if b is None else b[first : first + step]
        d = _gradient_of_logits(dloss, x, part, bias, label, lse, first, classes)
        if db is not None:
            write_(db[first : first + step], reduce.sum(d, (0,), False))
        _gemm(_as_batch(d.T), _as_batch(x), out=dw[None, first : first + step])
        sums = _gemm(_as_batch(d), _as_batch(part), residual=sums, dtype=lse.dtype)[0]
    return in_type(sums, x.dtype), dw, db


def _gradient_of_logits(
    dloss: Tensor, x: Tensor, w: Tensor, b: Tensor | None, label: Tensor, lse: Tensor, first: int, every: int
) -> Tensor:
    """The gradient of the logits of some of `every` class: from `first` on those whose weights w are."""
    (count, _), classes = x.shape, w.shape[0]
    # Rows are a multiple of 16 bytes long, as descriptors of the two products want it.
    wide = triton.cdiv(classes, 16) * 16
    d = torch.empty((count, wide), dtype=x.dtype, device=x.device)

    def launch(config: Config) -> None:
        blocks, columns = triton.cdiv(count, config["BM"]), triton.cdiv(classes, config["BN"])
        _dlogits[(blocks * columns,)](
            *_operands(x, w, config), or_else(b, x), label, lse, dloss, d, count, classes, x.shape[1], first, every, wide,
            HAS_BIAS=b is not None, **_options(x, w), **config.launch_options(),
        )  # fmt: skip

    launch(_choose("linear_cross_entropy_grad", x, w, launch))
    return d[:, :classes]


# By bytes of an element; BM rows, BN classes, BK of what they are summed over.
def _tiles(bm: int, bn: int, bk: int, num_warps: int, num_stages: int) -> Config:
    return Config({"BM": bm, "BN": bn, "BK": bk}, num_warps, num_stages)


CONFIGS = {
    2: [_tiles(128, 128, 64, 8, 3), _tiles(64, 128, 64, 4, 3), _tiles(64, 64, 64, 4, 4)],
    4: [_tiles(64, 64, 32, 8, 3)],
    8: [_tiles(32, 32, 16, 8, 2)],
}


def _choose(name: str, x: Tensor, w: Tensor, launch) -> Config:
    key = (x.dtype, _described(x, w), *shape_class(x.shape[0], w.shape[0], x.shape[1]))
    return choose(name, key, CONFIGS[x.element_size()], launch)


def _described(x: Tensor, w: Tensor) -> bool:
    """Whether tiles come by descriptors."""
    return target_of(x.device).tma and all(describable(t[None]) for t in (x, w))


def _operands(x: Tensor, w: Tensor, config: Config) -> tuple:
    if not _described(x, w):
        return x, w
    return tuple(
        TensorDescriptor(t, list(t.shape), list(t.stride()), [config[rows], config["BK"]])
        for t, rows in ((x, "BM"), (w, "BN"))
    )


def _options(x: Tensor, w: Tensor) -> dict[str, object]:
    return {
        "DESCRIBED": _described(x, w),
        "ACC": in_triton(accumulator(x.dtype)),
        "PRECISION": precision(x.dtype, x.device),
    }


# ---------------------------------------------------------------- kernels


@jit
def _losses(
    x, w, b, label, parts, n, v, d, splits, each,
    HAS_BIAS: tl.constexpr, DESCRIBED: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Of a block of rows and a part of the classes: the largest logit, the sum of exponentials, the label's logit."""
    row, split = tl.program_id(0) // splits * BM, tl.program_id(0) % splits
    rows = row + tl.arange(0, BM)
    wanted = _classes(label, rows, n, v)
    largest = tl.full([BM], float("-inf"), ACC)
    total = tl.zeros([BM], ACC)
    chosen = tl.zeros([BM], ACC)
    for column in range(split * each, tl.minimum(split * each + each, v), BN):
        columns = column + tl.arange(0, BN)
        logits = _logits(x, w, b, row, column, n, v, d, HAS_BIAS, DESCRIBED, ACC, PRECISION, BM, BN, BK)
        chosen += tl.sum(tl.where(columns[None, :] == wanted[:, None], logits, 0), 1)
        logits = tl.where((columns < v)[None, :], logits, float("-inf"))
        raised = tl.maximum(largest, tl.max(logits, 1))
        base = tl.where(raised == float("-inf"), 0, raised)
        total = total * tl.exp(largest - base) + tl.sum(tl.exp(logits - base[:, None]), 1)
        largest = raised
    at = split.to(tl.int64) * n + rows
    every = tl.cast(splits, tl.int64) * n
    tl.store(parts + at, largest, mask=rows < n)
    tl.store(parts + every + at, total, mask=rows < n)
    tl.store(parts + 2 * every + at, chosen, mask=rows < n)


@jit
def _join(parts, loss, lse, n, splits, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    valid = rows < n
    every = tl.cast(splits, tl.int64) * n
    largest = tl.full([ROWS], float("-inf"), lse.dtype.element_ty)
    total = tl.zeros([ROWS], lse.dtype.element_ty)
    chosen = tl.zeros([ROWS], lse.dtype.element_ty)
    for split in range(splits):
        at = tl.cast(split, tl.int64) * n + rows
        other = tl.load(parts + at, mask=valid, other=0)
        raised = tl.maximum(largest, other)
        base = tl.where(raised == float("-inf"), 0, raised)
        part = tl.load(parts + every + at, mask=valid, other=0)
        total = total * tl.exp(largest - base) + part * tl.exp(other - base)
        chosen += tl.load(parts + 2 * every + at, mask=valid, other=0)
        largest = raised
    result = largest + tl.log(total)
    tl.store(lse + rows, result, mask=valid)
    tl.store(loss + rows, (result - chosen).to(loss.dtype.element_ty), mask=valid)


@jit
def _dlogits(
    x, w, b, label, lse, dloss, out, n, v, d, first, every, wide,
    HAS_BIAS: tl.constexpr, DESCRIBED: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """dloss (softmax - onehot) of a tile. Rows follow one another, so that they find the weights in the L2 cache."""
    blocks = tl.cdiv(n, BM)
    row, column = tl.program_id(0) % blocks * BM, tl.program_id(0) // blocks * BN
    rows, columns = row + tl.arange(0, BM), column + tl.arange(0, BN)
    logits = _logits(x, w, b, row, column, n, v, d, HAS_BIAS, DESCRIBED, ACC, PRECISION, BM, BN, BK)
    p = tl.exp(logits - tl.load(lse + rows, mask=rows < n, other=0)[:, None])
    hot = (first + columns)[None, :] == _classes(label, rows, n, every)[:, None]
    result = (p - hot.to(ACC)) * tl.load(dloss + rows, mask=rows < n, other=0).to(ACC)[:, None]
    positions = rows[:, None].to(tl.int64) * wide + columns[None, :]
    mask = (rows < n)[:, None] & (columns < v)[None, :]
    tl.store(out + positions, result.to(out.dtype.element_ty), mask=mask)


@jit
def _logits(
    x, w, b, row, column, n, v, d,
    HAS_BIAS: tl.constexpr, DESCRIBED: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A tile of x w^T + b; what lies beyond the classes is of no use."""
    columns = column + tl.arange(0, BN)
    sums = tl.zeros([BM, BN], ACC)
    if DESCRIBED:
        for at in range(0, d, BK):
            sums = multiply_add(x.load([row, at]), w.load([column, at]).T, sums, PRECISION)
    else:
        rows, inner = row + tl.arange(0, BM), tl.arange(0, BK)
        x_places = x + rows.to(tl.int64)[:, None] * d + inner[None, :]
        w_places = w + columns.to(tl.int64)[None, :] * d + inner[:, None]
        for at in range(0, d, BK):
            there = inner < d - at
            left = tl.load(x_places + at, mask=(rows < n)[:, None] & there[None, :], other=0)
            right = tl.load(w_places + at, mask=(columns < v)[None, :] & there[:, None], other=0)
            sums = multiply_add(left, right, sums, PRECISION)
    if HAS_BIAS:
        sums += tl.load(b + columns, mask=columns < v, other=0).to(ACC)[None, :]
    return sums


@jit
def _classes(label, rows, n, v):
    return tl.minimum(tl.maximum(tl.load(label + rows, mask=rows < n, other=0).to(tl.int64), 0), v - 1)


# ---------------------------------------------------------------- ahead of time


def _aot() -> Iterator[AotCase]:
    kinds = {2: ("bf16", "fp32", tl.float32), 4: ("fp32", "fp32", tl.float32), 8: ("fp64", "fp64", tl.float64)}
    sizes = {"n": "i32", "v": "i32:16", "d": "i32:16", "splits": "i32", "each": "i32:16"}
    sizes |= {"first": "i32:16", "every": "i32:16", "wide": "i32:16"}
    for size, configs in CONFIGS.items():
        kind, wide, acc = kinds[size]
        types = sizes | dict.fromkeys(("x", "w", "b", "dloss", "out"), f"*{kind}") | {"label": "*i64"}
        types |= dict.fromkeys(("lse", "parts"), f"*{wide}")
        for kernel, config, described in (
            (kernel, config, described)
            for kernel in (_losses, _dlogits)
            for config in configs
            for described in (False, True)
            if not described or size < 8
        ):
            bm, bn, bk = (config[name] for name in ("BM", "BN", "BK"))
            blocks = {"x": f"tensordesc<{kind}[{bm}, {bk}]>", "w": f"tensordesc<{kind}[{bn}, {bk}]>"}
            given = types | (blocks if described else {})
            yield AotCase(
                kernel, {name: given[name] for name in kernel.arg_names if name in given},
                {"HAS_BIAS": True, "DESCRIBED": described, "ACC": acc,
                 "PRECISION": "tf32x3" if size == 4 else "ieee", **config.constexprs},
                config.num_warps, config.num_stages, tensor_core(bm, config.num_warps, kind),
                "tma" if described else "cp.async", since=90 if described else 80,
            )  # fmt: skip
    yield AotCase(
        _join, {"parts": "*fp32", "loss": "*bf16", "lse": "*fp32", "n": "i32", "splits": "i32"}, {"ROWS": ROWS}
    )


AOT = list(_aot())
