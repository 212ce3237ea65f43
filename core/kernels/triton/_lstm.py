"""An LSTM's steps in one launch, where its recurrent weights are few enough to stay near the processors.

A program has some columns of the hidden state and its rows of a tile of the batch. In each step it multiplies the
whole hidden state of these rows with its columns' weights, 4 H rows of them over all programs, and applies the gates.
Then it waits for the others of its tile, for what they made is what it multiplies next: each adds one to a counter in
memory and reads that until all have. So all programs of a launch have to run at the same time. The launch asks the
driver for that (it is cooperative, and fails if they cannot), and `tiling` gives only as many as there are processors.
Up to 32 columns are one program's, which waits for nobody.

Floor: a step reads 4 H^2 weights once over all programs (8 MB in half precision at H = 1024), out of the L2 cache from
the second step on, and N H states once for each program; it cannot be shorter than an addition and a read in the L2
cache, one after the other. Step by step there are two launches in its place, and the same reads. On sm_90 a program takes
62 to 254 registers a thread, spills none, and has 6 to 82 kB of shared memory.

Sums are added in one order, so results repeat bit for bit. Source: Diamos et al., "Persistent RNNs: Stashing Recurrent
Weights On-Chip", ICML 2016, for waiting within a launch.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from core.kernels.triton._counting import blocks_of
from core.kernels.triton._filled import zeros
from core.kernels.triton._kernel import INTERPRETED, jit
from core.kernels.triton._types import in_type
from core.kernels.triton._waiting import announce, threads_of, wait_for
from core.kernels.triton.aot import AotCase, tensor_core
from core.kernels.triton.copies import contiguous, write_
from core.kernels.triton.functions import sigmoid, tanh
from core.kernels.triton.targets import Target, target_of
from core.kernels.triton.tiles import multiply_add, precision

MOST_HIDDEN = 1024
_ALONE = 32  # columns that one program takes for itself
_COLUMNS = (8, 16, 32)  # of a program among several: the fewer, the more programs share the weights
_NARROWEST = {32: 8, 64: 16}  # columns that the matrix instructions have, by warp size
_MOST_TILES = 2**16 - 1  # the second axis of a grid
_BYTES_K = 128  # of a row of the hidden state that are multiplied at once


class Tiling(NamedTuple):
    """rows: of the batch, columns: of the hidden state, that a program has at a time; grid: programs and tiles."""

    rows: int
    columns: int
    grid: tuple[int, int]


def tiling(batch: int, hidden: int, target: Target) -> Tiling | None:
    """How a batch is shared out; None where that takes more programs than there are processors."""
    rows = min(64, max(16, triton.next_power_of_2(batch)))
    tiles = triton.cdiv(batch, rows)
    if tiles > _MOST_TILES:
        return None
    if hidden <= _ALONE or INTERPRETED:  # the interpreter runs one program after the other, so none may wait
        return Tiling(rows, _ALONE, (1, tiles))
    shared = (Tiling(rows, columns, (triton.cdiv(hidden, columns), tiles)) for columns in _COLUMNS)
    return next(
        (t for t in shared if t.grid[0] * tiles <= target.processors and t.columns >= _NARROWEST[target.warp_size]),
        None,
    )


def tiling_of(x: Tensor, h: Tensor) -> Tiling | None:
    """How the steps of an input (T, N, I) and a state (N, H) are shared out; None where they are to be taken one by one."""
    (steps, batch), hidden = x.shape[:2], h.shape[1]
    if not (steps and batch and 1 < hidden <= MOST_HIDDEN) or x.dtype not in _TYPES:
        return None
    return tiling(batch, hidden, target_of(x.device))


_TYPES = (torch.float16, torch.bfloat16, torch.float32)


def forward(
    gates: Tensor, w: Tensor, bias: Tensor, h: Tensor, c: Tensor, out: Tensor, cells: Tensor, order, how: Tiling
) -> None:
    """Activates the gates (T, N, 4 H) in place, and fills `out` and `cells` (T, N, H), in `order`.

    gates: the projected inputs; w (4 H, H) and bias (4 H,): those of the hidden state; h, c (N, H): the first states.
    """
    (steps, batch, hidden), first = cells.shape, order[0]
    wide, states = _wide(hidden), out
    if wide != hidden:
        states = torch.empty((steps, batch, wide), dtype=out.dtype, device=out.device)
    _lstm_steps[how.grid](
        gates[first], _widened(w, wide), bias, _widened(h, wide), in_type(c, cells.dtype), states[first], cells[first],
        _nobody(how, w), steps, batch, hidden, wide, states.stride(1),
        *(order.step * t.stride(0) for t in (gates, states, cells)), **_options(_lstm_steps, how, wide, w),
    )  # fmt: skip
    if states is not out:
        write_(out, states[..., :hidden])


def backward(
    gates: Tensor,
    w: Tensor,
    cells: Tensor,
    cells_before: Tensor,
    dys: Tensor,
    dh: Tensor,
    dc: Tensor,
    d: Tensor,
    order,
    how: Tiling,
) -> None:
    """Fills d (T, N, 4 H) with the gradients of the projections, against `order`; dh and dc (N, H) become those of the
    first states.

    gates, cells, w: as `forward` left them; cells_before, dys (T, N, H): the cells of the step before, and the gradients
    of its outputs; rows of d are memory of `gate_gradients`.
    """
    (steps, batch, hidden), last = cells.shape, order[-1]
    wide = _wide(4 * hidden)
    turns = (-order.step * t.stride(0) for t in (gates, cells, dys, d))
    _lstm_steps_back[how.grid](
        dh, dc, gates[last], cells[last], cells_before[last], dys[last], d[last], _widened(w.t(), wide),
        _nobody(how, w), steps, batch, hidden, wide, *turns, **_options(_lstm_steps_back, how, wide, w),
    )  # fmt: skip


def gate_gradients(steps: int, batch: int, hidden: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Memory (T, N, 4 H) whose rows are followed by zeros up to a multiple of 16 elements."""
    wide = _wide(4 * hidden)
    if wide == 4 * hidden:
        return torch.empty((steps, batch, wide), dtype=dtype, device=device)
    return zeros((steps, batch, wide), dtype, device)[..., : 4 * hidden]


