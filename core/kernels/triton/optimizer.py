"""Optimizer updates in Triton: one launch for one array or a whole arena.

One kernel loads, prepares the gradient, applies a rule and stores; a rule is a formula over one block. Hyperparameters
are float32, as in MXNet.
"""

from __future__ import annotations

import functools
import inspect
from typing import NamedTuple

import torch
import triton
import triton.language as tl

from core.kernels.optimizer_signature import with_master_and_segments
from core.kernels.precision import wide_type
from core.kernels.triton._kernel import jit
from core.kernels.triton._recording import as_float, constant
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous, write_

BLOCK = 512  # four numbers a thread: of eight, Adam spills registers on sm_90
_INFINITY = float("inf")
# Where weight decay joins the gradient: not by itself, before the clip, or after it.
_NOWHERE, _BEFORE, _AFTER = 0, 1, 2


class _Rule(NamedTuple):
    """A formula, its state arrays and numbers, and where the decay goes; `writes` is False where `w` is only read."""

    formula: object
    states: tuple = ()
    numbers: tuple = ()
    decay: int = _NOWHERE
    writes: bool = True


def _elementwise(describe):
    """The public function of a rule: launches the kernel on what `describe` returns for the same arguments."""
    signature = inspect.signature(describe)

    @functools.wraps(describe)
    def update(*args, w32=None, segments=None, **attrs):
        bound = signature.bind(*args, **attrs)
        bound.apply_defaults()
        _launch(describe(*bound.args, **bound.kwargs), bound.arguments, w32, segments)

    update.__signature__ = with_master_and_segments(describe)
    return update


@_elementwise
def sgd_(w, g, lr, wd=0.0, rescale=1.0, clip=None):
    return _Rule(_sgd, decay=_AFTER)


@_elementwise
def sgd_momentum_(w, g, mom, lr, wd=0.0, momentum=0.0, rescale=1.0, clip=None):
    return _Rule(_sgd_momentum, (mom,), (momentum,), _AFTER)


@_elementwise
def nag_(w, g, mom, lr, wd=0.0, momentum=0.0, rescale=1.0, clip=None, in_place=True):
    return _Rule(_nag, (mom,), (momentum, float(in_place)))


@_elementwise
def signsgd_(w, g, lr, wd=0.0, rescale=1.0, clip=None):
    return _Rule(_signsgd)


@_elementwise
def signum_(w, g, mom, lr, wd=0.0, momentum=0.0, wd_lh=0.0, rescale=1.0, clip=None):
    return _Rule(_signum, (mom,), (momentum, 1 - momentum, wd_lh), _AFTER)


@_elementwise
def dcasgd_(w, g, mom, previous, lr, wd=0.0, momentum=0.0, lamda=0.04, rescale=1.0, clip=None):
    return _Rule(_dcasgd, (mom, previous), (momentum, lamda))


@_elementwise
def adam_(w, g, mean, var, lr, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-8, rescale=1.0, clip=None):
    return _Rule(_adam, (mean, var), (1 - beta1, beta2, 1 - beta2, eps), _BEFORE)


@_elementwise
def adamw_(w, g, mean, var, lr, eta=1.0, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-8, rescale=1.0, clip=None):
    return _Rule(_adamw, (mean, var), (1 - beta1, beta2, 1 - beta2, eps, eta))


@_elementwise
def adamax_(w, g, mean, norm, lr, wd=0.0, beta1=0.9, beta2=0.999, rescale=1.0, clip=None):
    return _Rule(_adamax, (mean, norm), (1 - beta1, beta2), _BEFORE)


@_elementwise
def nadam_(w, g, mean, var, lr, g_share, mean_share, var_share, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-8, rescale=1.0,
           clip=None):  # fmt: skip
    numbers = (1 - beta1, beta2, 1 - beta2, eps, g_share, mean_share, var_share)
    return _Rule(_nadam, (mean, var), numbers, _BEFORE)


@_elementwise
def rmsprop_(w, g, n, lr, wd=0.0, gamma1=0.95, eps=1e-8, rescale=1.0, clip=None, clip_weights=None):
    return _Rule(_rmsprop, (n,), (gamma1, 1 - gamma1, eps, _bound(clip_weights)), _BEFORE)


