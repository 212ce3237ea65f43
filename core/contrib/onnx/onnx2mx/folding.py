"""Nodes whose inputs are known as a file is read are computed then: shapes and what follows from them, no weights."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np

from core import autograd
from core.base import MXNetError
from core.context import cpu
from core.contrib.onnx import package
from core.contrib.onnx.onnx2mx.extents import Varying, numbers
from core.contrib.onnx.onnx2mx.shapes import FOLDED
from core.contrib.onnx.onnx2mx.table import CONVERSIONS, Network
from core.extents import Extent, is_symbolic
from core.ndarray import NDArray, array
from core.symbol import Symbol, graph
from core.util import np_shape


def convert(net: Network, kind: str, attrs: dict, given: list) -> list:
    """What a node gives: symbols, or, where its inputs are known, constants and numbers that vary with extents."""
    results = folded(net, kind, attrs, given)
    if results is None:
        results = CONVERSIONS[kind](net, attrs, *given)
    return results if isinstance(results, list) else [results]


def folded(net: Network, kind: str, attrs: dict, given: list) -> list | None:
    """The results of a node of known inputs; None where they are not known, or not worth it."""
    known = [x for x in given if x is not None]
    if not known or not all(isinstance(x, (np.ndarray, Varying)) for x in known):
        return None
    if sum(x.size for x in known) > FOLDED:
        return None
    if any(isinstance(x, Varying) for x in known):
        return net.extents.followed(_by_extents, net, kind, attrs, given)
    return _computed(net, kind, attrs, given)


def _by_extents(net: Network, kind: str, attrs: dict, given: list) -> list | None:
    """The results of an operator of `_OF_EXTENTS` on numbers that vary; those of other operators are symbols."""
    if kind not in _OF_EXTENTS:
        return None
    dtype = _dtype_of(net, kind, attrs, given)
    values = [None if x is None else x.values if isinstance(x, Varying) else x.astype(object) for x in given]
    results = _OF_EXTENTS[kind](attrs | {"dtype": dtype, "outputs": net.outputs}, *values)
    return [numbers(x, dtype) for x in (results if isinstance(results, list) else [results])]


def _dtype_of(net: Network, kind: str, attrs: dict, given: list) -> str:
    if kind == "Cast":
        return package().helper.tensor_dtype_to_np_dtype(attrs["to"]).name
    if kind in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        return "bool"
    return net.dtype(given[kind == "Where"])


def _each(function: Callable) -> Callable:
    """An operator that a function of one or more numbers is, as they stand in arrays that broadcast."""

    def apply(attrs: dict, *values):
        found = values[0]
        for x in values[1:] or [None]:
            found = np.frompyfunc(function, 1, 1)(found) if x is None else np.frompyfunc(function, 2, 1)(found, x)
        return found

    return apply


def _divided(attrs: dict, x, y):
    if np.dtype(attrs["dtype"]).kind == "f":
        return _each(_ratio)(attrs, x, y)
    return _each(lambda a, b: a // b if a >= 0 and b > 0 else -(-a // b))(attrs, x, y)


def _ratio(a, b):
    """a / b, a whole number where it is one."""
    whole = a // b if isinstance(a, Extent) and float(b).is_integer() else None
    return whole if whole is not None and whole * b == a else a / b


def _cast(attrs: dict, x):
    kind = np.dtype(attrs["dtype"]).kind
    return _each({"b": bool, "f": lambda n: n}.get(kind, math.trunc))(attrs, x)


def _reduced(function: Callable) -> Callable:
    def apply(attrs: dict, x, axes=None):
        axes = attrs.get("axes") if axes is None else axes
        if not _whole(axes) and attrs.get("noop_with_empty_axes"):
            return x
        axes = sorted(a % x.ndim for a in _whole(axes)) or list(range(x.ndim))
        for axis in reversed(axes):
            x = np.asarray(np.frompyfunc(function, 2, 1).reduce(x, axis=axis, keepdims=bool(attrs.get("keepdims", 1))))
        return x

    return apply


def _whole(values) -> tuple[int, ...]:
    """A constant operand; TypeError where it is not."""
    values = () if values is None else tuple(np.reshape(np.asarray(values, object), -1))
    if is_symbolic(values):
        raise TypeError("an extent where a number is needed")
    return tuple(map(int, values))


def _gathered(attrs: dict, x, indices):
    places = np.array(_whole(indices), np.int64).reshape(indices.shape)
    return np.take(x, places, attrs.get("axis", 0))


def _sliced(attrs: dict, x, begins=None, ends=None, axes=None, steps=None):
    begins, ends, axes = (
        _whole(attrs.get(key) if v is None else v) for key, v in (("starts", begins), ("ends", ends), ("axes", axes))
    )
    parts = [slice(None)] * x.ndim
    steps = _whole(steps) or (1,) * len(begins)
    for axis, begin, end, step in zip(axes or range(len(begins)), begins, ends, steps, strict=True):
        parts[axis] = slice(begin, end if step > 0 or end >= -x.shape[axis] else None, step)
    return x[tuple(parts)]


def _reshaped(attrs: dict, x, shape=None):
    wanted = _whole(attrs.get("shape") if shape is None else shape)
    return x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(wanted)])


def _unsqueezed(attrs: dict, x, axes=None):
    return np.expand_dims(x, _whole(attrs.get("axes") if axes is None else axes))


def _squeezed(attrs: dict, x, axes=None):
    return np.squeeze(x, _whole(attrs.get("axes") if axes is None else axes) or None)


def _split(attrs: dict, x, sizes=None):
    sizes = _whole(attrs.get("split") if sizes is None else sizes)
    return np.split(x, np.cumsum(sizes)[:-1] if sizes else attrs["outputs"], attrs.get("axis", 0))


_OF_EXTENTS: dict[str, Callable] = {
    "Abs": _each(abs), "Add": _each(operator.add), "Cast": _cast, "Ceil": _each(math.ceil),
    "Concat": lambda attrs, *values: np.concatenate(values, attrs["axis"]), "Div": _divided,
    "Equal": _each(operator.eq), "Expand": lambda attrs, x, shape: x * np.ones(_whole(shape), object),
    "Floor": _each(math.floor), "Gather": _gathered, "Greater": _each(operator.gt),
    "GreaterOrEqual": _each(operator.ge), "Identity": lambda attrs, x: x, "Less": _each(operator.lt),
    "LessOrEqual": _each(operator.le), "Max": _each(max), "Min": _each(min), "Mod": _each(operator.mod),
    "Mul": _each(operator.mul), "Neg": _each(operator.neg), "ReduceMax": _reduced(max), "ReduceMin": _reduced(min),
    "ReduceProd": _reduced(operator.mul), "ReduceSum": _reduced(operator.add), "Reshape": _reshaped,
    "Slice": _sliced, "Split": _split, "Squeeze": _squeezed, "Sub": _each(operator.sub), "Sum": _each(operator.add),
    "Tile": lambda attrs, x, times: np.tile(x, _whole(times)), "Unsqueeze": _unsqueezed,
    "Where": lambda attrs, choice, x, y: np.where(choice.astype(bool), x, y),
}  # fmt: skip


def _computed(net: Network, kind: str, attrs: dict, given: list) -> list | None:
    with np_shape(True), autograd.pause():
        scratch = Network(net.opset, scalar=())
        scratch.where, scratch.name, scratch.outputs = net.where, net.name, net.outputs
        try:
            results = CONVERSIONS[kind](scratch, attrs, *given)
            results = results if isinstance(results, list) else [results]
            return [x if isinstance(x, np.ndarray) else _value(scratch, x) for x in results]
        except (MXNetError, LookupError, TypeError, ValueError, ArithmeticError):
            return None  # the conversion by symbols says what is wrong


def _value(scratch: Network, symbol: Symbol) -> np.ndarray:
    sizes = [scratch.extents.size(node) for node in graph.order(symbol._entries)]
    if None in sizes or sum(sizes) > 4 * FOLDED:
        raise ValueError("not known, or too large")
    arrays = {n: array(v, dtype=v.dtype) for n, v in scratch.used.items()}
    return graph.run(symbol._entries, arrays, cpu(), NDArray)[0].asnumpy()
