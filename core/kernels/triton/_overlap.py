"""Boxes in registers, and overlaps of all pairs of two lists of boxes: what the kernels of `boxes` share.

Floor of `pairwise`: the bytes of the result, for the boxes are few.
"""

from __future__ import annotations

import triton
import triton.language as tl

from core.kernels.triton._counting import blocks_of
from core.kernels.triton._kernel import jit
from core.kernels.triton.aot import AotCase

TILE = 64


def pairwise(lhs, rhs, out, width=4, column=0, counts=None, center=False):
    """Fills out (batch, n, m) with intersections over unions.

    lhs (batch, n, width) with boxes from `column` on; rhs (m, 4). counts (batch,): rows beyond it are -1. All
    contiguous.
    """
    batch, n, m = out.shape
    if out.numel():
        _pairwise[(batch * triton.cdiv(n, TILE) * triton.cdiv(m, TILE),)](
            lhs, rhs, lhs if counts is None else counts, out, n, m, width, column,
            COUNTED=counts is not None, CENTER=center, TILE=TILE, num_warps=8,
        )  # fmt: skip


# ------------------------------------------------------------ device code


@jit
def load(ptr, at, inside):
    """Elements in float32, or float64."""
    return tl.load(ptr + at, inside, 0).to(tl.float64 if ptr.dtype.element_ty == tl.float64 else tl.float32)


@jit
def load_box(ptr, at, inside, CENTER: tl.constexpr):
    """Left, top, right and bottom of the boxes at ptr + at, which are kept around their centres with CENTER."""
    a, b, c, d = load(ptr, at, inside), load(ptr, at + 1, inside), load(ptr, at + 2, inside), load(ptr, at + 3, inside)
    if CENTER:
        return corners(a, b, c, d)
    else:
        return a, b, c, d


@jit
def store_box(ptr, at, a, b, c, d, inside):
    tl.store(ptr + at, a, inside)
    tl.store(ptr + at + 1, b, inside)
    tl.store(ptr + at + 2, c, inside)
    tl.store(ptr + at + 3, d, inside)


@jit
def corners(x, y, width, height):
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


@jit
def centers(left, top, right, bottom):
    return (left + right) / 2, (top + bottom) / 2, right - left, bottom - top


@jit
def overlap(left, top, right, bottom, left2, top2, right2, bottom2):
    """Intersection over union; 0 where nothing is shared."""
    width = tl.maximum(tl.minimum(right, right2) - tl.maximum(left, left2), 0.0)
    height = tl.maximum(tl.minimum(bottom, bottom2) - tl.maximum(top, top2), 0.0)
    shared = width * height
    union = _area(left, top, right, bottom) + _area(left2, top2, right2, bottom2) - shared
    return tl.where(shared > 0, shared / tl.where(shared > 0, union, 1.0), 0.0)


@jit
def _area(left, top, right, bottom):
    width, height = right - left, bottom - top
    return tl.where((width < 0) | (height < 0), 0.0, width * height)


@jit
def _pairwise(
    lhs_ptr, rhs_ptr, counts_ptr, out_ptr, n, m, width, column,
    COUNTED: tl.constexpr, CENTER: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    tall, across = blocks_of(n, TILE), blocks_of(m, TILE)
    image = (tl.program_id(0) // (tall * across)).to(tl.int64)
    row = tl.program_id(0) // across % tall * TILE + tl.arange(0, TILE)
    position = tl.program_id(0) % across * TILE + tl.arange(0, TILE)
    number = image * n + row
    a, b, c, d = load_box(lhs_ptr, number * width + column, row < n, CENTER)
    a2, b2, c2, d2 = load_box(rhs_ptr, position.to(tl.int64) * 4, position < m, CENTER)
    iou = overlap(
        a[:, None], b[:, None], c[:, None], d[:, None], a2[None, :], b2[None, :], c2[None, :], d2[None, :]
    )  # fmt: skip
    if COUNTED:
        iou = tl.where((row < tl.load(counts_ptr + image))[:, None], iou, -1.0)
    tl.store(out_ptr + number[:, None] * m + position[None, :], iou, (row < n)[:, None] & (position < m)[None, :])


AOT = [
    AotCase(
        _pairwise,
        {"lhs_ptr": "*fp32", "rhs_ptr": "*fp32", "counts_ptr": "*i64", "out_ptr": "*fp32"}
        | dict.fromkeys(("n", "m", "width", "column"), "i32"),
        {"COUNTED": counted, "CENTER": not counted, "TILE": TILE},
        num_warps=8,
    )
    for counted in (False, True)
]
