"""Products of the `np` namespace: dot, matmul, tensordot, einsum, outer, ..."""

from __future__ import annotations

import itertools
import math
import numbers

import numpy as onp

from core.base import BadValue, MXNetError
from core.dtypes import dtype_name
from core.numpy.multiarray import _as_array, _into
from core.ops.registry import F


def _floats(name, *arrays):
    for a in arrays:
        on_gpu = getattr(getattr(a, "context", None), "device_type", "cpu") == "gpu"  # float16 only there, as MXNet
        if dtype_name(a.dtype) not in ("float32", "float64", "bfloat16") + ("float16",) * on_gpu:
            raise MXNetError(f"np.{name}: products need float32 or float64, given {dtype_name(a.dtype)}")
    if len({dtype_name(a.dtype) for a in arrays}) > 1:
        raise MXNetError(
            f"np.{name}: operands of one type are needed, given {', '.join(dtype_name(a.dtype) for a in arrays)}"
        )


def dot(a, b, out=None):
    """The sum over the last axis of a and the last but one (only) axis of b."""
    if isinstance(a, numbers.Number) or isinstance(b, numbers.Number):
        return a * b
    if a.ndim == 0 or b.ndim == 0:
        return _into(out, F._npi_multiply(a, b))
    left, right = a.ndim - 1, max(b.ndim - 2, 0)
    _complete(a, left, b.shape[right])
    _complete(b, right, a.shape[left])
    _floats("dot", a, b)
    return _into(out, tensordot(a, b, ((left,), (right,))))


def _complete(x, axis, extent):
    """Tells a parameter that waits for its shape the one extent that it misses."""
    if getattr(x, "_is_placeholder", False) and x.shape[axis] in (0, -1):
        x.materialise((*x.shape[:axis], extent, *x.shape[axis + 1 :]))


def vdot(a, b):
    """The dot product of the flat arrays."""
    return dot(a.reshape(-1), b.reshape(-1))


def inner(a, b):
    """The sum over the last axes."""
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def outer(a, b):
    """The products of each element of a with each one of b."""
    return F._npi_multiply(F._reshape_to(a, shape=(a.size, 1)), F._reshape_to(b, shape=(1, b.size)))


def kron(a, b):
    """The Kronecker product."""
    n = max(a.ndim, b.ndim)
    sa, sb = (1,) * (n - a.ndim) + a.shape, (1,) * (n - b.ndim) + b.shape
    wide_a = F._reshape_to(a, shape=tuple(itertools.chain.from_iterable((x, 1) for x in sa)))
    wide_b = F._reshape_to(b, shape=tuple(itertools.chain.from_iterable((1, x) for x in sb)))
    return F._reshape_to(F._npi_multiply(wide_a, wide_b), shape=tuple(x * y for x, y in zip(sa, sb, strict=True)))


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross product of vectors of two or three elements; of two of two elements the third one of the result."""
    if axis is not None:
        axisa = axisb = axisc = axis
    from core.numpy.manipulation import moveaxis, stack

    a, b = moveaxis(a, axisa, 0), moveaxis(b, axisb, 0)
    if not {a.shape[0], b.shape[0]} <= {2, 3}:
        raise MXNetError(f"cross: vectors of two or three elements are needed, given {a.shape[0]} and {b.shape[0]}")
    if a.shape[0] == b.shape[0] == 2:
        return a[0] * b[1] - a[1] * b[0]
    if a.shape[0] == 2:
        return stack([a[1] * b[2], -(a[0] * b[2]), a[0] * b[1] - a[1] * b[0]], axis=axisc)
    if b.shape[0] == 2:
        return stack([-(a[2] * b[1]), a[2] * b[0], a[0] * b[1] - a[1] * b[0]], axis=axisc)
    return stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], axis=axisc)


def matmul(a, b, out=None):
    """The matrix product with broadcast leading axes."""
    return _into(out, F._npi_matmul(a, b))


def tensordot(a, b, axes=2):
    """The sum over pairs of axes, or over the last and first `axes` ones."""
    a, b = _as_array(a), _as_array(b)
    if isinstance(axes, numbers.Integral):
        axes = (tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes)))
    left, right = ((x,) if isinstance(x, numbers.Integral) else tuple(x) for x in axes)
    for x, taken in ((a, left), (b, right)):
        if any(not -x.ndim <= i < x.ndim for i in taken):
            raise MXNetError(f"tensordot: axes {taken} are out of bounds for an array of {x.ndim} axes")
    left, right = tuple(x % a.ndim for x in left), tuple(x % b.ndim for x in right)
    if len(left) != len(right) or any(a.shape[i] != b.shape[j] for i, j in zip(left, right, strict=True)):
        raise MXNetError(f"tensordot: shapes {a.shape} and {b.shape} do not fit along {axes}")
    free_a = tuple(i for i in range(a.ndim) if i not in left)
    free_b = tuple(i for i in range(b.ndim) if i not in right)
    common = math.prod(a.shape[i] for i in left)
    rows, columns = math.prod(a.shape[i] for i in free_a), math.prod(b.shape[i] for i in free_b)
    flat_a = F._reshape_to(_permuted(a, free_a + left), shape=(rows, common))
    flat_b = F._reshape_to(_permuted(b, right + free_b), shape=(common, columns))
    shape = tuple(a.shape[i] for i in free_a) + tuple(b.shape[i] for i in free_b)
    return F._reshape_to(F._matmul(flat_a, flat_b), shape=shape)


def _permuted(x, axes):
    return x if axes == tuple(range(x.ndim)) else F.transpose(x, axes=axes)


def einsum(subscripts, *operands, out=None, optimize=False):
    """Sums of products in Einstein's notation, as in NumPy; two operands at a time, as matrix products.

    optimize: the order in which operands meet, which costs time and memory but changes no result: False, from left to
    right; True, "greedy", "optimal" or a list, the order that `numpy.einsum_path` finds for these.
    """
    operands = [_as_array(x) for x in operands]
    terms, result = _parse(subscripts, operands)
    arrays = list(zip(terms, operands, strict=True))
    arrays = [_diagonals(t, x) for t, x in arrays]
    for chosen in _order(terms, result, operands, optimize):
        pair = [arrays.pop(i) for i in sorted(chosen, reverse=True)][::-1]
        while len(pair) > 1:
            (ta, a), (tb, b), *others = pair
            rest = set("".join(t for t, _ in others + arrays)) | set(result)
            pair = [_pair(ta, a, tb, b, rest), *others]
        arrays += pair
    term, x = arrays[0]
    gone = tuple(i for i, letter in enumerate(term) if letter not in result)
    if gone:
        x = F._np_sum(x, axis=gone)
        term = "".join(letter for letter in term if letter in result)
    x = _permuted(x, tuple(term.index(letter) for letter in result))
    return _into(out, F._copy(x) if x is operands[0] else x)


def _order(terms: list[str], result: str, operands: list, optimize) -> list:
    """Which operands meet in each step, by their numbers among those left; what they give comes last."""
    if not optimize:
        return [tuple(range(len(operands)))]
    shapes = [onp.broadcast_to(onp.empty(()), x.shape) for x in operands]
    return onp.einsum_path(f"{','.join(terms)}->{result}", *shapes, optimize=optimize)[0][1:]


def _parse(subscripts: str, operands) -> tuple[list[str], str]:
    """Letters of each operand and of the result, with an ellipsis written out in capital letters that are free."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"einsum: {subscripts!r} names {len(terms)} operands, {len(operands)} given")
    free = [chr(c) for c in (*range(65, 91), *range(97, 123)) if chr(c) not in text]
    widths = [x.ndim - len(t.replace("...", "")) for t, x in zip(terms, operands, strict=True) if "..." in t]
    dots = "".join(free[: max(widths, default=0)])
    expanded = []
    for t, x in zip(terms, operands, strict=True):
        if "..." in t:
            width = x.ndim - len(t.replace("...", ""))
            t = t.replace("...", dots[len(dots) - width :])
        if len(t) != x.ndim:
            raise ValueError(f"einsum: {t!r} does not fit an operand of {x.ndim} axes")
        expanded.append(t)
    if arrow:
        result = right.replace("...", dots)
    else:
        letters = "".join(expanded)
        result = dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots))
    for letter in result:
        if not any(letter in t for t in expanded):
            raise ValueError(f"einsum: {letter!r} of the result stands in no operand")
    return expanded, result