def _wide(length: int) -> int:
    """Elements of a row, so that rows begin at multiples of 16 elements."""
    return triton.cdiv(length, 16) * 16


def _widened(t: Tensor, columns: int) -> Tensor:
    """The matrix, row after row, with columns of zeros added."""
    if t.shape[1] == columns:
        return contiguous(t)
    wide = zeros((t.shape[0], columns), t.dtype, t.device)
    write_(wide[:, : t.shape[1]], t)
    return wide


def _nobody(how: Tiling, like: Tensor) -> Tensor:
    """Counters of the programs of each tile that have come to the end of their steps."""
    return zeros(how.grid[1:], torch.int32, like.device)


def _options(kernel, how: Tiling, length: int, w: Tensor) -> dict:
    block_k, warps = _BYTES_K // w.element_size(), _warps(kernel, how.rows, how.columns)
    return {
        "EVEN_K": length % block_k == 0, "PRECISION": precision(w.dtype, w.device),
        "THREADS": threads_of(target_of(w.device).backend, warps), "BLOCK_N": how.rows,
        "BLOCK_H": how.columns, "BLOCK_K": block_k, "num_warps": warps,
        "num_stages": _STAGES, "launch_cooperative_grid": True,
    }  # fmt: skip


_STAGES = 3


def _warps(kernel, rows: int, columns: int) -> int:
    """So many that none spills registers. Going forward a program has four gates of each column at once."""
    return 8 if rows * columns >= 1024 or (kernel is _lstm_steps and columns >= 32) else 4


# ---------------------------------------------------------------- kernels


