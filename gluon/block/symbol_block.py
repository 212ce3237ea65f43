"""Blocks made from symbols: networks that were exported, or cut out of others."""

from __future__ import annotations

import ast
import contextlib

from core import initializer, symbol
from core import ndarray as nd
from core.base import MXNetError
from core.dtypes import dtype_name, dtype_type
from core.ops.facts import not_half
from core.ops.storage_types import NUMBERS
from core.symbol import graph, infer
from core.symbol.fixed_lengths import check, fixed_lengths
from core.tape import untraced
from gluon.block.hybrid_block import HybridBlock
from gluon.block.operators import leaves, operators_for
from gluon.block.structure import _regroup
from gluon.parameter import ParameterDict

__all__ = ["SymbolBlock"]


class SymbolBlock(HybridBlock):
    """A block that computes `outputs` (a symbol or a list of them) from `inputs` (variables);
    other variables are parameters.

    params: a `ParameterDict` to share parameters with, by name.

    `SymbolBlock.imports(symbol_file, input_names, param_file)` reads what `HybridBlock.export` or MXNet 1 wrote. MXNetError where a
    parameter of the graph is missing. Parts of a network are cut out by the symbols of inner layers. As in MXNet, calls run as
    those of hybridized blocks do; after `hybridize(False)` operator by operator.

    >>> x = sym.var("x")
    >>> net = gluon.SymbolBlock(sym.FullyConnected(x, num_hidden=2, name="fc"), x)
    >>> net.initialize()
    >>> net(nd.ones((1, 3))).shape
    (1, 2)
    """

    # As in MXNet, the graph is known and runs as a plan.
    _active = None

    def __init__(self, outputs, inputs, params=None):
        super().__init__(prefix="")
        # Names of variables are full ones.
        self._params = ParameterDict("", params)
        outputs = symbol.Group(outputs) if isinstance(outputs, (list, tuple)) else outputs
        inputs = list(inputs) if isinstance(inputs, (list, tuple, symbol.Symbol)) else [inputs]
        for variable in inputs:
            if not isinstance(variable, symbol.Symbol) or variable.list_inputs() != variable.list_outputs():
                raise TypeError(f"inputs of a SymbolBlock are variables, given {variable!r}")
        self._symbol = outputs
        self._has_open_states = any(graph.is_open(node.outputs[0]) for node in graph.order(outputs._entries))
        self._closed: tuple = (None, ())  # the shapes of inputs that came last, and the graph for them
        self._fixed = fixed_lengths(outputs)
        self._called_with = [True] * len(inputs)
        self._input_names = [variable.name for variable in inputs]
        states = outputs.list_auxiliary_states()
        shapes = {v.name: v.texts for v in graph.variables(outputs._entries)}
        for name, attrs in shapes.items():
            if attrs.get("__storage_type__") == str(NUMBERS["row_sparse"]):
                raise AssertionError(f"a SymbolBlock has dense parameters, but the variable {name!r} is row_sparse")
        for name in [*outputs.list_arguments(), *states]:
            if name not in self._input_names:
                options = {"grad_req": "null"} if name in states else {}
                declared = _declared(shapes[name])
                if params is not None and name in params:
                    declared.pop("init", None)  # a shared parameter has its values
                self.params.get(name, allow_deferred_init=True, **options, **declared)
        # As in MXNet, even where it cuts a word: files of `save_parameters` hold what is left of the names.
        start = _shared_start(list(self.params))
        self._reg_params = {name[start:]: parameter for name, parameter in self.params.items()}

    def _by_attribute(self, prefix=""):
        return {prefix + name: parameter for name, parameter in self.params.items()}

    @staticmethod
    def imports(symbol_file, input_names, param_file=None, ctx=None, allow_missing=False, ignore_extra=False,
                device=None):  # fmt: skip
        """The network that `HybridBlock.export` wrote to a `-symbol.json` and a `.params` file, on `ctx` or `device`.

        Without param_file its parameters are yet to be initialized, or loaded, and `ctx` has no effect.
        """
        ctx = device if ctx is None else ctx
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(symbol.load(symbol_file), [symbol.var(name) for name in names])
        parameters = block.collect_params()
        if param_file is not None:
            parameters.load(param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved")
        return block

    def cast(self, dtype):
        """Changes the dtype of all parameters.

        In float16 those of batch normalisations are float32, as in their layer.
        """
        super().cast(dtype)
        if dtype_name(dtype) != "float16":
            return
        for node in graph.order(self._symbol._entries):
            for slot, v in zip(node.slots, node.given, strict=True):
                if node.op.input_dtypes.get(slot) is not_half and v.maker.name in self.params:
                    self.params[v.maker.name].cast("float32")

    def forward(self, x, *args):
        """The outputs on arrays, or, given symbols, the graph with these in place of the inputs."""
        given = list(leaves((x, *args)))
        if len(given) != len(self._input_names):
            raise ValueError(
                f"the block has {len(self._input_names)} inputs, {', '.join(self._input_names)}; given {len(given)}"
            )
        _, ctx = operators_for(x, args)
        values = dict(zip(self._input_names, given, strict=True))
        if ctx is None:
            graphs = list(self._symbol(**values))
            return graphs[0] if len(graphs) == 1 else graphs
        if self._fixed:
            check(self._fixed, {name: array.shape for name, array in values.items()})
        kind = type(given[0])
        for name, parameter in self.params.items():
            array = parameter.data(ctx)
            values[name] = array if type(array) is kind or kind is nd.NDArray else array.as_np_ndarray()
        results = graph.run(self._entries_for(values), values, ctx, kind)
        if self._out_format is not None:  # that of the block which was exported, when a program kept it
            return _regroup(results, self._out_format)
        return results[0] if len(results) == 1 else results

    def _entries_for(self, values):
        """The graph, with first states of unknown batch size in the one that these values tell."""
        if not self._has_open_states:
            return self._symbol._entries
        shapes = {name: array.shape for name, array in values.items()}
        if self._closed[0] != shapes:
            with untraced():
                self._closed = shapes, infer.closed(self._symbol._entries, shapes)
        return self._closed[1]

    def infer_shape(self, *args):
        """Infers the shapes of parameters that are not known from those of the inputs."""
        shapes = {name: x.shape for name, x in zip(self._input_names, leaves(args), strict=True)}
        known = {name: p.shape for name, p in self.params.items() if p.shape and all(n > 0 for n in p.shape)}
        with untraced():
            arguments, _, states = self._symbol.infer_shape_partial(**shapes, **known)
        names = [*self._symbol.list_arguments(), *self._symbol.list_auxiliary_states()]
        for name, shape in zip(names, [*arguments, *states], strict=True):
            if shape and name in self.params:
                self.params[name].shape = shape

    def __repr__(self):
        outputs = len(self._symbol.list_outputs())
        return f"SymbolBlock(\n{self._symbol!r} : {len(self._input_names)} -> {outputs}\n)"


def _shared_start(names: list[str]) -> int:
    """The number of characters that all names begin with."""
    first, last = min(names, default=""), max(names, default="")
    pairs = enumerate(zip(first, last, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(last)))


def _declared(attrs: dict[str, str]) -> dict:
    """Keywords of a parameter from the attributes of its variable."""
    try:
        return _declared_of(attrs)
    except (ValueError, SyntaxError, TypeError, LookupError, RecursionError, MemoryError) as error:
        given = {key: text[:40] for key, text in attrs.items()}
        raise MXNetError(f"the attributes {given} of a variable are damaged: {type(error).__name__}: {error}") from None


def _declared_of(attrs: dict[str, str]) -> dict:
    declared = {key: float(attrs[f"__{key}__"]) for key in ("lr_mult", "wd_mult") if f"__{key}__" in attrs}
    if "__init__" in attrs:
        # Those of constants name a value that only the process knew that made the symbol.
        with contextlib.suppress(MXNetError):
            initializer.create(attrs["__init__"])
            declared["init"] = attrs["__init__"]
    if "__dtype__" in attrs:
        declared["dtype"] = dtype_type(infer.BY_NUMBER[int(attrs["__dtype__"])])
    if "__shape__" in attrs:
        declared["shape"] = shape = ast.literal_eval(attrs["__shape__"])
        if not all(isinstance(extent, int) for extent in (shape if isinstance(shape, (tuple, list)) else [shape])):
            raise ValueError("a shape is made of whole numbers")
    return declared
