"""The executor: a symbol bound to arrays, run forwards and backwards."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from core import autograd, threads
from core.base import MXNetError, nearest
from core.context import current_context
from core.dtypes import dtype_name
from core.graph.ir import Node
from core.ndarray import NDArray, zeros
from core.ops import storage_types
from core.symbol import graph, infer
from core.tape import allow_writes


class Executor:
    """A symbol over arrays, made by `Symbol.bind` and `Symbol.simple_bind`.

    arg_arrays, grad_arrays, aux_arrays: lists in the order of `list_arguments` and `list_auxiliary_states`;
    arg_dict, grad_dict, aux_dict: the same by name; of several arguments of one name, which only lists can fill, the
    later ones get numbers. outputs: those of the last `forward`, before it zeros; the arrays stay the same, as in
    MXNet, where programs take them once and read them after every pass.
    """

    def __init__(self, symbol, ctx, args, args_grad=None, grad_req="write", aux_states=None, group2ctx=None):
        names, states = symbol.list_arguments(), symbol.list_auxiliary_states()
        if len(set(names)) != len(names):
            if isinstance(args, dict):
                double = sorted({n for n in names if names.count(n) > 1})
                raise ValueError(f"several arguments are called {', '.join(double)}: bind them with a list")
            symbol = symbol._with_distinct_variables()
            names = symbol.list_arguments()
        self._symbol, self._names = symbol, (*names, *states)
        self._ctx, self._groups = ctx or current_context(), group2ctx or {}
        _know_groups(symbol, self._groups)
        self.arg_dict = _by_name("args", names, args, required=True)
        self.aux_dict = _by_name("aux_states", states, aux_states or [], required=True)
        self.grad_dict = _by_name("args_grad", names, args_grad, required=False)
        self._grad_req = _requests(names, grad_req)
        shapes = {name: array.shape for name, array in (self.arg_dict | self.aux_dict).items()}
        self._entries = infer.closed(symbol._entries, shapes)
        self._outputs: list[NDArray] | None = None
        self._recorded: list[NDArray] | None = None
        self._leaves: list[autograd.Leaf] = []
        self._copies: list[tuple] = []  # of the last forward pass: arrays written to, and their copies elsewhere
        self._lender: Executor | None = None
        self._watch: Watch | None = None
        self._threads = threads.Choice()

    @property
    def arg_arrays(self) -> list:
        return [self.arg_dict[name] for name in self._symbol.list_arguments()]

    @property
    def grad_arrays(self) -> list:
        return [self.grad_dict.get(name) for name in self._symbol.list_arguments()]

    @property
    def aux_arrays(self) -> list:
        return [self.aux_dict[name] for name in self._symbol.list_auxiliary_states()]

    @property
    def outputs(self) -> list:
        if self._outputs is None:
            found = self._inferred(self._entries)
            self._outputs = [zeros(found[v][0], self._context(v), found[v][1]) for v in self._entries]
        return self._outputs

    def _inferred(self, entries) -> dict:
        """(shape, dtype) of every value that the entries depend on."""
        arrays = self.arg_dict | self.aux_dict
        shapes = {name: array.shape for name, array in arrays.items()}
        return infer.arrays(entries, shapes, {name: dtype_name(array.dtype) for name, array in arrays.items()})

    def _context(self, value):
        """Where a result lies, as `graph.run` has it: in its node's group, or where what that reads first is."""
        while value.maker.given and value.source.texts.get("__ctx_group__") not in self._groups:
            value = value.source.given[0]
        if value.source is None:
            return (self.arg_dict | self.aux_dict)[value.name].context
        return self._groups.get(value.source.texts.get("__ctx_group__"), self._ctx)

    @property
    def output_dict(self) -> dict:
        """The outputs by name."""
        return dict(zip(self._symbol.list_outputs(), self.outputs, strict=True))

    def forward(self, is_train: bool = False, **kwargs) -> list:
        """Computes the outputs; keywords are new values for arguments.

        A `backward` may follow where gradients are bound.
        """
        for name, value in kwargs.items():
            if name not in self.arg_dict:
                raise TypeError(f"there is no argument {name!r}.{nearest(name, self.arg_dict)}")
            if not isinstance(value, (NDArray, np.ndarray)):
                raise ValueError(f"argument {name!r} is to be an array, given {type(value).__name__}")
            if tuple(value.shape) != self.arg_dict[name].shape:
                raise ValueError(
                    f"argument {name!r} has shape {self.arg_dict[name].shape}, given {tuple(value.shape)}; see "
                    "reshape()"
                )
            self.arg_dict[name][:] = value
        # Their own places on the tape, so that what the caller records with the same arrays is left alone.
        # Whatever else programs put into the dictionaries is none of the symbol's.
        arrays = self.arg_dict | self.aux_dict
        values = {name: arrays[name].detach() for name in self._names}
        self._leaves = []
        for name, grad in self.grad_dict.items():
            if grad is not None and self._grad_req[name] != "null":
                autograd.mark_variables(values[name], grad, self._grad_req[name])
                self._leaves.append(values[name]._entry)
        recorded = bool(self._leaves)
        watch = self._watch if self._watch is not None and self._watch.active() else None
        with self._threads.chosen, autograd.record(is_train) if recorded or is_train else autograd.pause():
            self._copies, watching = [], self._threads.watching(watch and watch.forward)
            outputs = graph.run(self._entries, values, self._ctx, NDArray, watching, self._groups, self._copies)
        self._threads.settle()
        self._recorded = outputs if recorded or is_train else None
        kept = self._outputs or [None] * len(outputs)
        self._outputs = [_refilled(mine, output) for mine, output in zip(kept, outputs, strict=True)]
        if self._lender is not None:
            for mine, theirs in zip(self._outputs, self._lender.outputs, strict=True):
                if mine.dtype == theirs.dtype and mine.size <= theirs.size:
                    _part(theirs, mine.shape)[:] = mine
        return self._outputs

    def backward(self, out_grads=None, is_train: bool = True) -> None:
        """Puts the gradients of the outputs into `grad_arrays`; `out_grads`: gradients that come in, ones by default.

        Gradients are those at what outputs and arguments hold now, as in MXNet, whatever was written to them since.
        They are converted to the dtypes of the outputs. Outputs behind the end of a shorter list count only if they are
        losses, which need none; gradients behind the last output are left unread. Without a forward pass since the last
        one, it runs one first.
        """
        if self._recorded is None:
            self.forward(is_train)
        if out_grads is None or isinstance(out_grads, NDArray):
            out_grads = [out_grads] * len(self._recorded) if out_grads is None else [out_grads]
        elif isinstance(out_grads, dict):
            out_grads = [out_grads[name] for name in self._symbol.list_outputs()]
        rest = self._recorded[len(out_grads) :]
        out_grads = [*out_grads[: len(self._recorded)], *(zeros(o.shape, o.context, o.dtype) for o in rest)]
        pairs = [
            (o, g if g is None or g.dtype == o.dtype else g.astype(o.dtype))
            for o, g in zip(self._recorded, out_grads, strict=True)
            if o._entry is not None
        ]
        if pairs:
            for array in (*self._recorded, *self.arg_dict.values(), *self.aux_dict.values()):
                if array.stype == "default":
                    allow_writes(array._data)
            with self._threads.chosen:
                if self._watch is not None and self._watch.active():
                    self._watch.backward([o for o, _ in pairs], [g for _, g in pairs], is_train)
                autograd.backward([o for o, _ in pairs], [g for _, g in pairs], train_mode=is_train)
            graph.put_back(self._copies)
        self._recorded = None
        for leaf in self._leaves:  # what nothing depends on has the gradient zero
            if not leaf.fresh and leaf.req == "write":
                leaf.grad[:] = 0

    def set_monitor_callback(self, callback, monitor_all: bool = False, active=lambda: True) -> None:
        """Calls `callback(name, array)` with the outputs and gradients of every operator,
        and with `monitor_all` its inputs.

        active: whether to look, asked before each pass.
        """
        self._watch = Watch(callback, monitor_all, active)

    def be_watched_like(self, other: Executor) -> None:
        """Takes over the monitor callback of an executor, if it has one."""
        if other._watch is not None:
            self._watch = other._watch.fresh()

    def get_optimized_symbol(self):
        """The symbol that is computed, with the same arguments; operators are fused where plans are compiled of it."""
        return copy.copy(self._symbol)

    def debug_str(self) -> str:
        """The nodes, and how much memory their results take: all for a backward pass, else those alive at once."""
        nodes = graph.order(self._symbol._entries)
        sizes = Counter()
        for value, (shape, dtype) in self._inferred(self._symbol._entries).items():
            if value.source is not None:
                sizes[value.source] += math.prod(shape) * np.dtype("uint16" if dtype == "bfloat16" else dtype).itemsize
        differentiated = any(request != "null" for request in self._grad_req.values()) and not all(
            v.source is not None and not v.source.op.differentiable for v in self._symbol._entries
        )
        total = sum(sizes.values()) if differentiated else _most_alive(nodes, self._symbol._entries, sizes)
        return f"{self._symbol.debug_str()}\nTotal {total >> 20} MB allocated"

    def copy_params_from(self, arg_params, aux_params=None, allow_extra_params: bool = False) -> None:
        """Takes over values by name; ValueError for names that are not there, unless extra ones are allowed."""
        for what, own, given in (
            ("argument", self.arg_dict, arg_params),
            ("auxiliary state", self.aux_dict, aux_params),
        ):
            for name, array in (given or {}).items():
                if name in own:
                    array.astype(own[name].dtype, copy=False).copyto(own[name])
                elif not allow_extra_params:
                    raise ValueError(f"there is no {what} {name!r}.{nearest(name, own)}")

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs) -> Executor:
        """An executor for other input shapes that shares the arrays of this one; those that grow are new, and zeros.

        What it computes is written over the outputs of this one too, as far as they reach: in MXNet they share memory.

        MXNetError where an array not named in `kwargs` changes, unless `partial_shaping`; or grows, unless
        `allow_up_sizing`.
        """
        types = {name: array.dtype for name, array in (self.arg_dict | self.aux_dict).items()}
        other = allocate(self._symbol, self._ctx, self._grad_req, types, kwargs, self._groups)
        for own, new in ((self.arg_dict, other.arg_dict), (self.aux_dict, other.aux_dict)):
            for name, array in own.items():
                if array.shape == new[name].shape:
                    new[name] = array
                    if self.grad_dict.get(name) is not None and own is self.arg_dict:
                        other.grad_dict[name] = self.grad_dict[name]
                    continue
                if not partial_shaping and name not in kwargs:
                    raise MXNetError(
                        f"{name!r} changes from {array.shape} to {new[name].shape} too; partial_shaping=True allows it"
                    )
                if new[name].size > array.size and not allow_up_sizing:
                    raise MXNetError(
                        f"{name!r} grows from {array.shape} to {new[name].shape}; allow_up_sizing=True allows it"
                    )
                if new[name].size <= array.size:
                    new[name] = _part(array, new[name].shape)
        other._lender = self
        other.be_watched_like(self)
        return other


