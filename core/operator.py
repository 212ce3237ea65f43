"""Operators written in Python by users: `CustomOp`, `CustomOpProp`, `register`, called as `nd.Custom`."""

from __future__ import annotations

import threading
from typing import NamedTuple

from core import autograd, kernels, storage
from core.base import MXNetError, nearest
from core.context import Context, current_context
from core.ndarray.ndarray import NDArray
from core.ops.registry import REQUIRED, TABLE, get

_registered: dict[str, type[CustomOpProp]] = {}
_lock = threading.Lock()


class CustomOp:
    """What a custom operator computes. Override `forward` and `backward`; write results with `assign`."""

    def forward(self, is_train, req, in_data, out_data, aux):
        """Computes `out_data` from `in_data`; `req` has one of write, add, null an output."""
        raise NotImplementedError(f"{type(self).__name__} must define forward")

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        """Computes `in_grad` from `out_grad`, one a request in `req`."""
        raise NotImplementedError(f"{type(self).__name__} must define backward")

    def assign(self, dst, req, src):
        """Writes `src` to `dst` as the request says: write, inplace, add or null."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] = dst + src
        elif req != "null":
            raise ValueError(f"request {req!r} is not one of write, inplace, add, null")


class CustomOpProp:
    """What a custom operator is: its inputs, outputs, shapes and types. Attributes arrive as strings."""

    def __init__(self, need_top_grad=True):
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape):
        """(shapes of inputs, of outputs, of auxiliary states); all outputs like the first input by default."""
        return in_shape, (in_shape[0],) * len(self.list_outputs()), ()

    def infer_type(self, in_type):
        """(types of inputs, of outputs, of auxiliary states); that of the first input by default."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype):
        """(storage of inputs, of outputs, of auxiliary states): dense, unless a prop says otherwise."""
        return in_stype, ["default"] * len(self.list_outputs()), ["default"] * len(self.list_auxiliary_states())

    def infer_storage_type_backward(self, ograd_stype, in_stype, out_stype, igrad_stype, aux_stype):
        """The same lists for the backward pass; the fourth, of the gradients of the inputs, counts."""
        return ograd_stype, in_stype, out_stype, ["default"] * len(igrad_stype), aux_stype

    def list_arguments(self):
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self):
        """Names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self):
        """Names of the states."""
        return []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        """What the backward pass reads; everything is kept here, so this is asked for by no one."""
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        """The `CustomOp` for these inputs."""
        return CustomOp()


def register(reg_name: str):
    """Decorates a `CustomOpProp`: `nd.Custom(..., op_type=reg_name)` finds it."""

    def enter(prop):
        if not (isinstance(prop, type) and issubclass(prop, CustomOpProp)):
            raise TypeError(f"register decorates a subclass of CustomOpProp, given {prop!r}")
        with _lock:
            _registered[reg_name] = prop
        return prop

    return enter


def get_all_registered_operators() -> list[str]:
    """Names of all operators of the table, with their aliases, and `Custom`, by which those of users are called."""
    return sorted({*TABLE, "Custom"})


def get_all_registered_operators_grouped() -> dict[str, list[str]]:
    """Names of operators by the first name of each: the name itself and its aliases."""
    return {op.name: [op.name, *op.aliases] for op in sorted(set(TABLE.values()), key=lambda op: op.name)}


class OperatorArguments(NamedTuple):
    """Inputs and attributes of an operator: how many, their names, and MXNet's words for their types."""

    narg: int
    names: list[str]
    types: list[str]


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """What the operator `op_name` of the table takes; MXNetError with the nearest name where there is none."""
    if op_name == "Custom":
        return OperatorArguments(2, ["data", "op_type"], ["NDArray-or-Symbol[]", "string"])
    op = get(op_name)
    kind = "NDArray-or-Symbol[]" if op.variadic else "NDArray-or-Symbol"
    types = [kind] * len(op.inputs)
    for kind, default in op.attrs.values():
        required = default is REQUIRED
        types.append(f"{kind.word}, required" if required else f"{kind.word}, optional, default={_written(default)}")
    names = [*op.inputs, *op.attrs]
    return OperatorArguments(len(names), names, types)


def _written(default) -> str:
    """A default as MXNet's descriptions of operators write it."""
    if isinstance(default, bool):
        return str(int(default))
    if isinstance(default, (tuple, list)):
        return str(list(default)).replace(" ", "")
    return repr(default) if isinstance(default, str) else f"'{default}'" if default is None else str(default)


