"""From a call to a kernel: one launcher for each operator and class of arrays.

`nd.relu(x)`, `x.relu()`, `x + y`, `F.relu(x)` in an expression or a gradient rule, executors and replayed graphs all come
here. A launcher does one thing, in this order:

1. reads the flags of the thread: whether it traces, records, trains;
2. checks that the inputs are dense arrays of one class, and types the attributes, which is remembered by their values;
3. calls the kernel: the function of tensors that the operator is under these attributes (`Operator.bind`), which
   `core.kernels` sends to the backend where the tensors live;
4. wraps the result;
5. records it on the tape.

`launch` says this for any operator; `operator_function` and `infix` generate it as source for one operator, for the parameters of
a Python function cost as much as a small kernel where they are handed on as `*args`. That of `nd.relu` reads, with names
resolved:

    def relu(data=None, out=None, name=None, **kwargs):
        if kwargs:
            refuse(op, kwargs)
        if out is None and direct and (not busy or state.tracer is None):
            try:
                if type(data) is not NDArray:
                    raise TypeError
                x = data._data
                if backend.plain or (x.is_cpu and backend.forced is None):
                    tensor = on_cpu[x.dtype](x)
                else:
                    tensor = kernel(x)
                result = next(NDArray._blank)
                result._data, result._ctx, result._entry = tensor, data._ctx, None
            except FALLBACK_ERRORS:
                pass
            else:
                if busy and state.recording:
                    attach(op, {}, (data,), (result,))
                return result
        return launch(op, one_kind(op, [data], NDArray, out), {}, NDArray, out)

`on_cpu`, which formulas have, holds ATen's functions by dtype: one call of Python less than the way that all others go.
What does not fit there (other classes of arrays, tracing, parameters without a shape, mixed precision, errors) goes on to
`launch`, which does all of it and says what is wrong.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from core import documentation, random_keys, storage
from core.base import MXNetError
from core.context import Context, current_context
from core.dtypes import dtype_name
from core.kernels.dispatch import state as backend
from core.kernels.numbers import NUMBERS, takes_tensor
from core.operand_errors import FALLBACK_ERRORS, KERNEL_ERRORS, NeedsShape, OperandError, operand_error
from core.ops.attributes import BOOLS
from core.ops.record import NULL, REQUIRED, Operator
from core.ops.storage_types import DENSE
from core.ops.values import Attrs, Tensor, Value
from core.tape import attach, busy, state
from core.writes import assign

_new = object.__new__


def blanks(kind: type) -> Iterator[Any]:
    """New objects of a class of which nothing is set; to call its `__new__` takes a quarter longer."""
    return itertools.starmap(_new, itertools.repeat((kind,)))


# ----------------------------------------------------------------------------------------------
# Launchers


def operator_function(op: Operator, kind: type | None) -> Callable[..., Any]:
    """The function `nd.NAME` / `np.NAME` of an operator: inputs, then attributes, then `out` and `name`.

    kind: the class of the results; None: that of the first input, as a method of arrays wants it. Users get results in
    memory of their own.
    """
    made = _FUNCTIONS.get((op, kind))
    if made is None:
        made = _FUNCTIONS[op, kind] = _generate(op, kind, public=True)
    return made


def launcher(op: Operator, kind: type) -> Callable[..., Any]:
    """What `F.NAME` calls for arrays of class `kind`: as `operator_function`, but results may share memory with inputs."""
    return _generate(op, kind, public=False)


_FUNCTIONS: dict[tuple[Operator, type | None], Callable[..., Any]] = {}


def infix(
    method: str, array_op: Operator | None, scalar_op: Operator, other: Callable[..., Any], kind: type | None = None
) -> Callable[..., Any]:
    """The method `__add__`, ... of arrays: for an array of the same class or a Python number; `other` does the rest,
    all but numbers where there is no `array_op`, as for `__radd__`.

    kind: given for a function of two values instead, the first an array of that class, which `other` does not see.
    """
    operand = "_NUMBERS[_type][other]" if takes_tensor(scalar_op.formula) else "other"
    number = _fast_path(scalar_op, ["self"], "like", "_scalar_op", kernel="_scalar_op.forward", number=operand)
    array = _fast_path(array_op, ["self", "other"], "like", "_array_op", kernel="_array_op.forward") if array_op else []
    lines = [
        f"def {method}({'self, other' if kind is None else 'lhs, rhs'}):",
        *(
            ["    if type(lhs) is not _kind:", "        return _other(lhs, rhs)", "    self, other = lhs, rhs"]
            if kind
            else []
        ),
        "    out, kind, like = None, type(other), type(self)",
        "    if kind is float or kind is int:",
        *(f"    {line}" for line in number),
        *(["    elif kind is like:"] if array_op else []),
        *(f"    {line}" for line in array),
        "    return _other(self, other)",
    ]
    ops = {"_array_op": array_op, "_scalar_op": scalar_op} if array_op else {"_scalar_op": scalar_op}
    tables = {f"{name}_on_cpu": op.on_cpu for name, op in ops.items()}
    return _compiled(method, lines, *ops.values(), _other=other, _kind=kind, **ops, **tables)


def _generate(op: Operator, kind: type | None, public: bool) -> Callable[..., Any]:
    """The launcher of an operator, as source that spells its parameters out, compiled."""
    clash = [a for a in op.attrs if a in op.inputs]
    if clash:
        raise ValueError(f"{op.name}: {clash} are both inputs and attributes")
    name = op.name if op.name.isidentifier() else "operator"
    like = "_kind" if kind is not None or not op.inputs else "_like"
    words = op.words if getattr(kind, "_zero_dim", False) else {}
    lines = [
        f"def {name}({', '.join(_parameters(op))}):",
        "    if kwargs:",
        *(f"        {ours} = kwargs.pop({theirs!r}, {ours})" for theirs, ours in words.items()),
        "        _op.check_words(kwargs)",
        *[f"    _like = type({i})" for i in op.inputs[:1] if like == "_like"],
    ]
    owned = public and op.index is None and op.formula is None
    if op.inputs and op.binds and not op.storage.makes:
        lines += _fast_path(op, op.inputs, like, "_op", owned=owned and op.special is None)
    lines.append(f"    return {_general_call(op, like, public, owned)}")
    bound = op.bind({}) if op.binds and not op.attrs else None
    made = _compiled(
        name,
        lines,
        op,
        _op=op,
        _kind=kind,
        _dense=getattr(kind, "_dense_kind", None),
        _blank=getattr(kind, "_blank", None),
        _kernel=bound and bound.kernel,
        _recorded=bound and bound.op,
        _op_on_cpu=op.on_cpu,
        _parse=op.parse_positional,
        _bounds=op.bounds if op.binds else None,
        _launch=launch_stored if op.storage is not DENSE else launch,
    )
    made.__doc__ = documentation.of_operator(op) if public and kind is not None else op.doc
    made.operator = op  # type: ignore[attr-defined]  # that of a function
    return made


def _compiled(name: str, lines: list[str], *ops: Operator, **names: Any) -> Callable[..., Any]:
    """The function that the lines define, over this module's names and those given, which launches `ops`."""
    scope = {**_SCOPE, **names, "_direct": all(op.direct for op in ops)}
    for op in ops:
        op.scopes.append(scope)
    exec("\n".join(lines), scope)
    return scope[name]


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


