"""The symbol: a description of a computation that is named, inspected, saved and bound to arrays later."""

from __future__ import annotations

import copy
import functools
import numbers
import os
import warnings
from collections.abc import Callable, Iterable

import numpy as np

from core.attribute import AttrScope
from core.base import MXNetError, NotImplementedForSymbol, SymbolHandle, is_of_nodes, nearest
from core.dtypes import DTYPES, dtype_name, dtype_type
from core.files.atomic import replacing
from core.files.checksums import in_old_formats
from core.graph import ir
from core.ops import storage_types
from core.ops.attributes import shape_of
from core.ops.registry import TABLE, Operator
from core.symbol import graph, infer, serialization
from core.symbol.compose import compose, given_of, text_of, wrapper
from core.symbol.graph import HIDDEN
from core.util import is_np_array, is_np_shape

_BACKENDS = ("MKLDNN", "MKLDNN_QUANTIZE", "default", "default_v2")


class Symbol:
    """One or several outputs of a graph of operators.

    Made by `sym.var` and the functions of `sym`, not by the class.

    >>> net = sym.relu(sym.var("x") * 2)
    >>> net.list_arguments()
    ['x']
    >>> net.eval(x=nd.array([-1, 2]))[0]
    [0. 4.]
    <NDArray 2 @cpu(0)>
    """

    __slots__ = ("__weakref__", "_entries")
    __array_priority__ = 1000.0

    def __init__(self, entries: Iterable[ir.Value]):
        self._entries = list(entries)

    @classmethod
    def _apply_operator(cls, op: Operator, inputs: list, attrs: dict, out=None):
        """What operators called on symbols give (`core.ops.record.Operator`)."""
        symbols = [s for s in inputs if s is not None] if op.variadic else {
            slot: s for slot, s in zip(op.inputs, inputs, strict=False) if s is not None
        }  # fmt: skip
        return compose(op, op.name, symbols, given_of(op, attrs), cls)

    # ------------------------------------------------------------------ names and parts

    @property
    def handle(self) -> SymbolHandle:
        """What calls of MXNet's library are given for the symbol (`core.base._LIB`)."""
        handle = SymbolHandle()
        handle.entries = self._entries
        return handle

    @property
    def name(self) -> str | None:
        """The name of the node, None for a group of several."""
        makers = {v.maker for v in self._entries}
        return makers.pop().name if len(makers) == 1 else None

    def __repr__(self):
        if self.name is not None:
            return f"<Symbol {self.name}>"
        return f"<Symbol group [{', '.join(v.maker.name for v in self._entries)}]>"

    def __len__(self):
        return len(self._entries)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index):
        """An output by number, by name as in `list_outputs`, or several by a slice.

        Under NumPy semantics slices, None, Ellipsis and tuples of a symbol of one output are parts of its array.
        """
        if is_np_array() and len(self._entries) == 1 and not isinstance(index, (str, numbers.Integral)):
            return self.as_np_ndarray()[index].as_nd_ndarray()
        if isinstance(index, str):
            names = self.list_outputs()
            if names.count(index) != 1:
                problem = "several outputs are" if index in names else "no output is"
                raise ValueError(f"{problem} called {index!r}.{nearest(index, names)}")
            index = names.index(index)
        if isinstance(index, slice):
            return type(self)(self._entries[index])
        if not isinstance(index, numbers.Integral):
            raise TypeError(f"outputs are picked by int, slice or name, given {index!r}")
        if index < 0:
            raise MXNetError(f"outputs are counted from the first one, given {index}")
        if index >= len(self._entries):
            raise IndexError(f"output {index} of a symbol with {len(self._entries)} outputs")
        return self if len(self._entries) == 1 else type(self)([self._entries[index]])

    def list_arguments(self) -> list[str]:
        """Names of the variables, without auxiliary states, inputs first."""
        return [node.name for node in self._variables()[0]]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that hold operators' states, such as running means."""
        return [node.name for node in self._variables()[1]]

    def list_inputs(self) -> list[str]:
        """Names of all variables."""
        return [v.name for v in graph.variables(self._entries)]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return [v.name for v in self._entries]

    def get_internals(self) -> Symbol:
        """All outputs of all nodes as one group."""
        return Symbol([v for node in graph.order(self._entries) for v in node.visible])

    def split_v2(self, indices_or_sections, axis=0, squeeze_axis=False) -> Symbol:
        """Parts along an axis, one output each: equal ones, or cut at indices."""
        from core.symbol.functions import split_v2

        return split_v2(self, indices_or_sections, axis, squeeze_axis)

    def get_children(self) -> Symbol | None:
        """The inputs of the node (of all nodes of a group), None for a variable."""
        children = [v for node in dict.fromkeys(v.maker for v in self._entries) for v in node.given]
        return Symbol(children) if children else None

    def __call__(self, *args, name=None, **kwargs) -> Symbol:
        """The same graph with variables replaced by symbols, given in the order of `list_arguments` or by name."""
        if args and kwargs:
            raise TypeError("variables are replaced by position or by name, not both")
        variables = {v.name: v for group in self._variables() for v in group}
        names = self.list_arguments()
        if len(args) > len(names):
            raise MXNetError(f"{len(args)} symbols are given for {len(names)} arguments: {', '.join(names)}")
        given = dict(zip(names, args, strict=False)) | kwargs
        replace = {}
        for key, symbol in given.items():
            if key not in variables:
                raise MXNetError(f"there is no variable {key!r} to replace.{nearest(key, variables)}")
            if not isinstance(symbol, Symbol):
                raise TypeError(f"variable {key!r} is replaced by a symbol, given {symbol!r}")
            if len(symbol) != 1:
                raise MXNetError(f"variable {key!r} is replaced by a symbol of one output, given {symbol!r}")
            replace[variables[key]] = symbol._entries[0]
        composed = Symbol(graph.copy(self._entries, replace))
        if name:
            composed._entries[0].maker.name = name
        return composed

    def __copy__(self):
        return Symbol(graph.copy(self._entries))

    def __deepcopy__(self, memo):
        return copy.copy(self)

    def __reduce__(self):
        return load_json, (self.tojson(remove_amp_cast=False),)

    def _variables(self) -> tuple[list[ir.Variable], list[ir.Variable]]:
        """Those of arguments, and those of auxiliary states."""
        nodes = graph.order(self._entries)
        states = graph.auxiliaries(nodes)
        variables = [n for n in nodes if n.op is None]
        return [v for v in variables if v not in states], [v for v in variables if v in states]

    # ------------------------------------------------------------------ attributes

    def attr(self, key: str) -> str | None:
        """An attribute of the node as text, None where it has none of that name; a group has none."""
        return self.list_attr().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """All attributes of the node; a group has none."""
        if recursive:
            raise DeprecationWarning("list_attr of all nodes is attr_dict()")
        return {} if self.name is None else _shown(self._one())

    @property
    def attributes(self) -> dict[str, str]:
        """All attributes of the node."""
        return self.list_attr()

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of all nodes that have some, by name."""
        return {node.name: _shown(node) for node in graph.order(self._entries) if node.texts}

    def _set_attr(self, **kwargs) -> None:
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"attributes are strings, but {key} is {value!r}")
        node = self._one()
        node.name = kwargs.pop("name", node.name)
        node.texts.update(graph.hidden(kwargs))

    def _gen_atomic_symbol(self) -> Symbol:
        """The operator alone, with variables for its inputs."""
        node = self._one()
        names = iter(node.slots)
        inputs = [v and ir.Variable(f"{node.name}_{next(names)}", {}) for v in node.inputs]
        bare = node if node.op is None else graph.with_inputs(node, inputs)
        return type(self)([bare.outputs[v.index] for v in self._entries])

    def _one(self) -> ir.Node | ir.Variable:
        if self.name is None:
            raise MXNetError(
                "a group of symbols has no attributes of its own; pick one output with [i], or use attr_dict()"
            )
        return self._entries[0].maker

    # ------------------------------------------------------------------ shapes and dtypes

    def _with_distinct_variables(self) -> Symbol:
        """The symbol itself, or one whose variables have numbers after names that earlier ones have."""
        names = [*self.list_arguments(), *self.list_auxiliary_states()]
        return self if len(set(names)) == len(names) else type(self)(graph.distinct(self._entries))

    def infer_shape(self, *args, **kwargs):
        """(shapes of arguments, of outputs, of auxiliary states), from those of some arguments by position or name.

        (None, None, None) with a warning where something stays unknown; MXNetError where shapes contradict each other.
        """
        found = self.infer_shape_partial(*args, **kwargs)
        unknown = -1 if is_np_shape() else 0

        def open_(shape) -> bool:
            return shape is None or unknown in shape

        scalars = is_np_shape()  # otherwise () says that nothing is known
        pairs = zip(self.list_arguments(), found[0], strict=True)
        missing = [name for name, shape in pairs if open_(shape) or not (shape or scalars)]
        if not missing and not any(open_(shape) for shape in found[1]):
            return found
        warnings.warn(f"cannot tell all shapes; give those of {', '.join(missing) or 'the inputs'}", stacklevel=2)
        return None, None, None

    def infer_shape_partial(self, *args, **kwargs):
        """Like `infer_shape`, with () for shapes that are not known and 0 for extents that are not.

        Under `np_shape` these are None and -1.
        """
        self = self._with_distinct_variables()
        variables, outputs = infer.partial_shapes(self._entries, self._given("shape", args, kwargs, _known_shape))
        empty = None if is_np_shape() else ()
        return self._by_kind(variables, outputs, lambda shape: empty if shape is None else shape)

    def infer_type(self, *args, **kwargs):
        """(dtypes of arguments, of outputs, of auxiliary states), from those of some arguments.

        (None, None, None) where something stays unknown.
        """
        found = self.infer_type_partial(*args, **kwargs)
        return found if all(dtype is not None for part in found for dtype in part) else (None, None, None)

    def infer_type_partial(self, *args, **kwargs):
        """Like `infer_type`, with None for dtypes that are not known."""
        self = self._with_distinct_variables()
        variables, outputs = infer.types(self._entries, self._given("dtype", args, kwargs, lambda dtype: dtype))
        return self._by_kind(variables, outputs, lambda name: None if name is None else dtype_type(name))

    def _by_kind(self, variables: dict, outputs: list, shown: Callable) -> tuple[list, list, list]:
        """What is known of (arguments, outputs, auxiliary states)."""
        arguments, states = ([shown(variables[v.name]) for v in group] for group in self._variables())
        return arguments, [shown(x) for x in outputs], states

    def _given(self, what: str, args: tuple, kwargs: dict, convert) -> dict:
        if args and kwargs:
            raise ValueError(f"{what}s are given by position or by name, not both")
        names = self.list_arguments()
        if len(args) > len(names):
            raise ValueError(f"{len(args)} {what}s for {len(names)} arguments")
        known = set(self.list_inputs())
        for name in kwargs:
            if name not in known:
                raise MXNetError(f"there is no argument {name!r}.{nearest(name, known)} Arguments: {', '.join(names)}")
        pairs = kwargs.items() if kwargs else zip(names, args, strict=False)
        return {name: convert(value) for name, value in pairs if value is not None}

    # ------------------------------------------------------------------ files

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as JSON (see `core.symbol.serialization`), by default without conversions of mixed precision."""
        return serialization.dumps(graph.without_casts(self._entries) if remove_amp_cast else self._entries)

    def save(self, fname: str, remove_amp_cast: bool = True) -> None:
        """Writes the graph to a file, atomically."""
        text = self.tojson(remove_amp_cast)
        with replacing(fname, "w", encoding="utf-8") as file:
            file.write(serialization.with_checksum(text) if in_old_formats() else text)

    def debug_str(self) -> str:
        """The outputs and all nodes with their inputs and attributes, for people."""
        if len(self._entries) == 1 and self._entries[0].source is None:
            return f"Variable:{self.name}\n"

        def place(v: ir.Value) -> str:
            return f"{v.maker.name}({v.index})"

        lines = ["Symbol Outputs:", *(f"\toutput[{i}]={place(v)}" for i, v in enumerate(self._entries))]
        for node in graph.order(self._entries):
            if node.op is None:
                lines.append(f"Variable:{node.name}")
                continue
            lines += ["-" * 20, f"Op:{node.op.name}, Name={node.name}", "Inputs:"]
            for i, (slot, v) in enumerate(zip(node.slots, node.given, strict=True)):
                version = "" if v.source is not None else f" version={int(graph.is_auxiliary(node, slot))}"
                lines.append(f"\targ[{i}]={place(v)}{version}")
            if node.texts:
                lines += ["Attrs:", *(f"\t{key}={text}" for key, text in sorted(node.texts.items()))]
        return "\n".join([*lines, ""])

    # ------------------------------------------------------------------ values

    def bind(
        self, ctx=None, args=None, args_grad=None, grad_req="write", aux_states=None, group2ctx=None, shared_exec=None
    ):
        """An `Executor` over the given arrays: lists in the order of `list_arguments`, or dictionaries by name.

        grad_req: write, add or null, for all or by argument; gradients go to the arrays of `args_grad`. group2ctx: where
        operators work, by their attribute `ctx_group`; what they read is copied there.
        """
        from core.executor import Executor

        return Executor(self, ctx, args, args_grad, grad_req, aux_states, group2ctx)

    _bind = bind

    def simple_bind(self, ctx=None, grad_req="write", type_dict=None, stype_dict=None, group2ctx=None,
                    shared_arg_names=None, shared_exec=None, shared_buffer=None, **kwargs):  # fmt: skip
        """An `Executor` with arrays of zeros of its own, whose shapes follow from those in `kwargs`.

        Keywords that are no shapes (tuples, lists) are passed over, as MXNet does, and so are shapes of what the symbol
        does not read. shared_exec, shared_arg_names, shared_buffer: arrays of others to use (see
        `core.executor.share`).
        """
        from core.executor import allocate, share

        known = set(self.list_inputs())
        shapes = {n: shape for n, shape in kwargs.items() if isinstance(shape, (tuple, list)) and n in known}
        made = allocate(self, ctx, grad_req, type_dict, shapes, group2ctx, stype_dict)
        return share(made, shared_arg_names, shared_exec, shared_buffer)

    _simple_bind = simple_bind

    def eval(self, ctx=None, **kwargs) -> list:
        """The outputs for arrays given by name."""
        return self.bind(ctx, kwargs, grad_req="null").forward()

    def gradient(self, wrt) -> Symbol:
        """The gradients of the sum of all outputs by the variables called `wrt` (a name or a list), as a symbol."""
        from core.symbol.control_flow import gradient

        return gradient(self, [wrt] if isinstance(wrt, str) else list(wrt))

    grad = gradient

    def optimize_for(self, backend, args=None, aux=None, ctx=None, shape_dict=None, type_dict=None, stype_dict=None,
                     skip_infer=False, **kwargs):  # fmt: skip
        """The symbol itself: graphs are compiled when they are run, so there are no backends to choose from.

        An unknown one changes nothing, as in MXNet.
        """
        return self

    def get_backend_symbol(self, backend) -> Symbol:
        """The symbol itself (see `optimize_for`); MXNetError for a backend that MXNet does not have on a CPU."""
        if backend not in _BACKENDS:
            raise MXNetError(f"there is no backend {backend!r}; those of MXNet on a CPU are {', '.join(_BACKENDS)}")
        return self

    # ------------------------------------------------------------------ arithmetic

    __hash__ = object.__hash__

    def __neg__(self):
        return self * -1.0

    def __abs__(self):
        return call("abs", self)

    def __bool__(self):
        raise NotImplementedForSymbol("a symbol has no truth value: it has no values yet")

    # ------------------------------------------------------------------ operators as methods

    def reshape(self, *shape, **kwargs) -> Symbol:
        """The same elements in another shape."""
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        return call("reshape", self, shape=tuple(kwargs.pop("shape", shape)), **kwargs)

    def transpose(self, *axes, **kwargs) -> Symbol:
        """The array with its axes in another order."""
        if len(axes) == 1 and isinstance(axes[0], (tuple, list)):
            axes = axes[0]
        axes = tuple(kwargs.pop("axes", axes))
        return call("transpose", self, **({"axes": axes} if axes else {}), **kwargs)

    def astype(self, dtype, **kwargs) -> Symbol:
        """The array converted to `dtype`."""
        return call("cast", self, dtype=dtype, **kwargs)

    def as_nd_ndarray(self) -> Symbol:
        """The symbol itself."""
        return self

    def as_np_ndarray(self):
        """The same outputs with NumPy's semantics (see `core.symbol.numpy`)."""
        from core.symbol.numpy import _Symbol

        return _Symbol(self._entries)


