"""From symbols and parameters to ONNX files."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import numpy as np

from core import dispatch
from core import symbol as sym
from core.base import MXNetError
from core.context import cpu
from core.contrib.onnx import package
from core.contrib.onnx.mx2onnx.control_flow import CONTROL
from core.contrib.onnx.mx2onnx.table import CONVERSIONS, EXPRESSIONS, LATEST, NEEDED, OPSET, Builder, shown
from core.dtypes import dtype_name
from core.extents import Space, hints
from core.files.atomic import replacing
from core.graph.ir import Node, Value, Variable
from core.graph.trace import trace
from core.name import NameManager, Prefix
from core.ndarray import NDArray, array
from core.ops.registry import TABLE, Operator
from core.serialization import load
from core.symbol import Symbol, graph, infer
from core.symbol.fixed_lengths import fixed_lengths
from core.symbol.traced import NeedsNumber, symbols

for _family in ("pointwise", "neural", "shapes", "reduce", "recurrent", "detection", "sampling"):
    importlib.import_module(f"core.contrib.onnx.mx2onnx.{_family}")
_pointwise = importlib.import_module("core.contrib.onnx.mx2onnx.pointwise")

# Inputs that steer training alone: what feeds them has no place in the exported network.
_TRAINING = frozenset({"label"})
_IR_VERSIONS = {17: 8, 18: 8, 19: 9}  # by opset


def export_model(sym, params, in_shapes=None, in_types=np.float32, onnx_file_path="model.onnx", verbose=False,
                 dynamic=False, dynamic_input_shapes=None, run_shape_inference=False, input_type=None, input_shape=None,
                 opset_version=None):  # fmt: skip
    """Writes a network as an ONNX file for inference, and gives the path.

    sym: a Symbol or the path of its JSON. params: arrays by name (`arg:` and `aux:` before the names are fine), a pair
    (arg_params, aux_params), or the path of a `.params` file. in_shapes, in_types: one for each input that is no
    parameter, in the order of `list_inputs`, or by name; `input_shape` and `input_type` are older names. dynamic:
    extents may differ from call to call: those that are None or a string (a name) in `dynamic_input_shapes`, or,
    without it, all that the network lets vary, or the first ones alone where a conversion needs the others. ValueError
    for one that a block's code needed as a number when it was exported, such as the length of a loop.
    opset_version: 17 to 19; by default 17, or what an operator needs beyond it. MXNetError names an operator that has
    no form in ONNX.
    """
    onnx = package()

    symbol = sym_of(sym)
    opset = _opset(symbol, opset_version)
    arrays = params_of(params)
    in_shapes = _shapes(input_shape if in_shapes is None else in_shapes)
    in_types = in_types if input_type is None else input_type
    names = [n for n in inputs_of(symbol) if n not in arrays]
    every = [n for n in symbol.list_inputs() if n not in arrays]
    if len(in_shapes) == len(every):  # labels too, which nothing reads then
        names = every
    shapes = _by_name("in_shapes", names, in_shapes)
    types = _by_name(
        "in_types", names, in_types if isinstance(in_types, (list, tuple, Mapping)) else [in_types] * len(names)
    )
    types = {name: dtype_name(dtype) for name, dtype in types.items()}
    free = _free_axes(symbol, arrays, shapes, types, names, dynamic, dynamic_input_shapes)
    batch = {place: label for place, label in free.items() if label == "batch"}

    def converted(free):
        return _Conversion(onnx, opset, symbol, arrays, shapes, types, free, verbose).model()

    try:
        model = converted(free)
    except MXNetError:
        if dynamic_input_shapes is not None or batch == free:
            raise
        model = converted(batch)  # conversions need more extents than the operators do
    if run_shape_inference:
        model = onnx.shape_inference.infer_shapes(model)
    onnx.checker.check_model(model)
    with replacing(onnx_file_path) as file:
        file.write(model.SerializeToString())
    return os.fspath(onnx_file_path)


def get_operator_support(opset_version=None) -> list[str]:
    """Names of the operators that have a form in ONNX, of this opset (17 to 19) or of any."""
    if opset_version is not None and not OPSET <= opset_version <= LATEST:
        raise ValueError(f"opset_version {opset_version}: {OPSET} to {LATEST} are written")
    known = (name for name, op in TABLE.items() if op.name in EXPRESSIONS or _converts(op))
    return sorted(name for name in known if NEEDED.get(TABLE[name].name, OPSET) <= (opset_version or LATEST))


def sym_of(given) -> Symbol:
    """The symbol itself, or the one in a JSON file."""
    if isinstance(given, Symbol):
        return given
    if isinstance(given, (str, os.PathLike)):
        return sym.load(given)
    raise TypeError(f"sym is a Symbol or the path of a JSON file, given {type(given).__name__}")


def params_of(given) -> dict[str, np.ndarray]:
    """NumPy arrays by name, without `arg:` and `aux:`."""
    if isinstance(given, (str, os.PathLike)):
        given = load(given)
    if isinstance(given, (list, tuple)):
        given = {name: value for part in given for name, value in part.items()}
    if not isinstance(given, Mapping):
        raise TypeError(f"params are arrays by name or the path of a .params file, given {type(given).__name__}")
    plain = {name.removeprefix("arg:").removeprefix("aux:"): value for name, value in given.items()}
    return {n: v.asnumpy() if isinstance(v, NDArray) else np.asarray(v) for n, v in plain.items()}


def inputs_of(symbol: Symbol) -> list[str]:
    """Names of the variables that matter for inference."""
    entries, labels = _inference(symbol)
    return [v.name for v in graph.variables(entries) if v not in labels]


# ----------------------------------------------------------------------------------------------


def _opset(symbol: Symbol, wanted: int | None) -> int:
    """The opset that is written."""
    if wanted is not None and not OPSET <= wanted <= LATEST:
        raise ValueError(f"opset_version {wanted}: {OPSET} to {LATEST} are written")
    needs = {n.op.name: NEEDED[n.op.name] for n in _with_inner(_inference(symbol)[0]) if n.op and n.op.name in NEEDED}
    least = max(needs.values(), default=OPSET)
    if wanted is not None and wanted < least:
        raise MXNetError(f"opset_version {wanted}: {', '.join(sorted(needs))} need opset {least}")
    return wanted or least


def _converts(op: Operator) -> bool:
    """Whether an operator has a form of its own in ONNX."""
    return op.name in CONVERSIONS or _pointwise.converts_formula(op)


def _special(node: Node) -> tuple[Operator, dict, list]:
    """The operator that a node comes down to under its attributes, with what that one gets, where it converts."""
    op, count = node.op, node.op.special_inputs
    if op.special is not None and (count is None or not any(node.inputs[count:])):
        special = op.special(SimpleNamespace(**node.attrs))
        if isinstance(special, tuple) and isinstance(special[0], Operator) and _converts(special[0]):
            return special[0], special[0].parse(special[1]), node.inputs[:count]
    return op, node.attrs, node.inputs


def _with_inner(entries: list[Value]) -> list[Node | Variable]:
    """The nodes of a graph and of those in its loops and branches."""
    nodes = graph.order(entries)
    return nodes + [inner for node in nodes for sub in node.subgraphs for inner in _with_inner(sub)]


def _inference(symbol: Symbol) -> tuple[list[Value], set[Value]]:
    """The graph with variables in place of what feeds labels, and these."""
    labels: set[Value] = set()

    def change(node, inputs):
        if node.op is None or not node.op.inputs or not any(_trains(node, slot) for slot in node.op.inputs):
            return None
        inputs = [
            Variable(f"{node.name}_{slot}", {}) if _trains(node, slot) else v
            for slot, v in zip(node.op.inputs, inputs, strict=True)
        ]
        labels.update(v for slot, v in zip(node.op.inputs, inputs, strict=True) if _trains(node, slot))
        return graph.with_inputs(node, inputs).outputs

    return graph.rebuilt(symbol._entries, change), labels


def _output_name(name: str) -> str:
    """What MXNet calls an output of a symbol in an ONNX file: the node, and the number of one of several."""
    for ending, number in (("_state_output", "1"), ("_statecell_output", "2")):
        if name.endswith(ending):
            return name.removesuffix(ending) + number
    return re.sub(r"_output(\d?)$", r"\1", name)


def _trains(node: Node, slot: str) -> bool:
    return slot in _TRAINING and node.op.name.endswith("Output")


def _shapes(given) -> list | dict:
    if given is None:
        raise ValueError("in_shapes is needed: one shape for each input, such as [(1, 3, 224, 224)]")
    if isinstance(given, Mapping):
        return {name: tuple(shape) for name, shape in given.items()}
    return [tuple(given)] if given and all(isinstance(n, int) for n in given) else [tuple(s) for s in given]


def _by_name(what: str, names: list[str], given: Sequence | Mapping) -> dict:
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise ValueError(f"{what} has {', '.join(given)} for the {len(names)} inputs {', '.join(names)}")
        return {name: given[name] for name in names}
    if len(given) != len(names):
        raise ValueError(f"{what} has {len(given)} items for the {len(names)} inputs {', '.join(names)}")
    return dict(zip(names, given, strict=True))


def _free_axes(symbol, arrays, shapes, types, names, dynamic, given) -> dict[tuple[str, int], str]:
    """Names of the dynamic extents by (input, axis)."""
    if not dynamic and given is None:
        return {}
    fixed = fixed_lengths(symbol)
    if given is not None:
        free = {}
        for name, wanted in _by_name("dynamic_input_shapes", names, given).items():
            if len(wanted) != len(shapes[name]):
                raise ValueError(f"dynamic_input_shapes: {wanted} for {name!r} of shape {shapes[name]}")
            for axis, n in enumerate(wanted):
                if n is None or isinstance(n, str):
                    if _is_fixed(fixed, name, axis):
                        raise ValueError(f"dynamic_input_shapes: {wanted} for {name!r}: axis {axis}: {fixed[name][1]}")
                    free[name, axis] = n or f"{name}_{axis}"
                elif n != shapes[name][axis]:
                    raise ValueError(f"dynamic_input_shapes: {wanted} for {name!r} of shape {shapes[name]}")
        return free
    free: dict[tuple[str, int], str] = {}
    tried = {frozenset()}
    for group, label in _groups(names, shapes):
        places = {place: label for place in group if place not in free and not _is_fixed(fixed, *place)}
        if frozenset(places) not in tried and _fits(symbol, arrays, shapes, types, places):
            free |= places
        tried.add(frozenset(places))
    return free


def _is_fixed(fixed: dict, name: str, axis: int) -> bool:
    return name in fixed and fixed[name][0][axis] != 0


def _groups(names, shapes):
    """What may vary together, and its name: the first axis of all inputs; each axis alone;
    the same axes of one extent, then any.
    """
    places = [(name, axis) for name in names for axis in range(len(shapes[name]))]
    yield [place for place in places if place[1] == 0], "batch"
    yield from (([(name, axis)], f"{name}_{axis}") for name, axis in places)
    for anywhere in (False, True):
        for first, axis in places:
            same = [(n, k) for n, k in places if shapes[n][k] == shapes[first][axis] and (anywhere or k == axis)]
            if same[0] == (first, axis) and len(same) > 1:
                yield same, f"{first}_{axis}"


def _fits(symbol, arrays, shapes, types, free) -> bool:
    """Whether the network works whatever the free extents are."""
    entries, _ = _inference(symbol)
    try:
        space, _, found = _inferred(entries, arrays, shapes, types, free)
    except (MXNetError, AssertionError):
        return False
    return not (space.pinned or space.equalities()) and all(v in found for v in entries)


def _inferred(entries, arrays, shapes, types, free) -> tuple[Space, dict, dict]:
    """The space of a symbol for each name of free extents, the inputs' shapes with them, and what follows from these."""
    space, places, groups = Space(), {name: k for k, name in enumerate(shapes)}, {}
    for (name, axis), label in free.items():
        groups.setdefault(label, []).append((places[name], axis))
    opened = dict(zip(shapes, space.opened([*shapes.values()], groups.values())))
    dtypes = {**{n: a.dtype.name for n, a in arrays.items()}, **types}
    return space, opened, infer.arrays(entries, {n: a.shape for n, a in arrays.items()} | opened, dtypes)