def _general_call(op: Operator, like: str, public: bool, owned: bool) -> str:
    """A call of `launch`, or of `create` for an operator without inputs.

    public: inputs may come without those that the attributes leave out. owned: the result gets memory of its own.
    """
    out = "out" if "out" not in op.inputs else "None"
    if not op.inputs:
        return f"_create(_op, _parse({', '.join(op.attrs)}), ctx, _kind, {out})"
    parsed = f"_parse({', '.join(op.attrs)})" if op.attrs else "{}"
    inputs = f"_gather({op.inputs[-1]})" if op.variadic else f"[{', '.join(op.inputs)}]"
    if op.takes is not None and public:
        inputs = f"_op.placed({inputs}, {parsed})"
    call = f"_launch(_op, _one_kind(_op, {inputs}, {like}, {out}), {parsed}, {like}, {out})"
    if not owned:
        return call
    return f"{call} if out is not None else _own({call})" if out == "out" else f"_own({call})"


def _fast_path(
    op: Operator,
    inputs: Sequence[str],
    like: str,
    record: str,
    owned: bool = False,
    kernel: str = "",
    number: str = "",
) -> list[str]:
    """`launch` for dense arrays that no tracer looks at: lines that return the result, or go on where they do not fit.

    like: the expression of the class of arrays; record: the name of the operator; owned: whether a view is to be taken
    for the caller alone. kernel: given where the source has neither attributes to type nor a kernel to bind; number:
    what the CPU's kernel gets for `other` where that is the scalar of the operator.
    """
    passed = inputs if op.special_inputs is None else inputs[: op.special_inputs]
    tensors = [f"{i}._data" if i not in op.optional else f"None if {i} is None else {i}._data" for i in passed]
    if op.variadic:
        tensors[-1] = "*_tensors"
    several = op.results == "several" and op.special is None
    first = f"{inputs[0]}[0]" if op.variadic and len(inputs) == 1 else inputs[0]
    lines = _tensors_of(inputs[-1], "_dense" if like == "_kind" else like) if op.variadic else []
    lines += [f"if {unlike}:", "    raise TypeError"] if (unlike := _unlike(op, inputs, like, first)) else []
    operands, recorded = ", ".join([*inputs[:-1], f"*{inputs[-1]}"] if op.variadic else passed), record
    if kernel:
        typed = "{'scalar': other}" if number else "{}"
        if op.on_cpu is None:
            lines.append(f"tensor = {kernel}({', '.join([*tensors, *['scalar=other'] * bool(number)])})")
        else:
            lines += _on_the_cpu(f"{record}_on_cpu", tensors, number, kernel)
    elif op.on_cpu is not None and not op.attrs and not op.optional and op.special is None and len(tensors) < 3:
        typed, recorded = "{}", "_recorded"
        lines += _on_the_cpu("_op_on_cpu", tensors, "", "_kernel")
    else:
        typed, recorded = "_typed" if op.attrs else "{}", "_recorded"
        for a in op.tuples:  # (True, 0) equals (1, 0), which may be remembered
            lines += [f"if type({a}) is tuple and not _BOOLS.isdisjoint(map(type, {a})):", "    raise TypeError"]
        if op.attrs:
            lines.append(f"_kernel, _recorded, _typed, _launched = {_bound_to(op)}")
        if op.results != "one" and not several:  # what a gradient reads besides has to be kept, too
            whole = f"return _own(_launch(_launched, [{operands}], _typed, {like}))" if op.attrs else "raise TypeError"
            lines += ["if _recorded is None and _busy and _state.recording:", f"    {whole}"]
        lines.append(f"tensor = _kernel({', '.join(tensors)})")
    dense = "_dense" if like == "_kind" else f"{like}._dense_kind"
    if several:
        lines.append(f"result = _several(tensor, {dense}, {first}._ctx)")
    else:
        if owned and op.memory != "new":
            lines += [f"if tensor._base is not None or {_is_given(op)}:", "    tensor = _own_memory(tensor)"]
        lines += [
            f"result = next({'_blank' if like == '_kind' else f'{like}._blank'})",
            f"result._data, result._ctx, result._entry = tensor, {first}._ctx, None",
        ]
    guard = "not _state.training and " if op.train and not op.composite else ""
    given = "out is None and " if "out" not in op.inputs else ""  # which parts of gradients read
    return [
        f"    if _direct and {given}{guard}(not _busy or _state.tracer is None):",
        "        try:",
        *(f"            {line}" for line in lines),
        "        except _FALLBACK_ERRORS:",
        "            pass  # the general way does it, or says what is wrong",
        "        else:",
        "            if _busy and _state.recording:",
        f"                _attach({recorded}, {typed}, ({operands},), {'result' if several else '(result,)'})",
        f"            return {'result if len(result) > 1 else result[0]' if several else 'result'}",
    ]


