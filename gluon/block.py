"""Blocks: pieces of networks that hold parameters and other blocks."""

from __future__ import annotations

import itertools
import json
import threading
import warnings

from core import autograd, graph
from core import ndarray as nd
from core.base import MXNetError, nearest
from core.context import current_context
from core.files.atomic import replacing
from core.imperative import front
from core.name import NameManager, Prefix
from core.numpy.multiarray import ndarray as np_ndarray
from core.ops.registry import TABLE
from gluon.parameter import DeferredInitializationError, Parameter, ParameterDict, _placeholders

__all__ = ["Block", "HookHandle", "HybridBlock"]

NDArray = nd.NDArray
_FACES = frozenset({NDArray, np_ndarray})  # classes of arrays of which a block gives one

# Asked first where a block is called: what the call gives in a list, or None for calls of no interest to it.
route = None


class Block:
    """Base class of layers and networks.

    Blocks and parameters that are assigned to attributes become children and parameters; `forward(*args)` is what a
    call computes. prefix: the beginning of the names of its parameters, by default the class name with a number.
    params: a `ParameterDict` to share parameters with.
    """

    def __init__(self, prefix=None, params=None):
        self._empty_prefix = prefix == ""
        self._prefix, self._params = _BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = _BlockScope(self)
        self._children: dict[str, Block] = {}
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: dict[int, object] = {}
        self._forward_pre_hooks: dict[int, object] = {}

    def __repr__(self):
        children = [(name, block) for name, block in self.__dict__.items() if isinstance(block, Block)]
        return f"{type(self).__name__}(\n{_listing(children)}\n)"

    def __setattr__(self, name, value):
        existing = self.__dict__.get(name)
        if isinstance(existing, (Parameter, Block)) and not isinstance(value, type(existing)):
            raise TypeError(
                f"attribute {name!r} of {type(self).__name__} is a {type(existing).__name__} and cannot become a "
                f"{type(value).__name__}"
            )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            self._register_parameter(name, value)
        object.__setattr__(self, name, value)

    def _register_parameter(self, name, parameter):
        if self._reg_params.get(name, parameter) is not parameter:
            raise AssertionError(
                f"parameter {name!r} of {type(self).__name__} exists already; to share parameters between blocks pass "
                "params=... when making them"
            )
        self._reg_params[name] = parameter
        if not parameter._scoped:
            # Made by itself, as in MXNet 2: it gets its full name from the block.
            parameter.name = self._params.prefix + name
            parameter._scoped = True
            self._params._params[parameter.name] = parameter

    def _alias(self):
        return type(self).__name__.lower()

    # ------------------------------------------------------------------ names, parameters, children
    @property
    def prefix(self):
        """The beginning of the names of this block's parameters."""
        return self._prefix

    @property
    def name(self):
        """The prefix without its last underscore."""
        return self._name

    @property
    def params(self):
        """The parameters of this block alone, without those of its children (see `collect_params`)."""
        return self._params

    def name_scope(self):
        """Context manager: blocks made inside get this block's prefix before their own."""
        return self._scope

    def collect_params(self, select=None):
        """All parameters of the block and its children, or those whose full names match the regular expression."""
        self._warn_of_hidden_blocks()
        found = ParameterDict(self._params.prefix)
        found._by_structure = self._collect_params_with_prefix
        found.update(self._params.select(select) if select else self._params)
        for child in self._children.values():
            found.update(child.collect_params(select))
        return found

    def _collect_params_with_prefix(self, prefix=""):
        """Parameters by structural name: attributes and child names joined by dots."""
        prefix = prefix + "." if prefix else ""
        found = {prefix + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    def register_child(self, block, name=None):
        """Makes a block a child; without a name it gets its number."""
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn):
        """Calls `fn` on all descendants and then on the block itself."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def initialize(self, init=None, ctx=None, verbose=False, force_reinit=False, device=None):
        """Initialises all parameters, by default uniformly on [-0.07, 0.07] where they have no initializer.

        ctx, or device as MXNet 2 calls it: where they are to be, a context or a list of several.
        """
        self.collect_params().initialize(init, device if ctx is None else ctx, verbose, force_reinit)

    def reset_ctx(self, ctx):
        """Moves all parameters to other contexts."""
        for parameter in self.collect_params().values():
            parameter.reset_ctx(ctx)

    def reset_device(self, device):
        """`reset_ctx` as MXNet 2 calls it."""
        self.reset_ctx(device)

    def zero_grad(self):
        """Sets the gradients of all parameters to 0."""
        for parameter in self.collect_params().values():
            parameter.zero_grad()

    def setattr(self, name, value):
        """Sets an attribute, such as `grad_req`, of all parameters."""
        for parameter in self.collect_params().values():
            setattr(parameter, name, value)

    def cast(self, dtype):
        """Converts all parameters to another dtype."""
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self._params.values():
            parameter.cast(dtype)

    def share_parameters(self, shared):
        """Uses the given parameters (by structural name, or as `collect_params` gives them) in place of its own."""
        collected = getattr(shared, "_by_structure", None)
        if collected is not None:
            by_name = collected()
        else:
            prefix = shared.prefix if isinstance(shared, ParameterDict) else ""
            by_name = {name.removeprefix(prefix): parameter for name, parameter in shared.items()}
        for name in self._collect_params_with_prefix():
            if name in by_name:
                *path, attribute = name.split(".")
                owner = self
                for child in path:
                    owner = owner._children[child]
                owner._replace_parameter(attribute, by_name[name])
        return self

    def _replace_parameter(self, name, parameter):
        old = self._reg_params[name]
        self._params._params = {
            (parameter.name if p is old else key): (parameter if p is old else p)
            for key, p in self._params._params.items()
        }
        self._reg_params[name] = parameter
        object.__setattr__(self, name, parameter)

    def hybridize(self, active=True, **kwargs):
        """Hybridizes the children that are `HybridBlock`s."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # ------------------------------------------------------------------ files
    def save_parameters(self, filename, deduplicate=False):
        """Writes all parameters by structural name; with `deduplicate` shared ones once."""
        parameters = self._collect_params_with_prefix()
        if deduplicate:
            last = {parameter: name for name, parameter in parameters.items()}
            parameters = {name: parameter for parameter, name in last.items()}
        nd.save(filename, {name: parameter._reduce() for name, parameter in parameters.items()})

    def load_parameters(
        self,
        filename,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        cast_dtype=False,
        dtype_source="current",
        device=None,
    ):
        """Reads a file of `save_parameters`, `ParameterDict.save` or `export`, and initialises what it finds.

        AssertionError names a parameter that is missing in the file, or whose shape or dtype differs; ValueError one that
        the block does not have. cast_dtype converts: to the parameter's dtype, or to the file's (dtype_source="saved").
        """
        ctx = device if ctx is None else ctx
        arrays = nd.load(filename)
        parameters = self._collect_params_with_prefix()
        if not arrays and not parameters:
            return
        if not any("." in name for name in arrays) and not set(arrays) <= set(parameters):
            # A file of full names.
            full = self.collect_params()
            arrays = _without_prefix(arrays, [name.removeprefix(self.prefix) for name in full])
            options = (ctx, allow_missing, ignore_extra, self.prefix, filename, cast_dtype, dtype_source)
            full.load_dict(arrays, *options)
            return
        if not allow_missing:
            loaded = {parameters[name] for name in arrays if name in parameters}
            for name, parameter in parameters.items():
                if parameter not in loaded:
                    raise AssertionError(
                        f"parameter {name!r} is missing in file {filename!r}.{nearest(name, arrays)} allow_missing=True "
                        "leaves it as it is"
                    )
        for name, array in arrays.items():
            if name in parameters:
                parameters[name]._load_init(array, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)
            elif not ignore_extra:
                raise ValueError(
                    f"file {filename!r} holds {name!r}, which is no parameter of this {type(self).__name__}."
                    f"{nearest(name, parameters)} ignore_extra=True skips it"
                )

    def load_dict(
        self,
        param_dict,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        cast_dtype=False,
        dtype_source="current",
        device=None,
    ):
        """Like `load_parameters`, from a dictionary of arrays by structural name."""
        ctx = device if ctx is None else ctx
        found = ParameterDict()
        found._params = self._collect_params_with_prefix()
        found.load_dict(param_dict, ctx, allow_missing, ignore_extra, "", None, cast_dtype, dtype_source)

    def save(self, prefix):
        """Writes `PREFIX-model.json`, the names that blocks have in their parents, and `PREFIX-model.params`.

        For `load` into a network that is built by the same program with other names of children.
        """
        with replacing(f"{prefix}-model.json") as file:
            file.write(json.dumps(self._structure()).encode())
        self.save_parameters(f"{prefix}-model.params")

    def load(self, prefix):
        """Reads what `save` wrote for a network of the same structure, and gives its blocks the names that they had.

        ValueError where the structure differs.
        """
        with open(f"{prefix}-model.json", "rb") as file:
            self._take_structure(json.load(file))
        self.load_parameters(f"{prefix}-model.params")

    def _structure(self):
        children = {name: child._structure() for name, child in self._children.items()}
        return {"class": type(self).__name__, "children": children}

    def _take_structure(self, saved):
        kinds = [part["class"] for part in saved["children"].values()]
        if saved["class"] != type(self).__name__ or kinds != [type(c).__name__ for c in self._children.values()]:
            raise ValueError(
                f"the file holds a {saved['class']} of {kinds}, which is no {type(self).__name__} of "
                f"{[type(c).__name__ for c in self._children.values()]}"
            )
        self._children = dict(zip(saved["children"], self._children.values()))
        for name, child in self._children.items():
            child._take_structure(saved["children"][name])

    def save_params(self, filename):
        """Writes the parameters by full name; `save_parameters` took its place."""
        warnings.warn("save_params is deprecated: use save_parameters", DeprecationWarning, stacklevel=2)
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(self, filename, ctx=None, allow_missing=False, ignore_extra=False):
        """`load_parameters` under its old name."""
        warnings.warn("load_params is deprecated: use load_parameters", DeprecationWarning, stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    # ------------------------------------------------------------------ calls
    def __call__(self, *args):
        if route is not None:
            routed = route(Block.__call__, self, args)
            if routed is not None:
                return routed[0]
        if self._forward_pre_hooks:
            for hook in tuple(self._forward_pre_hooks.values()):
                hook(self, args)
        out = self.forward(*args)
        if self._forward_hooks:
            for hook in tuple(self._forward_hooks.values()):
                hook(self, args, out)
        return out

    def forward(self, *args):
        """What a call computes, in terms of arrays."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

    def register_forward_pre_hook(self, hook):
        """Calls `hook(block, inputs)` before each forward pass; gives a handle with `detach()`."""
        return HookHandle(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook):
        """Calls `hook(block, inputs, outputs)` after each forward pass; gives a handle with `detach()`."""
        return HookHandle(self._forward_hooks, hook)

    def register_op_hook(self, callback, monitor_all=False):
        """Registers a hook on the operators of all hybridized blocks inside (see `HybridBlock.register_op_hook`)."""
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def summary(self, *inputs):
        """Prints a table of the layers with output shapes and numbers of parameters, by running `inputs` through."""
        from gluon.summary import print_summary

        print_summary(self, inputs)

    def _warn_of_hidden_blocks(self):
        known = set(map(id, self._children.values()))

        def hidden(value):
            if isinstance(value, Block):
                return id(value) not in known
            if isinstance(value, dict):
                value = value.values()
            elif not isinstance(value, (list, tuple)):
                return False
            return any(hidden(part) for part in value)

        for name, value in self.__dict__.items():
            if name not in _OWN_CONTAINERS and isinstance(value, (list, tuple, dict)) and hidden(value):
                warnings.warn(
                    f"blocks inside the {type(value).__name__} {type(self).__name__}.{name} are not children, so their "
                    "parameters are not collected: use register_child() or nn.Sequential",
                    stacklevel=3,
                )


_OWN_CONTAINERS = frozenset({"_children", "_reg_params", "_forward_hooks", "_forward_pre_hooks"})


def _without_prefix(arrays, names):
    """Arrays of a file of full names by the `names` that they have in any block of this kind; as they are if none fits.

    `export` writes names with the prefix that the block had, which another instance has not.
    """
    if not all(name.startswith(("arg:", "aux:")) for name in arrays):
        return arrays
    arrays = {name[4:]: array for name, array in arrays.items()}
    prefixes = [name.removesuffix(names[0]) for name in arrays if name.endswith(names[0])] if names else []
    prefix = next((p for p in prefixes if all(p + name in arrays for name in names)), "")
    return {name.removeprefix(prefix): array for name, array in arrays.items()}


def _of_one_kind(block, out):
    """What a call gave; TypeError where arrays of `nd` and of `np` are mixed."""
    if type(out) in (tuple, list) and len({type(x) for x in out if isinstance(x, NDArray)} & _FACES) > 1:
        raise TypeError(f"{block.name}: the outputs mix arrays of nd and np; convert with as_np_ndarray()")
    return out


class HybridBlock(Block):
    """A block that can also be traced into a graph.

    It defines `hybrid_forward(F, x, ..., **parameters)`, where `F` is the module of operators that fits the inputs and
    parameters come by their attribute names, or, in the style of MXNet 2, `forward(x, ...)`, which reads
    `self.weight.data()`. Shapes of parameters that are not known are found out in the first call.
    """

    # Whether a call computes `forward` as the class defines it, rather than `hybrid_forward`.
    _defines_forward = False
    # The nesting of the inputs of the first hybridized call, with True for each array.
    _called_with = ()
    # Whether calls depend on nothing that the block keeps from call to call; others are compiled as parts of blocks only.
    _traceable = True
    # What compiled calls go through, from the first one on.
    _compiled = None
    # What a call depends on besides its arguments; compiled blocks keep a plan for each value.
    _variant = None
    # (callback, whether it sees inputs too) of `register_op_hook`.
    _op_hook = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._defines_forward = cls.hybrid_forward is HybridBlock.hybrid_forward

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._active = False
        self._flags: dict[str, object] = {}

    def __call__(self, *args):
        if not self._defines_forward:
            return _of_one_kind(self, Block.__call__(self, *args))
        if route is not None:
            routed = route(HybridBlock.__call__, self, args)
            if routed is not None:
                return routed[0]
        if self._active and self._traceable and autograd.state.tracer is None and not _symbolic(args):
            return self._call_compiled(args)
        return _of_one_kind(self, self._call_as_written(*args))

    def _call_as_written(self, *args):
        """A call of a block that defines `forward`, operator by operator."""
        try:
            return Block.__call__(self, *args)
        except DeferredInitializationError:
            self._finish_shapes(args)
        with _placeholders:
            return Block.__call__(self, *args)

    def forward(self, x, *args):
        """Calls `hybrid_forward` with the operators that fit `x` and with this block's parameters on its context."""
        kind = type(x)
        if kind is NDArray:
            operators, ctx = nd, x._ctx
        else:
            operators, ctx = _operators_for(x, args)
            if ctx is None:
                return self._symbolic_forward(operators, x, *args)
        if self._active and self._traceable and autograd.state.tracer is None:
            return self._call_cached_op(x, args)
        return self._run(operators, ctx, x, args)

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

        A compiled block is run once for each signature of its inputs (shapes, dtypes, place, training or not) to see what
        it does, and from then on its operators are called without its Python. What it decides in Python it decides
        once: a branch on the value of an array raises MXNetError with the line.

        static_alloc, static_shape: together they let predictions on a GPU be captured as a CUDA graph, with buffers of
        its own. Elsewhere they change nothing: memory that a call lets go stays with the process in any case, and the next
        call takes it again.
        """
        self._active = active
        self._compiled = None
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

    def _clear_cached_op(self):
        """Forgets what was compiled: blocks call it, by this name, when what they compute changes."""
        self._compiled, self._called_with = None, ()

    def register_child(self, block, name=None):
        """Makes a `HybridBlock` a child; other blocks cannot be traced and are refused."""
        if not isinstance(block, HybridBlock):
            raise ValueError(
                f"children of a HybridBlock are HybridBlocks, but {name or len(self._children)!r} of "
                f"{type(self).__name__} is a {type(block).__name__}"
            )
        super().register_child(block, name)
        self._compiled = None

    def _register_parameter(self, name, parameter):
        super()._register_parameter(name, parameter)
        self._compiled = None

    def register_op_hook(self, callback, monitor_all=False):
        """Calls `callback(name, operator, array)` with what each operator of a hybridized call gives, one after the other.

        monitor_all: also with what each one gets. For this the operators are applied once more after the call.
        """
        self._op_hook = callback, monitor_all
        super().register_op_hook(callback, monitor_all)

    def infer_type(self, *args):
        """Tells the dtypes of parameters that are not initialised yet from those of inputs."""
        dtypes = {array.dtype for array in _leaves(args)}
        for parameter in self.collect_params().values() if len(dtypes) == 1 else ():
            if parameter._data is None:
                parameter.cast(next(iter(dtypes)))

    def optimize_for(self, x, *args, backend=None, clear=False, partition_if_dynamic=True, **kwargs):
        """Hybridizes the block and compiles it for these inputs; `backend` and its options choose nothing here."""
        if not self._active or clear:
            self.hybridize(True, backend=backend, clear=clear, **kwargs)
        self(x, *args)

    def export(self, path, epoch=0, remove_amp_cast=True):
        """Writes `<path>-symbol.json` and `<path>-<epoch>.params` for `SymbolBlock.imports`; gives the two names.

        MXNetError unless the block was hybridized and called since, which tells the number of its inputs.
        """
        from gluon.symbol_block import export

        if not self._called_with:
            raise MXNetError(
                "export needs to know the inputs: call hybridize(), then the block on arrays, and export after that"
            )
        return export(self, path, epoch, self._called_with)

    def _rewritten(self, rewrite, ctx=None):
        """A `SymbolBlock` of what `rewrite(symbol, arguments, states)` makes of this block."""
        from gluon.symbol_block import rewritten

        if not self._called_with:
            raise MXNetError(
                "the block's inputs are not known: call hybridize(), then the block on arrays, before this"
            )
        return rewritten(self, self._called_with, rewrite, ctx)

    def infer_shape(self, *args):
        """Tells the shapes of this block's parameters from inputs.

        A block in the style of MXNet 2 may override it to set `self.weight.shape = ...`. Here it runs a forward pass.
        """
        with autograd.pause(), _placeholders:
            self(*args)

    def _run(self, operators, ctx, x, args):
        """`hybrid_forward` on arrays."""
        values = {}
        for name, parameter in self._reg_params.items():
            array = parameter._array
            if array is None:
                self._finish_shapes((x, *args))
                array = parameter._placeholder(ctx)
            values[name] = array
        default = current_context()
        if ctx is default or ctx == default:
            return self.hybrid_forward(operators, x, *args, **values)
        with ctx:
            return self.hybrid_forward(operators, x, *args, **values)

    def _call_cached_op(self, x, args):
        """Runs the compiled `hybrid_forward`."""
        compiled = self._compiled or self._compile(self._run_anew, (x, *args))
        out = compiled(x, *args, variant=self._variant)
        if self._op_hook is not None:
            self._show_operators((x, *args))
        return out

    def _call_compiled(self, args):
        """A call of a hybridized block that defines `forward`."""
        for hook in tuple(self._forward_pre_hooks.values()):
            hook(self, args)
        compiled = self._compiled or self._compile(self._forward_anew, args)
        out = compiled(*args, variant=self._variant)
        if self._op_hook is not None:
            self._show_operators(args)
        for hook in tuple(self._forward_hooks.values()):
            hook(self, args, out)
        return out

    def _show_operators(self, args):
        from gluon.symbol_block import show_operators

        show_operators(self, args, *self._op_hook)

    def plan_of(self, *args):
        """The plan of a hybridized block for inputs like these (see `core.graph.explain`)."""
        if not self._active:
            raise MXNetError(f"{self.name!r} is not hybridized: call hybridize() first")
        function = self._forward_anew if self._defines_forward else self._run_anew
        return (self._compiled or self._compile(function, args)).plan(*args, variant=self._variant)

    def _compile(self, function, args):
        self._called_with = _structure(args)
        self._compiled = graph.Compiled(function, self._arrays, self._flags)
        return self._compiled

    def _run_anew(self, x, *args):
        return self._run(*_operators_for(x, args), x, args)

    def _forward_anew(self, *args):
        try:
            return self.forward(*args)
        except DeferredInitializationError:
            self._finish_shapes(args)
        with _placeholders:
            return self.forward(*args)

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
            return self.hybrid_forward(operators, x, *args, **variables)


class HookHandle:
    """A registered hook; `detach()` (or leaving a `with` block) takes it away."""

    _ids = itertools.count()

    def __init__(self, hooks=None, hook=None):
        if hooks is not None:
            self.attach(hooks, hook)

    def attach(self, hooks_dict, hook):
        """Registers a hook in a dictionary of hooks."""
        self._hooks = hooks_dict
        self._id = next(HookHandle._ids)
        hooks_dict[self._id] = hook

    def detach(self):
        """Takes the hook away."""
        self._hooks.pop(self._id, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.detach()


def __getattr__(name):
    if name == "SymbolBlock":  # which is made of what this module holds
        from gluon.symbol_block import SymbolBlock

        return SymbolBlock
    raise AttributeError(f"module 'gluon.block' has no attribute {name!r}")


class _BlockScope:
    """Names for blocks made inside `with block.name_scope():`, counted by class."""

    _current = threading.local()

    def __init__(self, block):
        self._block = block
        self._counter: dict[str, int] = {}
        self._stack: list = []

    @staticmethod
    def create(prefix, params, hint):
        """Prefix and parameter dictionary of a new block, whose class suggests the name `hint`."""
        scope = getattr(_BlockScope._current, "value", None)
        if scope is None:
            if prefix is None:
                prefix = NameManager.current().get(None, hint) + "_"
            return prefix, ParameterDict(prefix) if params is None else ParameterDict(params.prefix, params)
        if prefix is None:
            count = scope._counter.get(hint, 0)
            scope._counter[hint] = count + 1
            prefix = f"{hint}{count}_"
        if params is None:
            parent = scope._block._params
            params = ParameterDict(parent.prefix + prefix, parent._shared)
        else:
            params = ParameterDict(params.prefix, params)
        return scope._block.prefix + prefix, params

    def __enter__(self):
        if not self._block._empty_prefix:
            names = Prefix(self._block.prefix)
            names.__enter__()
            self._stack.append((getattr(_BlockScope._current, "value", None), names))
            _BlockScope._current.value = self
        return self

    def __exit__(self, *exception):
        if not self._block._empty_prefix:
            _BlockScope._current.value, names = self._stack.pop()
            names.__exit__(*exception)


# Functions that make arrays, and the one that takes the truth values that comparisons of np arrays give.
_NUMPY_OWN = frozenset({"arange", "array", "empty", "eye", "full", "linspace", "ones", "where", "zeros"})


class _NumpyOperators:
    """What `F` is when inputs are `np` arrays: the operators of `nd` with `np` arrays as results, and `np` and `npx`."""

    def __getattr__(self, name):
        from core import numpy

        if name == "np":
            value = numpy
        elif name in _NUMPY_OWN:
            value = getattr(numpy, name)
        elif name == "npx":
            from core import numpy_extension as value
        elif name in TABLE and not name.startswith("_"):
            value = front(TABLE[name], numpy.ndarray)
        else:
            value = getattr(nd, name)
        setattr(self, name, value)
        return value


_numpy_operators = _NumpyOperators()


def _operators_for(x, args):
    """(operators, context) for inputs among which arrays may be nested; (symbol module, None) for symbols."""
    for value in _leaves((x, *args)):
        if type(value) is NDArray:
            return nd, value._ctx
        if isinstance(value, NDArray):
            from core.numpy import ndarray

            return _numpy_operators if isinstance(value, ndarray) else nd, value._ctx
        if hasattr(value, "list_outputs"):
            from core import symbol

            return symbol, None
    raise ValueError(f"a HybridBlock needs an array or a Symbol among its inputs, got {type(x).__name__}")


def _symbolic(values):
    """Whether there are symbols among the inputs."""
    return any(hasattr(value, "list_outputs") for value in _leaves(values))


def _structure(values):
    return [None if v is None else _structure(v) if isinstance(v, (list, tuple)) else True for v in values]


def _leaves(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _leaves(value)
        elif value is not None:
            yield value


def _indent(text, spaces=2):
    first, *rest = str(text).split("\n")
    return "\n".join([first, *(" " * spaces + line for line in rest)])


def _listing(children):
    return "\n".join(f"  ({name}): {_indent(repr(block))}" for name, block in children)