class _Conversion:
    """One export: the graph, what is known of its tensors, and the builder."""

    def __init__(self, onnx, opset, symbol, arrays, shapes, types, free, verbose):
        self.onnx, self.arrays, self.verbose = onnx, arrays, verbose
        self.entries, self.labels = _inference(symbol)
        self.output_names = symbol.list_outputs()
        self.shapes, self.types, self.free = shapes, types, free
        try:
            self.space, opened, self.found = _inferred(self.entries, arrays, shapes, types, free)
        except MXNetError as error:
            told = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise MXNetError(f"{error}. The in_shapes are, in the order of list_inputs: {told}") from None
        if self.space.pinned:
            axes = ", ".join(sorted(set(free.values())))
            raise MXNetError(f"an operator needs an extent as a number that is dynamic, one of {axes}; fix it")
        self.builder = Builder(onnx, opset)
        self.builder.sources = {opened[n][axis]: (n, axis) for n, axis in free}

    def model(self):
        g, helper = self.builder, self.onnx.helper
        nodes = graph.order(self.entries)
        names = {v: self._variable(v) for v in nodes if v.op is None}
        wanted = [g.fresh(_output_name(name)) for name in self.output_names]
        for node in nodes:
            if node.op is not None:
                names.update(zip(node.outputs, self._node(node, names)))
        for v, name in zip(self.entries, wanted, strict=True):
            g.operator, g.hint = "output", name
            g.nodes.append(helper.make_node("Identity", [g.whole(names[v])], [name], name=name))
            g.used.add(names[v])
        shapes = {n: [self.free.get((n, k), extent) for k, extent in enumerate(s)] for n, s in self.shapes.items()}
        inputs = [helper.make_tensor_value_info(n, g.code(self.types[n]), shape) for n, shape in shapes.items()]
        results = [
            helper.make_tensor_value_info(name, g.code(dtype), self._extents(name, shape))
            for name, (shape, dtype) in zip(wanted, (self.found[v] for v in self.entries), strict=True)
        ]
        constants = [
            self.onnx.numpy_helper.from_array(np.asarray(v, order="C"), n) for n, v in g.values.items() if n in g.used
        ]
        made = helper.make_graph(g.nodes, "network", inputs, results, constants)
        options = {"opset_imports": [helper.make_opsetid("", g.opset)], "ir_version": _IR_VERSIONS[g.opset]}
        return helper.make_model(made, producer_name="gluon-triton", **options)

    def _extents(self, name: str, shape: Sequence) -> list:
        """The extents of an output: numbers, and names that it shares with the inputs whose extents it follows."""
        sources = self.builder.sources
        return [
            n if type(n) is int else self.free[sources[n]] if n in sources else f"{name}_{i}"
            for i, n in enumerate(shape)
        ]

    def _variable(self, variable: Variable) -> str:
        g = self.builder
        name = g.fresh(variable.name)
        if variable.name in self.arrays:
            g.values[name] = self.arrays[variable.name]
        elif variable.name in self.shapes:
            g.know(name, *self.found[variable])
        elif variable not in self.labels:
            raise MXNetError(f"variable {variable.name!r} is neither among params nor an input with a shape")
        return name

    def _node(self, node: Node, names: dict[Value, str]) -> list[str]:
        g = self.builder
        op, attrs, inputs = _special(node)
        inputs = [v and names[v] for v in inputs]
        given = [name for name in inputs if name is not None]
        g.operator, g.hint = op.name, node.name
        if all(n in g.values for n in given) and not node.op.rng and not node.subgraphs:
            return self._folded(node, given)
        found = [self.found.get(v) for v in node.outputs]
        if found[0] is None:
            raise g.refuse("its shape does not follow from those of the inputs")
        g.outputs = outputs = [known and (shown(known[0]), known[1]) for known in found]
        g.output_lengths = found[0][0]
        if op.name in CONTROL:
            made = CONTROL[op.name](g, SimpleNamespace(**attrs), given, self._walker(node))
        elif op.name in CONVERSIONS:
            made = CONVERSIONS[op.name](g, SimpleNamespace(**attrs), *(n and g.whole(n) for n in inputs))
        elif _pointwise.converts_formula(op):
            made = _pointwise.convert_formula(g, op.formula, attrs, inputs)
        elif op.composite:
            made = self._expanded(node, [n and g.whole(n) for n in inputs])
        else:
            raise g.refuse("ONNX has no such operator, and no conversion is known; see get_operator_support()")
        made = [made] if isinstance(made, str) else list(made)
        g.outputs = outputs
        for k, name in enumerate(made):
            if found[k] is not None and name not in g.values:
                g.know(name, *found[k])
        if self.verbose:
            print(f"{g.where} -> {', '.join(made)}: {g.outputs[0]}")
        return made

    def _walker(self, node: Node):
        """What adds the nodes of a subgraph: `walk(k, values)` gives the names of its outputs."""
        g = self.builder

        def walk(k: int, values: list[str]) -> list[str]:
            places, names, sliced, entries = node.op.control.wiring(node)[k]
            shapes, dtypes = {}, {}
            for name, place, element in zip(names, places, sliced, strict=True):
                shape, dtypes[name] = self.found[node.inputs[place]]
                shapes[name] = (shape[1:] or (1,)) if element else shape
            self.found |= infer.arrays(entries, shapes, dtypes)
            place = g.operator, g.hint, g.outputs, g.output_lengths
            made = self._inner_nodes(entries, {n: values[k] for n, k in zip(names, places, strict=True)})
            g.operator, g.hint, g.outputs, g.output_lengths = place
            return made

        return walk

    def _expanded(self, node: Node, inputs: list) -> list[str]:
        """A composite by what it is made of, which must be the same for all extents that are dynamic."""
        g = self.builder
        held = [n for n in inputs if n is not None]
        described = {str(k): g.described(n) for k, n in enumerate(held)}
        shapes = {k: shape for k, (shape, _) in described.items()}
        dtypes = {k: dtype for k, (_, dtype) in described.items()}
        try:
            inner, constants = self._composed(node, inputs, shapes, dtypes)
        except NeedsNumber as reason:
            raise g.refuse(f"{reason}; fix it in dynamic_input_shapes") from None
        if self.space.pinned:
            raise g.refuse("what it is made of depends on an extent that is dynamic; fix it in dynamic_input_shapes")
        sources = {str(k): n for k, n in enumerate(held)}
        for name, value in constants.items():
            sources[name] = g.fresh(f"{node.name}_{name}")
            g.values[sources[name]] = value
            shapes[name], dtypes[name] = value.shape, value.dtype.name
        self.found |= infer.arrays(inner._entries, shapes, dtypes)
        place = g.operator, g.hint
        try:
            return self._inner_nodes(inner._entries, sources)
        except MXNetError as error:
            g.operator, g.hint = place
            raise g.refuse(f"it is made of other operators, and {error}") from None

    def _composed(self, node: Node, inputs: list, shapes: dict, dtypes: dict) -> tuple[Symbol, dict[str, np.ndarray]]:
        """What a composite does with arrays of these shapes, and the constants in it."""
        arrays = iter([infer.blank(hints(shape), dtypes[k]) for k, shape in shapes.items()])
        given = tuple(None if n is None else next(arrays) for n in inputs)
        traced = trace(
            lambda *x: dispatch.launch(node.op, list(x), node.attrs, NDArray), given, False, shapes=[*shapes.values()]
        )
        with NameManager(), Prefix(f"{node.name}_"):
            inner, constants = symbols(traced.graph, list(shapes), {})
        inner._entries[0].maker.name = node.name
        return inner, {name: value.asnumpy() for name, value in constants.items()}

    def _inner_nodes(self, entries: list, sources: dict[str, str]) -> list[str]:
        """Adds the nodes of an inner graph; sources: names of what its variables stand for.

        The names of its outputs.
        """
        names: dict[Value, str] = {}
        for node in graph.order(entries):
            names.update(zip(node.outputs, [sources[node.name]] if node.op is None else self._node(node, names)))
        return [names[v] for v in entries]

    def _folded(self, node: Node, given: list[str]) -> list[str]:
        """A node on constants alone, computed now."""
        g = self.builder

        def make(op, attrs):
            if 0 in attrs.get("shape", ()):  # a first state whose batch is not known: one row, which broadcasts
                attrs = {**attrs, "shape": tuple(n or 1 for n in attrs["shape"])}
            return dispatch.create(op, attrs, cpu(), NDArray)

        results = graph.apply(node, [array(g.values[n], dtype=g.values[n].dtype) for n in given], make)
        made = []
        for k, (v, result) in enumerate(zip(node.outputs, results)):
            made.append(g.fresh(v.name if v in node.visible else f"{node.name}_{k}"))
            value = g.values[made[-1]] = result.asnumpy()
            known = self.found.get(v)
            if known is not None and known[0] != value.shape:
                g.rows[made[-1]] = known[0]
        return made