def _diagonals(term: str, x):
    """An operand whose letters are all different: repeated ones become one axis."""
    from core.numpy.manipulation import diagonal

    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            i = term.index(letter)
            j = term.index(letter, i + 1)
            x = diagonal(x, 0, i, j)
            term = term[:i] + term[i + 1 : j] + term[j + 1 :] + letter
    return term, x


def _pair(ta, a, tb, b, kept: set):
    """The product of two operands, summed over letters that nothing later needs."""
    for letter in [c for c in ta if c not in tb and c not in kept]:
        a, ta = F._np_sum(a, axis=ta.index(letter)), ta.replace(letter, "")
    for letter in [c for c in tb if c not in ta and c not in kept]:
        b, tb = F._np_sum(b, axis=tb.index(letter)), tb.replace(letter, "")
    batch = [c for c in ta if c in tb and c in kept]
    common = [c for c in ta if c in tb and c not in kept]
    rows, columns = [c for c in ta if c not in tb], [c for c in tb if c not in ta]
    size = {}
    for t, x in ((ta, a), (tb, b)):
        for letter, n in zip(t, x.shape, strict=True):
            if size.get(letter, 1) not in (1, n) and n != 1:
                raise BadValue(f"einsum: {letter!r} has lengths {size[letter]} and {n}")
            size[letter] = n if size.get(letter, 1) == 1 else size[letter]
    a = F._broadcast_from(a, shape=tuple(size[c] for c in ta)) if a.shape != tuple(size[c] for c in ta) else a
    b = F._broadcast_from(b, shape=tuple(size[c] for c in tb)) if b.shape != tuple(size[c] for c in tb) else b
    lengths = [math.prod(size[c] for c in group) for group in (batch, rows, common, columns)]
    left = _permuted(a, tuple(ta.index(c) for c in batch + rows + common))
    right = _permuted(b, tuple(tb.index(c) for c in batch + common + columns))
    left = F._reshape_to(left, shape=(lengths[0], lengths[1], lengths[2]))
    right = F._reshape_to(right, shape=(lengths[0], lengths[2], lengths[3]))
    if "float" in dtype_name(a.dtype) and common:
        product = F._matmul(left, right)
    else:  # nothing to sum over, or integers: element by element
        wide = F._npi_multiply(F.expand_dims(left, axis=3), F.expand_dims(right, axis=1))
        product = F._np_sum(wide, axis=2)
    letters = batch + rows + columns
    return "".join(letters), F._reshape_to(product, shape=tuple(size[c] for c in letters))


__all__ = ["cross", "dot", "einsum", "inner", "kron", "matmul", "outer", "tensordot", "vdot"]