def Custom(*data, op_type: str, name=None, **attrs):
    """Applies a registered custom operator; inputs by position or by name, attributes as its prop takes them."""
    if any(hasattr(value, "list_outputs") for value in (*data, *attrs.values())):
        from core.symbol.custom import Custom as of_symbols

        return of_symbols(*data, op_type=op_type, name=name, **attrs)
    prop_class = prop_of(op_type)
    arrays = {key: value for key, value in attrs.items() if isinstance(value, NDArray)}
    prop = prop_class(**{key: str(value) for key, value in attrs.items() if key not in arrays})
    names = [*prop.list_arguments(), *prop.list_auxiliary_states()]
    inputs = list(data) + [arrays[n] for n in names[len(data) :] if n in arrays]
    if len(inputs) != len(names):
        raise MXNetError(f"{op_type} takes {', '.join(names)}; {len(inputs)} arrays were given")
    return apply(op_type, prop, inputs)


def prop_of(op_type: str) -> type[CustomOpProp]:
    """The class that is registered under this name; MXNetError with the nearest one otherwise."""
    if op_type not in _registered:
        raise MXNetError(f"no custom operator {op_type!r} is registered.{nearest(op_type, _registered)}")
    return _registered[op_type]


def apply(op_type: str, prop: CustomOpProp, inputs):
    """A custom operator on its inputs and states, in their order."""
    return _Application(prop, op_type, len(prop.list_arguments()))(*inputs)


def shapes_of(prop: CustomOpProp, shapes: list) -> tuple:
    """(shapes of inputs, of outputs, of states); a prop may leave the states out, as MXNet lets it."""
    found = tuple(prop.infer_shape(shapes))
    return found if len(found) == 3 else (*found, ())


class _Application(autograd.Function):
    """One call of a custom operator on the tape."""

    def __init__(self, prop: CustomOpProp, op_type: str, count: int):
        super().__init__()
        self._prop, self._type, self._count = prop, op_type, count

    def forward(self, *arrays):
        inputs, aux = list(arrays[: self._count]), list(arrays[self._count :])
        kind = next((type(x) for x in inputs if x.stype == "default"), NDArray)
        ctx = inputs[0].context if inputs else current_context()
        _, shapes, _ = shapes_of(self._prop, [list(x.shape) for x in inputs])
        _, types, *_ = self._prop.infer_type([x.dtype for x in inputs])
        _, stypes, *_ = self._prop.infer_storage_type([x.stype for x in inputs])
        if inputs and inputs[0].stype == "default" and storage.is_meta(inputs[0]._data):  # shapes alone are asked for
            outputs = [kind._wrap(storage.meta(tuple(s), t), ctx) for s, t in zip(shapes, types, strict=True)]
            return outputs if len(outputs) > 1 else outputs[0]
        outputs = [_zeros(kind, *what, ctx) for what in zip(shapes, types, stypes, strict=True)]
        self._op = self._prop.create_operator(ctx, [x.shape for x in inputs], [x.dtype for x in inputs])
        self._run(self._op.forward, autograd.is_training(), ["write"] * len(outputs), inputs, outputs, aux)
        self._inputs, self._outputs, self._aux = inputs, outputs, aux
        return outputs if len(outputs) > 1 else outputs[0]

    def backward(self, *dys):
        stypes = [[x.stype for x in arrays] for arrays in (dys, self._inputs, self._outputs, self._inputs, self._aux)]
        stypes = self._prop.infer_storage_type_backward(*stypes)[3]
        kind = next((type(x) for x in self._inputs if x.stype == "default"), NDArray)
        grads = [_zeros(kind, x.shape, x.dtype, s, x.context) for x, s in zip(self._inputs, stypes, strict=True)]
        requests = ["write"] * len(grads)
        self._run(self._op.backward, requests, list(dys), self._inputs, self._outputs, grads, self._aux)
        return [*grads, *[None] * len(self._aux)]

    def _run(self, method, *arguments) -> None:
        try:
            method(*arguments)
        except MXNetError:
            raise
        except Exception as error:  # whatever the user's program raises
            text = f"{type(error).__name__}: {error}"
            raise MXNetError(f"custom operator {self._type!r} failed in {method.__name__}: {text}") from error


def _zeros(kind: type, shape, dtype, stype: str, ctx: Context) -> NDArray:
    if stype != "default":
        from core.ndarray import sparse

        return sparse.zeros(stype, tuple(shape), ctx, dtype)
    return kind._wrap(kernels.shape.zeros(tuple(shape), dtype, ctx), ctx)


def __getattr__(name: str):
    if name in ("PythonOp", "NumpyOp", "NDArrayOp"):  # which are built on what is above
        from core import python_operator

        return getattr(python_operator, name)
    raise AttributeError(f"mx.operator has no {name!r}.{nearest(name, globals())}")
