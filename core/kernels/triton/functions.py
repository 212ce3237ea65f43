"""Scalar functions that Triton's language lacks, for pointwise kernels.

All are written in the language itself, so the interpreter runs what the GPU runs. Accuracy is that of a few units in
the last position of float32; float64 keeps about 1e-14 except `erfinv` (1e-10). Sources: Cephes (arctangent), Kahan
(log1p, expm1), Abramowitz and Stegun 6.1.41 and 6.3.18 (log gamma, digamma), Giles 2010 (inverse error function).
"""

from __future__ import annotations

import triton.language as tl

from core.kernels.triton._kernel import jit


@jit
def sign(x):
    return tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, x * 0)).to(x.dtype)


@jit
def trunc(x):
    return tl.where(x < 0, tl.ceil(x), tl.floor(x))


@jit
def rint(x):
    """To the nearest integer, halves to even."""
    down = tl.floor(x)
    rest = x - down
    odd = down - 2.0 * tl.floor(down * 0.5)
    up = (rest > 0.5) | ((rest == 0.5) & (odd == 1.0))
    return tl.where(up, down + 1.0, down)


@jit
def round_away(x):
    """To the nearest integer, halves away from zero."""
    size = tl.floor(tl.abs(x) + 0.5)
    return tl.where(x < 0, -size, size)


@jit
def sigmoid(x):
    e = tl.exp(-tl.abs(x))
    return tl.where(x < 0, e / (1.0 + e), 1.0 / (1.0 + e))


@jit
def log1p(x):
    w = 1.0 + x
    return tl.where(w == 1.0, x, tl.log(w) * (x / tl.where(w == 1.0, 1.0, w - 1.0)))


@jit
def expm1(x):
    u = tl.exp(x)
    small = u == 1.0
    low = u - 1.0 == -1.0
    log = tl.log(tl.where(small | (u == 0.0), 2.0, u))
    infinite = u == float("inf")
    between = tl.where(infinite, u, (u - 1.0) * (x / tl.where(infinite, 1.0, log)))
    return tl.where(small, x, tl.where(low, -1.0, between))


@jit
def sinh(x):
    e = expm1(tl.abs(x))
    size = 0.5 * (e + e / (e + 1.0))
    size = tl.where(e == float("inf"), e, size)
    return tl.where(x < 0, -size, size)


@jit
def cosh(x):
    e = tl.exp(tl.abs(x))
    return 0.5 * (e + 1.0 / e)


@jit
def tanh(x):
    e = expm1(-2.0 * tl.abs(x))
    size = -e / (e + 2.0)
    return tl.where(x < 0, -size, size)


@jit
def asinh(x):
    a = tl.abs(x)
    size = tl.where(a > 1e8, tl.log(a) + 0.6931471805599453, log1p(a + a * a / (1.0 + tl.sqrt(a * a + 1.0))))
    return tl.where(x < 0, -size, size)


@jit
def acosh(x):
    t = x - 1.0
    return tl.where(x > 1e8, tl.log(x) + 0.6931471805599453, log1p(t + tl.sqrt(2.0 * t + t * t)))


@jit
def atanh(x):
    a = tl.abs(x)
    size = 0.5 * log1p(2.0 * a / (1.0 - a))
    return tl.where(x < 0, -size, size)


@jit
def tan(x):
    return tl.sin(x) / tl.cos(x)


@jit
def atan(x):
    a = tl.abs(x)
    large, middle = a > 2.414213562373095, (a > 0.66) & (a <= 2.414213562373095)
    t = tl.where(large, -1.0 / tl.where(large, a, 1.0), tl.where(middle, (a - 1.0) / (a + 1.0), a))
    zero = x * 0  # where() on two literals would be float32
    base = tl.where(large, zero + 1.5707963267948966, tl.where(middle, zero + 0.7853981633974483, zero))
    z = t * t
    p = -8.750608600031904122785e-1
    p = p * z - 1.615753718733365076637e1
    p = p * z - 7.500855792314704667340e1
    p = p * z - 1.228866684490136173410e2
    p = p * z - 6.485021904942025371773e1
    q = z + 2.485846490142306297962e1
    q = q * z + 1.650270098316988542046e2
    q = q * z + 4.328810604912902668951e2
    q = q * z + 4.853903996359136964868e2
    q = q * z + 1.945506571482613964425e2
    size = base + t + t * z * p / q
    return tl.where(x < 0, -size, size)


@jit
def asin(x):
    return atan(x / tl.sqrt((1.0 - x) * (1.0 + x)))


@jit
def acos(x):
    return 1.5707963267948966 - asin(x)


@jit
def atan2(y, x):
    base = atan(y / x)
    pi = tl.where(y < 0, y * 0 - 3.141592653589793, y * 0 + 3.141592653589793)
    result = tl.where(x < 0, base + pi, base)
    return tl.where(x == 0, tl.where(y == 0, 0.0, 0.5 * pi), result)


