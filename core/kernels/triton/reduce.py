"""Reductions and scans in Triton.

A reduction to few results runs in two stages: chunks of the reduced side to partial results, then those. No atomics:
results repeat bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.base import MXNetError
from core.kernels.contracts.rules import need_elements
from core.kernels.triton._counting import program
from core.kernels.triton._fold import Fold, fold, offset
from core.kernels.triton._kernel import jit
from core.kernels.triton._moments import moments_of
from core.kernels.triton._scan import scan
from core.kernels.triton._stages import aot_cases, tiling
from core.kernels.triton._types import in_type
from core.kernels.triton.aot import AotCase
from core.kernels.triton.rows import as_bytes
from core.kernels.triton.tiles import accumulator, in_triton


def sum(x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: torch.dtype | None = None) -> Tensor:
    return _reduce("value", "sum", "value", x, axes, keepdims, dtype or x.dtype)


def mean(x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: torch.dtype | None = None) -> Tensor:
    return _reduce("value", "sum", "mean", x, axes, keepdims, dtype or x.dtype)


def prod(x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: torch.dtype | None = None) -> Tensor:
    return _reduce("value", "prod", "value", x, axes, keepdims, dtype or x.dtype)


def max(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    need_elements("max", x, axes)
    return _reduce("value", "max", "value", x, axes, keepdims, x.dtype)


def min(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    need_elements("min", x, axes)
    return _reduce("value", "min", "value", x, axes, keepdims, x.dtype)


def nansum(x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: torch.dtype | None = None) -> Tensor:
    return _reduce("nan is 0", "sum", "value", x, axes, keepdims, dtype or x.dtype)


def nanprod(x: Tensor, axes: tuple[int, ...], keepdims: bool, dtype: torch.dtype | None = None) -> Tensor:
    return _reduce("nan is 1", "prod", "value", x, axes, keepdims, dtype or x.dtype)


def all(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return _reduce("non-zero", "min", "non-zero", x, axes, keepdims, torch.bool)


def any(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return _reduce("non-zero", "sum", "non-zero", x, axes, keepdims, torch.bool)


def norm(x: Tensor, ord: int, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if ord not in (1, 2):
        raise MXNetError(f"norm: ord={ord} was given; accepted are 1 and 2")
    dtype = x.dtype if x.is_floating_point() else torch.float32
    before, after = ("absolute", "value") if ord == 1 else ("square", "root")
    return _reduce(before, "sum", after, x, axes, keepdims, dtype)


def moments(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> tuple[Tensor, Tensor]:
    mean, var = moments_of(fold(x, axes), x.dtype)
    shape = _shape(x, axes, keepdims)
    return mean.view(shape), var.view(shape)


def argmax(x: Tensor, axis: int, keepdims: bool, dtype: torch.dtype = torch.int64) -> Tensor:
    return in_type(_index_of_extremum("argmax", x, axis, keepdims), dtype)


def argmin(x: Tensor, axis: int, keepdims: bool, dtype: torch.dtype = torch.int64) -> Tensor:
    return in_type(_index_of_extremum("argmin", x, axis, keepdims), dtype)


def cumsum(x: Tensor, axis: int, dtype: torch.dtype | None = None) -> Tensor:
    return scan(x, axis, dtype or x.dtype, product=False)


def cumprod(x: Tensor, axis: int, dtype: torch.dtype | None = None) -> Tensor:
    return scan(x, axis, dtype or x.dtype, product=True)


def logsumexp(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    acc = accumulator(x.dtype)

    def stage(f: Fold, out: Tensor, last: bool) -> None:
        _launch(_logsumexp_kernel, f, (f.x, out), out.shape[0], {"ACC": in_triton(acc)})

    return _staged(stage, fold(x, axes), x.dtype, acc).view(_shape(x, axes, keepdims))


@jit(do_not_specialize=["count"])
def _reduce_kernel(
    x, out, kept, k0, ks1, ks0, reduced, r0, rs1, rs0, chunk, count,
    BEFORE: tl.constexpr, COMBINE: tl.constexpr, AFTER: tl.constexpr, ACC: tl.constexpr,
    K2: tl.constexpr, R2: tl.constexpr, WIDE: tl.constexpr, BK: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    """BEFORE is applied to each element, COMBINE reduces, AFTER is applied to the result of the last stage."""
    split = program(1, WIDE)
    k = program(0, WIDE) * BK + tl.arange(0, BK)
    base = x + offset(k, k0, ks1, ks0, K2)[:, None]
    stop = tl.minimum(split * chunk + chunk, reduced)
    identity = _identity(COMBINE, ACC)
    total = tl.full([BK, BR], 0, ACC) + identity
    for first in range(split * chunk, stop, BR):
        r = first + tl.arange(0, BR)
        inside = (k < kept)[:, None] & (r < stop)[None, :]
        v = tl.load(base + offset(r, r0, rs1, rs0, R2)[None, :], mask=inside, other=0)
        if BEFORE == "non-zero":
            v = v != 0
        v = v.to(ACC)
        if BEFORE == "nan is 0":
            v = tl.where(v == v, v, 0)
        if BEFORE == "nan is 1":
            v = tl.where(v == v, v, 1)
        if BEFORE == "absolute":
            v = tl.abs(v)
        if BEFORE == "square":
            v = v * v
        v = tl.where(inside, v, identity)
        if COMBINE == "sum":
            total += v
        elif COMBINE == "prod":
            total *= v
        elif COMBINE == "max":
            total = tl.maximum(total, v, propagate_nan=tl.PropagateNan.ALL)
        else:
            total = tl.minimum(total, v, propagate_nan=tl.PropagateNan.ALL)
    if COMBINE == "sum":
        result = tl.sum(total, 1)
    elif COMBINE == "prod":
        result = tl.reduce(total, 1, _multiply)
    elif COMBINE == "max":
        result = _with_nan(tl.max(total, 1), total)
    else:
        result = _with_nan(tl.min(total, 1), total)
    if AFTER == "mean":
        if tl.int64 == ACC:
            result = result // count
        else:
            result = result / count.to(ACC)
    if AFTER == "root":
        result = tl.sqrt(result)
    if AFTER == "non-zero":
        result = result != 0
    tl.store(out + (split.to(tl.int64) * kept + k), result.to(out.dtype.element_ty), mask=k < kept)


@jit
def _index_kernel(
    x, index_in, out, index_out, kept, k0, ks1, ks0, reduced, r0, rs1, rs0, chunk,
    LARGEST: tl.constexpr, PARTIAL: tl.constexpr, ACC: tl.constexpr,
    K2: tl.constexpr, R2: tl.constexpr, WIDE: tl.constexpr, BK: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    """Extremum and its index. PARTIAL: `index_in`, laid out as `x`, holds the indices that the elements stand for."""
    split = program(1, WIDE)
    k = program(0, WIDE) * BK + tl.arange(0, BK)
    base = offset(k, k0, ks1, ks0, K2)[:, None]
    stop = tl.minimum(split * chunk + chunk, reduced)
    none = 0x7FFFFFFFFFFFFFFF
    best = tl.full([BK, BR], 0, ACC) + _identity("max" if LARGEST else "min", ACC)
    where = tl.full([BK, BR], none, tl.int64)
    for first in range(split * chunk, stop, BR):
        r = first + tl.arange(0, BR)
        inside = (k < kept)[:, None] & (r < stop)[None, :]
        position = base + offset(r, r0, rs1, rs0, R2)[None, :]
        v = tl.load(x + position, mask=inside, other=0).to(ACC)
        if PARTIAL:
            i = tl.load(index_in + position, mask=inside, other=0)
        else:
            i = tl.broadcast_to(r.to(tl.int64)[None, :], [BK, BR])
        # Indices rise from step to step, so an earlier tie stays; a NaN beats all but an earlier NaN.
        if LARGEST:
            better = (v > best) | ((v != v) & (best == best)) | (where == none)
        else:
            better = (v < best) | ((v != v) & (best == best)) | (where == none)
        better = better & inside
        best = tl.where(better, v, best)
        where = tl.where(better, i, where)
    extremum = tl.max(best, 1) if LARGEST else tl.min(best, 1)
    is_nan = (best != best) & (where != none)
    first_nan = tl.min(tl.where(is_nan, where, none), 1)
    first_best = tl.min(tl.where(best == extremum[:, None], where, none), 1)
    has_nan = first_nan != none
    target = split.to(tl.int64) * kept + k
    tl.store(index_out + target, tl.where(has_nan, first_nan, first_best), mask=k < kept)
    if out is not None:
        tl.store(out + target, _with_nan(extremum, best), mask=k < kept)


@jit
def _logsumexp_kernel(
    x, out, kept, k0, ks1, ks0, reduced, r0, rs1, rs0, chunk,
    ACC: tl.constexpr, K2: tl.constexpr, R2: tl.constexpr, WIDE: tl.constexpr, BK: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    """Online: every lane keeps a maximum and a sum relative to it. Both stages are this kernel."""
    split = program(1, WIDE)
    k = program(0, WIDE) * BK + tl.arange(0, BK)
    base = x + offset(k, k0, ks1, ks0, K2)[:, None]
    stop = tl.minimum(split * chunk + chunk, reduced)
    largest = tl.full([BK, BR], float("-inf"), ACC)
    total = tl.zeros([BK, BR], ACC)
    for first in range(split * chunk, stop, BR):
        r = first + tl.arange(0, BR)
        inside = (k < kept)[:, None] & (r < stop)[None, :]
        v = tl.load(base + offset(r, r0, rs1, rs0, R2)[None, :], mask=inside, other=float("-inf")).to(ACC)
        raised = tl.maximum(largest, v)
        # Infinite maxima are subtracted as 0: inf - inf would be NaN.
        pivot = tl.where(tl.abs(raised) == float("inf"), 0, raised)
        total = total * tl.exp(largest - pivot) + tl.exp(v - pivot)
        largest = raised
    row = tl.max(largest, 1)
    pivot = tl.where(tl.abs(row) == float("inf"), 0, row)
    # A lane's sum is relative to its own maximum, or to 0 where that is infinite; one that saw only -inf sums to 0.
    own = tl.where(largest == float("inf"), 0, tl.where(largest == float("-inf"), pivot[:, None], largest))
    result = pivot + tl.log(tl.sum(total * tl.exp(own - pivot[:, None]), 1))
    tl.store(out + (split.to(tl.int64) * kept + k), result.to(out.dtype.element_ty), mask=k < kept)


@jit
def _multiply(a, b):
    return a * b


@jit
def _with_nan(result, elements):
    """`result`, or NaN where a row of `elements` has one: tl.max and tl.min pass over them."""
    if elements.dtype.is_floating():
        result = tl.where(tl.sum((elements != elements).to(tl.int32), 1) > 0, float("nan"), result)
    return result


@jit
def _identity(COMBINE: tl.constexpr, ACC: tl.constexpr):
    if COMBINE == "sum":
        value = 0
    elif COMBINE == "prod":
        value = 1
    elif COMBINE == "max":
        value = -0x7FFFFFFFFFFFFFFF - 1 if tl.int64 == ACC else float("-inf")
    else:
        value = 0x7FFFFFFFFFFFFFFF if tl.int64 == ACC else float("inf")
    return value


def _reduce(before, combine, after, x, axes, keepdims, dtype):
    """`dtype` of the result decides the accumulator, except that a maximum's is that of `x`."""
    out_type = torch.uint8 if dtype == torch.bool else dtype
    acc = torch.int64 if before == "non-zero" else accumulator(dtype)
    folded = fold(as_bytes(x), axes)
    # The integer mean of nothing is 0, the floating-point one NaN.
    count = folded.reduced if dtype.is_floating_point or folded.reduced else 1

    def stage(f: Fold, out: Tensor, last: bool) -> None:
        steps = {
            "BEFORE": before if f.x is folded.x else "value",
            "COMBINE": combine,
            "AFTER": after if last else "value",
            "ACC": in_triton(acc),
        }
        _launch(_reduce_kernel, f, (f.x, out), out.shape[0], steps, count=count)

    out = _staged(stage, folded, out_type, acc)
    return (out.view(torch.bool) if dtype == torch.bool else out).view(_shape(x, axes, keepdims))