def var(name, attr=None, shape=None, lr_mult=None, wd_mult=None, dtype=None, init=None, stype=None, profiler_scope=None,
        **kwargs) -> Symbol:  # fmt: skip
    """A variable: an input of the graph or a parameter. Further keywords are attributes of the form `__key__`.

    >>> x = sym.var("x", shape=(2, 3))
    >>> x.name, x.attr("__shape__")
    ('x', '(2, 3)')
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a variable is a string, given {name!r}")
    texts = graph.hidden(AttrScope.current.get(attr))
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError(f"attributes of variable {name!r} are strings, given {attr!r}")
    if init is not None and not isinstance(init, str):
        init = init.dumps()
    given = {
        "shape": shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape), "lr_mult": lr_mult,
        "wd_mult": wd_mult, "dtype": dtype if dtype is None else DTYPES[dtype_name(dtype)][0], "init": init,
        "storage_type": None if stype is None else storage_types.NUMBERS[stype],
        "profiler_scope": profiler_scope,
    }  # fmt: skip
    texts |= {f"__{key}__": text_of(value) for key, value in given.items() if value is not None}
    for key, value in kwargs.items():
        if not is_of_nodes(key):
            raise ValueError(f"attribute {key!r} of variable {name!r}: further attributes are called __key__")
        texts[key] = text_of(value)
    return Symbol([ir.Variable(name, texts)])


def Group(symbols) -> Symbol:
    """The outputs of several symbols as one.

    >>> x = sym.var("x")
    >>> len(sym.Group([x + 1, x * 2]).list_outputs())
    2
    """
    symbols = list(symbols)
    if not symbols or not all(isinstance(s, Symbol) for s in symbols):
        raise TypeError("a group is made of at least one Symbol, and of nothing else")
    return Symbol([entry for symbol in symbols for entry in symbol._entries])


def load(fname) -> Symbol:
    """The symbol in a file that `save` or `export` wrote; MXNetError where it cannot be read, with the place.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net.json")
    >>> (sym.var("x") + 1).save(path)
    >>> sym.load(path).list_arguments()
    ['x']
    """
    name = os.fspath(fname)
    try:
        with open(name, "rb") as file:
            text = file.read().decode()
    except OSError as error:
        raise MXNetError(f"cannot open {name!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise MXNetError(f"file {name!r} is no text: {error.reason} (at byte {error.start})") from None
    return Symbol(serialization.loads(text, f"file {name!r}"))


def load_json(json_str: str) -> Symbol:
    """The symbol in a JSON text.

    >>> net = sym.load_json((sym.var("x") + 1).tojson())
    >>> net.list_arguments()
    ['x']
    """
    if not isinstance(json_str, str):
        raise TypeError(f"the JSON is a string, given {type(json_str).__name__}")
    return Symbol(serialization.loads(json_str))


# ----------------------------------------------------------------------------------------------


# method: (array operator, its hint, scalar operator, its hint, operator for number OP symbol, its hint)
_INFIX = {
    "add": ("elemwise_add", "_plus", "_plus_scalar", "_plusscalar", "_plus_scalar", "_plusscalar"),
    "sub": ("elemwise_sub", "_minus", "_minus_scalar", "_minusscalar", "_rminus_scalar", "_rminusscalar"),
    "mul": ("elemwise_mul", "_mul", "_mul_scalar", "_mulscalar", "_mul_scalar", "_mulscalar"),
    "truediv": ("elemwise_div", "_div", "_div_scalar", "_divscalar", "_rdiv_scalar", "_rdivscalar"),
    "mod": ("_mod", "_mod", "_mod_scalar", "_modscalar", "_rmod_scalar", "_rmodscalar"),
    "pow": ("_power", "_power", "_power_scalar", "_powerscalar", "_rpower_scalar", "_rpower_scalar"),
    "eq": ("_equal", "_equal", "_equal_scalar", "_equal_scalar", None, None),
    "ne": ("_not_equal", "_not_equal", "_not_equal_scalar", "_not_equal_scalar", None, None),
    "gt": ("_greater", "_greater", "_greater_scalar", "_greater_scalar", None, None),
    "ge": ("_greater_equal", "_greater_equal", "_greater_equal_scalar", "_greater_equal_scalar", None, None),
    "lt": ("_lesser", "_lesser", "_lesser_scalar", "_lesser_scalar", None, None),
    "le": ("_lesser_equal", "_lesser_equal", "_lesser_equal_scalar", "_lesser_equal_scalar", None, None),
}


def install_infix(cls: type, table: dict) -> None:
    """Gives a class of symbols its infix methods, from rows as in `_INFIX`."""
    for method, (array_op, array_hint, scalar_op, scalar_hint, reverse_op, reverse_hint) in table.items():

        def infix(self, other, op=array_op, hint=array_hint, scalar=scalar_op, scalar_hint=scalar_hint):
            if isinstance(other, Symbol):
                return wrapper(TABLE[op], hint, cls)(self, other)
            return wrapper(TABLE[scalar], scalar_hint, cls)(self, scalar=_number(other))

        setattr(cls, f"__{method}__", infix)
        if reverse_op is not None:

            def reflected(self, other, op=reverse_op, hint=reverse_hint):
                return wrapper(TABLE[op], hint, cls)(self, scalar=_number(other))

            setattr(cls, f"__r{method}__", reflected)


def install_methods(cls: type, functions: dict) -> None:
    """Makes functions of a symbol methods of its class."""
    for name, function in functions.items():

        def method(self, *args, _function=function, **kwargs):
            return _function(self, *args, **kwargs)

        method.__name__, method.__doc__ = name, f"The function `{name}` of this symbol."
        setattr(cls, name, method)


def _number(value):
    if not isinstance(value, (numbers.Number, np.bool_)):
        raise TypeError(f"operands must be symbols or numbers, given {type(value).__name__}")
    return value


def call(operator: str, symbol: Symbol, /, *args, **kwargs) -> Symbol:
    """An operator of a symbol, of the same class."""
    return wrapper(TABLE[operator], operator, type(symbol))(symbol, *args, **kwargs)


def _install_operators() -> None:
    from core.ndarray.ndarray import METHODS

    for name in (*METHODS, "broadcast_to", "broadcast_like"):
        if name not in Symbol.__dict__:
            install_methods(Symbol, {name: functools.partial(call, name)})
    for name in ("asnumpy", "asscalar", "wait_to_read", "copy", "as_in_context", "detach", "backward"):

        def refuse(self, *args, _name=name, **kwargs):
            raise NotImplementedForSymbol(
                f"{_name} needs values, which a symbol does not have; bind it first, or use eval()"
            )

        refuse.__name__, refuse.__doc__ = name, "Not for symbols: raises NotImplementedForSymbol."
        setattr(Symbol, name, refuse)


def _known_shape(value) -> tuple[int, ...]:
    """A shape that a caller knows; lengths of 0, or of -1 under `np_shape`, are open."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"a shape is a tuple of ints, given {value!r}")
    shape = shape_of(value)
    if min(shape, default=0) < -1:
        raise MXNetError(f"lengths are from 0 on, or -1 where they are not known; given {shape}")
    return shape


def _shown(node: ir.Node | ir.Variable) -> dict[str, str]:
    """The attributes of a node, hidden ones under both of their names."""
    shown = dict(node.texts)
    for key in HIDDEN:
        if f"__{key}__" in shown:
            shown[key] = shown[f"__{key}__"]
    return shown


install_infix(Symbol, _INFIX)
_install_operators()
