"""The functions that users call, `nd.NAME`, `np.NAME` and the methods of arrays, made from the operator table.

Each is written as source, with its parameters spelt out, and compiled once: handing `*args` on would cost as much as a
small kernel. That of `relu` for `nd` reads, with names resolved:

    def relu(data=None, out=None, name=None, **kwargs):
        if kwargs:
            refuse(op, kwargs)
        if out is None and op.simple and (not busy or state.tracer is None):  # the short way
            try:
                if type(data) is not NDArray:
                    raise TypeError
                tensor = op.forward(data._data)
                result = new(NDArray)
                result._data, result._ctx, result._entry = tensor, data._ctx, None
            except UNFIT:
                pass
            else:
                if busy and state.recording:
                    attach(op, {}, (data,), (result,))
                return result
        return apply(op, classic(op, [data], NDArray, out), {}, NDArray, out)  # the long way
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from core import autograd, storage
from core.imperative import UNFIT, apply, apply_stored, create
from core.ops.registry import NULL, Operator
from core.ops.storage_types import DENSE

state = autograd.state
_new = object.__new__


def front(op: Operator, kind: type | None):
    """The function `nd.NAME` / `np.NAME` of an operator: inputs, then attributes, then `out` and `name`.

    kind: the class of the results; None: that of the first input, as a method of arrays wants it.
    """
    made = op._fronts.get(kind)
    if made is None:
        made = op._fronts[kind] = _make(op, kind)
    return made


def apart(result, *given):
    """`result` (or each of a list) as the user gets it: writing to it reaches no other array,
    and no write to another reaches it.

    Operators inside of others hand views on, which costs nothing. given: the arrays that went in.
    """
    if isinstance(result, (list, tuple)):
        return type(result)([_apart(x, given) for x in result])
    return _apart(result, given)


def _apart(result, given: tuple):
    if getattr(result, "stype", None) != "default" or result._is_placeholder:
        return result
    if state.tracer is not None:
        state.tracer.apart(result)
        return result
    if storage.is_view(result._data) or (given and any([result is x for x in given])):
        alone = type(result)._wrap(storage.apart(result._data), result._ctx)
        alone._entry = result._entry
        return alone
    return result


def _make(op: Operator, kind: type | None):
    clash = [a for a in op.attrs if a in op.inputs]
    if clash:
        raise ValueError(f"{op.name}: {clash} are both inputs and attributes")
    name = op.name if op.name.isidentifier() else "operator"
    kind_of = "_kind" if kind is not None or not op.inputs else f"type({op.inputs[0]})"
    words = op.words if getattr(kind, "_zero_dim", False) else {}
    lines = [
        f"def {name}({', '.join(_parameters(op))}):",
        "    if kwargs:",
        *(f"        {ours} = kwargs.pop({theirs!r}, {ours})" for theirs, ours in words.items()),
        "        _refuse(_op, kwargs)",
    ]
    if (op.simple or op.plural or op.binds) and op.inputs and not op.storage.makes:
        lines += _short_way(op, kind_of)
    lines.append(f"    return {_long_way(op, kind_of)}")
    scope = {
        "_NULL": NULL,
        "_op": op,
        "_kind": kind,
        "_dense": getattr(kind, "_dense_kind", None),
        "_parse": op.parse_positional,
        "_known": getattr(op.parse_positional, "memory", op.parse_positional),
        "_apply": apply_stored if op.storage is not DENSE else apply,
        "_apart": apart,
        "_separate": storage.apart,
        "_several": _several,
        "_create": create,
        "_gather": _gather,
        "_classic": _classic,
        "_refuse": _refuse,
        "_state": state,
        "_busy": autograd.busy,
        "_faces": {getattr(kind, "_dense_kind", None)},
        "_attach": autograd.attach,
        "_new": _new,
        "_Unfit": UNFIT,
    }
    exec("\n".join(lines), scope)
    function = scope[name]
    function.__doc__ = op.doc + f"\n\n{op.signature()}"
    function.operator = op
    return function


# ----------------------------------------------------------------------------------------------
# Their source


def _parameters(op: Operator) -> list[str]:
    """Inputs, attributes, `out` and `name`, each with its default."""
    inputs = [f"*{op.inputs[-1]}"] if op.variadic else [f"{i}=None" for i in op.inputs]
    attrs = [f"{a}=_NULL" for a in op.attrs]
    if not op.inputs and "ctx" not in op.attrs:  # where the function has it
        order = list(inspect.signature(op.function).parameters)
        before = order[: order.index("ctx")] if "ctx" in order else order
        attrs.insert(sum(a in before for a in op.attrs), "ctx=None")
    last = [f"{p}=None" for p in ("out", "name") if p not in op.inputs]  # parts of gradients have inputs of these names
    return [*inputs, *attrs, *last, "**kwargs"]


def _long_way(op: Operator, kind_of: str) -> str:
    """A call of `apply`, or of `create` for an operator without inputs; the user gets memory that no other array has."""
    takes_out = "out" not in op.inputs
    out = "out" if takes_out else "None"
    if not op.inputs:
        return f"_create(_op, _parse({', '.join(op.attrs)}), ctx, _kind, {out})"
    parsed = f"_parse({', '.join(op.attrs)})" if op.attrs else "{}"
    inputs = f"_gather({op.inputs[-1]})" if op.variadic else f"[{', '.join(op.inputs)}]"
    if op.takes is not None:
        inputs = f"_op.placed({inputs}, {parsed})"
    call = f"_apply(_op, _classic(_op, {inputs}, {kind_of}, {out}), {parsed}, {kind_of}, {out})"
    if op.formula is not None or op.index is not None:
        return call
    return f"{call} if out is not None else _apart({call})" if takes_out else f"_apart({call})"


def _short_way(op: Operator, kind_of: str) -> list[str]:
    """`apply` for dense arrays that no tracer looks at, without the way there.

    Whatever does not fit raises one of UNFIT and goes the long way, which says what is wrong;
    so does an operator with hidden results that is recorded.
    """
    shown = op.simple or op.plural
    may_go = "not _state.training and " * op.train if op.binds else f"_op.{'simple' if op.simple else 'plural'} and "
    idle = "_state.tracer is None" if shown else "(_state.tracer is None and not _state.recording)"
    recorded = []
    if shown:
        inputs = [*op.inputs[:-1], f"*{op.inputs[-1]}"] if op.variadic else op.inputs
        attrs, results = "_typed" if op.attrs else "{}", "result" if op.plural else "(result,)"
        recorded = [
            "if _busy and _state.recording:",
            f"    _attach(_op, {attrs}, ({', '.join(inputs)},), {results})",
        ]
    return [
        f"    if out is None and {may_go}(not _busy or {idle}):",
        "        try:",
        *(f"            {line}" for line in (*_checks(op, kind_of), *_kernel_call(op), *_wrapping(op, kind_of))),
        "        except _Unfit:",
        "            pass",
        "        else:",
        *(f"            {line}" for line in recorded),
        f"            return {'result if len(result) > 1 else result[0]' if op.plural else 'result'}",
    ]


def _checks(op: Operator, kind_of: str) -> list[str]:
    """Raises TypeError for inputs that the short way is not for."""
    lines = []
    if unlike := _unlike(op, kind_of):
        lines += [f"if {unlike}:", "    raise TypeError"]
    if op.binder is None and op.binds and len(op.inputs) > 1:  # a shortcut is for the first input alone
        others = " or ".join(f"{i} is not None" for i in op.inputs[1:])
        lines += [f"if {others}:", "    raise TypeError"]
    return lines


def _unlike(op: Operator, kind_of: str) -> str:
    """The question whether an input is no dense array of the function's class, or its type is none for the operator;
    "" where neither can be.
    """
    whole = [f"not {_first_of(op)}._data.is_floating_point()"] * op.real
    if op.variadic:
        return " or ".join([f"{{*map(type, {op.inputs[-1]})}} != _faces", *whole])
    face, inputs, parts = "_dense", op.inputs, []
    if kind_of != "_kind":  # a method: the first is the array itself
        face, inputs = kind_of, inputs[1:]
        parts = [f"{op.inputs[0]}.stype != 'default'"] * (op.storage is not DENSE)
    parts += [f"type({i}) is not {face}" + f" and {i} is not None" * (i in op.optional) for i in inputs]
    return " or ".join(parts + whole)


def _kernel_call(op: Operator) -> list[str]:
    """Sets `tensor` to what the forward rule, or the operator's shorter way, gives, and `_typed` to the attributes."""
    tensors = _tensors_of(op) if op.binder is not None or not op.binds else f"{op.inputs[0]}._data"
    attrs = ", ".join(op.attrs)
    if not attrs:
        return [f"tensor = _op.{'bare' if op.binds else 'forward'}({tensors})"]  # None cannot be called
    if op.binds:
        return [f"_bound, _typed = _op.bound({attrs})", f"tensor = _bound({tensors})"]
    return [f"_typed = _known({attrs})", f"tensor = _op.forward({tensors}, **_typed)"]


