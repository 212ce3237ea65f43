"""Random samplers in Triton: counter-based, so the numbers are a function of `key`, the element and the sampler.

Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) under the key gives four words for
every counter. The plain samplers turn one counter into four elements; those with rejection give every element its own
counter and count the attempts. Arithmetic is float32, or float64 for float64 results. Dropout's mask is not stored,
except in its own shape where it is constant along `axes`.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from core.kernels.precision import wide_type
from core.kernels.triton._kernel import jit
from core.kernels.triton._recording import as_float
from core.kernels.triton.aot import AotCase
from core.kernels.triton.copies import contiguous
from core.kernels.triton.fills import fill_
from core.kernels.triton.rows import as_bytes
from core.kernels.triton.sort import sort

# Elements of a program; part of what decides the numbers, so not to be tuned.
_QUADS = 256
_SINGLES = 128


def uniform(shape, low, high, dtype, device, key):
    return _fill(_uniform, _BETWEEN, shape, low, high, dtype, device, key)


def normal(shape, loc, scale, dtype, device, key):
    return _fill(_normal, _AFFINE, shape, loc, scale, dtype, device, key)


def randint(shape, low, high, dtype, device, key):
    x = torch.empty(shape, dtype=dtype, device=device)
    if x.numel():
        _integers[(triton.cdiv(x.numel(), _SINGLES),)](as_bytes(x), x.numel(), key, low, high - low, SINGLES=_SINGLES)
    return x


def bernoulli(shape, p, dtype, device, key):
    return _fill(_uniform, _BELOW, shape, p, 0.0, dtype, device, key)


def exponential(shape, scale, dtype, device, key):
    return _fill(_exponential, _AFFINE, shape, 0.0, scale, dtype, device, key)


def gamma(shape, alpha, beta, dtype, device, key):
    return _gammas(_PLAIN, shape, alpha, beta, dtype, device, key)


def poisson(shape, lam, dtype, device, key):
    x = torch.empty(shape, dtype=dtype, device=device)
    if x.numel():
        lam, given = _parameter(lam, x)
        _poisson[(triton.cdiv(x.numel(), _SINGLES),)](x, lam, x.numel(), key, GIVEN=given, SINGLES=_SINGLES)
    return x


def negative_binomial(shape, k, p, dtype, device, key):
    return poisson(shape, _gammas(_FAILURES, shape, k, p, wide_type(dtype), device, key), dtype, device, key)


def generalized_negative_binomial(shape, mu, alpha, dtype, device, key):
    return poisson(shape, _gammas(_DISPERSED, shape, mu, alpha, wide_type(dtype), device, key), dtype, device, key)


def multinomial(probs, n, key):
    y = torch.empty((*probs.shape[:-1], n), dtype=torch.int64, device=probs.device)
    if y.numel():
        rows, kinds = y.numel() // n, probs.shape[-1]
        sums = torch.empty((rows, kinds), dtype=wide_type(probs.dtype), device=probs.device)
        _cumulate[(rows,)](contiguous(probs), sums, kinds, BLOCK=min(1024, triton.next_power_of_2(kinds)))
        _choose[(triton.cdiv(y.numel(), _SINGLES),)](sums, y, y.numel(), n, kinds, key, SINGLES=_SINGLES)
    return y


def permutation(n, device, key):
    return sort(randint((n,), -(1 << 31), 1 << 31, torch.int32, device, key), 0, False)[1]


def dropout(x, p, key, axes=(), salt=0):
    if p >= 1:
        return fill_(torch.empty_like(x), 0)
    x = contiguous(x)
    y = torch.empty_like(x)
    if x.numel():
        mask = x
        if axes:
            shape = [1 if axis in axes else n for axis, n in enumerate(x.shape)]
            mask = _fill(_uniform, _BELOW, shape, 1.0 - p, 0.0, torch.uint8, x.device, key, salt)
            mask = contiguous(mask.expand(x.shape))
        _dropout[(triton.cdiv(x.numel(), 4 * _QUADS),)](
            x, mask, y, x.numel(), key, salt, 1.0 - p, 1.0 / (1.0 - p), MASKED=bool(axes), QUADS=_QUADS
        )
    return y


# ------------------------------------------------------------ launching

_BETWEEN, _AFFINE, _BELOW = 0, 1, 2
_PLAIN, _FAILURES, _DISPERSED = 0, 1, 2


def _fill(source, finish, shape, a, b, dtype, device, key, salt=0):
    x = torch.empty(shape, dtype=dtype, device=device)
    if x.numel():
        (a, a_given), (b, b_given) = _parameter(a, x), _parameter(b, x)
        _sample[(triton.cdiv(x.numel(), 4 * _QUADS),)](
            as_bytes(x), a, b, x.numel(), key, salt,
            SOURCE=source, FINISH=finish, A_GIVEN=a_given, B_GIVEN=b_given, WIDE=dtype is torch.float64, QUADS=_QUADS,
        )  # fmt: skip
    return x


def _gammas(mode, shape, a, b, dtype, device, key):
    x = torch.empty(shape, dtype=dtype, device=device)
    if x.numel():
        (a, a_given), (b, b_given) = _parameter(a, x), _parameter(b, x)
        _gamma[(triton.cdiv(x.numel(), _SINGLES),)](
            x, a, b, x.numel(), key, MODE=mode, A_GIVEN=a_given, B_GIVEN=b_given, SINGLES=_SINGLES
        )
    return x


def _parameter(value, x):
    """A tensor of the elements' parameters and True, or a number and False."""
    given = isinstance(value, torch.Tensor)
    return (contiguous(value.expand(x.shape)) if given else as_float(value)), given