def _refilled(array: NDArray | None, output: NDArray) -> NDArray:
    """`array`, which programs may hold, with the memory of `output`.

    Sparse outputs are arrays of their own each time.
    """
    if array is None or not array.stype == output.stype == "default":
        return output.detach()
    array._data, array._ctx = output._data, output.context
    return array


class Watch:
    """Shows a callback what the operators of an executor compute."""

    def __init__(self, callback, inputs_too: bool, active):
        self.active, self._callback, self._inputs_too = active, callback, inputs_too
        self._seen: dict[Node, Sequence] = {}  # of the last forward pass: the inputs by node

    def fresh(self) -> Watch:
        """One for another executor."""
        return Watch(self._callback, self._inputs_too, self.active)

    def forward(self, node, inputs, outputs) -> None:
        self._seen[node] = inputs
        if self._inputs_too:
            for k, (slot, v, array) in enumerate(zip(node.slots, node.given, inputs, strict=True)):
                if v.source is None:
                    self._callback(v.name, array.detach())
                self._callback(f"{node.name}_input{k}" if node.op.unnamed else f"{node.name}_{slot}", array.detach())
        for v, array in zip(node.visible, outputs):
            self._callback(v.name, array.detach())

    def backward(self, heads, head_grads, train_mode: bool) -> None:
        """Shows the gradients of every operator's inputs, last operator first; zeros where none arrives."""
        seen, self._seen = list(self._seen.items()), {}
        tracked = {id(a): a for _, arrays in seen for a in arrays if a._entry is not None}
        grads = autograd.grad(heads, list(tracked.values()), head_grads, retain_graph=True, train_mode=train_mode)
        found = dict(zip(tracked, grads, strict=True))
        for node, arrays in reversed(seen):
            for k, array in enumerate(arrays):
                name = f"{node.name}_backward_output{k if len(arrays) > 1 else ''}"
                self._callback(name, found[id(array)] if id(array) in found else array.zeros_like())