def _tensors_of(op: Operator) -> str:
    """The arguments that hand the tensors of a function's inputs to a forward rule."""
    names = op.inputs[:-1] if op.variadic else op.inputs
    parts = [f"None if {i} is None else {i}._data" if i in op.optional else f"{i}._data" for i in names]
    return ", ".join([*parts, f"*[x._data for x in {op.inputs[-1]}]"] if op.variadic else parts)


def _first_of(op: Operator) -> str:
    return f"{op.inputs[0]}[0]" if op.variadic and len(op.inputs) == 1 else op.inputs[0]


def _wrapping(op: Operator, kind_of: str) -> list[str]:
    """Sets `result` to the array, or the list of arrays, that holds `tensor`."""
    face = "_dense" if kind_of == "_kind" else kind_of + "._dense_kind"
    first = _first_of(op)
    if op.plural:
        return [f"result = _several(tensor, {face}, {first}._ctx)"]
    lines = [f"result = _new({face})", f"result._data, result._ctx, result._entry = tensor, {first}._ctx, None"]
    if op.formula is None and op.binder is None and op.index is None:
        same = "" if op.memory == "new" else f" or {_is_given(op)}"
        lines = [f"if tensor._base is not None{same}:", "    tensor = _separate(tensor)", *lines]
    return lines


