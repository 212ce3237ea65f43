"""Connectionist temporal classification in Triton.

One program walks through the steps of a sequence: its lanes are the states of the labels with blanks between them, and
neighbours meet in memory. A second walk, from the end, leaves in each position how probable it is at each step, given
the labels; what a class of the scores receives is then gathered by a kernel of its own.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from core.kernels.triton import reduce
from core.kernels.triton._counting import blocks_of
from core.kernels.triton._filled import zeros
from core.kernels.triton._kernel import jit
from core.kernels.triton._overlap import load
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous

_BLOCK = 256
_IMPOSSIBLE = tl.constexpr(-1e30)  # stands for the logarithm of 0: no difference of it is nan


def loss(data, label, counts, lengths, blank):
    return _forward(contiguous(data), label, counts, lengths, blank)[0]


def loss_grad(dy, data, label, counts, lengths, blank):
    data = contiguous(data)
    losses, alpha, totals, given = _forward(data, label, counts, lengths, blank)
    dx, (steps, batch, classes), limited = torch.empty_like(data), data.shape, lengths is not None
    if dx.numel():
        label, counts, lengths = given
        states = alpha.shape[2]
        beta = torch.empty((batch, 2, states), dtype=alpha.dtype, device=alpha.device)
        rest = steps, batch, classes, label.shape[1], blank
        options = {"LENGTHS": limited, "STATES": states}
        _backward[(batch,)](data, totals, label, counts, lengths, losses, alpha, beta, *rest, **options)
        _gather[(steps * batch * triton.cdiv(classes, _BLOCK),)](
            contiguous(dy), data, totals, label, counts, lengths, losses, alpha, dx, *rest, **options, BLOCK=_BLOCK
        )
    return dx


def _forward(data, label, counts, lengths, blank):
    """(losses, alpha (N, T, states), logarithms of sums that make probabilities (T, N), (label, counts, lengths))."""
    steps, batch, classes = data.shape
    label, counts = contiguous(label), contiguous(counts)
    limited, lengths = lengths is not None, counts if lengths is None else contiguous(lengths)
    totals = reduce.logsumexp(data, (2,), False)
    states = max(2, triton.next_power_of_2(2 * label.shape[1] + 1))
    alpha = torch.empty((batch, steps, states), dtype=data.dtype, device=data.device)
    losses = zeros(batch, data.dtype, data.device)
    if data.numel():
        _walk[(batch,)](
            data, totals, label, counts, lengths, losses, alpha, steps, batch, classes, label.shape[1], blank,
            LENGTHS=limited, STATES=states,
        )  # fmt: skip
    return losses, alpha, totals, (label, counts, lengths)


# ------------------------------------------------------------ device code


@jit
def _walk(
    data_ptr, totals_ptr, label_ptr, counts_ptr, lengths_ptr, losses_ptr, alpha_ptr, steps, batch, classes, positions,
    blank, LENGTHS: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0).to(tl.int64)
    count, length = _extents(counts_ptr, lengths_ptr, n, steps, positions, LENGTHS)
    state = tl.arange(0, STATES)
    kind, jumps, _ = _states(label_ptr, n, state, count, positions, classes, blank)
    known = state < 2 * count + 1
    alpha_ptr += n * steps * STATES
    alpha = tl.where(known & (state < 2), _log(data_ptr, totals_ptr, 0, n, batch, classes, kind, known), _IMPOSSIBLE)
    tl.store(alpha_ptr + state, alpha)
    for t in range(1, length):
        tl.debug_barrier()  # lanes read what others wrote
        one = tl.load(alpha_ptr + state - 1, state >= 1, _IMPOSSIBLE)
        two = tl.load(alpha_ptr + state - 2, jumps, _IMPOSSIBLE)
        here = _log(data_ptr, totals_ptr, t, n, batch, classes, kind, known)
        alpha = tl.where(known, tl.maximum(_log_sum(alpha, one, two) + here, _IMPOSSIBLE), _IMPOSSIBLE)
        alpha_ptr += STATES
        tl.store(alpha_ptr + state, alpha)
    last = tl.where((state == 2 * count) | (state == 2 * count - 1), alpha, _IMPOSSIBLE)
    highest = tl.max(last, 0)
    loss = -(highest + tl.log(tl.sum(tl.exp(last - highest), 0)))
    tl.store(losses_ptr + n, tl.where(highest > 0.5 * _IMPOSSIBLE, loss, 0.0))


@jit
def _backward(
    data_ptr, totals_ptr, label_ptr, counts_ptr, lengths_ptr, losses_ptr, alpha_ptr, beta_ptr, steps, batch, classes,
    positions, blank, LENGTHS: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    """Turns alpha into the probabilities of the states at each step, given the labels."""
    n = tl.program_id(0).to(tl.int64)
    count, length = _extents(counts_ptr, lengths_ptr, n, steps, positions, LENGTHS)
    state = tl.arange(0, STATES)
    kind, _, leaps = _states(label_ptr, n, state, count, positions, classes, blank)
    known = state < 2 * count + 1
    loss = tl.load(losses_ptr + n)
    beta_ptr += n * 2 * STATES
    alpha_ptr += (n * steps + length - 1) * STATES
    ends = known & (state >= 2 * count - 1)
    beta = tl.where(ends, _log(data_ptr, totals_ptr, length - 1, n, batch, classes, kind, known), _IMPOSSIBLE)
    for back in range(0, length):
        t = length - 1 - back
        here = _log(data_ptr, totals_ptr, t, n, batch, classes, kind, known)
        if back > 0:
            tl.debug_barrier()  # lanes read what others wrote
            before_ptr = beta_ptr + (back + 1) % 2 * STATES
            one = tl.load(before_ptr + state + 1, state + 1 < STATES, _IMPOSSIBLE)
            two = tl.load(before_ptr + state + 2, leaps, _IMPOSSIBLE)
            beta = tl.where(known, tl.maximum(_log_sum(beta, one, two) + here, _IMPOSSIBLE), _IMPOSSIBLE)
        tl.store(beta_ptr + back % 2 * STATES + state, beta)
        alpha = tl.load(alpha_ptr + state)
        tl.store(alpha_ptr + state, tl.exp(tl.minimum(alpha + beta - here + loss, 0.0)))
        alpha_ptr -= STATES


@jit
def _gather(
    dy_ptr, data_ptr, totals_ptr, label_ptr, counts_ptr, lengths_ptr, losses_ptr, share_ptr, dx_ptr, steps, batch,
    classes, positions, blank, LENGTHS: tl.constexpr, STATES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """dy (probability of a class - that of it given the labels), for a block of classes at a step of a sequence."""
    across = blocks_of(classes, BLOCK)
    kind = tl.program_id(0) % across * BLOCK + tl.arange(0, BLOCK)
    row = (tl.program_id(0) // across).to(tl.int64)
    n, t = row % batch, row // batch
    count, length = _extents(counts_ptr, lengths_ptr, n, steps, positions, LENGTHS)
    # A loss of exactly 0 is that of labels that do not fit, or has no gradient either.
    live = tl.where((t < length) & (tl.load(losses_ptr + n) != 0), load(dy_ptr, n, True), 0.0)
    score = load(data_ptr, row * classes + kind, kind < classes)
    dx = tl.exp(score - load(totals_ptr, row, True))
    share_ptr += (n * steps + t) * STATES
    for position in range(count):
        wanted = tl.load(label_ptr + n * positions + position).to(tl.int32)
        dx -= tl.where(kind == wanted, tl.load(share_ptr + 2 * position + 1), 0.0)
    for position in range(count + 1):
        dx -= tl.where(kind == blank, tl.load(share_ptr + 2 * position), 0.0)
    tl.store(dx_ptr + row * classes + kind, tl.where(live != 0, live * dx, 0.0), kind < classes)


@jit
def _extents(counts_ptr, lengths_ptr, n, steps, positions, LENGTHS: tl.constexpr):
    """Labels and steps of a sequence."""
    count = tl.minimum(tl.maximum(tl.load(counts_ptr + n).to(tl.int32), 0), positions)
    if LENGTHS:
        return count, tl.minimum(tl.maximum(tl.load(lengths_ptr + n).to(tl.int32), 1), steps)
    else:
        return count, steps + 0 * count


@jit
def _states(label_ptr, n, state, count, positions, classes, blank):
    """Class of each state, and whether paths may skip the state before it, or behind it: between different labels."""
    position = state // 2
    odd = state % 2 == 1
    label = tl.load(label_ptr + n * positions + position, odd & (position < count), 0).to(tl.int32)
    before = tl.load(label_ptr + n * positions + position - 1, odd & (position >= 1) & (position < count), 0).to(
        tl.int32
    )
    behind = tl.load(label_ptr + n * positions + position + 1, odd & (position + 1 < count), 0).to(tl.int32)
    jumps = odd & (position >= 1) & (position < count) & (label != before)
    label = tl.minimum(tl.maximum(label, 0), classes - 1)
    return tl.where(odd, label, blank), jumps, odd & (position + 1 < count) & (label != behind)


@jit
def _log(data_ptr, totals_ptr, t, n, batch, classes, kind, known):
    """Logarithms of the probabilities of classes at a step of sequence n."""
    row = n + tl.cast(t, tl.int64) * batch
    return load(data_ptr, row * classes + kind, known) - load(totals_ptr, row, True)


@jit
def _log_sum(a, b, c):
    highest = tl.maximum(tl.maximum(a, b), c)
    return highest + tl.log(tl.exp(a - highest) + tl.exp(b - highest) + tl.exp(c - highest))


def _case(kernel, **constexprs):
    numbers = ("steps", "batch", "classes", "positions", "blank")
    constexprs |= {"LENGTHS": True, "STATES": 128}
    signature = {name: "i32" if name in numbers else "*fp32" for name in kernel.arg_names if name not in constexprs}
    return AotCase(kernel, signature, constexprs)


AOT = [_case(_walk), _case(_backward), _case(_gather, BLOCK=_BLOCK)]