def _staged(stage, f: Fold, dtype: torch.dtype, acc: torch.dtype) -> Tensor:
    """Runs `stage(fold, out (splits, kept), last)` once, or a second time over the partial results of the first."""
    out = torch.empty((1, f.kept), dtype=dtype, device=f.x.device)
    if f.kept == 0:
        return out
    splits = tiling(f).splits
    if splits > 1:
        partial = torch.empty((splits, f.kept), dtype=acc, device=f.x.device)
        stage(f, partial, False)
        f = fold(partial, (0,))
    stage(f, out, True)
    return out


def _launch(kernel, f: Fold, pointers, splits: int, constexprs, **scalars) -> None:
    t = tiling(f)
    chunk = t.chunk if splits > 1 else f.reduced
    kernel[(triton.cdiv(f.kept, t.BK), splits)](
        *pointers, *f.arguments, chunk, **scalars, **constexprs, **f.flags, BK=t.BK, BR=t.BR, num_warps=t.num_warps
    )


def _index_of_extremum(name: str, x: Tensor, axis: int, keepdims: bool) -> Tensor:
    need_elements(name, x, (axis,))
    acc = accumulator(x.dtype)
    f = fold(as_bytes(x), (axis,))
    splits = tiling(f).splits if f.kept else 1
    constexprs = {"LARGEST": name == "argmax", "ACC": in_triton(acc)}
    index = torch.empty((splits, f.kept), dtype=torch.int64, device=x.device)
    if f.kept and splits == 1:
        _launch(_index_kernel, f, (f.x, None, None, index), 1, {**constexprs, "PARTIAL": False})
    elif f.kept:
        best = torch.empty((splits, f.kept), dtype=acc, device=x.device)
        _launch(_index_kernel, f, (f.x, None, best, index), splits, {**constexprs, "PARTIAL": False})
        final = torch.empty((1, f.kept), dtype=torch.int64, device=x.device)
        _launch(_index_kernel, fold(best, (0,)), (best, index, None, final), 1, {**constexprs, "PARTIAL": True})
        index = final
    return index.view(_shape(x, (axis,), keepdims))


