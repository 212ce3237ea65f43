"""Eager execution: applies an operator of the table to arrays and records it on the tape."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from core import autograd, random, storage
from core.base import IndexOutOfBounds, MXNetError
from core.context import current_context
from core.dtypes import dtype_name
from core.kernels.meta import broadcast
from core.ops import storage_types
from core.ops.registry import NULL, Operator

state = autograd.state
_new = object.__new__
# of a kernel that cannot do it, or finds None in place of an array
MISFITS = (RuntimeError, IndexError, ValueError, TypeError, ZeroDivisionError, AttributeError)


class NeedsShape(Exception):
    """Raised by a placeholder for a parameter whose shape is not known yet (see `ndarray.Deferred`)."""


UNFIT = NeedsShape, *MISFITS


def apply(op: Operator, inputs: list, attrs: dict, kind: type, out=None):
    """`op` on arrays: a single array of class `kind`, or a list where the operator shows several outputs.

    `out`: an array (or list) to write the result to.
    """
    tracer = state.tracer
    if tracer is not None:
        inputs = tracer.twins(inputs)
    elif op.simple and out is None:  # the common case, kept short: one result, nothing hidden
        try:
            if len(inputs) == 1:
                tensor = op.forward(inputs[0]._data, **attrs)
            else:
                tensor = op.forward(*[None if x is None else x._data for x in inputs], **attrs)
            result = _new(kind._dense_kind)
            result._data, result._ctx, result._entry = tensor, inputs[0]._ctx, None
        except UNFIT:
            pass  # the long way says what is wrong
        else:
            if state.recording:
                for x in inputs:
                    if x is not None and x._entry is not None:
                        autograd.attach(op, attrs, inputs, (result,))
                        break
            return result
    if inputs and not hasattr(inputs[0], "_entry"):
        if hasattr(inputs[0], "_apply_operator"):  # a symbol
            return type(inputs[0])._apply_operator(op, inputs, attrs, out)
        if inputs[0] is None and op.inputs[0] not in op.optional:
            raise TypeError(f"{op.name}: input {op.inputs[0]!r} is missing. {op.signature()}")
        if inputs[0] is not None:
            raise op.no_array(inputs)
    if op.cast_inputs is not None:
        if op.infer is not None and any(getattr(x, "_is_placeholder", False) for x in inputs):
            _materialise(op, inputs, attrs)
            inputs = inputs if tracer is None else tracer.twins(inputs)
        inputs = op.cast_inputs(inputs, attrs)
    if op.composite:
        for x in inputs:
            if x is not None and not hasattr(x, "_apply_operator"):
                raise op.no_array(inputs)
        op.check_inputs(inputs, attrs)
        return _apply_composite(op, inputs, attrs, kind, out)
    try:
        tensors = [None if x is None else x._data for x in inputs]
    except NeedsShape:
        _materialise(op, inputs, attrs)
        inputs = inputs if tracer is None else tracer.twins(inputs)
        tensors = [None if x is None else x._data for x in inputs]
    except AttributeError:
        raise op.no_array(inputs) from None
    ctx = None
    for x in inputs:
        if x is not None:
            ctx = x._ctx
            break
    if op.rng or op.train:
        attrs = dict(attrs)
        if op.rng:
            attrs["key"] = random.next_key(ctx) if tracer is None else tracer.draw(ctx)
        if op.train:
            attrs["training"] = state.training
    if op.overwrites and out is not None:
        attrs = {**attrs, "into": _held(out)}
    try:
        results = op.forward(*tensors, **attrs)
    except MISFITS as error:
        if isinstance(error, MXNetError):
            raise
        if tracer is not None:
            tracer.failed(op, error)
        if isinstance(error, AttributeError) and all(x is not None for x in inputs):
            raise
        raise _operand_error(op, inputs, attrs, error) from error
    reserve = None
    if op.reserves:
        results, reserve = results
    single = type(results) is not tuple and type(results) is not list
    if single:
        results = (results,)
    outputs = [kind._wrap(t, ctx) for t in results]
    if tracer is not None:
        reserve = tracer.record(op, inputs, attrs, outputs, reserve, single)
    if state.recording and outputs:
        for x in inputs:
            if x is not None and x._entry is not None:
                autograd.attach(op, attrs, inputs, outputs, reserve)
                break
    if op.visible is not None:
        outputs = outputs[: op.count_visible(attrs)]
    if out is not None:
        return assign(op, out, outputs if len(outputs) > 1 else outputs[0])
    return outputs[0] if len(outputs) == 1 else outputs


def _apply_composite(op: Operator, inputs: list, attrs: dict, kind: type, out=None):
    """A composite on arrays: the primitive that it comes down to under these attributes, or its expression."""
    tracer = state.tracer
    if op.shortcut is not None and out is None and tracer is None and all(x is None for x in inputs[1:]):
        target = op.shortcut(attrs)
        if target is not None:
            return apply(target[0], inputs[:1], target[1], kind)
    if op.infer is not None and any(getattr(x, "_is_placeholder", False) for x in inputs):
        _materialise(op, inputs, attrs)
    try:
        if tracer is None:
            result = op.function(*inputs, **_context_attrs(op, attrs))
        else:
            result = tracer.composite(op, inputs, attrs, _context_attrs(op, attrs))
    except OperandError as error:  # of arrays that the caller has not seen
        reason = error.__cause__ or error
        raise _operand_error(op, inputs, attrs, reason) from reason
    except (ZeroDivisionError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, MXNetError) or (isinstance(error, AttributeError) and all(x is not None for x in inputs)):
            raise
        raise _operand_error(op, inputs, attrs, error) from error
    return result if out is None else assign(op, out, result)


def create(op: Operator, attrs: dict, ctx, kind: type, out=None):
    """An operator without inputs (a sampler, `zeros`, ...): makes arrays on `ctx`."""
    ctx = ctx or current_context()
    if op.composite:
        with ctx:
            return op.function(**attrs)
    tracer = state.tracer
    if op.rng:
        attrs = {**attrs, "key": random.next_key(ctx) if tracer is None else tracer.draw(ctx)}
    try:
        results = op.forward(ctx=ctx, **attrs)
    except RuntimeError as error:
        if isinstance(error, MXNetError):
            raise
        raise MXNetError(f"{op.name} cannot make an array from {attrs}: {str(error).splitlines()[0]}") from error
    single = not isinstance(results, (tuple, list))
    outputs = [kind._wrap(t, ctx) for t in ((results,) if single else results)]
    if tracer is not None:
        tracer.record(op, (), attrs, outputs, None, single)
    if out is not None:
        return assign(op, out, outputs if len(outputs) > 1 else outputs[0])
    return outputs[0] if len(outputs) == 1 else outputs


def _held(out):
    """The memory of `out`, an array or a list of one; None where there is none yet."""
    if isinstance(out, (list, tuple)) and len(out) == 1:
        out = out[0]
    if getattr(out, "_data", None) is None:
        return None
    return out._data if state.tracer is None else state.tracer.twins([out])[0]._data


def assign(op: Operator, out, result):
    """Writes results to the arrays that the caller gave as `out`."""
    if isinstance(out, (list, tuple)):
        results = result if isinstance(result, (list, tuple)) else [result]
        if not all(hasattr(target, "_data") for target in out):
            raise _no_array(out, op.name)
        if len(out) != len(results):
            raise MXNetError(f"{op.name} gives {len(results)} arrays, out has {len(out)}")
        for target, source in zip(out, results, strict=True):
            write(target, source)
        return out
    result = result[0] if isinstance(result, (list, tuple)) else result
    if not hasattr(out, "_data"):
        raise _no_array(out, op.name)
    if out._data is not None and out.dtype != result.dtype:
        raise OutputType(
            f"{op.name} gives {dtype_name(result.dtype)}, out is of {dtype_name(out.dtype)}; convert with astype"
        )
    write(out, result)
    return out


class OutputType(MXNetError, TypeError):
    """The array given as `out` is of another type than the result."""


def write(target, source) -> None:
    """Copies `source` into the memory of `target`, which takes over its place on the tape."""
    if target is source:
        return
    if not hasattr(target, "_data"):
        raise _no_array(target, "an operator")
    if state.recording and autograd.is_tracked(target):
        raise recorded_write()
    if state.tracer is not None:
        state.tracer.write(target, source)
    elif target.stype != "default":
        target._assign(source)
    elif target._data is None:
        target._data = source._data
    elif tuple(target._data.shape) != tuple(source._data.shape):
        raise MXNetError(f"cannot write a result of shape {source.shape} to an array of shape {target.shape}")
    else:
        target._data.copy_(source._data)
        autograd.written(target._data)
    if state.recording:
        target._entry = source._entry


def _no_array(out, name: str) -> TypeError:
    return TypeError(f"{name}: out is an array, or a list of arrays, given {type(out).__name__} ({out!r})")


def recorded_write() -> MXNetError:
    """The error of a write to an array that the tape holds, in the words that MXNet's programs look for."""
    return MXNetError(
        "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd, on arrays that it "
        "tracks: gradients would be wrong. Write to a new array, before record(), or inside autograd.pause()"
    )