def _bound_to(op: Operator) -> str:
    """What the operator is under its attributes; to ask whether all are left out takes a third of making a key."""
    found = f"_bounds[{', '.join([*op.attrs, *[f'type({a})' for a in op.ambiguous]])},]"
    if len(op.attrs) == 1 or any(default is REQUIRED for _, default in op.attrs.values()):
        return found
    return f"_bounds.plain if {' is '.join(op.attrs)} is _NULL else {found}"


def _on_the_cpu(table: str, tensors: Sequence[str], number: str, kernel: str) -> list[str]:
    """Lines that call the CPU's kernel of a formula from `table` for tensors of one type, elsewhere `kernel`; a call less
    than by that. number: what the first gets for the scalar of the operator, `other`. Arrays without memory have the
    context of a CPU, too, so tensors are asked where they live.
    """
    names = ["_x", "_y"][: len(tensors)]
    alike = "_y.dtype is _type and " if len(names) > 1 else ""
    return [
        f"{', '.join(names)} = {', '.join(tensors)}",
        "_type = _x.dtype",
        f"if {alike}(_backend.plain or (_x.is_cpu and _backend.forced is None)):",
        f"    tensor = {table}[_type]({', '.join([*names, *filter(None, [number])])})",
        "else:",
        f"    tensor = {kernel}({', '.join([*names, *['scalar=other'] * bool(number)])})",
    ]