@_elementwise
def rmspropalex_(w, g, n, mean, delta, lr, wd=0.0, gamma1=0.95, gamma2=0.9, eps=1e-8, rescale=1.0, clip=None,
                 clip_weights=None):  # fmt: skip
    numbers = (gamma1, 1 - gamma1, eps, _bound(clip_weights), gamma2)
    return _Rule(_rmspropalex, (n, mean, delta), numbers, _BEFORE)


@_elementwise
def adagrad_(w, g, history, lr, wd=0.0, eps=1e-7, rescale=1.0, clip=None):
    return _Rule(_adagrad, (history,), (eps,))


def group_adagrad_(w, g, history, lr, eps=1e-5, rescale=1.0, clip=None):
    if w.numel() == 0:
        return
    target, rows = contiguous(w), w.shape[0]
    columns = w.numel() // rows
    _group_adagrad[(rows,)](
        target, contiguous(g), history, columns, *_floats(lr, eps, rescale, _bound(clip)),
        BLOCK=min(BLOCK, triton.next_power_of_2(columns)),
    )  # fmt: skip
    _return(w, target)


@_elementwise
def adadelta_(w, g, acc_g, acc_delta, lr=1.0, wd=0.0, rho=0.9, eps=1e-5, rescale=1.0, clip=None):
    return _Rule(_adadelta, (acc_g, acc_delta), (rho, 1 - rho, eps))


@_elementwise
def ftrl_(w, g, z, n, lr, wd=0.0, lamda1=0.01, beta=1.0, rescale=1.0, clip=None):
    return _Rule(_ftrl, (z, n), (lamda1, beta))


@_elementwise
def ftml_(w, g, d, v, z, lr, t, wd=0.0, beta1=0.6, beta2=0.999, eps=1e-8, rescale=1.0, clip=None):
    numbers = (beta1, 1 - beta1, beta2, 1 - beta2, eps, 1 - beta1**t, 1 / (1 - beta2**t))
    return _Rule(_ftml, (d, v, z), numbers, _BEFORE)


@_elementwise
def sgld_(w, g, noise, lr, wd=0.0, rescale=1.0, clip=None):
    return _Rule(_sgld, (noise,), decay=_AFTER)


def lamb_phase1(w, g, mean, var, t, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-6, bias_correction=True, rescale=1.0,
                clip=None, segments=None):  # fmt: skip
    update = torch.empty_like(w, dtype=mean.dtype)
    correction = (1 - beta1**t, 1 - beta2**t) if bias_correction else (1.0, 1.0)
    numbers = (1 - beta1, beta2, 1 - beta2, eps, 1 / correction[0], 1 / correction[1])
    rule = _Rule(_lamb_direction, (mean, var, update), numbers, writes=False)
    _launch(rule, {"w": w, "g": g, "wd": wd, "rescale": rescale, "clip": clip}, None, segments)
    return update


def lamb_phase2_(w, update, weight_norm, update_norm, lr, lower_bound=None, upper_bound=None, w32=None, segments=None):
    arrays, originals = _flat([w, update] if w32 is None else [w32, update, w])
    n = arrays[0].numel()
    if n == 0:
        return
    table = _table(segments, n, w.device)
    _lamb_step[(triton.cdiv(n, BLOCK),)](
        *arrays[:2], arrays[-1], weight_norm, update_norm, table, n, table.shape[0],
        *_floats(lr, max(lower_bound or 0.0, 0.0), _bound(upper_bound)), LOW=w32 is not None, BLOCK=BLOCK,
    )  # fmt: skip
    _return_all(originals, arrays)


def sum_squares(x, segments=None):
    x = contiguous(x).view(-1)
    parts = ((0, x.numel(), 1.0, 1.0),) if segments is None else tuple(map(tuple, segments))
    dtype = wide_type(x.dtype)
    longest = max((stop - start for start, stop, *_ in parts), default=0)
    shares = min(256, max(1, triton.next_power_of_2(triton.cdiv(longest, 4 * BLOCK))))
    bounds = _bounds(parts, x.device)
    partial = torch.empty((len(parts), shares), dtype=dtype, device=x.device)
    total = torch.empty(len(parts), dtype=dtype, device=x.device)
    if parts:
        _sum_squares[(len(parts), shares)](x, bounds, partial, SHARES=shares, BLOCK=BLOCK)
        _sum_shares[(len(parts),)](partial, total, SHARES=shares)
    return total


