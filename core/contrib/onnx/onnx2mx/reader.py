"""Reads ONNX files: checks, the walk over the graph, and what callers get."""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import re

import numpy as np

from core import random
from core.base import MXNetError
from core.contrib.onnx import package
from core.contrib.onnx.onnx2mx.control_flow import CONTROL, is_number
from core.contrib.onnx.onnx2mx.extents import Again, Facts
from core.contrib.onnx.onnx2mx.folding import folded, inferred
from core.contrib.onnx.onnx2mx.table import CONVERSIONS, Network
from core.ndarray import array
from core.symbol import Group, Symbol

for _family in "elementwise reductions shapes layers images recurrent quantization".split():
    importlib.import_module(f"core.contrib.onnx.onnx2mx.{_family}")


def import_model(model_file) -> tuple[Symbol, dict, dict]:
    """(symbol, arg_params, aux_params) of an ONNX file.

    MXNetError where the file is damaged, or holds an operator that is not in the table, by name. Nothing in the file is
    executed, and data outside of it are not read.
    """
    model, path = _loaded(model_file), os.fspath(model_file)
    state = random.get_state()
    try:
        return _converted(model, path)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        if isinstance(error, MXNetError):
            raise
        raise MXNetError(f"{path!r} is damaged: {error!r}") from None
    finally:
        random.set_state(state)  # shapes of samplers are found out by running them


def get_model_metadata(model_file) -> dict[str, list[tuple]]:
    """Names and shapes of what a network takes and gives; 0 stands for an extent that may vary.

    {"input_tensor_data": [(name, shape, ONNX's number of the element type), ...],
    "output_tensor_data": [(name, shape), ...]}
    """
    graph = _loaded(model_file).graph
    own = {tensor.name for tensor in graph.initializer}
    taken = [(v.name, _shape(v), v.type.tensor_type.elem_type) for v in graph.input if v.name not in own]
    return {"input_tensor_data": taken, "output_tensor_data": [(v.name, _shape(v)) for v in graph.output]}


# ----------------------------------------------------------------------------------------------


def _loaded(path):
    """The parsed file; MXNetError names it and the offset where it is damaged."""
    onnx = package()
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise MXNetError(f"cannot open {name!r}: {error.strerror or error}") from error
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # the classes differ from one version of protobuf to another
        raise MXNetError(f"{name!r}: not an ONNX file ({error}), at byte {_damage(data)} of {len(data)}") from None
    if not model.graph.node and not model.graph.output:
        raise MXNetError(f"{name!r}: the file holds no ONNX graph (at byte 0 of {len(data)})")
    return model


_NUMBER = re.compile(rb"[\x80-\xff]{0,9}[\x00-\x7f]")  # seven bits a byte, the last one without the eighth
_SIZES = {0: 0, 1: 8, 2: 0, 5: 4}  # bytes of a field behind its tag, and its number of kind 0 and 2, by its kind


def _damage(data: bytes) -> int:
    """Where the fields of a protobuf message stop making sense."""
    start = 0
    while start < len(data):
        kind, tag = data[start] & 7, _NUMBER.match(data, start)
        number = tag if tag is None or kind not in (0, 2) else _NUMBER.match(data, tag.end())
        if number is None or kind not in _SIZES:
            return start
        length = sum((byte & 0x7F) << 7 * k for k, byte in enumerate(number[0])) if kind == 2 else _SIZES[kind]
        if number.end() + length > len(data):
            return start
        start = number.end() + length
    return start


def _shape(value) -> tuple:
    return tuple(d.dim_value for d in value.type.tensor_type.shape.dim)


def _converted(model, path: str):
    """What `import_model` gives."""
    network = _walked(model, path)
    outputs = [v.name for v in model.graph.output]
    lost = [n for n in outputs if n not in network.values]
    if lost or not outputs:
        raise MXNetError(f"{path!r}: nothing makes the outputs {', '.join(lost) or '(there are none)'}")
    symbols = [network.symbol(network.values[n]) for n in outputs]
    symbol = symbols[0] if len(symbols) == 1 else Group(symbols)
    arguments, states = set(symbol.list_arguments()), set(symbol.list_auxiliary_states())
    used = network.used.items()
    given, kept = ({n: array(v, dtype=v.dtype) for n, v in used if n in names} for names in (arguments, states))
    return symbol, given, kept