def _tensors_of(arrays: str, kind: str) -> list[str]:
    """Lines that take the tensors of arrays of one class; a loop, for a set of classes and a list take twice as long."""
    return [
        "_tensors = []",
        f"for x in {arrays}:",
        f"    if type(x) is not {kind}:",
        "        raise TypeError",
        "    _tensors.append(x._data)",
    ]


def _is_given(op: Operator) -> str:
    """The question whether the result is one of the inputs' tensors itself."""
    named = op.inputs[:-1] if op.variadic else op.inputs
    parts = [f"({i} is not None and tensor is {i}._data)" for i in named]
    return " or ".join(parts + [f"any([tensor is x._data for x in {op.inputs[-1]}])"] * op.variadic)


def _unlike(op: Operator, inputs: Sequence[str], like: str, first: str) -> str:
    """The question whether an input is no dense array of the launcher's class, or its type is none for the operator;
    "" where neither can be.
    """
    whole = [f"not {first}._data.is_floating_point()"] * op.real
    if op.variadic:
        return " or ".join([f"not {inputs[-1]}", *whole])
    dense, checked, parts = "_dense", inputs, []
    if inputs[0] == "self":  # of an infix method, which has looked
        return ""
    if like != "_kind":  # a method: the first is the array itself
        dense, checked = like, inputs[1:]
        parts = [f"{inputs[0]}.stype != 'default'"] * (op.storage is not DENSE)
    if op.special_inputs is not None:
        parts += [f"{i} is not None" for i in inputs[op.special_inputs :]]
        checked = [i for i in checked if i in inputs[: op.special_inputs]]
    parts += [f"type({i}) is not {dense}" + f" and {i} is not None" * (i in op.optional) for i in checked]
    return " or ".join(parts + whole)


# ----------------------------------------------------------------------------------------------
# The general way