# ------------------------------------------------------------ launching


def _launch(rule, given, w32, segments):
    w, g = given["w"], given["g"]
    arrays, originals = _flat([w, g, *rule.states] if w32 is None else [w32, g, *rule.states, w])
    n = arrays[0].numel()
    if n == 0:
        return
    target, g, *states = arrays[: 2 + len(rule.states)]
    table = None if segments is None else _table(segments, n, w.device)
    lr, wd, clip = given.get("lr", 1.0), given.get("wd", 0.0), _bound(given["clip"])
    numbers = _floats(lr, wd, given["rescale"], clip, *rule.numbers, *[0.0] * (7 - len(rule.numbers)))
    _update[(triton.cdiv(n, BLOCK),)](
        target, g, *states, *[target] * (3 - len(states)), arrays[-1], target if table is None else table, n,
        0 if table is None else table.shape[0], *numbers, RULE=rule.formula, STATES=len(states), DECAY=rule.decay,
        WRITES=rule.writes, LOW=w32 is not None, SEGMENTED=table is not None, BLOCK=BLOCK,
    )  # fmt: skip
    _return_all(originals, arrays)


def _flat(arrays):
    """The arrays as vectors in one common order of elements, and the arrays themselves where copies were needed."""
    strides = arrays[0].stride()
    dense = sorted(zip(strides, arrays[0].shape, strict=True))
    extent, packed = 1, True
    for stride, size in dense:
        packed, extent = packed and (size == 1 or stride == extent), extent * size
    if packed and all(a.stride() == strides for a in arrays):
        return [a.as_strided((a.numel(),), (1,)) for a in arrays], None
    return [contiguous(a).view(-1) for a in arrays], arrays


def _return_all(originals, arrays):
    for original, array in zip(originals or (), arrays):
        _return(original, array)


def _return(original, array):
    """Puts the result back where it was computed in a contiguous copy."""
    if original.data_ptr() != array.data_ptr():
        write_(original, array.view(original.shape))


def _bound(clip):
    return _INFINITY if clip is None or clip < 0 else clip


def _floats(*numbers):
    """Numbers as a launch takes them: NumPy's it refuses, and for integers it would compile the kernel anew."""
    return map(as_float, numbers)


def _table(segments, n, device):
    """Rows (start, lr_mult, wd_mult, number of the segment) in float64; number -1 marks what no segment holds."""
    return _segment_table(((0, n, 1.0, 1.0),) if segments is None else tuple(map(tuple, segments)), device)


@functools.lru_cache(maxsize=64)
def _segment_table(segments, device):
    rows, end = [], 0
    for number, (start, stop, lr_mult, wd_mult) in enumerate(segments):
        if start > end:
            rows.append((end, 0.0, 0.0, -1))
        rows.append((start, lr_mult, wd_mult, number))
        end = stop
    return constant(torch.tensor([*rows, (end, 0.0, 0.0, -1)], dtype=torch.float64, device=device))


@functools.lru_cache(maxsize=64)
def _bounds(segments, device):
    return constant(torch.tensor([(start, stop) for start, stop, *_ in segments], dtype=torch.int64, device=device))


# ------------------------------------------------------------ kernels


