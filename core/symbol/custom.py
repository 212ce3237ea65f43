"""`sym.Custom`: operators that users wrote in Python, as nodes of a graph."""

from __future__ import annotations

from core import operator
from core.base import MXNetError
from core.ops.attributes import Attribute
from core.ops.registry import Operator
from core.symbol.compose import text_of, wrapper
from core.symbol.symbol import Symbol


def Custom(*data, op_type: str, name=None, attr=None, **kwargs) -> Symbol:
    """A registered custom operator on symbols, by position or by name; those not given become variables.

    Further keywords go to the operator's `CustomOpProp` as strings.

    >>> class Twice(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], 2 * in_data[0])
    >>> @mx.operator.register("twice_of_symbols")
    ... class TwiceProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, shapes, dtypes):
    ...         return Twice()
    >>> sym.Custom(sym.var("x"), op_type="twice_of_symbols").eval(x=nd.ones(2))[0]
    [2. 2.]
    <NDArray 2 @cpu(0)>
    """
    symbols = {key: value for key, value in kwargs.items() if isinstance(value, Symbol)}
    texts = {key: text_of(value) for key, value in kwargs.items() if key not in symbols}
    op = entry(op_type, texts)
    return wrapper(op, "custom", Symbol)(*data, op_type=op_type, name=name, attr=attr, **symbols, **texts)


def entry(op_type: str, texts: dict[str, str]) -> Operator:
    """The operator that a registered class with these attributes is; MXNetError where none is registered."""
    prop_class = operator.prop_of(op_type)
    texts = {key: value for key, value in texts.items() if not key.startswith("__")}
    try:
        prop = prop_class(**texts)
    except TypeError as error:
        raise MXNetError(f"Custom, {op_type!r}: {error}") from None
    names, states = list(prop.list_arguments()), list(prop.list_auxiliary_states())

    def function(*arrays, **attrs):
        return operator.apply(op_type, prop_class(**texts), arrays)

    op = Operator("Custom", function, outputs=len(prop.list_outputs()), mutates=states)
    op.composite, op.variadic = True, False
    op.inputs, op.doc = [*names, *states], f"The custom operator {op_type!r}."
    op.attrs = {key: (_Given(), None) for key in ("op_type", *texts)}

    def infer(shapes, attrs):
        known = [list(shapes[n] or ()) for n in names]
        found = operator.shapes_of(prop, known)
        for n, shape in zip((*names, *states), (*found[0], *found[2]), strict=True):
            if shape:
                shapes[n] = tuple(shape)

    op.infer, op.label = infer, lambda attrs: op_type
    return op


class _Given(Attribute):
    """An attribute of a custom operator: whatever its class takes."""

    hint = "str"