def _context_attrs(op: Operator, attrs: dict) -> dict:
    """Attributes of a composite, with the training flag where it asks for it."""
    return {**attrs, "training": state.training} if op.train else attrs


def _materialise(op: Operator, inputs: list, attrs: dict) -> None:
    """Gives placeholders among the inputs their shapes, by the operator's backward shape inference."""
    names = op.inputs
    if op.infer is None:
        raise MXNetError(
            f"{op.name} cannot tell the shape of an uninitialised parameter; give the layer its input size or "
            "initialise it"
        )
    shapes = {}
    for name, x in zip(names, inputs, strict=False):
        shapes[name] = None if x is None else tuple(x.shape)
    try:
        op.infer(shapes, attrs)
    except IndexError as error:
        raise MXNetError(f"{op.name}: {names[0]} of shape {shapes[names[0]]} has too few axes") from error
    for name, x in zip(names, inputs, strict=False):
        if x is not None and x._is_placeholder:
            x.materialise(shapes[name])
    inputs[:] = [x._array() if x is not None and x._is_placeholder else x for x in inputs]


class OperandError(MXNetError):
    """The operands do not fit the operator, or one another; the cause is what the kernel raised."""


class OperandIndexError(OperandError, IndexOutOfBounds):
    """An operand error where an index was out of bounds."""