@jit
def _update(
    w_ptr, g_ptr, state0_ptr, state1_ptr, state2_ptr, low_ptr, table_ptr, n, rows, lr, wd, rescale, clip,
    a, b, c, d, e, f, h,
    RULE: tl.constexpr, STATES: tl.constexpr, DECAY: tl.constexpr, WRITES: tl.constexpr, LOW: tl.constexpr,
    SEGMENTED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0).to(tl.int64) * BLOCK
    at = first + tl.arange(0, BLOCK)
    inside = at < n
    if SEGMENTED:
        row = table_ptr + 4 * _segment(table_ptr, rows, first, at, BLOCK)
        lr *= tl.load(row + 1).to(tl.float32)
        wd *= tl.load(row + 2).to(tl.float32)
        inside &= tl.load(row + 3) >= 0
    wide: tl.constexpr = _wide(w_ptr)
    w = tl.load(w_ptr + at, inside, 0).to(wide)
    g = tl.load(g_ptr + at, inside, 0).to(wide) * rescale
    if DECAY == 1:
        g += wd * w
    g = _bounded(g, clip)
    if DECAY == 2:
        g += wd * w
    x = tl.load(state0_ptr + at, inside, 0).to(wide) if STATES > 0 else w
    y = tl.load(state1_ptr + at, inside, 0).to(wide) if STATES > 1 else w
    z = tl.load(state2_ptr + at, inside, 0).to(wide) if STATES > 2 else w
    w, x, y, z = RULE(w, g, x, y, z, lr, wd, clip, a, b, c, d, e, f, h)
    if STATES > 0:
        tl.store(state0_ptr + at, x, inside)
    if STATES > 1:
        tl.store(state1_ptr + at, y, inside)
    if STATES > 2:
        tl.store(state2_ptr + at, z, inside)
    if WRITES:
        tl.store(w_ptr + at, w, inside)
        if LOW:
            tl.store(low_ptr + at, w, inside)


@jit
def _segment(table_ptr, rows, first, at, BLOCK: tl.constexpr):
    """Row of the table for every element: a binary search for the block's first, then the boundaries inside it."""
    low, high = 0, rows
    while high - low > 1:
        middle = (low + high) // 2
        before = tl.load(table_ptr + 4 * middle) <= first
        low, high = tl.where(before, middle, low), tl.where(before, high, middle)
    row = tl.zeros((BLOCK,), tl.int32) + low
    following = low + 1
    while following < rows:
        start = tl.load(table_ptr + 4 * following)
        row += (at >= start).to(tl.int32)
        following = tl.where(start < first + BLOCK, following + 1, rows)
    return row


@triton.constexpr_function
def _wide(pointer):
    return tl.float64 if pointer.dtype.element_ty == tl.float64 else tl.float32


@jit
def _bounded(x, limit):
    """`x` in [-limit, limit]; NaN stays NaN."""
    return tl.where(x > limit, limit, tl.where(x < -limit, -limit, x)).to(x.dtype)


@jit
def _sign(x):
    return tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, x)).to(x.dtype)


# Rules: w, the prepared gradient, up to three states, lr, wd, clip and up to seven numbers to the new w and states.


@jit
def _sgd(w, g, x, y, z, lr, wd, clip, a, b, c, d, e, f, h):
    return w - lr * g, x, y, z


@jit
def _sgd_momentum(w, g, mom, y, z, lr, wd, clip, momentum, b, c, d, e, f, h):
    mom = momentum * mom - lr * g
    return w + mom, mom, y, z


@jit
def _nag(w, g, mom, y, z, lr, wd, clip, momentum, in_place, c, d, e, f, h):
    step = lr * (g + wd * w)
    new = w + momentum * (momentum * mom - step) - step
    return new, momentum * mom - lr * (g + wd * tl.where(in_place != 0, new, w)), y, z


@jit
def _signsgd(w, g, x, y, z, lr, wd, clip, a, b, c, d, e, f, h):
    return (1 - lr * wd) * w - lr * _sign(g), x, y, z


@jit
def _signum(w, g, mom, y, z, lr, wd, clip, momentum, rest, wd_lh, d, e, f, h):
    mom = momentum * mom - rest * g
    return (1 - lr * wd_lh) * w + lr * _sign(mom), mom, y, z


@jit
def _dcasgd(w, g, mom, previous, z, lr, wd, clip, momentum, lamda, c, d, e, f, h):
    mom = momentum * mom - lr * (g + wd * w + lamda * g * g * (w - previous))
    return w + mom, mom, w, z


@jit
def _moments(g, mean, var, rest1, beta2, rest2):
    return (1 - rest1) * mean + rest1 * g, beta2 * var + rest2 * g * g


