"""Blocks as symbols: for files, for other programs that rewrite them, and to watch their operators."""

from __future__ import annotations

from core import autograd, symbol
from core import ndarray as nd
from core.base import MXNetError
from core.serialization import save_each
from core.symbol import graph
from core.util import is_np_array, np_shape
from gluon.block.hybrid_block import HybridBlock
from gluon.block.open_lengths import opened, plain, results
from gluon.block.operators import leaves
from gluon.block.structure import form
from gluon.block.symbol_block import SymbolBlock
from gluon.parameter import Parameter

__all__ = ["contents", "described", "export", "rewritten", "show_operators", "trace"]


def trace(block: HybridBlock, inputs=(True,)) -> symbol.Symbol:
    """The block's computation as a symbol of variables `data`, or `data0`, `data1`, ... where there are several inputs.

    Those of a `SymbolBlock` keep their names.

    inputs: their nesting, with True for each array and None for an input that is left out.
    """
    out = _called(block, inputs)
    return symbol.Group(list(leaves(out))) if isinstance(out, (list, tuple)) else out


def as_symbol_block(block: HybridBlock, inputs) -> tuple[SymbolBlock, list | int]:
    """The block as one of its symbol, with the same parameters, and how its results nest; inputs: as in `trace`."""
    out = _called(block, inputs)
    variables = [symbol.var(name) for name in _names(block, inputs)]
    return SymbolBlock(list(leaves(out)), variables, block.collect_params()), form(out)


def _names(block: HybridBlock, inputs) -> list[str]:
    if isinstance(block, SymbolBlock):
        return block._input_names
    count = sum(1 for _ in leaves(inputs))
    return ["data"] if count == 1 else [f"data{i}" for i in range(count)]


def _called(block: HybridBlock, inputs):
    """What a block gives for variables."""
    names = iter(_names(block, inputs))

    def variables(values):
        return [v and (variables(v) if isinstance(v, (list, tuple)) else _variable(next(names))) for v in values]

    return block(*variables(inputs))


def _variable(name: str) -> symbol.Symbol:
    made = symbol.var(name)
    return made.as_np_ndarray() if is_np_array() else made


def export(
    block: HybridBlock, path: str, epoch: int = 0, inputs=(True,), remove_amp_cast: bool = True
) -> tuple[str, str]:
    """Writes `<path>-symbol.json` and `<path>-<epoch>.params`, which `SymbolBlock.imports` reads; gives the two names.

    inputs: as in `trace`. remove_amp_cast: leave out the conversions of mixed precision. Parameters must be initialised.
    """
    out, sources = _sources(block, inputs)
    states = set(out.list_auxiliary_states())
    names = [n for n in sources if n not in states] + [n for n in sources if n in states]
    sources = {f"{'aux' if n in states else 'arg'}:{n}": sources[n] for n in names}
    symbol_file, params_file = f"{path}-symbol.json", f"{path}-{epoch:04d}.params"
    out.save(symbol_file, remove_amp_cast)
    save_each(params_file, sources, _array)
    return symbol_file, params_file


def contents(block: HybridBlock, inputs=(True,)) -> tuple[symbol.Symbol, dict, dict]:
    """The symbol of a block, and its parameters by name: arguments (constants among them) and auxiliary states."""
    out, sources = _sources(block, inputs)
    arrays, states = {n: _array(source) for n, source in sources.items()}, set(out.list_auxiliary_states())
    return out, {n: a for n, a in arrays.items() if n not in states}, {n: a for n, a in arrays.items() if n in states}


def _sources(block: HybridBlock, inputs) -> tuple[symbol.Symbol, dict]:
    """The symbol of a block, and the parameters and constants in it by name."""
    out, constants = described(block, inputs)
    names = set(out.list_inputs())
    sources = {n: p for n, p in block.collect_params().by_full_name().items() if n in names}
    return out, sources | {n: array.as_nd_ndarray() for n, array in constants.items() if n in names}


def _array(source) -> nd.NDArray:
    return source._reduce() if isinstance(source, Parameter) else source


