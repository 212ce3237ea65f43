"""Layer normalisation of the rows of a contiguous matrix, each held whole in registers.

Floor: forward 2 bytes(x), backward 3 bytes(x). The backward pass runs a fixed number of programs, each of which keeps
its share of the parameters' gradients in registers; a second, small launch adds the shares up.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton import reduce
from core.kernels.triton._counting import blocks_of
from core.kernels.triton._kernel import jit
from core.kernels.triton.aot import AotCase
from core.kernels.triton.targets import target_of
from core.kernels.triton.tiles import accumulator, in_triton

ROW = 16384  # longest row of the forward kernel
GRADIENT_ROW = 8192  # longest row of the backward kernel, which holds four tiles
TILE = 4096  # elements of several short rows together
SHARES = 4  # programs of the backward kernel for each processor


def fits(n: int) -> bool:
    """Whether rows of `n` elements are short enough for `forward`."""
    return n <= ROW


def gradient_fits(n: int) -> bool:
    """Whether rows of `n` elements are short enough for `backward`."""
    return n <= GRADIENT_ROW


def forward(x: Tensor, gamma: Tensor | None, beta: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(y (M, N), mean (M, 1), rstd (M, 1))."""
    m, n = x.shape
    acc = accumulator(x.dtype)
    mean, rstd = (torch.empty((m, 1), dtype=acc, device=x.device) for _ in range(2))
    y = torch.empty_like(x)
    tile, num_warps = _tile(m, n)
    grid = (triton.cdiv(m, tile["BM"]),)
    _forward_kernel[grid](x, gamma, beta, y, mean, rstd, m, n, EPS=eps, ACC=in_triton(acc), **tile, num_warps=num_warps)
    return y, mean, rstd


def backward(dy: Tensor, x: Tensor, gamma: Tensor | None, mean: Tensor, rstd: Tensor) -> tuple[Tensor, Tensor]:
    """dx (M, N), and the sums (2, N) over the rows of dy xhat and of dy."""
    m, n = x.shape
    tile, num_warps = _tile(m, n)
    programs = min(triton.cdiv(m, tile["BM"]), SHARES * target_of(x.device).processors)
    dx = torch.empty_like(x)
    shares = torch.empty((programs, 2, n), dtype=accumulator(x.dtype), device=x.device)
    _backward_kernel[(programs,)](
        dy, x, gamma, mean, rstd, dx, shares, m, n, ACC=in_triton(shares.dtype), **tile, num_warps=num_warps
    )
    return dx, reduce.sum(shares, (0,), False)


@jit
def _forward_kernel(
    x, gamma, beta, y, mean, rstd, m, n,
    EPS: tl.constexpr, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    i = tl.arange(0, BN)
    inside = (row < m)[:, None] & (i < n)[None, :]
    position = row[:, None] * n + i[None, :]
    v = tl.load(x + position, mask=inside, other=0).to(ACC)
    centre = tl.sum(v, 1) / n
    v = tl.where(inside, v - centre[:, None], 0)
    scale = 1 / tl.sqrt(tl.sum(v * v, 1) / n + EPS)
    tl.store(mean + row, centre, mask=row < m)
    tl.store(rstd + row, scale, mask=row < m)
    v *= scale[:, None]
    if gamma is not None:
        v *= tl.load(gamma + i, mask=i < n, other=0).to(ACC)[None, :]
    if beta is not None:
        v += tl.load(beta + i, mask=i < n, other=0).to(ACC)[None, :]
    tl.store(y + position, v.to(y.dtype.element_ty), mask=inside)


@jit
def _backward_kernel(dy, x, gamma, mean, rstd, dx, shares, m, n, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.arange(0, BN)
    with_x = tl.zeros([BM, BN], ACC)
    alone = tl.zeros([BM, BN], ACC)
    blocks = blocks_of(m, BM)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        row = block * BM + tl.arange(0, BM)
        inside = (row < m)[:, None] & (i < n)[None, :]
        position = row.to(tl.int64)[:, None] * n + i[None, :]
        g = tl.load(dy + position, mask=inside, other=0).to(ACC)
        v = tl.load(x + position, mask=inside, other=0).to(ACC)
        centre = tl.load(mean + row, mask=row < m, other=0)
        scale = tl.load(rstd + row, mask=row < m, other=0)
        xhat = tl.where(inside, (v - centre[:, None]) * scale[:, None], 0)
        with_x += g * xhat
        alone += g
        if gamma is not None:
            g *= tl.load(gamma + i, mask=i < n, other=0).to(ACC)[None, :]
        terms = (tl.sum(g, 1)[:, None] + xhat * tl.sum(g * xhat, 1)[:, None]) / n
        tl.store(dx + position, ((g - terms) * scale[:, None]).to(dx.dtype.element_ty), mask=inside)
    target = shares + tl.program_id(0) * 2 * n + i
    tl.store(target, tl.sum(with_x, 0), mask=i < n)
    tl.store(target + n, tl.sum(alone, 0), mask=i < n)


def _tile(m: int, n: int) -> tuple[dict[str, int], int]:
    bn = triton.next_power_of_2(n)
    bm = max(1, min(triton.next_power_of_2(m), TILE // bn, 64))
    return {"BM": bm, "BN": bn}, max(4, min(16, bm * bn // 512))


def _aot() -> Iterator[AotCase]:
    small = dict.fromkeys(("gamma", "beta", "mean", "rstd", "shares"), "*fp32")
    for dtype in ("*bf16", "*fp32"):
        types = small | dict.fromkeys(("x", "y", "dy", "dx"), dtype) | {"m": "i32", "n": "i32:16"}
        for kernel, longest in ((_forward_kernel, ROW), (_backward_kernel, GRADIENT_ROW)):
            for n in (64, 1024, 4096, longest):
                tile, num_warps = _tile(8192, n)
                constexprs = {"ACC": tl.float32, **tile} | ({"EPS": 1e-5} if "EPS" in kernel.arg_names else {})
                yield AotCase(kernel, {k: types[k] for k in kernel.arg_names if k in types}, constexprs, num_warps)


AOT = list(_aot())
