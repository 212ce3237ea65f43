"""Symbols and blocks for inference in mixed precision: conversions are written into the graph."""

from __future__ import annotations

from core.base import MXNetError
from core.dtypes import DTYPES, FLOATS
from core.graph.ir import Node, Value, Variable
from core.symbol import graph
from core.symbol.infer import BY_NUMBER, types
from core.symbol.symbol import Symbol

_CAST, _MULTICAST = "amp_cast", "amp_multicast"


def convert_symbol(
    sym, target_dtype="float16", target_dtype_ops=None, fp32_ops=None, conditional_fp32_ops=None,
    excluded_sym_names=None, data_names=None, cast_optional_params=False,
):  # fmt: skip
    """A symbol whose operators get their inputs in the types that mixed precision asks for; its outputs are in float32.

    Names of operators for `target_dtype`, float32, or float32 under some attributes are as in `amp.init`;
    AssertionError for one in two of the lists. excluded_sym_names: nodes that stay in float32; ValueError for names
    that are not there.
    data_names: inputs that come in float32, by default those without a dtype; the others get the dtype in which the
    graph takes them. cast_optional_params: inputs that are only read in `target_dtype` are kept in it.
    """
    from core.contrib import amp

    target = amp.target_name(target_dtype)
    rules = amp.rules_of(target, target_dtype_ops, conditional_fp32_ops, fp32_ops)
    entries = graph.copy(sym._entries)
    nodes = graph.order(entries)
    excluded = set(excluded_sym_names or ())
    unknown = excluded - {node.name for node in nodes}
    if unknown:
        raise ValueError(f"there is no node {', '.join(sorted(unknown))} in the symbol")
    states = graph.auxiliaries(nodes)
    made: dict[tuple, Value] = {}

    def change(node, inputs):
        if node.op is None:
            return None
        names = [name for name in (node.op.name, *node.op.aliases) if name in rules]
        rule = "float32" if node.name in excluded else (rules[names[0]] if names else None)
        dtype = None if rule is None else amp.wanted(rule, node.attrs)
        if dtype is None:
            return None
        if dtype == "widest":
            inputs = _widest(node, inputs)
        else:
            inputs = [v if v is None or v in states else _converted(v, dtype, made) for v in inputs]
        return graph.with_inputs(node, inputs).outputs

    entries = graph.rebuilt(entries, change)
    entries = [v if v.source is None else _converted(v, "float32", made) for v in entries]
    _tell_types(entries, data_names, target if cast_optional_params else None)
    return Symbol(entries)


def convert_model(
    sym, arg_params, aux_params, target_dtype="float16", target_dtype_ops=None, fp32_ops=None,
    conditional_fp32_ops=None, excluded_sym_names=None, cast_optional_params=False,
):  # fmt: skip
    """(symbol, arg_params, aux_params) in mixed precision, see `convert_symbol`.

    cast_optional_params: parameters that are only read in `target_dtype` are kept in it.
    """

    if not isinstance(sym, Symbol):
        raise MXNetError(f"convert_model takes a Symbol, given {type(sym).__name__}")
    data_names = [name for name in sym.list_inputs() if name not in arg_params and name not in aux_params]
    converted = convert_symbol(
        sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, data_names,
        cast_optional_params,
    )  # fmt: skip
    types = {name: BY_NUMBER[int(a["__dtype__"])] for name, a in converted.attr_dict().items() if "__dtype__" in a}
    arguments, states = (
        {name: array.astype(types.get(name, array.dtype), copy=False) for name, array in given.items()}
        for given in (arg_params, aux_params)
    )
    return converted, arguments, states