def _walked(model, path: str) -> Network:
    """The network with the values of all nodes."""
    facts = Facts()
    while True:  # each time with a fact more, of which every open extent has two at most
        network = _begun(model, path, facts)
        with contextlib.suppress(Again):
            _walk(package(), network, model.graph, path)
            return network


def _begun(model, path: str, facts: Facts) -> Network:
    """The network with its inputs and what the file holds of values."""
    onnx = package()
    versions = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    network = Network(versions[0] if versions else 1, facts)
    for tensor in model.graph.initializer:
        network.constant(tensor.name, _array(onnx, tensor, path))
    own = set(network.constants)
    for value in model.graph.input:
        if value.name not in own:
            network.input(value.name, *_described(onnx, value, path))
    return network


def _walk(onnx, network: Network, graph, path: str, within: str = "", outer=None) -> None:
    """Converts the nodes of a graph, in order.

    within: what the graph is inside of, for messages; outer: attributes of the operator that it defines.
    """
    for i, node in enumerate(graph.node):
        node = node if outer is None else _resolved(node, outer)
        place = f"node {i} ({node.op_type} {node.name or ', '.join(node.output)!r})"
        where = f"{path!r}: {within}{place}"
        if node.domain not in ("", "ai.onnx"):
            raise MXNetError(f"{where}: this operator of the domain {node.domain!r} is not converted")
        attrs = {a.name: _attribute(onnx, a, path) for a in node.attribute}
        if node.op_type == "Constant":
            network.constant(node.output[0], _constant(attrs, where))
            continue
        network.where, network.name = where, node.name or (node.output[0] if node.output else "")
        network.outputs = len(node.output)
        missing = [n for n in node.input if n and n not in network.values]
        if missing:
            raise MXNetError(f"{where}: it reads {', '.join(missing)}, which nothing before it makes")
        given = [network.values[n] if n else None for n in node.input]
        try:
            if node.op_type in CONTROL:
                walk = _walker(onnx, network, path, within, outer)
                results = CONTROL[node.op_type](network, attrs, walk, *given)
            elif node.op_type in CONVERSIONS:
                types = inferred(network, node, given)
                results = folded(network, node, given, types)
                results = CONVERSIONS[node.op_type](network, attrs, *given) if results is None else results
                results = results if isinstance(results, list) else [results]
                for name, x in zip(node.output, results):
                    if isinstance(x, Symbol) and name in types and is_number(types[name]):
                        network.note_single(x)
            else:
                results = _by_definition(onnx, network, node, given, path, f"{within}{place}: ")
        except (TypeError, KeyError, ValueError, IndexError, ArithmeticError, OverflowError) as error:
            if isinstance(error, MXNetError):
                raise
            raise MXNetError(f"{where}: its inputs or attributes do not fit: {error!r}") from None
        for name, result in zip(node.output, results):
            if isinstance(result, np.ndarray):
                network.constant(name, result)
            elif name:
                network.values[name] = result


def _walker(onnx, network: Network, path: str, within: str, outer):
    """Converts graphs inside of a node: `walk(graph, bound)` gives the values of its outputs;
    what it names outputs with it.
    """

    def walk(graph, bound: dict) -> list:
        with _inner(network), network.extents.inside():
            for tensor in graph.initializer:
                network.constant(tensor.name, _array(onnx, tensor, path))
            network.values.update(bound)
            _walk(onnx, network, graph, path, within, outer)
            return [network.values[v.name] for v in graph.output]

    return walk


@contextlib.contextmanager
def _inner(network: Network):
    """While it is entered, names and places are those of a graph inside of a node."""
    before = network.values, network.where, network.name, network.outputs, network.opset
    network.values = dict(network.values)
    try:
        yield
    finally:
        network.values, network.where, network.name, network.outputs, network.opset = before


def _resolved(node, outer: dict):
    """The node with the values of attributes that it takes from the operator which it helps to define."""
    made = type(node)()
    made.CopyFrom(node)
    del made.attribute[:]
    for a in node.attribute:
        if not a.ref_attr_name or a.ref_attr_name in outer:
            made.attribute.add().CopyFrom(outer[a.ref_attr_name] if a.ref_attr_name else a)
            made.attribute[-1].name = a.name
    return made