# ------------------------------------------------------------ kernels


@jit
def number_of(key):
    """A key that is a number, or lies in memory, where a captured launch finds another one each time."""
    if key.dtype.is_ptr():
        return tl.load(key)
    else:
        return key


@jit
def _words(key, counter, attempt, stage):
    """Four random words for one counter of 64 bits, an attempt and a stage."""
    key = number_of(key)
    low = (counter & 0xFFFFFFFF).to(tl.uint32)
    high = (counter >> 32).to(tl.uint32)
    zero = low * 0
    return tl.philox(key, low, high, zero + attempt, zero + stage)


@jit
def _unit(word, WIDE: tl.constexpr):
    """[0, 1) from the upper 24 bits of a word, or in float64 from all of it."""
    if WIDE:
        return word.to(tl.float64) * (1.0 / 4294967296.0)
    else:
        return (word >> 8).to(tl.float32) * (1.0 / 16777216.0)


@jit
def _box_muller(a, b, WIDE: tl.constexpr):
    """Two standard normals from two words (Box and Muller, 1958)."""
    radius = tl.sqrt(-2.0 * tl.log(1.0 - _unit(a, WIDE)))
    angle = 6.283185307179586 * _unit(b, WIDE)
    return radius * tl.cos(angle), radius * tl.sin(angle)


@jit
def _uniform(a, b, c, d, WIDE: tl.constexpr):
    return _unit(a, WIDE), _unit(b, WIDE), _unit(c, WIDE), _unit(d, WIDE)


@jit
def _normal(a, b, c, d, WIDE: tl.constexpr):
    x, y = _box_muller(a, b, WIDE)
    z, w = _box_muller(c, d, WIDE)
    return x, y, z, w


@jit
def _exponential(a, b, c, d, WIDE: tl.constexpr):
    a, b, c, d = _uniform(a, b, c, d, WIDE)
    return -tl.log(1.0 - a), -tl.log(1.0 - b), -tl.log(1.0 - c), -tl.log(1.0 - d)


@jit(do_not_specialize=["key"])
def _sample(
    x_ptr, a_ptr, b_ptr, total, key, salt,
    SOURCE: tl.constexpr, FINISH: tl.constexpr, A_GIVEN: tl.constexpr, B_GIVEN: tl.constexpr, WIDE: tl.constexpr,
    QUADS: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0).to(tl.int64)
    quads = SOURCE(*_words(number_of(key) ^ salt, block * QUADS + tl.arange(0, QUADS), 0, 0), WIDE)
    for lane in tl.static_range(4):
        at = (4 * block + lane) * QUADS + tl.arange(0, QUADS)
        inside = at < total
        value = quads[lane]
        a = tl.load(a_ptr + at, inside, 0).to(value.dtype) if A_GIVEN else a_ptr
        b = tl.load(b_ptr + at, inside, 0).to(value.dtype) if B_GIVEN else b_ptr
        if FINISH == 0:
            value = a + (b - a) * value
        elif FINISH == 1:
            value = a + b * value
        else:
            value = tl.where(value < a, 1.0, 0.0)
        tl.store(x_ptr + at, value.to(x_ptr.dtype.element_ty), inside)


@jit(do_not_specialize=["key", "low", "extent"])
def _integers(x_ptr, total, key, low, extent, SINGLES: tl.constexpr):
    """low + floor(extent * word / 2^32), with both halves of 64 random bits where the extent is large."""
    at = tl.program_id(0).to(tl.int64) * SINGLES + tl.arange(0, SINGLES)
    a, b, _, _ = _words(key, at, 0, 0)
    extent = tl.full((SINGLES,), 0, tl.uint64) + extent.to(tl.uint64)
    fraction = (a.to(tl.uint64) << 32) | b.to(tl.uint64)
    value = tl.umulhi(fraction, extent).to(tl.int64) + low
    tl.store(x_ptr + at, value.to(x_ptr.dtype.element_ty), at < total)


