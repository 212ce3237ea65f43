"""Pictures of symbols: a table of layers, and a graph for graphviz."""

from __future__ import annotations

import math
import warnings

from core import late_names
from core.extras import load
from core.graph.ir import Node, Value, Variable
from core.symbol import Symbol, graph

_COLOURS = {  # by kind of layer; the first is of variables
    "": "#8dd3c7", "weights": "#fb8072", "activation": "#ffffb3", "normalization": "#bebada", "pooling": "#80b1d3",
    "layout": "#fdb462",
}  # fmt: skip
_OTHER = "#fccde5"
_PARAMETERS = ("_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var", "_running_mean")


def print_summary(symbol, shape=None, line_length=120, positions=(0.44, 0.64, 0.74, 1.0)) -> None:
    """Prints a table of the layers of a symbol: type, shape without the batch, number of parameters, what comes before.

    shape: shapes of inputs by name, without which no output shapes are shown. positions: where columns end, as parts of
    `line_length` (or in characters).
    """
    _check(symbol)
    nodes = graph.order(symbol._entries)
    outputs, variables = _shapes(symbol, shape)
    ends = [int(line_length * p) for p in positions] if positions[-1] <= 1 else list(positions)

    def row(*fields) -> None:
        line = ""
        for field, end in zip(fields, ends, strict=True):
            line = (line + str(field))[:end].ljust(end)
        print(line)

    states = graph.auxiliaries(nodes)
    print("_" * line_length)
    row("Layer (type)", "Output Shape", "Param #", "Previous Layer")
    print("=" * line_length)
    layers = [n for i, n in enumerate(nodes) if n.op is not None or i == 0]
    total = 0
    for node in layers:
        before = [v.maker for v in node.given if v.source is not None or v is nodes[0]]
        own = [v for v in node.given if v.source is None and v is not nodes[0] and v not in states]
        count = sum(math.prod(variables.get(p.name) or (0,)) for p in own if p.name.endswith(_PARAMETERS))
        total += count
        name = "null" if node.op is None else node.op.name
        shown = "x".join(map(str, (outputs.get(node.outputs[0]) or ())[1:]))
        row(f"{node.name}({name})", shown, count, before[0].name if before else "")
        for parent in before[1:]:
            row("", "", "", parent.name)
        print(("=" if node is layers[-1] else "_") * line_length)
    print(f"Total params: {total}")
    print("_" * line_length)


def plot_network(symbol, title="plot", save_format="pdf", shape=None, dtype=None, node_attrs=None, hide_weights=True):
    """A `graphviz.Digraph` of a symbol: boxes for operators, ovals for inputs.

    Along the edges are shapes where `shape` is given, and dtypes where `dtype` is. Its `source` needs nothing more;
    `render()` and `view()` need the graphviz programs. ImportError where the Python package graphviz is absent.
    """
    _check(symbol)
    graphviz = load("graphviz", "plot_network")
    outputs, _ = _shapes(symbol, shape)
    types = _types(symbol, dtype)
    nodes = graph.order(symbol._entries)
    names = [n.name for n in nodes]
    if len(set(names)) != len(names):
        double = sorted({n for n in names if names.count(n) > 1})
        warnings.warn(
            f"There are multiple variables with the same name in your graph, drawn as one: {', '.join(double)}",
            stacklevel=2,
        )
    style = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
    style |= node_attrs or {}
    picture = graphviz.Digraph(name=title, format=save_format)
    hidden = set()
    for node in nodes:
        if node.op is None and node.name.endswith(_PARAMETERS):
            hidden.add(node.name)
            continue
        form = {"shape": "oval"} if node.op is None else {}
        colour = _COLOURS[""] if node.op is None else _COLOURS.get(node.op.layer or None, _OTHER)
        picture.node(name=node.name, label=_label(node), fillcolor=colour, **{**style, **form})
    for node in nodes:
        for v in node.given:
            if v.maker.name in hidden and hide_weights:
                continue
            label = "x".join(map(str, (outputs.get(v) or ())[1:])) + types.get(v, "")
            picture.edge(node.name, v.maker.name, dir="back", arrowtail="open", label=label)
    return picture


# ----------------------------------------------------------------------------------------------


def _check(symbol) -> None:
    if not isinstance(symbol, Symbol):
        raise TypeError(f"a Symbol is drawn, given {type(symbol).__name__}")


def _shapes(symbol: Symbol, given) -> tuple[dict, dict]:
    """Shapes of all values, and of the variables by name."""
    if given is None:
        return {}, {}
    inside = symbol.get_internals()
    arguments, outputs, states = inside.infer_shape_partial(**given)
    if not all(outputs):
        raise ValueError(f"the shapes of all layers do not follow from those of {', '.join(given) or 'no input'}")
    names = [*inside.list_arguments(), *inside.list_auxiliary_states()]
    return dict(zip(inside._entries, outputs, strict=True)), dict(zip(names, [*arguments, *states], strict=True))


def _types(symbol: Symbol, given) -> dict[Value, str]:
    """The dtypes of all values, in brackets."""
    if given is None:
        return {}
    inside = symbol.get_internals()
    _, found, _ = inside.infer_type(**given)
    if found is None:
        raise ValueError(f"the dtypes of all layers do not follow from those of {', '.join(given) or 'no input'}")
    return {v: f"({t.__name__})" for v, t in zip(inside._entries, found, strict=True)}


def _label(node: Node | Variable) -> str:
    return node.name if node.op is None or node.op.label is None else node.op.label(node.attrs)


def __dir__():
    return late_names.defined(globals())
