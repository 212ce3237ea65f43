"""Nodes whose inputs are known as a file is read are computed then: shapes and what follows from them, no weights.

ONNX's own inference tells how large the results are, and its reference implementation computes them with NumPy. Numbers
that vary with extents go through it as arrays of objects, whose arithmetic is that of `core.extents`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from core.contrib.onnx import package
from core.contrib.onnx.onnx2mx.extents import Varying, numbers
from core.contrib.onnx.onnx2mx.table import Network
from core.extents import Extent
from core.extras import load

FOLDED = 1 << 12  # elements of constants that are computed while reading: shapes, never weights


def inferred(net: Network, node, given: list) -> dict:
    """The types of a node's results by name, as far as ONNX's inference tells them."""
    onnx, named = package(), {name: x for name, x in zip(node.input, given) if x is not None}
    small = {name: x for name, x in named.items() if isinstance(x, np.ndarray) and x.size <= FOLDED}
    data = {name: onnx.numpy_helper.from_array(x) for name, x in small.items()}
    try:
        schema = onnx.defs.get_schema(node.op_type, net.opset, "")
        return onnx.shape_inference.infer_node_outputs(
            schema, node, {name: net.type(x) for name, x in named.items()}, data, opset_imports=[_opset(net)]
        )
    except (onnx.checker.ValidationError, onnx.defs.SchemaError, onnx.shape_inference.InferenceError):
        return {}  # the conversion by symbols says what is wrong


def folded(net: Network, node, given: list, types: dict) -> list | None:
    """The results of a node of known inputs; None where they are not known, or not worth it. types: see `inferred`."""
    known = [x for x in given if x is not None]
    if not known or not all(isinstance(x, (np.ndarray, Varying)) for x in known) or sum(x.size for x in known) > FOLDED:
        return None
    if not all(name in types and _is_small(types[name].tensor_type) for name in node.output):
        return None
    dtypes = [package().helper.tensor_dtype_to_np_dtype(types[name].tensor_type.elem_type) for name in node.output]
    if any(dtype.kind in "OUS" for dtype in dtypes):
        return None
    return net.extents.followed(_computed, net, node, dict(zip(node.input, given)), dtypes)


def _computed(net: Network, node, given: dict[str, np.ndarray | Varying | None], dtypes: list[np.dtype]) -> list:
    arrays = {name: x for name, x in given.items() if x is not None}
    varying = {np.dtype(x.dtype) for x in arrays.values() if isinstance(x, Varying)}  # what is of their type mixes
    arrays = {name: _objects(x) if np.dtype(x.dtype) in varying else x for name, x in arrays.items()}
    if varying and node.op_type in _OF_EXTENTS:
        return [numbers(_OF_EXTENTS[node.op_type](dtypes[0], *arrays.values()), dtypes[0].name)]
    helper, reference = package().helper, load("onnx.reference", "reading an ONNX file")
    inputs = [name for name in dict.fromkeys(node.input) if name]
    body = helper.make_function("", node.op_type, inputs, [*node.output], [node], [_opset(net)])
    with np.errstate(all="ignore"):
        results = reference.ReferenceEvaluator(body).run(None, arrays, {})
    return [numbers(x, dtype.name) if varying else x for x, dtype in zip(results, dtypes)]


def _opset(net: Network):
    return package().helper.make_opsetid("", net.opset)


class _Numbers(np.ndarray):
    """Arrays of objects, which operators of NumPy leave arrays where they have no axes."""


def _objects(x: np.ndarray | Varying) -> np.ndarray:
    return (x.values if isinstance(x, Varying) else x.astype(object)).view(_Numbers)


def _is_small(type_) -> bool:
    """Whether the shape of a tensor's type is known, and of few elements."""
    whole = type_.HasField("shape") and all(d.HasField("dim_value") for d in type_.shape.dim)
    return whole and math.prod(d.dim_value for d in type_.shape.dim) <= 4 * FOLDED


def _each(function: Callable, *values: np.ndarray) -> np.ndarray:
    """A function of numbers, as they stand in arrays that broadcast."""
    return np.frompyfunc(function, len(values), 1)(*values)


def _divided(dtype: np.dtype, x, y):
    if dtype.kind == "f":
        return _each(_ratio, x, y)
    return _each(lambda a, b: a // b if a >= 0 and b > 0 else -(-a // b), x, y)


def _ratio(a, b):
    """a / b, a whole number where it is one."""
    whole = a // b if isinstance(a, Extent) and float(b).is_integer() else None
    return whole if whole is not None and whole * b == a else a / b


# What NumPy has no function of objects for, or another one: by the type of the result.
_OF_EXTENTS: dict[str, Callable] = {
    "Cast": lambda dtype, x: _each({"b": bool, "f": lambda n: n}.get(dtype.kind, math.trunc), x),
    "Ceil": lambda dtype, x: _each(math.ceil, x),
    "Div": _divided,
    "Floor": lambda dtype, x: _each(math.floor, x),
}
