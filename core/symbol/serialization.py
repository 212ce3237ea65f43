"""Graphs as JSON, in the format of MXNet 1.9.1; older spellings are read."""

from __future__ import annotations

import json

from core.base import MXNetError
from core.ops import registry
from core.symbol.compose import variable_texts
from core.symbol.graph import HIDDEN, Entry, Node, hidden, order

VERSION = 10901


def dumps(entries: list[Entry]) -> str:
    """The graph as text: nodes in order, `arg_nodes` (variables), `node_row_ptr` (sums of output counts) and `heads`."""
    nodes = order(entries)
    place = {id(node): i for i, node in enumerate(nodes)}
    rows, pointers = [], [0]
    for node in nodes:
        row = {"op": "null" if node.op is None else node.op.name, "name": node.name}
        if node.attrs:
            row["attrs"] = dict(sorted(node.attrs.items()))
        row["inputs"] = [
            # The third number counts the writes to a variable: an auxiliary state has seen one.
            [place[id(parent)], k, int(parent.op is None and node.auxiliary(slot))]
            for slot, (parent, k) in zip(node.slots, node.inputs, strict=True)
        ]
        rows.append(row)
        pointers.append(pointers[-1] + (1 if node.op is None else node.op.count(node.parsed)))
    graph = {
        "nodes": rows,
        "arg_nodes": [i for i, node in enumerate(nodes) if node.op is None],
        "node_row_ptr": pointers,
        "heads": [[place[id(node)], k, 0] for node, k in entries],
        "attrs": {"mxnet_version": ["int", VERSION]},
    }
    return json.dumps(graph, indent=2)


def loads(text: str, source: str = "the JSON text") -> list[Entry]:
    """The entries of a graph; MXNetError says what in `source` is damaged or unknown."""
    try:
        graph = json.loads(text)
    except ValueError as error:
        raise MXNetError(f"{source} is no JSON: {error}") from None
    if not isinstance(graph, dict) or "nodes" not in graph or "heads" not in graph:
        raise MXNetError(f"{source} holds no graph: 'nodes' and 'heads' are needed")
    nodes: list[Node] = []
    try:
        for row in graph["nodes"]:
            nodes.append(_node(row, nodes))
        return [(nodes[i], k) for i, k, *_ in graph["heads"]]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise MXNetError(f"{source}: node {len(nodes)} is damaged: {error!r}") from None


def _node(row: dict, before: list[Node]) -> Node:
    if row.get("subgraphs"):
        raise MXNetError(f"node {row['name']!r} ({row['op']}) holds subgraphs, which are not read")
    texts: dict[str, str] = {}
    for key in ("param", "attr", "attrs"):  # the first two: before 1.0
        texts.update(row.get(key) or {})
    texts = hidden(texts)
    if row["op"] == "null":
        return Node(None, row["name"], texts)
    op = registry.get(row["op"])
    inputs = []
    for i, k, *_ in row["inputs"]:
        if not 0 <= i < len(before):
            raise MXNetError(f"node {row['name']!r} reads node {i}, which does not come before it")
        inputs.append((before[i], k))
    _move_to_inputs(texts, op.inputs, inputs)
    node = Node(op, row["name"], texts, inputs)
    for slot in node.slots[len(inputs) :]:  # before 0.9 files left auxiliary states out
        node.inputs.append((Node(None, f"{node.name}_{slot}", variable_texts(op, slot, texts)), 0))
    return node


def _move_to_inputs(texts: dict[str, str], slots: list[str], inputs: list[Entry]) -> None:
    """`weight_lr_mult` of an operator, an old spelling, belongs to its variable `weight`."""
    for key in list(texts):
        for word in HIDDEN:
            slot = key.removesuffix(f"_{word}")
            if slot != key and slot in slots:
                value, at = texts.pop(key), slots.index(slot)
                if at < len(inputs) and inputs[at][0].op is None:
                    inputs[at][0].attrs[f"__{word}__"] = value