class OperandValueError(OperandError, ValueError):
    """An operand error where numbers do not fit, such as those of axes."""


class MissingOperand(OperandError, TypeError):
    """An input was not given that the operator needs."""


_KINDS = ((IndexError, OperandIndexError), (ValueError, OperandValueError), (Exception, OperandError))


def failure(what: str, inputs: Sequence, reason: Exception, contradiction: str | None = None) -> OperandError:
    """The error for a kernel that raised `reason`; `contradiction` tells it better, where there is one."""
    given = ", ".join("None" if x is None else f"{dtype_name(x.dtype)}{x.shape}" for x in inputs) or "()"
    kind = next(mine for cause, mine in _KINDS if isinstance(reason, cause))
    told = contradiction or (str(reason).splitlines() or [repr(reason)])[0]
    if told == "tuple index out of range":  # of a shape
        told = "an array has too few axes"
    return kind(f"{what} does not fit the arrays {given}: {told}")


def _operand_error(op: Operator, inputs: Sequence, attrs: dict, reason: Exception) -> OperandError:
    name = op.name.removeprefix("_npi_")  # np's functions
    for slot, x in zip(op.inputs + op.inputs[-1:] * len(inputs), inputs, strict=False):
        if x is None and slot not in op.optional:
            return MissingOperand(f"{name}: input {slot!r} is missing. {op.signature()}")
    return failure(name, inputs, reason, _contradiction(op, inputs, attrs))


def _contradiction(op: Operator, inputs: Sequence, attrs: dict) -> str | None:
    """What is wrong with the inputs, as far as their contexts and the operator's inference of shapes tell."""
    if not inputs:
        return "at least one is needed"
    present = [x for x in inputs if x is not None]
    if len({x._ctx.device_type for x in present}) > 1:
        return f"they are on different devices, {', '.join(str(x._ctx) for x in present)}"
    if op.formula is not None:
        try:
            broadcast([x.shape for x in present])
        except RuntimeError:
            return "their shapes do not broadcast"
    if op.infer is None:
        return None
    given = {name: None if x is None else tuple(x.shape) for name, x in zip(op.inputs, inputs, strict=False)}
    inferred = dict(given)
    try:
        op.infer(inferred, attrs)
    except MISFITS:
        return None
    for name, shape in given.items():
        if shape is not None and inferred[name] != shape:
            return f"the shape of {name} is {shape}, and would have to be {inferred[name]}"
    return None


