"""Functions of `sym` that are more than one operator: arrays of constants, and operations of symbols and numbers."""

from __future__ import annotations

from core.ops.registry import TABLE
from core.symbol.compose import wrapper
from core.symbol.symbol import Symbol


def zeros(shape, dtype=None, **kwargs) -> Symbol:
    """An array of zeros.

    >>> sym.zeros((2,)).eval()[0]
    [0. 0.]
    <NDArray 2 @cpu(0)>
    """
    return _internal("_zeros", shape=shape, dtype=dtype or "float32", **kwargs)


def ones(shape, dtype=None, **kwargs) -> Symbol:
    """An array of ones.

    >>> sym.ones((2,)).eval()[0]
    [1. 1.]
    <NDArray 2 @cpu(0)>
    """
    return _internal("_ones", shape=shape, dtype=dtype or "float32", **kwargs)


def full(shape, val, dtype=None, **kwargs) -> Symbol:
    """An array filled with `val`.

    >>> sym.full((2,), 7).eval()[0]
    [7. 7.]
    <NDArray 2 @cpu(0)>
    """
    return _internal("_full", shape=shape, value=float(val), dtype=dtype or "float32", **kwargs)


def arange(start, stop=None, step=1.0, repeat=1, infer_range=False, name=None, dtype=None) -> Symbol:
    """Numbers from start (0 where only one bound is given) to stop (exclusive) by step, each `repeat` times.

    >>> sym.arange(0, 3).eval()[0]
    [0. 1. 2.]
    <NDArray 3 @cpu(0)>
    """
    given = {"start": start, "stop": stop, "step": step, "repeat": repeat, "infer_range": infer_range}
    return _internal("_arange", **given, name=name, dtype=dtype or "float32")


def linspace(start, stop, num, endpoint=True, name=None, dtype=None) -> Symbol:
    """`num` numbers evenly spaced from start to stop, which belongs to them where `endpoint` says so.

    >>> sym.linspace(0, 1, 3).eval()[0]
    [0.  0.5 1. ]
    <NDArray 3 @cpu(0)>
    """
    given = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    return _internal("_linspace", **given, name=name, dtype=dtype or "float32")


def eye(N, M=0, k=0, dtype=None, **kwargs) -> Symbol:
    """Ones on diagonal k of an N x M matrix (M = 0: square).

    >>> sym.eye(2).eval()[0]
    [[1. 0.]
     [0. 1.]]
    <NDArray 2x2 @cpu(0)>
    """
    return _internal("_eye", N=N, M=M, k=k, dtype=dtype or "float32", **kwargs)


def histogram(a, bins=10, range=None, **kwargs) -> Symbol:
    """Numbers of elements between edges, and the edges: `bins` (a symbol), or `bins` equal parts of `range`.

    >>> counts = sym.histogram(sym.var("x"), bins=2, range=(1, 3))[0]
    >>> counts.eval(x=nd.array([1, 2, 2, 3]))[0]
    [1 3]
    <NDArray 2 @cpu(0)>
    """
    if isinstance(bins, Symbol):
        return _internal("_histogram", a, bins, **kwargs)
    if range is None:
        raise ValueError("histogram of a symbol needs the range of the bins: its values are not known yet")
    return _internal("_histogram", a, bin_cnt=bins, range=tuple(range), **kwargs)


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False) -> Symbol:
    """Parts along an axis: a number of equal ones, or cut at the given positions.

    >>> parts = sym.split_v2(sym.var("x"), (2,))
    >>> parts[1].eval(x=nd.arange(5))[0]
    [2. 3. 4.]
    <NDArray 3 @cpu(0)>
    """
    if isinstance(indices_or_sections, int):
        return _internal("_split_v2", ary, sections=indices_or_sections, axis=axis, squeeze_axis=squeeze_axis)
    places = tuple(indices_or_sections)
    places = places if places[:1] == (0,) else (0, *places)
    return _internal("_split_v2", ary, indices=places, axis=axis, squeeze_axis=squeeze_axis)


def maximum(left, right):
    """The larger of each two elements, of symbols and numbers.

    >>> sym.maximum(sym.var("x"), 0).eval(x=nd.array([-1, 2]))[0]
    [0. 2.]
    <NDArray 2 @cpu(0)>
    """
    return _either("_maximum", "_maximum_scalar", "_maximum_scalar", max, left, right)


def minimum(left, right):
    """The smaller of each two elements, of symbols and numbers.

    >>> sym.minimum(sym.var("x"), 0).eval(x=nd.array([-1, 2]))[0]
    [-1.  0.]
    <NDArray 2 @cpu(0)>
    """
    return _either("_minimum", "_minimum_scalar", "_minimum_scalar", min, left, right)


def hypot(left, right):
    """sqrt(left^2 + right^2), of symbols and numbers.

    >>> sym.hypot(sym.var("x"), 4).eval(x=nd.array([3]))[0]
    [5.]
    <NDArray 1 @cpu(0)>
    """
    return _either("_hypot", "_hypot_scalar", "_hypot_scalar", lambda a, b: (a * a + b * b) ** 0.5, left, right)


def power(base, exp):
    """base to the power exp, of symbols and numbers.

    >>> sym.power(sym.var("x"), 2).eval(x=nd.array([1, 3]))[0]
    [1. 9.]
    <NDArray 2 @cpu(0)>
    """
    return _either("_power", "_power_scalar", "_rpower_scalar", lambda a, b: a**b, base, exp)


pow = power


def _internal(operator: str, /, *args, **kwargs) -> Symbol:
    hint = operator.replace("_scalar", "scalar")  # as MXNet counts them
    return wrapper(TABLE[operator], hint, Symbol)(*args, **kwargs)


def _either(both: str, right_number: str, left_number: str, numbers, left, right):
    if isinstance(left, Symbol):
        if isinstance(right, Symbol):
            return _internal(both, left, right)
        return _internal(right_number, left, scalar=right)
    if isinstance(right, Symbol):
        return _internal(left_number, right, scalar=left)
    return numbers(left, right)
