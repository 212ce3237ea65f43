"""Finds the operator that makes the first NaN, or reads an index that there is not.

    mx.util.set_check_values(True)    # or MXNET_CHECK_VALUES=1 in the environment

Every operator of the table then looks at what it gets and gives, and costs nothing more when this is off. Hybridized
blocks run operator by operator meanwhile, and the error has a note of the layer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from core import backward, storage
from core.base import BadValue
from core.graph.compiled import Compiled
from core.ops.registry import TABLE, Operator

_replaced: list[tuple] = []  # (object, name of its attribute, what was there)


def set_check_values(active: bool = True) -> bool:
    """Whether each operator is to raise on indices and labels out of range, and on NaN and infinity that it makes from
    finite numbers; returns what was before.

    For all threads. Operators that are entered later are not looked at. It is slow: each result is waited for and read.

    >>> import core as mx
    >>> before = mx.util.set_check_values(True)
    >>> try:
    ...     mx.nd.log(mx.nd.array([1, 0]))
    ... except mx.MXNetError as error:
    ...     print(error)
    ... finally:
    ...     before = mx.util.set_check_values(before)
    log made -inf of finite numbers, at (1,) of a result of shape (2,)
    """
    before = bool(_replaced)
    if active and not before:
        _watch()
    elif before and not active:
        _unwatch()
    return before


def is_check_values() -> bool:
    """Whether operators look at values (see `set_check_values`)."""
    return bool(_replaced)


def _watch() -> None:
    for op in {id(op): op for op in TABLE.values()}.values():
        if not op.composite:
            _replaced.append((op, "forward", op.forward))
            op.forward = functools.partial(_checked, op, op.forward)
        op.go_direct(False)
    _replaced.append((Compiled, "__call__", Compiled.__call__))
    _replaced.append((backward, "_apply_rule", backward._apply_rule))
    backward._apply_rule = functools.partial(_checked_rule, backward._apply_rule)
    Compiled.__call__ = lambda self, *args, variant=None: self._run_untraced(args)


def _unwatch() -> None:
    while _replaced:
        owner, name, before = _replaced.pop()
        setattr(owner, name, before)
    for op in TABLE.values():
        op.go_direct(True)


def _checked(op: Operator, forward: Callable, *tensors, **attrs):
    given = [t for t in tensors if storage.is_tensor(t) and not storage.is_meta(t)]
    if len(given) < sum(t is not None for t in tensors):  # of a trace
        return forward(*tensors, **attrs)
    shapes = {name: None if t is None else tuple(t.shape) for name, t in zip(op.inputs, tensors)}
    for name, extent in op.indexes.items():
        if shapes.get(name) is not None:
            _check_index(op, name, tensors[op.inputs.index(name)], extent(shapes, attrs), attrs)
    finite = all(_first_bad(t) is None for t in given)
    results = forward(*tensors, **attrs)
    for result in results if isinstance(results, (tuple, list)) else [results]:
        if finite and storage.is_tensor(result) and not storage.is_meta(result):
            _check_result(_called(op), result)
    return results


def _called(op: Operator) -> str:
    return op.name if op.derivative_of is None else f"the gradient of {op.derivative_of.name}"


def _checked_rule(rule: Callable, node, dys: list, stepped: bool = False) -> Sequence:
    finite = all(_first_bad(dy._data) is None for dy in dys if hasattr(dy, "_data"))
    grads = rule(node, dys, stepped)
    for grad in grads:
        if finite and hasattr(grad, "_data"):
            _check_result(f"the gradient of {node.op.name}", grad._data)
    return grads


def _check_index(op: Operator, name: str, index, extent: int, attrs: dict) -> None:
    values = storage.to_numpy(index)
    wrong = (values < 0) | (values >= extent)
    ignored = attrs.get("ignore_label") if attrs.get("use_ignore") else None
    wrong &= values != ignored if ignored is not None else True
    if attrs.get("mode") != "wrap" and wrong.any():
        where = _first(wrong)
        raise BadValue(f"{op.name}: {name} is {values[where]:g} at {where}; accepted are 0 to {extent - 1}")


def _check_result(what: str, result) -> None:
    bad = _first_bad(result)
    if bad is not None:
        where, value = bad
        raise BadValue(f"{what} made {value} of finite numbers, at {where} of a result of shape {tuple(result.shape)}")


def _first_bad(tensor) -> tuple[Sequence[int], float] | None:
    """(where, what) of the first NaN or infinity."""
    values = storage.to_numpy(tensor)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return None
    where = _first(~np.isfinite(values))
    return where, values[where]


def _first(found: np.ndarray) -> tuple[int, ...]:
    return tuple(int(k) for k in np.argwhere(found)[0])