@jit
def hypot(x, y):
    a, b = tl.maximum(tl.abs(x), tl.abs(y)), tl.minimum(tl.abs(x), tl.abs(y))
    ratio = b / tl.where(a == 0, 1.0, a)
    return a * tl.sqrt(1.0 + ratio * ratio)


@jit
def cbrt(x):
    a = tl.abs(x)
    safe = tl.where(a == 0, 1.0, a)
    y = tl.exp2(tl.log2(safe) / 3.0)
    y = y - (y - safe / (y * y)) / 3.0
    return tl.where(x == 0, x, tl.where(x < 0, -y, y))


@jit
def log10(x):
    return tl.log(x) * 0.4342944819032518


@jit
def power(a, b):
    size = tl.exp2(b * tl.log2(tl.abs(a)))
    whole = tl.floor(b) == b
    odd = whole & (b - 2.0 * tl.floor(b * 0.5) == 1.0)
    result = tl.where(a < 0, tl.where(whole, tl.where(odd, -size, size), float("nan")), size)
    result = tl.where((b == 0.0) | (a == 1.0), 1.0, result)
    return tl.where((a == 0.0) & (b > 0.0), 0.0, result)


@jit
def power_int(a, b):
    """Integer power by squaring; a negative exponent gives 0 except for bases 1 and -1."""
    result = a * 0 + 1
    base, left = a, tl.maximum(b, 0)
    for _ in range(32):
        result = tl.where(left % 2 == 1, result * base, result)
        base = base * base
        left = left // 2
    unit = tl.where(a == 1, 1, tl.where(a == -1, tl.where(b % 2 == 0, 1, -1), 0)).to(result.dtype)
    return tl.where(b < 0, unit, result)


@jit
def mod(a, b):
    """The remainder with the sign of the divisor; 0 where that is 0, as in MXNet."""
    return tl.where(b == 0, 0.0, a - b * tl.floor(a / b))


@jit
def mod_int(a, b):
    rest = fmod_int(a, b)
    return tl.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


@jit
def fmod(a, b):
    """The remainder with the sign of the dividend; 0 where the divisor is 0, as in MXNet."""
    return tl.where(b == 0, 0.0, a - b * trunc(a / b))


@jit
def fmod_int(a, b):
    return a % tl.where(b == 0, 1, b)


