"""Blocks that are traced into graphs, and compiled."""

from __future__ import annotations

from core import autograd, graph
from core import ndarray as nd
from core.base import MXNetError, NotAnArray
from core.context import current_context
from core.graph.versions import thread
from core.numpy.multiarray import ndarray as np_ndarray
from core.operand_errors import OperandError
from core.util import is_np_array
from gluon.block import block as blocks
from gluon.block.block import Block
from gluon.block.operators import is_array, is_symbolic, leaves, nesting, operators_for, refuse_mixed
from gluon.block.structure import _regroup, form
from gluon.parameter import DeferredInitializationError
from gluon.parameter.parameter import placeholders

__all__ = ["HybridBlock"]

NDArray = nd.NDArray
_FACES = frozenset({NDArray, np_ndarray})  # classes of arrays of which a block gives one


class UnfitInput(MXNetError, ValueError):
    """An input of the first call does not fit the layer, of which shapes are not known yet."""


class HybridBlock(Block):
    """A block that can also be traced into a graph.

    It defines `hybrid_forward(F, x, ..., **parameters)`, where `F` is the module of operators that fits the inputs and
    parameters come by their attribute names, or, in the style of MXNet 2, `forward(x, ...)`, which reads
    `self.weight.data()`. Shapes of parameters that are not known are found out in the first call.

    >>> class Net(gluon.HybridBlock):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.layer = nn.Dense(2)
    ...     def hybrid_forward(self, F, x):
    ...         return F.relu(self.layer(x))
    >>> net = Net()
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(nd.ones((1, 3))).shape
    (1, 2)
    """

    # Whether a call computes `forward` as the class defines it, rather than `hybrid_forward`.
    _defines_forward = False
    # Whether `hybridize` switched compiled execution on or off; None where it is on until somebody does.
    _active: bool | None = False
    # The nesting of the inputs of the first hybridized call, with True for each array.
    _called_with = ()
    # The nestings of inputs and outputs as `_regroup` takes them, by MXNet's names: programs keep them
    # beside exported files.
    _in_format = _out_format = None
    # Whether calls depend on nothing that the block keeps from call to call; others are compiled as
    # parts of blocks only.
    _traceable = True
    # What compiled calls go through, from the first one on.
    _compiled = None
    _FLAGS = ("static_alloc", "static_shape", "inline_limit", "forward_bulk_size", "backward_bulk_size")
    _delegate = None  # another library that computes predictions (see `optimize_for`)
    # What a call depends on besides its arguments; compiled blocks keep a plan for each value.
    _variant = None
    # (callback, whether it sees inputs too) of `register_op_hook`.
    _op_hook = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._defines_forward = cls.hybrid_forward is HybridBlock.hybrid_forward

    def __init__(self, prefix=None, params=None, **unknown):
        super().__init__(prefix=prefix, params=params, **unknown)
        self._flags: dict[str, object] = {}

    def __call__(self, *args):
        if not self._defines_forward:
            return _of_one_kind(self, Block.__call__(self, *args))
        if blocks.route is not None:
            routed = blocks.route(HybridBlock.__call__, self, args)
            if routed is not None:
                return routed[0]
        if self._compiles() and not is_symbolic(args):
            return self._call_compiled(args)
        if args and type(args[0]) not in _FACES and is_np_array() and not any(map(is_array, leaves(args))):
            raise ValueError(f"{self.name}: an array is needed among the inputs, given {', '.join(map(repr, args))}")
        return _of_one_kind(self, self._call_as_written(*args))

    def _call_as_written(self, *args):
        """A call of a block that defines `forward`, operator by operator."""
        try:
            return Block.__call__(self, *args)
        except DeferredInitializationError:
            self._finish_shapes(args)
        with placeholders:
            return Block.__call__(self, *args)

    def forward(self, x, *args):
        """Calls `hybrid_forward` with the operators that fit `x` and with this block's parameters on its context."""
        kind = type(x)
        if kind is NDArray:
            operators, ctx = nd, x._ctx
        else:
            operators, ctx = operators_for(x, args)
            if ctx is None:
                return self._symbolic_forward(operators, x, *args)
        if self._compiles():
            return self._call_cached_op(x, args)
        try:
            return self._run(operators, ctx, x, args)
        except TypeError:
            if is_symbolic(args):
                refuse_mixed((x, *args))
            raise

    def hybrid_forward(self, F, x, *args, **kwargs):
        """What the block computes, in terms of the operators `F`."""
        raise NotImplementedError(f"{type(self).__name__} defines neither hybrid_forward nor forward")

    def hybridize(
        self,
        active=True,
        backend=None,
        clear=True,
        static_alloc=False,
        static_shape=False,
        inline_limit=2,
        forward_bulk_size=None,
        backward_bulk_size=None,
        **kwargs,
    ):
        """Switches compiled execution of the block and its children on or off, with MXNet's options.

        A compiled block is traced for the first signature of its inputs (shapes, dtypes, device, training or not); from
        then on its operators are called without its Python code. The second shape shows which lengths vary: it is traced
        once more with symbols for these, and that plan serves all shapes from then on, but for lengths of 0 and 1, which
        are traced apart (`mx.graph.explain` prints the shapes that a plan serves). Where the block needs a length as a
        number (`range(x.shape[0])`), each has a plan of its own, once it came as often as pays for it. What the block
        decides in Python is decided once: a branch on the value of an array raises MXNetError with the line, unless
        `hybrid_forward` takes another way for symbols (`if F is mx.nd`), which is then the one that is compiled, as in
        MXNet.

        On a GPU, shapes that come again are captured as CUDA graphs, up to a share of its memory that the environment
        variable MXNET_CUDA_GRAPH_SHARE sets (0.5); a warning says where that cannot be.

        static_alloc, static_shape: together they promise that shapes come again, which are captured after two calls
        then, not after four. static_shape warns of the ninth shape. Memory that a call lets go stays with the process in
        any case, and the next call takes it again.
        """
        self._active = active
        self._compiled = self._delegate = None
        self._flags = {
            "static_alloc": static_alloc,
            "static_shape": static_shape,
            "inline_limit": inline_limit,
            "forward_bulk_size": forward_bulk_size,
            "backward_bulk_size": backward_bulk_size,
            "backend": backend,
            **kwargs,
        }
        super().hybridize(
            active,
            backend=backend,
            clear=clear,
            static_alloc=static_alloc,
            static_shape=static_shape,
            inline_limit=inline_limit,
            forward_bulk_size=forward_bulk_size,
            backward_bulk_size=backward_bulk_size,
            **kwargs,
        )

    def __getstate__(self):
        return {**self.__dict__, "_compiled": None, "_delegate": None}  # copies compile their own calls

    def _clear_cached_op(self):
        """Forgets what was compiled: blocks call it, by this name, when what they compute changes."""
        self._compiled, self._called_with = None, ()

    def register_child(self, block, name=None):
        """Makes a `HybridBlock` a child; other blocks cannot be traced and are refused."""
        if not isinstance(block, HybridBlock):
            raise ValueError(
                f"children of a HybridBlock are HybridBlocks, but {name or str(len(self._children))!r} of "
                f"{type(self).__name__} is of type {type(block).__name__}; a Sequential takes any block"
            )
        super().register_child(block, name)
        self._compiled = None

    def _register_parameter(self, name, parameter):
        super()._register_parameter(name, parameter)
        self._compiled = None

    def register_op_hook(self, callback, monitor_all=False):
        """Calls `callback(name, operator, array)` with what each operator of a hybridized call gives,
        one after the other.

        monitor_all: also with what each one gets. For this the operators are applied once more after the call.
        """
        self._op_hook = callback, monitor_all
        super().register_op_hook(callback, monitor_all)

    def infer_type(self, *args):
        """Infers the dtypes of parameters that are not initialised yet from those of inputs."""
        dtypes = {array.dtype for array in leaves(args)}
        for parameter in self.collect_params().values() if len(dtypes) == 1 else ():
            if parameter._data is None:
                parameter.cast(next(iter(dtypes)))

    def optimize_for(self, x, *args, backend=None, clear=False, partition_if_dynamic=True, **kwargs):
        """Hybridizes the block and compiles it for these inputs, or lets another library compute its predictions.

        backend: "openvino" or "onnxruntime" (extras of these names), which take the network as ONNX, anew when a
        parameter has changed; further keywords are properties of OpenVINO's CPU device, such as
        `INFERENCE_PRECISION_HINT="bf16"`, or fields of ONNX Runtime's SessionOptions, such as `intra_op_num_threads`.
        Training, recorded calls and `export` stay as they are; `hybridize()` ends it. None and MXNet's own names
        ("MKLDNN", ...) mean the block's plans. MXNetError for other names, and for an operator that has no form in
        ONNX; ImportError where the package is missing.

            net.optimize_for(x, backend="openvino")
            y = net(x)
        """
        from gluon.block.backends import OWN, delegate

        flags = {key: kwargs.pop(key) for key in [*kwargs] if backend in OWN or key in self._FLAGS}
        made = delegate(self, backend, kwargs)
        if not self._active or clear:
            self.hybridize(True, clear=clear, **flags)
        self._delegate = None
        self(x, *args)
        self._delegate = made
        if made is not None:
            self(x, *args)

    def export(self, path, epoch=0, remove_amp_cast=True):
        """Writes `<path>-symbol.json` and `<path>-<epoch>.params` for `SymbolBlock.imports`; gives the two names.

        remove_amp_cast: leave out the conversions of mixed precision. MXNetError unless the block was hybridized and called since, which fixes the number of its inputs.
        """
        from gluon.block.export import export

        if not self._called_with:
            raise MXNetError(
                "export needs to know the inputs: call hybridize(), then the block on arrays, and export after that"
            )
        return export(self, path, epoch, self._called_with, remove_amp_cast)

    def _rewritten(self, rewrite, ctx=None):
        """A `SymbolBlock` of what `rewrite(symbol, arguments, states)` makes of this block."""
        from gluon.block.export import rewritten

        if not self._called_with:
            raise MXNetError(
                "the block's inputs are not known: call hybridize(), then the block on arrays, before this"
            )
        return rewritten(self, self._called_with, rewrite, ctx)

    def infer_shape(self, *args):
        """Infers the shapes of this block's parameters from inputs.

        A block in the style of MXNet 2 may override it to set `self.weight.shape = ...`. Here it runs a forward pass,
        or, before `initialize`, follows the block's symbol.
        """
        if any(p._data is None and not p._deferred_init for p in self.collect_params().values()):
            from gluon.block.export import as_symbol_block

            as_symbol_block(self, nesting(args))[0].infer_shape(*args)
            return
        with autograd.pause(), placeholders:
            self(*args)

    def _compiles(self):
        """Whether a call goes through a plan of this block,
        which is no part of what is traced or waits for its own plan.
        """
        return self._active is not False and self._traceable and autograd.state.tracer is None and not thread.waiting

    def _run(self, operators, ctx, x, args):
        """`hybrid_forward` on arrays."""
        values, unknown = {}, False
        for name, parameter in self._reg_params.items():
            array = parameter._array
            if array is None:
                self._finish_shapes((x, *args))
                array, unknown = parameter._placeholder(ctx), True
            values[name] = array
        if unknown:
            return self._run_first(operators, ctx, x, args, values)
        default = current_context()
        if ctx is default or ctx == default:
            return self.hybrid_forward(operators, x, *args, **values)
        with ctx:
            return self.hybrid_forward(operators, x, *args, **values)

    def _run_first(self, operators, ctx, x, args, values):
        """`hybrid_forward` while shapes of parameters are not known.

        What does not fit is a ValueError then; errors of a class of their own keep it.
        """
        try:
            with ctx:
                return self.hybrid_forward(operators, x, *args, **values)
        except (MXNetError, NotAnArray) as error:
            unfit = type(error) is MXNetError or isinstance(error, (OperandError, NotAnArray))
            if not unfit or isinstance(error, ValueError):
                raise
            raise UnfitInput(f"in the first call, while shapes are unknown: {error}") from error

    def _call_cached_op(self, x, args):
        """Runs the compiled `hybrid_forward`."""
        compiled = self._compiled or self._compile(self._run_anew, (x, *args))
        if self._delegate is not None and not (autograd.is_recording() or autograd.is_training()):
            return self._delegate((x, *args))
        out = compiled(x, *args, variant=self._variant)
        if self._op_hook is not None:
            self._show_operators((x, *args))
        return out

    def _call_compiled(self, args):
        """A call of a hybridized block that defines `forward`."""
        try:
            for hook in tuple(self._forward_pre_hooks.values()):
                hook(self, args)
            compiled = self._compiled or self._compile(self._forward_anew, args)
            if self._delegate is not None and not (autograd.is_recording() or autograd.is_training()):
                out = self._delegate(args)
            else:
                out = compiled(*args, variant=self._variant)
            if self._op_hook is not None:
                self._show_operators(args)
            for hook in tuple(self._forward_hooks.values()):
                hook(self, args, out)
        except Exception as error:
            self._failed(error, args)
            raise
        return out

    def _show_operators(self, args):
        from gluon.block.export import show_operators

        show_operators(self, args, *self._op_hook)

    @property
    def _cached_graph(self):
        """(symbols of the inputs, symbol of the block) by MXNet's name, which programs read.

        () before the first hybridized call.
        """
        if not self._called_with or not self._active:
            return ()
        from gluon.block.export import described

        out, _ = described(self, self._called_with)
        inputs = out.get_internals()
        known = set(self.collect_params().by_full_name())
        return [inputs[f"{n}"] for n in out.list_inputs() if n not in known], out

    def plan_of(self, *args):
        """The plan of a hybridized block for inputs like these (see `core.graph.explain`)."""
        if self._active is False:
            raise MXNetError(f"{self.name!r} is not hybridized: call hybridize() first")
        function = self._forward_anew if self._defines_forward else self._run_anew
        return (self._compiled or self._compile(function, args)).plan(*args, variant=self._variant)

    def _compile(self, function, args):
        self._called_with = nesting(args)
        otherwise = None if self._defines_forward else self._by_symbols
        self._compiled = graph.Compiled(function, self._arrays, self._flags, otherwise)
        return self._compiled

    def _by_symbols(self, error):
        """The block as what its `hybrid_forward` composes of symbols, as in MXNet,
        where it reads a value of an array only.

        Raises `error`, which tells of the reading, where symbols do not pass through it either.
        """
        from gluon.block.export import as_symbol_block

        try:
            inner, form_of_result = as_symbol_block(self, self._called_with)
        except (MXNetError, TypeError, ValueError, AttributeError, NotImplementedError):
            raise error from None
        return lambda *args: self._with_formats(args, _regroup(list(leaves([inner(*args)])), form_of_result))

    def _run_anew(self, x, *args):
        return self._with_formats((x, *args), self._run(*operators_for(x, args), x, args))

    def _forward_anew(self, *args):
        try:
            return self._with_formats(args, self.forward(*args))
        except DeferredInitializationError:
            self._finish_shapes(args)
        with placeholders:
            return self._with_formats(args, self.forward(*args))

    def _with_formats(self, args, out):
        self._in_format, self._out_format = form(args), form(out)
        return out

    def _arrays(self):
        """The arrays of all parameters that have some."""
        parameters = self.collect_params().values()
        return [a for p in parameters if p._data is not None and p._stype == "default" for a in p._data]

    def _finish_shapes(self, args):
        """Initialises deferred parameters by the block's own `infer_shape`, where it has one."""
        if type(self).infer_shape is HybridBlock.infer_shape:
            return
        if any(p._data is None and p._deferred_init for p in self._reg_params.values()):
            self.infer_shape(*args)
            for parameter in self._reg_params.values():
                parameter._finish_deferred_init()

    def _symbolic_forward(self, operators, x, *args):
        """`hybrid_forward` on symbols, with parameters as variables."""
        with self.name_scope():
            variables = {name: parameter.var() for name, parameter in self._reg_params.items()}
            if is_np_array():
                variables = {name: variable.as_np_ndarray() for name, variable in variables.items()}
            return self.hybrid_forward(operators, x, *args, **variables)


def _of_one_kind(block, out):
    """What a call gave; TypeError where arrays of `nd` and of `np` are mixed."""
    if type(out) in (tuple, list) and len({type(x) for x in out if isinstance(x, NDArray)} & _FACES) > 1:
        raise TypeError(f"{block.name}: the outputs mix arrays of nd and np; convert with as_np_ndarray()")
    return out