# ----------------------------------------------------------------------------------------------
# Functions for users, generated from the table


def front(op: Operator, kind: type | None):
    """The function `nd.NAME` / `np.NAME` of an operator: inputs, then attributes, then `out` and `name`.

    kind: the class of the results; None: that of the first input, as a method of arrays wants it.
    """
    made = op._fronts.get(kind)
    if made is None:
        made = op._fronts[kind] = _make_front(op, kind)
    return made


def _make_front(op: Operator, kind: type | None):
    inputs, attrs = op.inputs, list(op.attrs)
    creates = not inputs
    if op.variadic:
        head = [f"*{inputs[-1]}"]
        gather = f"_gather({inputs[-1]})"
    else:
        head = [f"{i}=None" for i in inputs]
        gather = f"[{', '.join(inputs)}]"
    kind_of = "_kind" if kind is not None or creates else f"type({inputs[0]})"
    clash = [a for a in attrs if a in inputs]
    if clash:
        raise ValueError(f"{op.name}: {clash} are both inputs and attributes")
    extra = [f"{a}=_NULL" for a in attrs]
    if creates and "ctx" not in attrs:  # where the function has it
        order = list(inspect.signature(op.function).parameters)
        before = order[: order.index("ctx")] if "ctx" in order else order
        extra.insert(sum(a in before for a in attrs), "ctx=None")
    own = [f"{p}=None" for p in ("out", "name") if p not in inputs]  # parts of gradients have inputs of these names
    out = "out" if "out" not in inputs else "None"
    parameters = ", ".join([*head, *extra, *own, "**kwargs"])
    if creates:
        body = f"_create(_op, _parse({', '.join(attrs)}), ctx, _kind, {out})"
    else:
        parsed = f"_parse({', '.join(attrs)})" if attrs else "{}"
        gather = gather if op.takes is None else f"_op.placed({gather}, {parsed})"
        gather = f"_classic(_op, {gather}, {kind_of}, {out})"
        body = f"_apply(_op, {gather}, {parsed}, {kind_of}, {out})"
        if op.formula is None and op.name not in _VIEWS:
            body = f"_apart({body})" if "out" in inputs else f"{body} if out is not None else _apart({body})"
    words = WORDS_OF_NPX.get(op.name, {}) if getattr(kind, "_zero_dim", False) else {}
    renamed = [f"        {ours} = kwargs.pop({theirs!r}, {ours})" for theirs, ours in words.items()]
    code = [f"def {_identifier(op.name)}({parameters}):", "    if kwargs:", *renamed, "        _refuse(_op, kwargs)"]
    if (op.simple or op.plural or op.binds) and not creates and op.name != "cast_storage":
        code += _untraced(op, kind_of)
    code.append(f"    return {body}")
    scope = {
        "_NULL": NULL,
        "_op": op,
        "_kind": kind,
        "_dense": getattr(kind, "_dense_kind", None),
        "_parse": op.parse_positional,
        "_known": getattr(op.parse_positional, "memory", op.parse_positional),
        "_apply": apply_stored if op.name in storage_types.NAMES else apply,
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
    exec("\n".join(code), scope)
    function = scope[_identifier(op.name)]
    function.__doc__ = op.doc + f"\n\n{op.signature()}"
    function.operator = op
    return function


def _untraced(op: Operator, kind_of: str) -> list[str]:
    """Source of `apply` for arrays that no tracer looks at, without the way there.

    Whatever does not fit goes on to the long way, which says what is wrong;
    so does an operator with hidden results that is recorded.
    """
    shown = op.simple or op.plural
    may_go = "not _state.training and " * op.train if op.binds else f"_op.{'simple' if op.simple else 'plural'} and "
    idle = "_state.tracer is None" if shown else "(_state.tracer is None and not _state.recording)"
    attrs = ", ".join(op.attrs)
    call = []
    if unlike := _unlike(op, kind_of):
        call += [f"            if {unlike}:", "                raise TypeError"]
    if op.binder is None and op.binds and len(op.inputs) > 1:  # a shortcut is for the first input alone
        others = " or ".join(f"{i} is not None" for i in op.inputs[1:])
        call += [f"            if {others}:", "                raise TypeError"]
    tensors = _tensors_of(op) if op.binder is not None or not op.binds else f"{op.inputs[0]}._data"
    if not attrs:
        call += [f"            tensor = _op.{'bare' if op.binds else 'forward'}({tensors})"]  # None cannot be called
    elif op.binds:
        call += [f"            _bound, _typed = _op.bound({attrs})", f"            tensor = _bound({tensors})"]
    else:
        call += [f"            _typed = _known({attrs})", f"            tensor = _op.forward({tensors}, **_typed)"]
    face = "_dense" if kind_of == "_kind" else kind_of + "._dense_kind"
    if op.plural:
        call += [f"            result = _several(tensor, {face}, {_first_of(op)}._ctx)"]
    else:
        if op.formula is None and op.binder is None and op.name not in _VIEWS:
            call += ["            if tensor._base is not None:", "                tensor = _separate(tensor)"]
        call += [
            f"            result = _new({face})",
            f"            result._data, result._ctx, result._entry = tensor, {_first_of(op)}._ctx, None",
        ]
    recorded = []
    if shown:
        inputs = [*op.inputs[:-1], f"*{op.inputs[-1]}"] if op.variadic else op.inputs
        recorded = [
            "            if _busy and _state.recording:",
            f"                _attach(_op, {'_typed' if attrs else '{}'}, ({', '.join(inputs)},), {'result' if op.plural else '(result,)'})",
        ]
    return [
        f"    if out is None and {may_go}(not _busy or {idle}):",
        "        try:",
        *call,
        "        except _Unfit:",
        "            pass",
        "        else:",
        *recorded,
        f"            return {'result if len(result) > 1 else result[0]' if op.plural else 'result'}",
    ]


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


# What MXNet 2 calls inputs of npx functions beside the names of the table.
WORDS_OF_NPX = {
    "FullyConnected": {"x": "data"},
    "BatchNorm": {"x": "data", "running_mean": "moving_mean", "running_var": "moving_var"},
    "batch_dot": {"a": "lhs", "b": "rhs"},
    "one_hot": {"data": "indices"},
}
_VIEWS = frozenset({"_slice_view"})  # what shares memory in MXNet too


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


def _tensors_of(op: Operator) -> str:
    """Source of the arguments that hand the tensors of a function's inputs to a forward rule."""
    names = op.inputs[:-1] if op.variadic else op.inputs
    parts = [f"None if {i} is None else {i}._data" if i in op.optional else f"{i}._data" for i in names]
    return ", ".join([*parts, f"*[x._data for x in {op.inputs[-1]}]"] if op.variadic else parts)


def _unlike(op: Operator, kind_of: str) -> str:
    """Source of the question whether an input is no dense array of the function's class; "" where that cannot be."""
    if op.variadic:
        return f"{{*map(type, {op.inputs[-1]})}} != _faces"
    face, inputs, parts = "_dense", op.inputs, []
    if kind_of != "_kind":  # a method: the first is the array itself
        face, inputs = kind_of, inputs[1:]
        parts = [f"{op.inputs[0]}.stype != 'default'"] * (op.name in storage_types.NAMES)
    parts += [f"type({i}) is not {face}" + f" and {i} is not None" * (i in op.optional) for i in inputs]
    return " or ".join(parts)


def _first_of(op: Operator) -> str:
    return f"{op.inputs[0]}[0]" if op.variadic and len(op.inputs) == 1 else op.inputs[0]


def apply_stored(op: Operator, inputs: list, attrs: dict, kind: type, out=None):
    """`apply` for operators that may keep sparse arrays sparse, or make them."""
    for x in inputs:
        if getattr(x, "stype", "default") != "default":
            return type(x)._apply_operator(op, inputs, attrs, out)
    result = apply(op, inputs, attrs, kind, out)
    if op.name == "cast_storage" and out is None and hasattr(result, "_data") and not storage.is_meta(result._data):
        return result.tostype(attrs["stype"])
    return result


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
    if not op.compares_words:
        return
    for name in kwargs:
        if name not in ("num_args", "cudnn_off", "cudnn_tune", "workspace", "attr", "__layout__"):
            raise op.unknown(name)


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "operator"