@jit
def _adam(w, g, mean, var, z, lr, wd, clip, rest1, beta2, rest2, eps, e, f, h):
    mean, var = _moments(g, mean, var, rest1, beta2, rest2)
    return w - lr * mean / (tl.sqrt(var) + eps), mean, var, z


@jit
def _adamw(w, g, mean, var, z, lr, wd, clip, rest1, beta2, rest2, eps, eta, f, h):
    mean, var = _moments(g, mean, var, rest1, beta2, rest2)
    return w - eta * (lr * mean / (tl.sqrt(var) + eps) + wd * w), mean, var, z


@jit
def _adamax(w, g, mean, norm, z, lr, wd, clip, rest1, beta2, c, d, e, f, h):
    mean = (1 - rest1) * mean + rest1 * g
    norm = tl.maximum(beta2 * norm, tl.abs(g), propagate_nan=tl.PropagateNan.ALL)
    return w - lr * mean / norm, mean, norm, z


@jit
def _nadam(w, g, mean, var, z, lr, wd, clip, rest1, beta2, rest2, eps, g_share, mean_share, var_share):
    mean, var = _moments(g, mean, var, rest1, beta2, rest2)
    return w - lr * (g_share * g + mean_share * mean) / (tl.sqrt(var * var_share) + eps), mean, var, z


@jit
def _rmsprop(w, g, n, y, z, lr, wd, clip, gamma1, rest1, eps, clip_weights, e, f, h):
    n = gamma1 * n + rest1 * g * g
    return _bounded(w - lr * g / tl.sqrt(n + eps), clip_weights), n, y, z


@jit
def _rmspropalex(w, g, n, mean, delta, lr, wd, clip, gamma1, rest1, eps, clip_weights, gamma2, f, h):
    n = gamma1 * n + rest1 * g * g
    mean = (1 - rest1) * mean + rest1 * g
    delta = gamma2 * delta - lr * g / tl.sqrt(n - mean * mean + eps)
    return _bounded(w + delta, clip_weights), n, mean, delta


@jit
def _adagrad(w, g, history, y, z, lr, wd, clip, eps, b, c, d, e, f, h):
    history += g * g
    return w - lr * (g / tl.sqrt(history + eps) + wd * w), history, y, z


@jit
def _adadelta(w, g, acc_g, acc_delta, z, lr, wd, clip, rho, rest, eps, d, e, f, h):
    acc_g = rho * acc_g + rest * g * g
    delta = tl.sqrt(acc_delta + eps) / tl.sqrt(acc_g + eps) * g
    return w - (delta + wd * w), acc_g, rho * acc_delta + rest * delta * delta, z


@jit
def _ftrl(w, g, leader, n, z, lr, wd, clip, lamda1, beta, c, d, e, f, h):
    root, n = tl.sqrt(n), n + g * g
    grown = tl.sqrt(n)
    leader += g - (grown - root) * w / lr
    shrunk = _bounded(leader, lamda1) - leader
    return shrunk / ((beta + grown) / lr + wd), leader, n, z


@jit
def _ftml(w, g, d_old, v, z, lr, wd, clip, beta1, rest1, beta2, rest2, eps, correction1, inverse2):
    v = beta2 * v + rest2 * g * g
    d_new = correction1 / lr * (tl.sqrt(v * inverse2) + eps)
    z = beta1 * z + rest1 * g - (d_new - beta1 * d_old) * w
    return -z / d_new, d_new, v, z


@jit
def _sgld(w, g, noise, y, z, lr, wd, clip, a, b, c, d, e, f, h):
    return w + tl.sqrt(lr) * noise - lr / 2 * g, noise, y, z


@jit
def _lamb_direction(w, g, mean, var, update, lr, wd, clip, rest1, beta2, rest2, eps, inverse1, inverse2, h):
    mean, var = _moments(g, mean, var, rest1, beta2, rest2)
    return w, mean, var, mean * inverse1 / (tl.sqrt(var * inverse2) + eps) + wd * w


