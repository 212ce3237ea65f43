"""Reductions, scans and orders of ONNX as symbols."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.table import composes, converts
from core.extents import same
from core.symbol import Symbol
from core.symbol.numpy_functions import function as np_function

# operator -> what is done to each element, how they are reduced, what is done to the result
_REDUCTIONS = {
    "ReduceSum": (None, "sum", None), "ReduceMean": (None, "mean", None), "ReduceMax": (None, "max", None),
    "ReduceMin": (None, "min", None), "ReduceProd": (None, "prod", None), "ReduceL1": ("abs", "sum", None),
    "ReduceL2": ("square", "sum", "sqrt"), "ReduceSumSquare": ("square", "sum", None),
    "ReduceLogSum": (None, "sum", "log"),
}  # fmt: skip


def _reduced(net, attrs, kind: str, x: Symbol, axes) -> Symbol:
    """A reduction over the axes that an attribute or an input names: all where none are."""
    axes = attrs.get("axes") if axes is None else net.ints(axes, "axes")
    if not axes and attrs.get("noop_with_empty_axes"):
        return x
    keep = bool(attrs.get("keepdims", 1))
    if kind in ("max", "min") and net.dtype(x) == "bool":
        codes = _reduced(net, attrs, kind, sym.Cast(x, dtype="uint8"), axes and np.array(axes))
        return sym.op._npi_not_equal_scalar(codes, scalar=0)
    return getattr(sym, kind)(x, axis=tuple(axes) if axes else None, keepdims=keep)


def _reduction(before: str | None, kind: str, after: str | None):
    def convert(net, attrs, x, axes=None):
        x = net.symbol(x)
        made = _reduced(net, attrs, kind, getattr(sym, before)(x) if before else x, axes)
        return getattr(sym, after)(made) if after else made

    return convert


for _name, _parts in _REDUCTIONS.items():
    converts(_name)(_reduction(*_parts))


@converts("ReduceLogSumExp")
def reduce_log_sum_exp(net, attrs, x, axes=None):
    """log sum exp(x - max) + max, so that nothing overflows."""
    x = net.symbol(x)
    top = _reduced(net, {**attrs, "keepdims": 1}, "max", x, axes)
    total = sym.log(_reduced(net, attrs, "sum", sym.exp(sym.broadcast_sub(x, top)), axes))
    return total + (top if attrs.get("keepdims", 1) else _reduced(net, attrs, "max", x, axes))


def _place(kind: str):
    def convert(net, attrs, x):
        x, axis, keep = net.symbol(x), attrs.get("axis", 0), bool(attrs.get("keepdims", 1))
        if not attrs.get("select_last_index"):
            return sym.Cast(getattr(sym, kind)(x, axis=axis, keepdims=keep), dtype="int64")
        shape = net.shape(x)
        if shape is None or shape[axis] < 0:
            raise net.refuse("the last of equal elements along an axis whose extent varies")
        from_end = getattr(sym, kind)(sym.reverse(x, axis=axis % len(shape)), axis=axis, keepdims=keep)
        return shape[axis] - 1 - sym.Cast(from_end, dtype="int64")

    return convert


converts("ArgMax")(_place("argmax"))
converts("ArgMin")(_place("argmin"))


@converts("Hardmax")
def hardmax(net, attrs, x):
    axis = attrs.get("axis", -1 if net.opset >= 13 else 1)
    return sym.topk(net.symbol(x), axis=axis % net.rank(x), k=1, ret_typ="mask")


@converts("TopK")
def top_k(net, attrs, x, k=None):
    count = attrs["k"] if k is None else _counted(net, attrs, x, k)
    axis, ascend = attrs.get("axis", -1), not attrs.get("largest", 1)
    made = sym.topk(net.symbol(x), axis=axis, k=count, ret_typ="both", is_ascend=ascend, dtype="int64")
    return [made[0], made[1]]


def _counted(net, attrs, x, k) -> int:
    """How many are taken; 0 for all."""
    (count,) = net.whole(k, "k")
    if type(count) is not int:
        shape = net.lengths(x)
        if shape is None or not same(count, shape[attrs.get("axis", -1)]):
            raise net.refuse("how many are taken follows from the input, which a symbol cannot follow")
        return 0
    if count <= 0:
        raise net.refuse(f"k is {count}; a positive number is needed")
    return count


@converts("CumSum")
def cumulative_sum(net, attrs, x, axis):
    x, axis = net.symbol(x), net.ints(axis, "axis")[0]
    turned = sym.reverse(x, axis=axis) if attrs.get("reverse") else x
    made = sym.cumsum(turned, axis=axis)
    if attrs.get("exclusive"):
        made = sym.broadcast_sub(made, turned)
    return sym.reverse(made, axis=axis) if attrs.get("reverse") else made


composes("Det")(lambda x: sym.linalg.det(x))
composes("Einsum")(lambda *inputs, equation: np_function("einsum", Symbol)(equation.replace(" ", ""), *inputs))


@composes("LpNormalization")
def lp_normalization(x, axis=-1, p=2):
    norm = sym.norm(x, ord=p, axis=axis, keepdims=True)
    return sym.broadcast_div(x, norm + (norm == 0))