@jit
def _lstm_steps(
    gates_ptr, w_ptr, bias_ptr, h_ptr, c_ptr, states_ptr, cells_ptr, arrived_ptr,
    steps, batch, hidden, wide, states_row, gates_turn, states_turn, cells_turn,
    EVEN_K: tl.constexpr, PRECISION: tl.constexpr, THREADS: tl.constexpr,
    BLOCK_N: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Pointers are at the first step; what ends in turn leads to the next."""
    rows, here = _rows_of(tl.program_id(1), batch, BLOCK_N)
    arrived_ptr += tl.program_id(1)
    programs = tl.num_programs(0)
    awaited, h_row = 0, wide
    for _ in range(steps):
        for block in range(tl.program_id(0), blocks_of(wide, BLOCK_H), programs):
            # The four gates of a column stand side by side.
            column = tl.arange(0, 4 * BLOCK_H)
            unit = block * BLOCK_H + column // 4
            w_at = w_ptr + ((column % 4) * hidden + unit)[None, :] * wide
            sums = _product(
                h_ptr + rows * h_row, here, w_at, (unit < hidden)[None, :], wide, EVEN_K, PRECISION, BLOCK_K
            )
            even, odd = tl.split(tl.reshape(sums, (BLOCK_N, BLOCK_H, 2, 2)))
            i, g = tl.split(even)
            f, o = tl.split(odd)
            columns = block * BLOCK_H + tl.arange(0, BLOCK_H)
            known = columns < hidden
            inside, at = here & known[None, :], rows * hidden + columns[None, :]
            gate, bias = gates_ptr + rows * (4 * hidden) + columns[None, :], bias_ptr + columns
            i = sigmoid(_projected(i, gate, inside, bias, known))
            f = sigmoid(_projected(f, gate + hidden, inside, bias + hidden, known))
            g = tanh(_projected(g, gate + 2 * hidden, inside, bias + 2 * hidden, known))
            o = sigmoid(_projected(o, gate + 3 * hidden, inside, bias + 3 * hidden, known))
            c = f * tl.load(c_ptr + at, inside, 0) + i * g
            tl.store(gate, i, inside)
            tl.store(gate + hidden, f, inside)
            tl.store(gate + 2 * hidden, g, inside)
            tl.store(gate + 3 * hidden, o, inside)
            tl.store(cells_ptr + at, c, inside)
            h = (o * tanh(c)).to(states_ptr.dtype.element_ty)  # 0 beyond the hidden state
            tl.store(states_ptr + rows * states_row + columns[None, :], h, here & (columns < wide)[None, :])
        h_ptr, h_row, c_ptr = states_ptr, states_row, cells_ptr
        gates_ptr += gates_turn
        states_ptr += states_turn
        cells_ptr += cells_turn
        awaited += programs
        _wait(arrived_ptr, awaited, programs, THREADS)


@jit
def _lstm_steps_back(
    dh_ptr, dc_ptr, gates_ptr, cells_ptr, before_ptr, dys_ptr, d_ptr, w_ptr, arrived_ptr,
    steps, batch, hidden, wide, gates_turn, cells_turn, dys_turn, d_turn,
    EVEN_K: tl.constexpr, PRECISION: tl.constexpr, THREADS: tl.constexpr,
    BLOCK_N: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Pointers are at the last step; what ends in turn leads to the one before. Rows of d have `wide` elements."""
    rows, here = _rows_of(tl.program_id(1), batch, BLOCK_N)
    arrived_ptr += tl.program_id(1)
    programs = tl.num_programs(0)
    awaited = 0
    for _ in range(steps):
        for block in range(tl.program_id(0), blocks_of(hidden, BLOCK_H), programs):
            columns = block * BLOCK_H + tl.arange(0, BLOCK_H)
            inside, at = here & (columns < hidden)[None, :], rows * hidden + columns[None, :]
            gate, d_at = gates_ptr + rows * (4 * hidden) + columns[None, :], d_ptr + rows * wide + columns[None, :]
            i, f = tl.load(gate, inside, 0), tl.load(gate + hidden, inside, 0)
            g, o = tl.load(gate + 2 * hidden, inside, 0), tl.load(gate + 3 * hidden, inside, 0)
            dh, squashed = tl.load(dh_ptr + at, inside, 0), tanh(tl.load(cells_ptr + at, inside, 0))
            dc = tl.load(dc_ptr + at, inside, 0) + dh * o * (1 - squashed * squashed)
            tl.store(d_at, dc * g * i * (1 - i), inside)
            tl.store(d_at + hidden, dc * tl.load(before_ptr + at, inside, 0) * f * (1 - f), inside)
            tl.store(d_at + 2 * hidden, dc * i * (1 - g * g), inside)
            tl.store(d_at + 3 * hidden, dh * squashed * o * (1 - o), inside)
            tl.store(dc_ptr + at, dc * f, inside)
        awaited += programs
        _wait(arrived_ptr, awaited, programs, THREADS)
        for block in range(tl.program_id(0), blocks_of(hidden, BLOCK_H), programs):
            columns = block * BLOCK_H + tl.arange(0, BLOCK_H)
            known = (columns < hidden)[None, :]
            inside, at = here & known, rows * hidden + columns[None, :]
            w_at = w_ptr + columns[None, :] * wide
            sums = _product(d_ptr + rows * wide, here, w_at, known, wide, EVEN_K, PRECISION, BLOCK_K)
            tl.store(dh_ptr + at, sums + tl.load(dys_ptr + at, inside, 0).to(tl.float32), inside)
        gates_ptr += gates_turn
        cells_ptr += cells_turn
        before_ptr += cells_turn
        dys_ptr += dys_turn
        d_ptr += d_turn
        tl.debug_barrier()  # dh is this program's alone


@jit
def _rows_of(tile, batch, BLOCK_N: tl.constexpr):
    """The rows of a tile of the batch, and which of them are there."""
    rows = tile * BLOCK_N + tl.arange(0, BLOCK_N)
    return rows.to(tl.int64)[:, None], (rows < batch)[:, None]


@jit
def _product(
    x_at, here, w_at, known, length, EVEN_K: tl.constexpr, PRECISION: tl.constexpr, BLOCK_K: tl.constexpr
):  # fmt: skip
    """Rows that begin at `x_at`, a column, times rows that begin at `w_at`, a row: (M, N), of which others are zero."""
    inner = tl.arange(0, BLOCK_K)
    x_at, w_at = x_at + inner[None, :], w_at + inner[:, None]
    sums = tl.zeros((x_at.shape[0], w_at.shape[1]), tl.float32)
    for at in range(0, length, BLOCK_K):
        x_mask, w_mask = here, known
        if not EVEN_K:
            x_mask, w_mask = x_mask & (inner < length - at)[None, :], w_mask & (inner < length - at)[:, None]
        sums = multiply_add(tl.load(x_at, x_mask, 0), tl.load(w_at, w_mask, 0), sums, PRECISION)
        x_at += BLOCK_K
        w_at += BLOCK_K
    return sums


@jit
def _projected(sums, inputs_at, inside, bias_at, known):
    """The sums with the projected input and the bias."""
    return sums + (tl.load(inputs_at, inside, 0) + tl.load(bias_at, known, 0).to(tl.float32)[None, :])


@jit
def _wait(arrived_ptr, awaited, programs, THREADS: tl.constexpr):
    """Returns when all programs of the tile have come here; what they wrote before can be read then."""
    if programs > 1:
        announce(arrived_ptr, THREADS)
        wait_for(arrived_ptr, awaited, THREADS)
    else:
        tl.debug_barrier()


# ---------------------------------------------------------------- ahead of time

_TILES = ((16, 8), (64, 8), (64, 16), (64, 32), (16, _ALONE))  # rows and columns of a program


def _aot(kernel, kind: str, rows: int, columns: int, backend: str) -> AotCase:
    wide = {"gates_ptr", "c_ptr", "cells_ptr", "before_ptr", "dh_ptr", "dc_ptr"}  # float32, whatever the network's type
    plain = {"arrived_ptr": "*i32", "steps": "i32", "batch": "i32"}
    block_k, warps = _BYTES_K // (4 if kind == "fp32" else 2), _warps(kernel, rows, columns)
    constexprs = {"EVEN_K": True, "PRECISION": "tf32x3" if kind == "fp32" else "ieee",
                  "THREADS": threads_of(backend, warps), "BLOCK_N": rows,
                  "BLOCK_H": columns, "BLOCK_K": block_k}  # fmt: skip
    signature = {
        name: plain.get(name) or ("*fp32" if name in wide else f"*{kind}" if name.endswith("_ptr") else "i32:16")
        for name in kernel.arg_names
        if name not in constexprs
    }
    # Which instructions multiply by eight columns differs between releases of Triton.
    demanded = tensor_core(rows, warps, kind) if columns >= 16 or kernel is _lstm_steps else None
    return AotCase(kernel, signature, constexprs, warps, _STAGES, demanded, "cp.async", only=backend)


AOT = [
    _aot(kernel, kind, rows, columns, backend)
    for kernel in (_lstm_steps, _lstm_steps_back)
    for kind in ("fp16", "fp32")
    for rows, columns in _TILES
    for backend in ("cuda", "hip")
    if backend == "cuda" or columns >= _NARROWEST[64]
]