def rewritten(block: HybridBlock, inputs, rewrite, ctx=None) -> SymbolBlock:
    """A block of what `rewrite(symbol, arguments, states)` gives, on `ctx` (by default where the parameters are)."""
    out, arguments, states = rewrite(*contents(block, inputs))
    held = arguments | states
    made = SymbolBlock(out, [symbol.var(name) for name in out.list_inputs() if name not in held])
    for name, parameter in made.collect_params().by_full_name().items():
        parameter._load_init(
            held[name], ctx or block.collect_params()[name].list_ctx(), cast_dtype=True, dtype_source="saved"
        )
    return made


def described(block: HybridBlock, inputs=(True,), any_batch: bool = True) -> tuple[symbol.Symbol, dict]:
    """The symbol of a block, and the arrays of the constants in it; inputs: as in `trace`.

    It is composed by the block itself, which names it as MXNet does. Where that means something else than the calls
    with arrays, as an index does, which picks an output of a symbol, it is what those calls computed: for other batches
    too, where it can be, or, without `any_batch`, operator by operator.
    """
    if _styled_forward(block):
        return _traced(block, any_batch)
    if block._compiled is None:
        return trace(block, inputs), {}
    try:
        out = trace(block, inputs)
    except (MXNetError, TypeError, ValueError, IndexError, AttributeError, NotImplementedError) as error:
        try:
            return _traced(block, any_batch)
        except MXNetError:
            raise error from None
    return (out, {}) if _agrees(out, block, inputs) else _traced(block, any_batch)


def _agrees(out: symbol.Symbol, block: HybridBlock, inputs) -> bool:
    """Whether a symbol gives the shapes of the last compiled call's results, as far as known without values."""
    try:
        whole = block._compiled.whole()
    except MXNetError:  # there is nothing else to write
        return True
    given = dict(zip(_names(block, inputs), (tuple(v.shape) for v in whole.graph.inputs), strict=True))
    try:
        with np_shape():
            found = out.infer_shape_partial(**given)[1]
    except MXNetError:  # sums of symbols, for one, do not broadcast, while those of arrays do
        return False
    wanted = [tuple(v.shape) for v in results(whole)]
    return len(found) == len(wanted) and all(map(_fits, found, wanted))


def _fits(known: tuple | None, shape: tuple) -> bool:
    """Whether a shape is what is known of it; None: nothing, -1: nothing of this extent."""
    return known is None or (
        len(known) == len(shape) and all(k in (-1, extent) for k, extent in zip(known, shape, strict=True))
    )


def show_operators(block: HybridBlock, args, callback, inputs_too: bool) -> None:
    """Runs a hybridized block operator by operator, and shows what each one gives (and gets).

    Names are those of an exported file, or `node_0`, ... for `np` arrays. Running statistics stay as they are.
    """
    out, values = described(block, block._called_with, any_batch=False)
    given = list(leaves(args))
    ctx, kind = given[0].context, type(given[0])
    values.update(zip(_names(block, given), given, strict=True))
    states = set(out.list_auxiliary_states())
    for name, parameter in block.collect_params().by_full_name().items():
        array = parameter.data(ctx)
        values[name] = array.copy() if name in states else array
    count = 0

    def watch(node, inputs, outputs):
        nonlocal count
        name = f"node_{count}" if kind._zero_dim else node.name
        count += 1
        for k, (slot, array) in enumerate(zip(node.slots, inputs, strict=True)) if inputs_too else ():
            callback(f"{name}_input{k}" if node.op.unnamed else f"{name}_{slot}", node.op.name, array)
        for v, array in zip(node.visible, outputs):
            callback(name + v.name.removeprefix(node.name), node.op.name, array)

    with autograd.pause(train_mode=autograd.is_training()):
        graph.run(out._entries, values, ctx, kind, watch)


def _styled_forward(block: HybridBlock) -> bool:
    """Whether the block or one inside defines `forward` on arrays, which symbols cannot be passed through."""
    forward = type(block).forward
    own = block._defines_forward and forward not in (HybridBlock.forward, SymbolBlock.forward)
    return own or any(_styled_forward(child) for child in block._children.values())


def _traced(block: HybridBlock, any_batch: bool) -> tuple[symbol.Symbol, dict]:
    """The symbol of the block's last compiled signature, and the arrays of the constants in it."""
    held = {id(a): p.var() for p in block.collect_params().values() if p._data is not None for a in p._data}

    def names(count: int) -> list[str]:
        return _names(block, range(count))

    return (opened if any_batch else plain)(block._compiled.whole, names, held)