def _by_definition(onnx, network: Network, node, given: list, path: str, within: str) -> list:
    """What a node gives whose operator the standard defines by others, which are converted in its place."""
    schema, versions = None, []
    with contextlib.suppress(onnx.defs.SchemaError):
        schema = onnx.defs.get_schema(node.op_type, network.opset, "")
        versions = [v for v in schema.context_dependent_function_opset_versions if v <= network.opset]
    if not (schema and (schema.has_function or versions)):
        known = sorted(CONVERSIONS.keys() | CONTROL.keys() | {"Constant"})
        raise network.refuse(f"this operator is not converted; known are {', '.join(known)}")
    body = schema.function_body if schema.has_function else onnx.FunctionProto()
    if not schema.has_function:
        given_to_it = node.SerializeToString(), [network.type(x).SerializeToString() for x in given]
        try:
            body.ParseFromString(schema.get_context_dependent_function_with_opset_version(max(versions), *given_to_it))
        except RuntimeError as error:
            raise network.refuse(f"the standard defines nothing for it: {error}") from None
        if not body.node:
            raise network.refuse("the standard defines nothing for such inputs and attributes")
    outer = {name: a.default_value for name, a in schema.attributes.items() if a.default_value.type}
    outer |= {a.name: a for a in node.attribute}
    with _inner(network):
        network.values = dict.fromkeys(body.input) | dict(zip(body.input, given))
        network.opset = next((o.version for o in body.opset_import if o.domain == ""), network.opset)
        _walk(onnx, network, body, path, within, outer)
        return [network.values.get(name) for name in body.output][: len(node.output)]


def _described(onnx, value, path: str) -> tuple[str, tuple | None]:
    """(name of the element type, extents: numbers, names, or None; None where the file tells no shape) of an input."""
    kind = value.type.tensor_type
    dtype = _dtype(onnx, kind.elem_type or onnx.TensorProto.FLOAT, f"{path!r}: input {value.name!r}").name
    if not kind.HasField("shape"):
        return dtype, None
    extents = tuple(d.dim_value if d.dim_value > 0 else d.dim_param or None for d in kind.shape.dim)
    return dtype, extents


def _dtype(onnx, number: int, where: str):
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(number)
    except (KeyError, ValueError, TypeError):
        raise MXNetError(f"{where} is of the unknown type {number}") from None
    if dtype.kind in "OUS":
        raise MXNetError(f"{where} holds text, for which there are no arrays")
    return dtype


_LONGEST_EMPTY = 1 << 16


def _constant(attrs: dict, where: str) -> np.ndarray:
    for key, dtype in (("value", None), ("value_float", np.float32), ("value_floats", np.float32),
                       ("value_int", np.int64), ("value_ints", np.int64)):  # fmt: skip
        if key in attrs:
            return np.asarray(attrs[key], dtype)
    raise MXNetError(f"{where}: a constant of numbers is needed, given {', '.join(attrs) or 'nothing'}")


def _attribute(onnx, attribute, path: str):
    kind = onnx.AttributeProto
    if attribute.type == kind.TENSOR:
        return _array(onnx, attribute.t, path)
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if attribute.type in (kind.INTS, kind.FLOATS):
        return tuple(value)
    return [v.decode(errors="replace") for v in value] if attribute.type == kind.STRINGS else value


def _array(onnx, tensor, path: str) -> np.ndarray:
    """The value of a tensor, whose data are inside the file and as many as its shape says."""
    where = f"{path!r}: tensor {tensor.name!r}"
    if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
        raise MXNetError(f"{where} keeps its data in another file, which is not read; store them inside the model")
    # An extent of 0 hides the size of the others, which what is computed from them would take.
    plausible = all(0 <= d <= _LONGEST_EMPTY or math.prod(tensor.dims) for d in tensor.dims)
    count = math.prod(tensor.dims) if plausible and all(d >= 0 for d in tensor.dims) else -1
    dtype = _dtype(onnx, tensor.data_type, where)
    size = sum(len(getattr(tensor, f"{kind}_data")) for kind in ("float", "int32", "int64", "double", "uint64"))
    held = len(tensor.raw_data) // max(1, dtype.itemsize) if tensor.HasField("raw_data") else size
    if held != count:
        raise MXNetError(f"{where} of shape {tuple(tensor.dims)} and type {dtype} holds {held} numbers, not {count}")
    try:
        return np.array(onnx.numpy_helper.to_array(tensor))
    except (ValueError, TypeError, OverflowError) as error:
        raise MXNetError(f"{where} is damaged: {error}") from None
