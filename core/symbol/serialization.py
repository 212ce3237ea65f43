"""Graphs as JSON, in the format of MXNet 1.9.1; older spellings are read."""

from __future__ import annotations

import contextlib
import json

from core.base import MXNetError
from core.files import checksums
from core.files.checksums import NAME
from core.graph.ir import Node, Value, Variable
from core.ops import registry
from core.symbol.compose import variable_texts
from core.symbol.graph import HIDDEN, hidden, is_auxiliary, made, order, placed, slots_of, typed
from core.symbol.numpy_nodes import translated, written
from core.util import is_np_shape

VERSION = 10901
WITH_LAST_AXIS = 905  # the first version in which axis -1 of argmax is the last one
TEXTS = ("param", "attr", "attrs")  # where attributes are; the first two: before 1.0
FUSED = ("_sg_mkldnn_conv", "_sg_mkldnn_fully_connected")  # a layer with what follows it, whose parts are a subgraph
MOST_OUTPUTS = 1 << 16  # of a node: no network has more, and a damaged file must not ask for memory


def dumps(entries: list[Value]) -> str:
    """The graph as text: nodes in order, `arg_nodes` (variables), `node_row_ptr` (sums of output counts), `heads`."""
    attrs = {"mxnet_version": ["int", VERSION]}
    if is_np_shape():
        attrs["is_np_shape"] = ["int", 1]
    return json.dumps({**_rows(entries), "attrs": attrs}, indent=2)


def _rows(entries: list[Value]) -> dict:
    from core.symbol.portable import portable  # which makes symbols, that are saved here

    entries = portable(entries)
    nodes = order(entries)
    place = {node: i for i, node in enumerate(nodes)}
    rows, pointers = [], [0]
    for node in nodes:
        kind, texts = ("null", node.texts) if node.op is None else written(node)
        row = {"op": kind, "name": node.name}
        if texts:
            row["attrs"] = dict(sorted(texts.items()))
        row["inputs"] = [
            # The third number counts the writes to a variable: an auxiliary state has seen one.
            [place[v.maker], v.index, int(v.source is None and is_auxiliary(node, slot))]
            for slot, v in zip(node.slots, node.given, strict=True)
        ]
        if node.subgraphs:
            row["subgraphs"] = [_rows(sub) for sub in node.subgraphs]
        rows.append(row)
        pointers.append(pointers[-1] + len(node.outputs))
    arguments = [i for i, node in enumerate(nodes) if node.op is None]
    heads = [[place[v.maker], v.index, 0] for v in entries]
    return {"nodes": rows, "arg_nodes": arguments, "node_row_ptr": pointers, "heads": heads}


def loads(text: str, source: str = "the JSON text") -> list[Value]:
    """The entries of a graph; MXNetError says what in `source` is damaged or unknown."""
    try:
        graph = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MXNetError(f"{source} is no JSON: {error}") from None
    if isinstance(graph, dict) and isinstance(graph.get("nodes"), list):
        with _damage(source):
            _check(graph)
            _upgrade(graph)
    return _entries(graph, source)


def with_checksum(graph_text: str) -> str:
    """The JSON of a graph with a checksum of all the rest among the attributes of the graph, which MXNet passes over."""
    graph = json.loads(graph_text)
    graph["attrs"][NAME] = ["str", _checksum(graph)]
    return json.dumps(graph, indent=2)


def _check(graph: dict) -> None:
    """Compares the checksum, where there is one."""
    attrs = graph.get("attrs") or {}
    if (found := attrs.pop(NAME, None)) is not None and found != ["str", _checksum(graph)]:
        raise MXNetError(
            f"it was changed: {NAME} among its attrs is not that of the rest; who edits it leaves that out"
        )


def _checksum(graph: dict) -> str:
    """Of the content: spaces do not count."""
    return checksums.text(checksums.crc32(json.dumps(graph, sort_keys=True).encode()))


def _upgrade(graph: dict) -> None:
    """Leaves out the axis -1 of argmax and argmin that stood for all elements before 0.9.5; 0.8 wrote no version."""
    if int((graph.get("attrs") or {}).get("mxnet_version", ("int", 800))[1]) >= WITH_LAST_AXIS:
        return
    for row in graph["nodes"]:
        for texts in (row.get(key) or {} for key in TEXTS if row.get("op") in ("argmax", "argmin")):
            if texts.get("axis") == "-1":
                del texts["axis"]


