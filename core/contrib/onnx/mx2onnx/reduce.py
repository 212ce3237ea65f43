"""Sums and other reductions, orders, matrix products."""

from __future__ import annotations

import math

import numpy as np

from core.contrib.onnx.mx2onnx.table import axes_of, converts, enter, ints

_REDUCTIONS = {
    "sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd",
    "square_sum": "ReduceSumSquare", "_np_sum": "ReduceSum", "_npi_mean": "ReduceMean", "_np_max": "ReduceMax",
    "_np_min": "ReduceMin", "_np_prod": "ReduceProd",
}  # fmt: skip


@converts(*_REDUCTIONS)
def reduction(g, a, data):
    kind, rank = _REDUCTIONS[g.operator], g.rank(data)
    axes = axes_of(a.axis, rank)
    if getattr(a, "exclude", False):
        axes = [i for i in range(rank) if i not in axes]
    classic = "_np" not in g.operator
    if axes:
        made = g.reduce(kind, data, axes, a.keepdims)
    else:  # in ONNX no axes mean all of them
        made = g.add("Mul", data, data) if kind == "ReduceSumSquare" else g.add("Identity", data)
    # A classic array has at least one axis.
    made = g.add("Reshape", made, ints(1)) if classic and not a.keepdims and len(axes) == rank else made
    return g.cast(made, g.outputs[0][1], g.dtype(data))


@converts("moments")
def moments(g, a, data):
    axes = axes_of(a.axes, g.rank(data))
    made = _mean_and_variance(g, data, axes)
    if a.keepdims:
        return made
    whole = len(axes) == g.rank(data)
    return [g.add("Reshape", x, ints(1)) if whole else g.add("Squeeze", x, ints(*axes)) for x in made]


def _mean_and_variance(g, data, axes: list[int]) -> list:
    mean = g.reduce("ReduceMean", data, axes, True)
    centred = g.add("Sub", data, mean)
    return [mean, g.reduce("ReduceMean", g.add("Mul", centred, centred), axes, True)]


@converts("_npi_var")
def variance(g, a, data):
    dtype = g.outputs[0][1]
    if not (dtype.startswith("float") and g.dtype(data).startswith("float")):
        raise g.refuse("only the spread of floats is converted")
    axes = axes_of(a.axis, g.rank(data))
    _, made = _mean_and_variance(g, g.cast(data, dtype), axes)
    if a.ddof:
        count = math.prod(g.extent(data, axis) for axis in axes)
        made = g.add("Mul", made, g.like(count / (count - a.ddof) if count > a.ddof else math.nan, dtype))
    return made if a.keepdims else g.add("Squeeze", made, ints(*axes))


@converts("norm")
def norm(g, a, data):
    axes = axes_of(a.axis, g.rank(data))
    made = g.reduce({1: "ReduceL1", 2: "ReduceL2"}[a.ord], data, axes, a.keepdims)
    whole = len(axes) == g.rank(data) and not a.keepdims
    return g.add("Reshape", made, ints(1)) if whole else made


@converts("argmax", "argmin", "_npi_argmax", "_npi_argmin")
def arg_extreme(g, a, data):
    kind = "ArgMax" if "argmax" in g.operator else "ArgMin"
    if a.axis is None:
        data_, axis, keep = g.add("Reshape", data, ints(-1)), 0, 1
    else:
        data_, axis, keep = data, a.axis, int(a.keepdims)
    made = g.cast(g.add(kind, data_, axis=axis, keepdims=keep), g.outputs[0][1], "int64")
    return g.as_result(made, (1,)) if a.axis is None else made


@converts("topk", "sort", "argsort")
def topk(g, a, data):
    axis = axes_of(a.axis, g.rank(data))[0]
    count = g.extents([getattr(a, "k", 0) or g.lengths_of(data)[axis]])
    values, places = g.add("TopK", data, count, outputs=2, axis=axis, largest=int(not a.is_ascend))
    wanted = {"sort": "value", "argsort": "indices"}.get(g.operator) or a.ret_typ
    if wanted == "mask":
        dtype = g.outputs[0][1]
        nothing = g.add("Mul", data, g.like(0, g.dtype(data)))
        ones = g.add("Cast", g.add("GreaterOrEqual", places, np.int64(0)), to=g.code(dtype))
        return g.add("ScatterElements", g.cast(nothing, dtype, g.dtype(data)), places, ones, axis=axis)
    if wanted == "value":
        return values
    places = g.cast(places, a.dtype, "int64")
    return places if wanted == "indices" else [values, places]


@converts("cumsum")
def cumsum(g, a, data):
    if a.axis is None:
        data = g.add("Reshape", data, ints(-1))
    made = g.add("CumSum", data, np.int64(a.axis or 0))
    return made if a.dtype is None else g.cast(made, a.dtype, g.outputs[0][1])


@converts("dot")
def dot(g, a, left, right):
    if max(g.rank(left), g.rank(right)) > 2 and not (g.rank(right) <= 2 and not a.transpose_a and not a.transpose_b):
        return _dot_flat(g, a, left, right)
    left, right = (_flipped(g, x, t) for x, t in ((left, a.transpose_a), (right, a.transpose_b)))
    made = g.add("MatMul", left, right)
    return g.add("Reshape", made, ints(1)) if g.outputs[0][0] == (1,) else made


def _dot_flat(g, a, left, right):
    """The last axis of the left (its first, turned) against the first of the right (its last), as matrices."""
    inner = g.extent(left, 0 if a.transpose_a else -1)
    shapes = [(inner, -1) if a.transpose_a else (-1, inner), (-1, inner) if a.transpose_b else (inner, -1)]
    left, right = (g.add("Reshape", x, ints(*s)) for x, s in zip((left, right), shapes, strict=True))
    sides = (left, a.transpose_a), (right, a.transpose_b)
    left, right = (g.add("Transpose", x, perm=[1, 0]) if turned else x for x, turned in sides)
    return g.as_result(g.add("MatMul", left, right))


def _flipped(g, name, flip: bool):
    rank = g.rank(name)
    return g.add("Transpose", name, perm=[*range(rank - 2), rank - 1, rank - 2]) if flip and rank > 1 else name


enter({
    "_npi_std": lambda g, a, x: g.add("Sqrt", variance(g, a, x)),
    "argmax_channel": lambda g, a, x: g.cast(g.add("ArgMax", x, axis=1, keepdims=0), g.outputs[0][1], "int64"),
    "batch_dot _matmul":
        lambda g, a, left, right: g.add("MatMul", _flipped(g, left, a.transpose_a), _flipped(g, right, a.transpose_b)),
})  # fmt: skip