def launch(op: Operator, inputs: list[Any], attrs: Attrs, kind: type[Any], out: Any = None) -> Any:
    """Applies `op` to arrays with typed attributes: an array of class `kind`, or a list of the visible outputs.

    out: an array (or list) to write the result to. MXNetError, TypeError or an OperandError for what does not fit.
    """
    tracer = state.tracer
    if tracer is not None:
        inputs = tracer.proxies(inputs)
    elif op.results == "one" and op.cast_inputs is None and out is None:  # the fast path
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
        except FALLBACK_ERRORS:
            pass  # what follows says what is wrong
        else:
            if state.recording:
                attach(op, attrs, inputs, (result,))
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
            inputs = inputs if tracer is None else tracer.proxies(inputs)
        inputs = op.cast_inputs(inputs, attrs)
    if op.composite:
        for x in inputs:
            if x is not None and not hasattr(x, "_apply_operator"):
                raise op.no_array(inputs)
        op.check_inputs(inputs, attrs)
        return _launch_composite(op, inputs, attrs, kind, out)
    try:
        tensors = [None if x is None else x._data for x in inputs]
    except NeedsShape:
        _materialise(op, inputs, attrs)
        inputs = inputs if tracer is None else tracer.proxies(inputs)
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
            attrs["key"] = random_keys.next_key(ctx) if tracer is None else tracer.draw(ctx)
        if op.train:
            attrs["training"] = state.training
    if op.overwrites and out is not None:
        attrs = {**attrs, "into": _held(out)}
    try:
        results = op.forward(*tensors, **attrs)
    except KERNEL_ERRORS as error:
        if isinstance(error, MXNetError):
            raise
        if tracer is not None:
            tracer.failed(op, error)
        if isinstance(error, AttributeError) and all(x is not None for x in inputs):
            raise
        raise operand_error(op, inputs, attrs, error) from error
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
        attach(op, attrs, inputs, outputs, reserve)
    if op.visible is not None:
        outputs = outputs[: op.count_visible(attrs)]
    if out is not None:
        return assign(op, out, outputs if len(outputs) > 1 else outputs[0])
    return outputs[0] if len(outputs) == 1 else outputs


def _aliased(tensor: Tensor, inputs: Sequence[Any]) -> Tensor:
    """The tensor, or a view of it where it is that of an input, which is to be seen from the result."""
    return tensor.view_as(tensor) if any([x is not None and tensor is x._data for x in inputs]) else tensor


def _need_real(op: Operator, inputs: Sequence[Any]) -> None:
    """MXNetError where the data, the first input, are whole numbers or bools."""
    kind = dtype_name(inputs[0].dtype) if inputs and hasattr(inputs[0], "_apply_operator") else "float32"
    if "float" not in kind:
        raise MXNetError(
            f"{op.name}: arrays of {kind} are not accepted, floating point numbers are; convert with astype"
        )


def _launch_composite(op: Operator, inputs: list[Any], attrs: Attrs, kind: type, out: Any = None) -> Any:
    """A composite on arrays: the primitive that it comes down to under these attributes, or its expression."""
    tracer = state.tracer
    count = op.special_inputs  # of those that another operator takes, which gives the same without the others
    if (
        op.special is not None
        and count is not None
        and out is None
        and tracer is None
        and all(x is None for x in inputs[count:])
    ):
        special = op.special(SimpleNamespace(**attrs))
        if special is not None:
            return launch(special[0], inputs[:count], special[1], kind)
    if op.infer is not None and any(getattr(x, "_is_placeholder", False) for x in inputs):
        _materialise(op, inputs, attrs)
    try:
        if tracer is None:
            result = op.function(*inputs, **_context_attrs(op, attrs))
        else:
            result = tracer.composite(op, inputs, attrs, _context_attrs(op, attrs))
    except OperandError as error:  # of arrays that the caller has not seen
        reason = error.__cause__ if isinstance(error.__cause__, Exception) else error
        raise operand_error(op, inputs, attrs, reason) from reason
    except (ZeroDivisionError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, MXNetError) or (isinstance(error, AttributeError) and all(x is not None for x in inputs)):
            raise
        raise operand_error(op, inputs, attrs, error) from error
    return result if out is None else assign(op, out, result)


def create(op: Operator, attrs: Attrs, ctx: Context | None, kind: type[Any], out: Any = None) -> Any:
    """An operator without inputs (a sampler, `zeros`, ...): makes arrays on `ctx`."""
    ctx = ctx or current_context()
    if op.composite:
        with ctx:
            return op.function(**attrs)
    tracer = state.tracer
    if op.rng:
        attrs = {**attrs, "key": random_keys.next_key(ctx) if tracer is None else tracer.draw(ctx)}
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