@jit
def floordiv_int(a, b):
    """The quotient rounded down; 0 where the divisor is 0, as in MXNet."""
    quotient = tl.where(b == 0, 0, a // tl.where(b == 0, 1, b))
    return tl.where((b != 0) & (a - quotient * b != 0) & ((a < 0) != (b < 0)), quotient - 1, quotient)


@jit
def copysign(a, b):
    size = tl.abs(a)
    return tl.where((b < 0) | (1.0 / b < 0), -size, size)


@jit
def gcd(a, b):
    a, b = tl.abs(a), tl.abs(b)
    for _ in range(96):  # Euclid on 64-bit numbers ends within 93 steps
        rest = a % tl.where(b == 0, 1, b)
        a = tl.where(b == 0, a, b)
        b = tl.where(b == 0, b, rest)
    return a


@jit
def lcm(a, b):
    common = gcd(a, b)
    return tl.abs(a // tl.where(common == 0, 1, common) * b)


@jit
def _log_gamma_positive(x):
    product = x * 0 + 1.0
    y = x
    for _ in range(8):  # up to where the asymptotic series holds
        low = y < 8.0
        product = tl.where(low, product * y, product)
        y = tl.where(low, y + 1.0, y)
    r = 1.0 / y
    z = r * r
    series = r * (
        0.08333333333333333
        + z
        * (
            -0.002777777777777778
            + z * (0.0007936507936507937 + z * (-0.0005952380952380953 + z * 0.0008417508417508417))
        )
    )
    return (y - 0.5) * tl.log(y) - y + 0.9189385332046727 + series - tl.log(product)


@jit
def lgamma(x):
    """log |gamma(x)|."""
    negative = x < 0.5
    value = _log_gamma_positive(tl.where(negative, 1.0 - x, x))
    wave = tl.abs(tl.sin(3.141592653589793 * (x - tl.floor(x))))
    return tl.where(negative, 1.1447298858494002 - tl.log(wave) - value, value)


@jit
def _digamma_positive(x):
    shift = x * 0
    y = x
    for _ in range(8):
        low = y < 8.0
        shift = tl.where(low, shift + 1.0 / y, shift)
        y = tl.where(low, y + 1.0, y)
    r = 1.0 / y
    z = r * r
    series = z * (
        0.08333333333333333
        - z
        * (0.008333333333333333 - z * (0.003968253968253968 - z * (0.004166666666666667 - z * 0.007575757575757576)))
    )
    return tl.log(y) - 0.5 * r - series - shift


@jit
def digamma(x):
    """The derivative of log gamma."""
    negative = x < 0.5
    value = _digamma_positive(tl.where(negative, 1.0 - x, x))
    angle = 3.141592653589793 * (x - tl.floor(x))
    return tl.where(negative, value - 3.141592653589793 * tl.cos(angle) / tl.sin(angle), value)


@jit
def _trigamma_positive(x):
    shift = x * 0
    y = x
    for _ in range(8):
        low = y < 8.0
        shift = tl.where(low, shift + 1.0 / (y * y), shift)
        y = tl.where(low, y + 1.0, y)
    r = 1.0 / y
    z = r * r
    series = r * (
        1.0
        + 0.5 * r
        + z * (0.16666666666666666 - z * (0.03333333333333333 - z * (0.023809523809523808 - z * 0.03333333333333333)))
    )
    return series + shift


@jit
def polygamma1(x):
    """The second derivative of log gamma."""
    negative = x < 0.5
    value = _trigamma_positive(tl.where(negative, 1.0 - x, x))
    wave = tl.sin(3.141592653589793 * (x - tl.floor(x)))
    return tl.where(negative, 9.869604401089358 / (wave * wave) - value, value)


@jit
def _tetragamma_positive(x):
    shift = x * 0
    y = x
    for _ in range(8):
        low = y < 8.0
        shift = tl.where(low, shift + 2.0 / (y * y * y), shift)
        y = tl.where(low, y + 1.0, y)
    r = 1.0 / y
    z = r * r
    series = z * (
        1.0 + r + z * (0.5 - z * (0.16666666666666666 - z * (0.16666666666666666 - z * (0.3 - z * 0.8333333333333334))))
    )
    return -series - shift


@jit
def polygamma2(x):
    """The third derivative of log gamma."""
    negative = x < 0.5
    value = _tetragamma_positive(tl.where(negative, 1.0 - x, x))
    angle = 3.141592653589793 * (x - tl.floor(x))
    wave = tl.sin(angle)
    return tl.where(negative, value - 62.01255336059963 * tl.cos(angle) / (wave * wave * wave), value)


@jit
def erfinv(x):
    w = -tl.log((1.0 - x) * (1.0 + x))
    s = w - 2.5
    p = 2.81022636e-08
    p = 3.43273939e-07 + p * s
    p = -3.5233877e-06 + p * s
    p = -4.39150654e-06 + p * s
    p = 0.00021858087 + p * s
    p = -0.00125372503 + p * s
    p = -0.00417768164 + p * s
    p = 0.246640727 + p * s
    p = 1.50140941 + p * s
    t = tl.sqrt(tl.maximum(w, 5.0)) - 3.0
    q = -0.000200214257
    q = 0.000100950558 + q * t
    q = 0.00134934322 + q * t
    q = -0.00367342844 + q * t
    q = 0.00573950773 + q * t
    q = -0.0076224613 + q * t
    q = 0.00943887047 + q * t
    q = 1.00167406 + q * t
    q = 2.83297682 + q * t
    y = tl.where(w < 5.0, p, q) * x
    y = y - (tl.erf(y) - x) / (1.1283791670955126 * tl.exp(-y * y))
    edge = tl.where(x > 0, float("inf"), float("-inf"))
    return tl.where(tl.abs(x) == 1.0, edge, y)


@jit
def gamma_slope(a, x):
    """How a standard gamma sample x moves with its shape a while its quantile stays: -(dP/da) / (dP/dx).

    P is the regularised incomplete gamma function by its power series, in float64 because the terms cancel where P is
    near 1; beyond shapes of 1000 the Wilson-Hilferty cube stands for it.
    """
    shape, sample = a.to(tl.float64), x.to(tl.float64)
    large = shape > 1000.0
    y, b = tl.where(large, 1.0, sample), tl.where(large, 1.0, shape)
    most = tl.max(tl.ravel(y))
    terms = most + 12.0 * tl.sqrt(most) + 40.0
    level = tl.log(tl.maximum(y, 1e-300)) - digamma(b + 1.0)
    term, total, n = b * 0.0 + 1.0, level, 1.0
    while n < terms:
        term = term * y / (b + n)
        level = level - 1.0 / (b + n)
        total += term * level
        n += 1.0
    root = tl.sqrt(shape)
    third = tl.exp(tl.log(tl.where(large, sample / shape, 1.0)) / 3.0)
    score = (third - 1.0 + 1.0 / (9.0 * shape)) * 3.0 * root
    cube = third * third * third + 3.0 * third * third * (1.0 / (9.0 * shape) - score / (6.0 * root))
    return tl.where(large, cube, -y / b * total).to(x.dtype)