def _is_given(op: Operator) -> str:
    """The question whether the result is one of the inputs' tensors itself."""
    named = op.inputs[:-1] if op.variadic else op.inputs
    parts = [f"({i} is not None and tensor is {i}._data)" for i in named]
    return " or ".join(parts + [f"any([tensor is x._data for x in {op.inputs[-1]}])"] * op.variadic)


# ----------------------------------------------------------------------------------------------
# What it calls


def _several(tensors: Sequence, face: type, ctx) -> list:
    """Arrays of class `face` that hold the results of a forward rule, each in memory of its own."""
    if type(tensors) is not tuple and type(tensors) is not list:
        raise TypeError
    results = []
    for tensor in tensors:
        result = _new(face)
        result._data, result._ctx = tensor if tensor._base is None else storage.apart(tensor), ctx
        result._entry = None
        results.append(result)
    return results


def _gather(data: tuple) -> list:
    """Inputs of a variadic operator: given one by one or as one list."""
    return list(data[0]) if len(data) == 1 and isinstance(data[0], (list, tuple)) else list(data)


def _classic(op: Operator, inputs: list, kind: type, out) -> list:
    """`inputs`; TypeError where a function of `nd` was given one of `np`, or such an `out`.

    The functions of `np` take arrays of `nd` as theirs, as in MXNet 2.
    """
    if getattr(kind, "_zero_dim", True):
        return inputs
    for x in inputs if out is None else [*inputs, *(out if isinstance(out, (list, tuple)) else [out])]:
        if getattr(x, "_zero_dim", False):
            raise TypeError(f"{op.name} of nd was called with an array of np; convert it with as_nd_ndarray()")
    return inputs


def _refuse(op: Operator, kwargs: dict) -> None:
    """MXNetError for keywords that neither the operator nor MXNet's functions have."""
    if not op.compares_words:
        return
    for name in kwargs:
        if name not in ("num_args", "cudnn_off", "cudnn_tune", "workspace", "attr", "__layout__"):
            raise op.unknown(name)