def _held(out: Any) -> Tensor | None:
    """The memory of `out`, an array or a list of one; None where there is none yet."""
    if isinstance(out, (list, tuple)) and len(out) == 1:
        out = out[0]
    if getattr(out, "_data", None) is None:
        return None
    return out._data if state.tracer is None else state.tracer.proxies([out])[0]._data


def _context_attrs(op: Operator, attrs: Attrs) -> Attrs:
    """Attributes of a composite, with the training flag where it asks for it."""
    return {**attrs, "training": state.training} if op.train else attrs


def _materialise(op: Operator, inputs: list[Any], attrs: Attrs) -> None:
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


def launch_stored(op: Operator, inputs: list[Any], attrs: Attrs, kind: type[Any], out: Any = None) -> Any:
    """`launch` for operators that may keep sparse arrays sparse, or make them."""
    for x in inputs:
        if getattr(x, "stype", "default") != "default":
            return type(x)._apply_operator(op, inputs, attrs, out)
    result = launch(op, inputs, attrs, kind, out)
    if op.storage.makes and out is None and hasattr(result, "_data") and not storage.is_meta(result._data):
        return result.tostype(op.storage.result([x.stype for x in inputs], attrs))
    return result


# ----------------------------------------------------------------------------------------------
# Parts of launchers


def own(result: Any, *given: Value | int | str | tuple[int, ...] | None) -> Any:
    """`result` (or each of a list) as the user gets it: writing to it reaches no other array,
    and no write to another reaches it.

    Operators inside of others hand views on, which costs nothing. given: the arrays that went in.
    """
    if isinstance(result, (list, tuple)):
        return type(result)([_own(x, given) for x in result])
    return _own(result, given)


def _own(result: Any, given: tuple[Any, ...]) -> Any:
    if getattr(result, "stype", None) != "default" or result._is_placeholder:
        return result
    if state.tracer is not None:
        state.tracer.unshare(result)
        return result
    if storage.is_view(result._data) or (given and any([result is x for x in given])):
        alone = type(result)._wrap(storage.lazy_clone(result._data), result._ctx)
        alone._entry = result._entry
        return alone
    return result


def _several(tensors: Sequence[Any], kind: type[Any], ctx: Context) -> list[Any]:
    """Arrays of class `kind` that hold the results of a forward rule, each in memory of its own."""
    if type(tensors) is not tuple and type(tensors) is not list:
        raise TypeError
    results = []
    for tensor in tensors:
        result = _new(kind)
        result._data, result._ctx = tensor if tensor._base is None else storage.lazy_clone(tensor), ctx
        result._entry = None
        results.append(result)
    return results


def _gather(data: tuple[Any, ...]) -> list[Any]:
    """Inputs of a variadic operator: given one by one or as one list."""
    return list(data[0]) if len(data) == 1 and isinstance(data[0], (list, tuple)) else list(data)


def _one_kind(
    op: Operator, inputs: list[Any], kind: type, out: Value | Sequence[Value | int] | int | None
) -> list[Any]:
    """`inputs`; TypeError where a function of `nd` was given one of `np`, or such an `out`.

    The functions of `np` take arrays of `nd` as theirs, as in MXNet 2.
    """
    if getattr(kind, "_zero_dim", True):
        return inputs
    for x in inputs if out is None else [*inputs, *(out if isinstance(out, (list, tuple)) else [out])]:
        if getattr(x, "_zero_dim", False):
            raise TypeError(f"{op.name} of nd was called with an array of np; convert it with as_nd_ndarray()")
    return inputs


_SCOPE = {
    "_FALLBACK_ERRORS": FALLBACK_ERRORS, "_BOOLS": BOOLS, "_NULL": NULL, "_backend": backend, "_attach": attach, "_busy": busy, "_create": create,
    "_gather": _gather, "_NUMBERS": NUMBERS, "_one_kind": _one_kind, "_own": own, "_own_memory": storage.lazy_clone,
    "_several": _several, "_state": state,
}  # fmt: skip
