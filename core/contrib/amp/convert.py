"""Symbols and blocks for inference in mixed precision: conversions are written into the graph."""

from __future__ import annotations

from core.base import MXNetError
from core.symbol import graph
from core.symbol.symbol import Symbol

_CAST, _MULTICAST = "amp_cast", "amp_multicast"


def convert_symbol(
    sym, target_dtype="float16", target_dtype_ops=None, fp32_ops=None, conditional_fp32_ops=None, excluded_sym_names=None,
    data_names=None, cast_optional_params=False,
):  # fmt: skip
    """A symbol whose operators get their inputs in the types that mixed precision asks for.

    Names of further operators for `target_dtype`, float32, or float32 under some attributes are as in `amp.init`.
    excluded_sym_names: nodes that stay in float32; ValueError for names that are not there.
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
    made: dict[tuple, graph.Entry] = {}
    for node in nodes:
        if node.op is None:
            continue
        names = [name for name in (node.op.name, *node.op.aliases) if name in rules]
        rule = "float32" if node.name in excluded else (rules[names[0]] if names else None)
        dtype = None if rule is None else amp.wanted(rule, node.parsed)
        if dtype == "widest":
            node.inputs = _widest(node)
        elif dtype is not None:
            node.inputs = [entry if id(entry[0]) in states else _converted(entry, dtype, made) for entry in node.inputs]
    return Symbol(entries)


def convert_model(
    sym, arg_params, aux_params, target_dtype="float16", target_dtype_ops=None, fp32_ops=None, conditional_fp32_ops=None,
    excluded_sym_names=None, cast_optional_params=False,
):  # fmt: skip
    """(symbol, arg_params, aux_params) in mixed precision, see `convert_symbol`.

    cast_optional_params: parameters that are only read in `target_dtype` are kept in it.
    """
    from core.contrib import amp

    if not isinstance(sym, Symbol):
        raise MXNetError(f"convert_model takes a Symbol, given {type(sym).__name__}")
    converted = convert_symbol(
        sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
    )  # fmt: skip
    arguments = dict(arg_params)
    if cast_optional_params:
        target = amp.target_name(target_dtype)
        readers: dict[str, list] = {}
        for node in graph.order(converted._entries):
            for parent, _ in node.inputs:
                if parent.op is None:
                    readers.setdefault(parent.name, []).append(node)
        for name, array in arg_params.items():
            only_low = all(n.op.name == _CAST and n.parsed["dtype"] == target for n in readers.get(name, ()))
            if name in readers and only_low:
                arguments[name] = array.astype(target)
    return converted, arguments, dict(aux_params)


def convert_bucketing_module(
    bucketing_mod, target_dtype="float16", target_dtype_ops=None, fp32_ops=None, conditional_fp32_ops=None,
    excluded_sym_names=None, cast_optional_params=False,
):  # fmt: skip
    """A `BucketingModule` in mixed precision with the parameters and settings of an initialised one; see `convert_model`."""
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
    block, target_dtype="float16", target_dtype_ops=None, fp32_ops=None, conditional_fp32_ops=None, excluded_sym_names=None,
    ctx=None, cast_optional_params=False, device=None,
):  # fmt: skip
    """A block for inference in mixed precision with the parameters of `block`, which was hybridized and called before."""

    def rewrite(sym, arguments, states):
        return convert_model(
            sym, arguments, states, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names,
            cast_optional_params,
        )  # fmt: skip

    return block._rewritten(rewrite, device if ctx is None else ctx)


def _converted(entry: graph.Entry, dtype: str, made: dict) -> graph.Entry:
    """The entry in another type, converted once for all its readers."""
    node, k = entry
    if node.op is not None and node.op.name == _CAST and node.parsed["dtype"] == dtype:
        return entry
    key = id(node), k, dtype
    if key not in made:
        name = f"{node.name}_{k}_{_CAST}_{dtype}" if k else f"{node.name}_{_CAST}_{dtype}"
        made[key] = graph.Node(_operator(_CAST), name, {"dtype": dtype}, [entry]), 0
    return made[key]


def _widest(node: graph.Node) -> list[graph.Entry]:
    """The node's inputs, all in the widest type among them."""
    if len(node.inputs) < 2:
        return node.inputs
    count = str(len(node.inputs))
    together = graph.Node(_operator(_MULTICAST), f"{node.name}_{_MULTICAST}", {"num_outputs": count}, node.inputs)
    return [(together, k) for k in range(len(node.inputs))]


def _operator(name: str):
    from core.ops.registry import get

    return get(name)