def convert_bucketing_module(
    bucketing_mod, target_dtype="float16", target_dtype_ops=None, fp32_ops=None, conditional_fp32_ops=None,
    excluded_sym_names=None, cast_optional_params=False,
):  # fmt: skip
    """A `BucketingModule` in mixed precision with the parameters and settings of an initialised one;
    see `convert_model`.
    """
    from core.module import BucketingModule

    if not isinstance(bucketing_mod, BucketingModule):
        raise TypeError(f"convert_bucketing_module takes a BucketingModule, given {type(bucketing_mod).__name__}")
    if not bucketing_mod.params_initialized:
        raise MXNetError("convert_bucketing_module takes a module with parameters: call init_params() before")
    operators = (target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)

    def generate(key):
        symbol, *names = bucketing_mod._call_sym_gen(key)
        return convert_symbol(symbol, *operators), *names

    default = bucketing_mod._default_bucket_key
    symbol = bucketing_mod._call_sym_gen(default)[0]
    _, arguments, states = convert_model(
        symbol, *bucketing_mod.get_params(), *operators, cast_optional_params=cast_optional_params
    )
    symbols = {key: generate(key)[0] for key in bucketing_mod._buckets}
    return BucketingModule.load_dict(symbols, generate, default, arguments, states, **bucketing_mod._settings)


def convert_hybrid_block(
    block, target_dtype="float16", target_dtype_ops=None, fp32_ops=None, conditional_fp32_ops=None,
    excluded_sym_names=None, ctx=None, cast_optional_params=False, device=None,
):  # fmt: skip
    """A block for inference in mixed precision with the parameters of `block`, hybridized and called before."""

    def rewrite(sym, arguments, states):
        return convert_model(
            sym, arguments, states, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names,
            cast_optional_params,
        )  # fmt: skip

    return block._rewritten(rewrite, device if ctx is None else ctx)


def _converted(value: Value, dtype: str, made: dict) -> Value:
    """The value in another type, converted once for all its readers."""
    node, k = value.maker, value.index
    if node.op is not None and node.op.precision and node.attrs.get("dtype") == dtype:
        return value
    if (value, dtype) not in made:
        name = f"{node.name}_{k}_{_CAST}_{dtype}" if k else f"{node.name}_{_CAST}_{dtype}"
        made[value, dtype] = graph.applied(_operator(_CAST), name, {"dtype": dtype}, [value]).outputs[0]
    return made[value, dtype]


def _tell_types(entries: list[Value], data_names, low: str | None) -> None:
    """Writes into the variables the dtypes in which the graph takes them.

    `low`: for those that are read in it alone.
    """
    nodes = graph.order(entries)
    declared = {n: BY_NUMBER.get(int(n.texts.get("__dtype__", -1))) for n in nodes if n.op is None}
    if data_names is None:
        data_names = [n.name for n, dtype in declared.items() if dtype is None]
    given = dict.fromkeys(data_names, "float32")
    for node, dtype in declared.items():
        if node.name in given or dtype in FLOATS:
            node.texts.pop("__dtype__", None)
    found, _ = types(entries, given)
    wishes = _wishes(nodes, low)
    for node in declared:
        dtype = found[node.name] or wishes.get(node) or declared[node]
        if node.name not in given and dtype is not None:
            node.texts["__dtype__"] = str(DTYPES[dtype][0])


def _wishes(nodes: list[Node | Variable], low: str | None) -> dict[Value, str | None]:
    """By variable, the one dtype that all conversions of it ask for; None where they ask for several."""
    wishes: dict[Value, str | None] = {}
    for node in nodes:
        if node.op is None or low is None or not node.op.precision:
            continue
        if node.op.variadic and any(v.source is not None for v in node.given):
            continue
        dtype = node.attrs.get("dtype", low)
        for v in node.given:
            wishes[v] = dtype if wishes.get(v, dtype) == dtype else None
    return wishes


def _widest(node: Node, inputs: list[Value | None]) -> list[Value | None]:
    """Inputs of a node, all in the widest type among them."""
    given = [v for v in inputs if v is not None]
    if len(given) < 2:
        return inputs
    texts = {"num_outputs": str(len(given))}
    together = iter(graph.applied(_operator(_MULTICAST), f"{node.name}_{_MULTICAST}", texts, given).outputs)
    return [v and next(together) for v in inputs]


def _operator(name: str):
    from core.ops.registry import get

    return get(name)