@jit
def _lamb_step(
    w_ptr, update_ptr, low_ptr, weight_norm_ptr, update_norm_ptr, table_ptr, n, rows, lr, lower, upper,
    LOW: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0).to(tl.int64) * BLOCK
    at = first + tl.arange(0, BLOCK)
    row = table_ptr + 4 * _segment(table_ptr, rows, first, at, BLOCK)
    number = tl.load(row + 3).to(tl.int32)
    inside = (at < n) & (number >= 0)
    wide: tl.constexpr = _wide(w_ptr)
    weight_norm = tl.load(weight_norm_ptr + number, inside, 0)
    weight_norm = tl.minimum(tl.maximum(weight_norm, lower), upper).to(wide)
    update_norm = tl.load(update_norm_ptr + number, inside, 0).to(wide)
    known = (weight_norm != 0) & (update_norm != 0)
    ratio = tl.where(known, weight_norm / tl.where(known, update_norm, 1.0), 1.0)
    w = tl.load(w_ptr + at, inside, 0).to(wide)
    w -= lr * tl.load(row + 1).to(tl.float32) * ratio * tl.load(update_ptr + at, inside, 0).to(wide)
    tl.store(w_ptr + at, w, inside)
    if LOW:
        tl.store(low_ptr + at, w, inside)


@jit
def _group_adagrad(w_ptr, g_ptr, history_ptr, columns, lr, eps, rescale, clip, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    wide: tl.constexpr = _wide(w_ptr)
    total = tl.zeros((BLOCK,), wide)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        g = _bounded(tl.load(g_ptr + row * columns + at, at < columns, 0).to(wide) * rescale, clip)
        total += g * g
    history = tl.load(history_ptr + row).to(wide) + tl.sum(total, 0) / columns
    tl.store(history_ptr + row, history)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        g = _bounded(tl.load(g_ptr + row * columns + at, inside, 0).to(wide) * rescale, clip)
        w = tl.load(w_ptr + row * columns + at, inside, 0).to(wide)
        tl.store(w_ptr + row * columns + at, w - lr * g / tl.sqrt(history + eps), inside)


@jit
def _sum_squares(x_ptr, bounds_ptr, partial_ptr, SHARES: tl.constexpr, BLOCK: tl.constexpr):
    part, share = tl.program_id(0).to(tl.int64), tl.program_id(1)
    start, stop = tl.load(bounds_ptr + 2 * part), tl.load(bounds_ptr + 2 * part + 1)
    wide: tl.constexpr = _wide(partial_ptr)
    total = tl.zeros((BLOCK,), wide)
    for first in range(start + share * BLOCK, stop, SHARES * BLOCK):
        at = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, at < stop, 0).to(wide)
        total += x * x
    tl.store(partial_ptr + part * SHARES + share, tl.sum(total, 0))


@jit
def _sum_shares(partial_ptr, total_ptr, SHARES: tl.constexpr):
    part = tl.program_id(0)
    tl.store(total_ptr + part, tl.sum(tl.load(partial_ptr + part * SHARES + tl.arange(0, SHARES)), 0))


def _case(formula, states, decay, low=None, writes=True):
    weight = low or "fp32"
    pointers = {"w_ptr": "*fp32", "g_ptr": f"*{weight}", "low_ptr": f"*{weight}", "table_ptr": "*fp64"}
    pointers |= {f"state{i}_ptr": "*fp32" for i in range(3)}
    numbers = dict.fromkeys(("lr", "wd", "rescale", "clip", "a", "b", "c", "d", "e", "f", "h"), "fp32")
    constexprs = {"RULE": formula, "STATES": states, "DECAY": decay, "WRITES": writes, "LOW": low is not None}
    return AotCase(
        _update, {**pointers, "n": "i32", "rows": "i32", **numbers}, {**constexprs, "SEGMENTED": True, "BLOCK": BLOCK}
    )


AOT = [
    _case(_sgd_momentum, 1, _AFTER),
    _case(_sgd_momentum, 1, _AFTER, low="fp16"),
    _case(_adam, 2, _BEFORE),
    _case(_adam, 2, _BEFORE, low="bf16"),
    _case(_adamw, 2, _NOWHERE, low="bf16"),
    _case(_rmspropalex, 3, _BEFORE),
    _case(_lamb_direction, 3, _NOWHERE, writes=False),
]