def _know_groups(symbol, group2ctx: dict) -> None:
    """MXNetError where contexts are given to groups, but not to all that the symbol names."""
    for name, attrs in symbol.attr_dict().items() if group2ctx else ():
        group = attrs.get("__ctx_group__")
        if group is not None and group not in group2ctx:
            raise MXNetError(f"{name} is of ctx_group {group!r}; group2ctx gives contexts to {', '.join(group2ctx)}")


def allocate(
    symbol, ctx, grad_req, type_dict, shapes: dict, group2ctx: dict | None = None, stype_dict: dict | None = None
) -> Executor:
    """An executor with arrays of zeros; MXNetError where the shapes do not follow from those given.

    group2ctx: contexts of variables and operators by their attribute `ctx_group`. stype_dict: storage types by variable, before
    those that the variables were made with.
    """
    ctx = ctx or current_context()
    names, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    arg_shapes, _, aux_shapes = symbol.infer_shape(**shapes)
    if arg_shapes is None:
        raise MXNetError(
            f"cannot bind: the shapes of {', '.join(names)} do not all follow from those of {', '.join(shapes)}"
        )
    arg_types, _, aux_types = symbol.infer_type_partial(**(type_dict or {}))
    try:
        requests = _requests(names, grad_req)
    except ValueError as error:
        raise MXNetError(f"cannot bind: {error}") from None
    groups = {name: attrs.get("__ctx_group__") for name, attrs in symbol.attr_dict().items()}
    context = {n: (group2ctx or {}).get(groups.get(n), ctx) for n in (*names, *states)}
    stypes = storage_types.of_variables(symbol.attr_dict()) | (stype_dict or {})
    args = {
        n: zeros(s, context[n], dtype_name(t or "float32"), stypes.get(n))
        for n, s, t in zip(names, arg_shapes, arg_types, strict=True)
    }
    aux = {
        n: zeros(s, context[n], dtype_name(t or "float32"))
        for n, s, t in zip(states, aux_shapes, aux_types, strict=True)
    }
    by_rows = row_sparse_gradients(symbol._entries, stypes)
    grads = {
        n: zeros(a.shape, context[n], a.dtype, "row_sparse" if n in by_rows else None)
        for n, a in args.items()
        if requests[n] != "null"
    }
    return Executor(symbol, ctx, args, grads, requests, aux, group2ctx)