def _entries(graph, source: str) -> list[Value]:
    if not isinstance(graph, dict) or not isinstance(graph.get("nodes"), list) or not graph.get("heads"):
        raise MXNetError(f"{source} holds no graph: lists of 'nodes' and 'heads' are needed")
    nodes: list[Node | Variable] = []
    for i, row in enumerate(graph["nodes"]):
        with _damage(f"{source}: node {i}"):
            nodes.append(_node(row, nodes, f"{source}: node {i}"))
    with _damage(f"{source}: the heads"):
        return [_entry(nodes, head) for head in graph["heads"]]


@contextlib.contextmanager
def _damage(where: str):
    """Accidents with what a file holds become an error that says where."""
    try:
        yield
    except MXNetError as error:
        raise error if str(error).startswith(where) else MXNetError(f"{where}: {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise MXNetError(f"{where} is damaged: {error!r}") from None


def _entry(nodes: list[Node | Variable], place) -> Value:
    i, k, *_ = place
    if not isinstance(i, int) or not 0 <= i < len(nodes):
        raise MXNetError(f"it reads node {i}, which does not come before it")
    outputs = nodes[i].outputs
    if not isinstance(k, int) or not 0 <= k < len(outputs):
        raise MXNetError(f"output {k} of node {i} ({nodes[i].name!r}) is read, which has {len(outputs)}")
    return outputs[k]


def _node(row: dict, before: list[Node | Variable], where: str) -> Node | Variable:
    name, kind = row["name"], row["op"]
    if not isinstance(name, str) or not isinstance(kind, str):
        raise MXNetError("name and op are strings")
    texts: dict[str, str] = {}
    for key in TEXTS:
        texts.update(row.get(key) or {})
    if not all(isinstance(value, str) for value in texts.values()):
        raise MXNetError("attributes are strings")
    texts = hidden(texts)
    if kind == "null":
        return Variable(name, texts)
    kind, texts = translated(kind, texts, len(row["inputs"]))
    op = _operator(kind, texts)
    # Later versions write out attributes that are not set, among them those that they added; arrays are made on the
    # context of those who run the graph.
    texts = {key: text for key, text in texts.items() if key in op.attrs or (text != "None" and key != "ctx")}
    inputs = [_entry(before, place) for place in row["inputs"]]
    _move_to_inputs(texts, op.inputs, inputs)
    subgraphs = [_entries(sub, f"{where}, subgraph {i}") for i, sub in enumerate(row.get("subgraphs") or [])]
    if kind in FUSED and subgraphs:
        texts, subgraphs = {**_parts(kind, subgraphs), **_of_today(texts)}, []
    attrs = op.parse(typed(op, texts))
    if not 0 < op.count(attrs) <= MOST_OUTPUTS:
        raise MXNetError(f"{kind} has {op.count(attrs)} outputs; 1 to {MOST_OUTPUTS} are accepted")
    if not op.variadic and len(inputs) < len(op.inputs):  # before 0.9 files left auxiliary states out
        missing = slots_of(op, attrs, len(inputs))[len(inputs) :]
        inputs += [Variable(f"{name}_{slot}", variable_texts(op, slot, texts)) for slot in missing]
    node = made(op, name, texts, attrs, placed(op, attrs, inputs), subgraphs)
    if op.control is not None:
        op.control.check(node)
    return node


def _parts(kind: str, subgraphs: list[list[Value]]) -> dict[str, str]:
    """The attributes of the layers that a fused node's subgraph holds."""
    texts: dict[str, str] = {}
    for node in order(subgraphs[0]):
        if node.op is not None:
            texts |= {key: text for key, text in node.texts.items() if key in registry.get(kind).attrs}
    return texts


def _of_today(texts: dict[str, str]) -> dict[str, str]:
    """Attributes of fused nodes in the words of MXNet 1.9; before 1.6 they spoke of rectifiers."""
    return {key.replace("relu", "act"): text for key, text in texts.items()}


def _operator(kind: str, texts: dict[str, str]) -> registry.Operator:
    if kind == "_np_function":
        import core.symbol.numpy_functions  # noqa: F401  which enters it, and imports this module
    if kind != "Custom":
        return registry.get(kind)
    from core.symbol.custom import entry  # which imports this module

    op_type = texts.get("op_type")
    if op_type is None:
        raise MXNetError("Custom: attribute 'op_type' is required")
    return entry(op_type, {key: text for key, text in texts.items() if key not in ("op_type", "num_args")})


def _move_to_inputs(texts: dict[str, str], slots: list[str], inputs: list[Value]) -> None:
    """`weight_lr_mult` of an operator, an old spelling, belongs to its variable `weight`."""
    for key in list(texts):
        for word in HIDDEN:
            slot = key.removesuffix(f"_{word}")
            if slot != key and slot in slots:
                value, at = texts.pop(key), slots.index(slot)
                if at < len(inputs) and isinstance(inputs[at], Variable):
                    inputs[at].texts[f"__{word}__"] = value