@jit(do_not_specialize=["key"])
def _gamma(
    x_ptr, a_ptr, b_ptr, total, key,
    MODE: tl.constexpr, A_GIVEN: tl.constexpr, B_GIVEN: tl.constexpr, SINGLES: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * SINGLES + tl.arange(0, SINGLES)
    inside = at < total
    WIDE: tl.constexpr = x_ptr.dtype.element_ty == tl.float64
    wide: tl.constexpr = tl.float64 if WIDE else tl.float32
    zero = tl.zeros((SINGLES,), wide)
    a = zero + (tl.load(a_ptr + at, inside, 1).to(wide) if A_GIVEN else a_ptr)
    b = zero + (tl.load(b_ptr + at, inside, 1).to(wide) if B_GIVEN else b_ptr)
    mean = a
    if MODE == 0:
        alpha, beta = a, b
    elif MODE == 1:
        alpha, beta = a, (1 - b) / b
    else:
        alpha, beta = 1 / tl.where(b == 0, 1.0, b), a * b
    boosted = alpha < 1
    d = tl.maximum(tl.where(boosted, alpha + 1, alpha), 1.0) - 1.0 / 3
    c = 1 / tl.sqrt(9 * d)
    result = zero
    pending = inside
    attempt = 0
    while tl.max(pending.to(tl.int32), 0) > 0:
        first, second, third, _ = _words(key, at, attempt, 1)
        x, _ = _box_muller(first, second, WIDE)
        v = 1 + c * x
        v = v * v * v
        safe = tl.where(v > 0, v, 1.0)
        u = 1 - _unit(third, WIDE)
        accepted = (v > 0) & (tl.log(u) < 0.5 * x * x + d - d * safe + d * tl.log(safe))
        result = tl.where(pending & accepted, d * safe, result)
        pending = pending & ~accepted
        attempt += 1
    first, _, _, _ = _words(key, at, 0, 2)
    boost = tl.exp(tl.log(1 - _unit(first, WIDE)) / tl.where(boosted & (alpha > 0), alpha, 1.0))
    result = tl.where(boosted, result * boost, result) * beta
    result = tl.where(alpha > 0, result, 0.0)
    if MODE == 2:
        result = tl.where(b == 0, mean, result)
    tl.store(x_ptr + at, result.to(x_ptr.dtype.element_ty), inside)


@jit
def _log_factorial(k):
    """Stirling's series for log Gamma at k + 9, stepped down to k + 1 (float64)."""
    x = k + 9
    inverse = 1 / x
    series = inverse * (1.0 / 12 - inverse * inverse * (1.0 / 360 - inverse * inverse / 1260))
    product = (k + 1) * (k + 2) * (k + 3) * (k + 4) * ((k + 5) * (k + 6) * (k + 7) * (k + 8))
    return (x - 0.5) * tl.log(x) - x + 0.9189385332046727 + series - tl.log(product)


@jit(do_not_specialize=["key"])
def _poisson(x_ptr, mean_ptr, total, key, GIVEN: tl.constexpr, SINGLES: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * SINGLES + tl.arange(0, SINGLES)
    inside = at < total
    zero = tl.zeros((SINGLES,), tl.float64)
    mean = zero + (tl.load(mean_ptr + at, inside, 0).to(tl.float64) if GIVEN else mean_ptr)
    result = zero
    small = mean < 10
    # Inversion: walk up the distribution until it passes the uniform number.
    first, _, _, _ = _words(key, at, 0, 3)
    u = _unit(first, True)
    probability = tl.exp(-tl.where(small, mean, 0.0))
    reached = probability
    pending = inside & small & (u >= reached)
    step = 0
    while tl.max(pending.to(tl.int32), 0) > 0:
        step += 1
        probability = probability * mean / step
        reached += tl.where(pending, probability, 0.0)
        result = tl.where(pending, step, result)
        pending = pending & (u >= reached) & (step < 100)
    # Transformed rejection, algorithm PTRS.
    large = tl.where(small, 10.0, mean)
    b = 0.931 + 2.53 * tl.sqrt(large)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2)
    pending = inside & ~small
    attempt = 0
    while tl.max(pending.to(tl.int32), 0) > 0:
        first, second, _, _ = _words(key, at, attempt, 4)
        u = _unit(first, True) - 0.5
        v = 1 - _unit(second, True)
        us = 0.5 - tl.abs(u)
        us = tl.where(us > 0, us, 1e-12)
        k = tl.floor((2 * a / us + b) * u + large + 0.43)
        quick = (us >= 0.07) & (v <= squeeze)
        hopeless = (k < 0) | ((us < 0.013) & (v > us))
        count = tl.where(hopeless, 0.0, k)
        bound = count * tl.log(large) - large - _log_factorial(count)
        exact = tl.log(v * inverse_alpha / (a / (us * us) + b)) <= bound
        accepted = quick | (~hopeless & exact)
        result = tl.where(pending & accepted, k, result)
        pending = pending & ~accepted
        attempt += 1
    tl.store(x_ptr + at, result.to(x_ptr.dtype.element_ty), inside)


@jit
def _cumulate(probs_ptr, sums_ptr, kinds, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * kinds
    before = tl.zeros((), sums_ptr.dtype.element_ty)
    for start in range(0, kinds, BLOCK):
        at = start + tl.arange(0, BLOCK)
        p = tl.load(probs_ptr + row + at, at < kinds, 0).to(sums_ptr.dtype.element_ty)
        tl.store(sums_ptr + row + at, before + tl.cumsum(p, 0), at < kinds)
        before += tl.sum(p, 0)


@jit(do_not_specialize=["key"])
def _choose(sums_ptr, y_ptr, total, n, kinds, key, SINGLES: tl.constexpr):
    """The first category whose cumulated weight exceeds a uniform share of the total (in float64, so below it)."""
    at = tl.program_id(0).to(tl.int64) * SINGLES + tl.arange(0, SINGLES)
    inside = at < total
    row = at // n * kinds
    first, _, _, _ = _words(key, at, 0, 5)
    share = _unit(first, True) * tl.load(sums_ptr + row + kinds - 1, inside, 0).to(tl.float64)
    low = tl.zeros((SINGLES,), tl.int64)
    high = low + kinds
    width = kinds
    while width > 0:
        middle = (low + high) // 2
        here = tl.load(sums_ptr + row + middle, inside & (low < high), 0).to(tl.float64)
        not_yet = (low < high) & (here <= share)
        high = tl.where(not_yet, high, middle)
        low = tl.where(not_yet, middle + 1, low)
        width //= 2
    tl.store(y_ptr + at, low, inside)


@jit(do_not_specialize=["key"])
def _dropout(x_ptr, mask_ptr, y_ptr, total, key, salt, keep, scale, MASKED: tl.constexpr, QUADS: tl.constexpr):
    block = tl.program_id(0).to(tl.int64)
    quads = _uniform(*_words(number_of(key) ^ salt, block * QUADS + tl.arange(0, QUADS), 0, 0), False)
    for lane in tl.static_range(4):
        at = (4 * block + lane) * QUADS + tl.arange(0, QUADS)
        inside = at < total
        kept = tl.load(mask_ptr + at, inside, 0) != 0 if MASKED else quads[lane] < keep
        x = tl.load(x_ptr + at, inside, 0)
        wide = x.to(tl.float64 if x.dtype == tl.float64 else tl.float32)
        tl.store(y_ptr + at, (wide * tl.where(kept, scale, 0.0)).to(x.dtype), inside)


AOT = [
    AotCase(
        _sample,
        {"x_ptr": "*fp32", "a_ptr": "fp32", "b_ptr": "fp32", "total": "i32", "key": "i64", "salt": "i32"},
        {"SOURCE": source, "FINISH": finish, "A_GIVEN": False, "B_GIVEN": False, "WIDE": False, "QUADS": _QUADS},
    )
    for source, finish in ((_uniform, _BETWEEN), (_normal, _AFFINE), (_exponential, _AFFINE))
] + [
    AotCase(
        _gamma,
        {"x_ptr": "*fp32", "a_ptr": "*fp32", "b_ptr": "fp32", "total": "i32", "key": "i64"},
        {"MODE": _PLAIN, "A_GIVEN": True, "B_GIVEN": False, "SINGLES": _SINGLES},
    ),
    AotCase(
        _poisson,
        {"x_ptr": "*fp32", "mean_ptr": "*fp32", "total": "i32", "key": "i64"},
        {"GIVEN": True, "SINGLES": _SINGLES},
    ),
    AotCase(
        _dropout,
        {"x_ptr": "*bf16", "mask_ptr": "*bf16", "y_ptr": "*bf16", "total": "i32", "key": "*i64", "salt": "i64"}
        | {"keep": "fp32", "scale": "fp32"},
        {"MASKED": False, "QUADS": _QUADS},
    ),
]