def share(executor: Executor, names, lender: Executor | None, buffer: dict | None) -> Executor:
    """The executor, with arrays of others in place of its own.

    names: arguments whose arrays and gradients are those of the lender, as all its auxiliary states are; the buffer, by
    name, has arrays for the others where it holds large enough ones, and takes them in where it does not.
    """
    names = set(names or ()) if lender is not None else set()
    pairs = [(executor.arg_dict, lender.arg_dict, names), (executor.grad_dict, lender.grad_dict, names),
             (executor.aux_dict, lender.aux_dict, set(executor.aux_dict))] if lender is not None else []  # fmt: skip
    for own, theirs, shared in pairs:
        for name in shared & own.keys() & theirs.keys():
            if own[name] is None or theirs[name] is None:
                continue
            if own[name].shape != theirs[name].shape:
                raise MXNetError(
                    f"{name!r} of shape {own[name].shape} cannot share an array of shape {theirs[name].shape}"
                )
            own[name] = theirs[name]
    if buffer is None:
        return executor
    for start, own in (("", executor.arg_dict), ("grad of ", executor.grad_dict)):
        for name, array in own.items():
            if array is None or name in names or array.stype != "default":
                continue
            held = buffer.setdefault(start + name, array)
            if held.dtype != array.dtype or held.size < array.size:
                held = buffer[start + name] = array
            own[name] = held if held.shape == array.shape else _part(held, array.shape)
    return executor


