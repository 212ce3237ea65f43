"""Eager execution: applies an operator of the table to arrays and records it on the tape."""

from __future__ import annotations

from collections.abc import Sequence

from core import autograd, random, storage
from core.base import IndexOutOfBounds, MXNetError
from core.context import current_context
from core.dtypes import dtype_name
from core.kernels.contracts.rules import broadcast
from core.ops.registry import Operator

state = autograd.state
_new = object.__new__
# of a kernel that cannot do it, or finds None in place of an array
MISFITS = (RuntimeError, IndexError, ValueError, TypeError, ArithmeticError, AttributeError)


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
            if op.real and not inputs[0]._data.is_floating_point():
                raise TypeError
            if len(inputs) == 1:
                tensor = op.forward(inputs[0]._data, **attrs)
            else:
                tensor = op.forward(*[None if x is None else x._data for x in inputs], **attrs)
            if op.memory != "new":
                tensor = _aliased(tensor, inputs)
            result = _new(kind._dense_kind)
            result._data, result._ctx, result._entry = tensor, inputs[0]._ctx, None
        except UNFIT:
            pass  # the long way says what is wrong
        else:
            if state.recording:
                autograd.attach(op, attrs, inputs, (result,))
            return result
    if inputs and not hasattr(inputs[0], "_entry"):
        if hasattr(inputs[0], "_apply_operator"):  # a symbol
            return type(inputs[0])._apply_operator(op, inputs, attrs, out)
        if inputs[0] is None and op.inputs[0] not in op.optional:
            raise TypeError(f"{op.name}: input {op.inputs[0]!r} is missing. {op.signature()}")
        if inputs[0] is not None:
            raise op.no_array(inputs)
    if op.real:
        _need_real(op, inputs)
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
    if op.memory != "new" and tracer is None:
        results = [_aliased(t, inputs) for t in results]
    outputs = [kind._wrap(t, ctx) for t in results]
    if tracer is not None:
        reserve = tracer.record(op, inputs, attrs, outputs, reserve, single)
    if state.recording and outputs:
        autograd.attach(op, attrs, inputs, outputs, reserve)
    if op.visible is not None:
        outputs = outputs[: op.count_visible(attrs)]
    if out is not None:
        return assign(op, out, outputs if len(outputs) > 1 else outputs[0])
    return outputs[0] if len(outputs) == 1 else outputs


def _aliased(tensor, inputs: Sequence):
    """The tensor, or a view of it where it is that of an input, which is to be seen from the result."""
    return tensor.view(tensor.shape) if any([x is not None and tensor is x._data for x in inputs]) else tensor


def _need_real(op: Operator, inputs: Sequence) -> None:
    """MXNetError where the data, the first input, are whole numbers or bools."""
    kind = dtype_name(inputs[0].dtype) if inputs and hasattr(inputs[0], "_apply_operator") else "float32"
    if "float" not in kind:
        raise MXNetError(
            f"{op.name}: arrays of {kind} are not accepted, floating point numbers are; convert with astype"
        )


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


def apply_stored(op: Operator, inputs: list, attrs: dict, kind: type, out=None):
    """`apply` for operators that may keep sparse arrays sparse, or make them."""
    for x in inputs:
        if getattr(x, "stype", "default") != "default":
            return type(x)._apply_operator(op, inputs, attrs, out)
    result = apply(op, inputs, attrs, kind, out)
    if op.storage.makes and out is None and hasattr(result, "_data") and not storage.is_meta(result._data):
        return result.tostype(op.storage.result([x.stype for x in inputs], attrs))
    return result


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