def _shape(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> list[int]:
    if keepdims:
        return [1 if axis in axes else n for axis, n in enumerate(x.shape)]
    return [n for axis, n in enumerate(x.shape) if axis not in axes]


def _aot() -> Iterator[AotCase]:
    floats = (("*fp32", tl.float32), ("*bf16", tl.float32), ("*fp64", tl.float64))
    steps = [("value", "sum", "mean"), ("value", "prod", "value"), ("value", "max", "value"), ("square", "sum", "root")]
    for dtype, acc in (*floats, ("*i32", tl.int64)):
        for before, combine, after in steps if acc == tl.float32 else steps[:1]:
            constexprs = {"BEFORE": before, "COMBINE": combine, "AFTER": after, "ACC": acc}
            yield from aot_cases(_reduce_kernel, {"x": dtype, "out": dtype}, {"count": "i32"}, constexprs)
    for dtype, acc in (floats[1], ("*i32", tl.int64)):
        constexprs = {"LARGEST": True, "PARTIAL": False, "ACC": acc, "index_in": None, "out": None}
        yield from aot_cases(_index_kernel, {"x": dtype, "index_out": "*i64"}, {}, constexprs)
    for dtype, acc in floats[1:]:
        yield from aot_cases(_logsumexp_kernel, {"x": dtype, "out": dtype}, {}, {"ACC": acc})


AOT = list(_aot())