def row_sparse_gradients(entries: list, stypes: dict) -> set[str]:
    """Variables whose gradients MXNet stores by rows: looked-up weights, and what a CSR matrix is multiplied with."""
    found = set()
    for node in graph.order(entries):
        parents = [v.name if v.source is None else None for v in node.given]
        if node.op is None or len(parents) < 2 or parents[1] is None:
            continue
        if node.op.row_gradient([stypes.get(name) for name in parents], node.attrs):
            found.add(parents[1])
    return found


def _most_alive(nodes: list, entries: list, sizes: Counter) -> int:
    """The most bytes that results take at once, when each is let go after its last reader; sizes: by node."""
    last = {v.maker: i for i, node in enumerate(nodes) for v in node.given}
    last |= {v.maker: len(nodes) for v in entries}
    alive = most = 0
    for i, node in enumerate(nodes):
        alive += sizes[node]
        most = max(most, alive)
        alive -= sum(sizes[maker] for maker in {v.maker for v in node.given} if last[maker] == i)
    return most


def _part(array: NDArray, shape: tuple[int, ...]) -> NDArray:
    """The first elements of an array as one of `shape`, in the same memory."""
    return array.reshape((-1,))[: math.prod(shape)].reshape(shape)


def _by_name(what: str, names: list[str], given, required: bool) -> dict:
    """Arrays by name, from a list in the order of `names` or a dictionary."""
    given = [] if given is None and not names else given
    if given is None and not required:
        given = {}
    if given is None:
        raise TypeError(f"{what} is a list of {len(names)} arrays or a dictionary of them: {', '.join(names)}")
    wrong = [
        x
        for x in ((given[n] for n in names if n in given) if isinstance(given, dict) else given)
        if (required or x is not None) and not isinstance(x, NDArray)
    ]
    if wrong:
        raise TypeError(f"{what} is to hold arrays, given {type(wrong[0]).__name__}")
    if isinstance(given, dict):
        missing = [n for n in names if n not in given]
        if required and missing:
            raise ValueError(f"{what} lacks {', '.join(missing)}; given are {', '.join(given) or 'none'}")
        return {n: given.get(n) for n in names} if not required else {n: given[n] for n in names}
    if len(given) != len(names):
        raise ValueError(f"{what} is to hold {len(names)} arrays: {', '.join(names)}")
    return dict(zip(names, given, strict=True))


def _requests(names: list[str], grad_req) -> dict[str, str]:
    if isinstance(grad_req, str):
        requests = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, dict):
        requests = {n: grad_req.get(n, "null") for n in names}
    else:
        if len(grad_req) != len(names):
            raise ValueError(f"grad_req has {len(grad_req)} items for {len(names)} arguments, {', '.join(names)}")
        requests = dict(zip(names, grad_req, strict=True))
    for name, request in requests.items():
        if request not in autograd.GRAD_REQS:
            raise ValueError(f"grad_req {request!r} of {name!r} is not one of {', '.join(autograd.GRAD_REQS)}")
    return requests
