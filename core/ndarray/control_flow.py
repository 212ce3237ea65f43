"""Loops and branches over arrays: `nd.contrib.foreach`, `while_loop` and `cond`, run step by step.

`name` is for graphs, whose subgraphs take theirs from it: what becomes a node of a trace, and symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from core.attribute import AttrScope
from core.base import MXNetError
from core.extents import Extent
from core.ops.registry import F
from core.tape import state

Nested = Any  # an array, or lists and tuples of what is nested
Function = Callable[..., Any]  # of a user's


def foreach(body: Function, data: Nested, init_states: Nested, name: str = "foreach") -> tuple[Nested, Nested]:
    """Runs `body(slice, states) -> (output, states)` over axis 0 of `data` (an array or a list of arrays).

    Gives (outputs stacked along a new axis 0, last states), each an array or a list as `body` gives them.
    """
    single = not isinstance(data, (list, tuple))
    arrays = [data] if single else list(data)
    steps = arrays[0].shape[0]
    if any(a.shape[0] != steps for a in arrays):
        raise MXNetError(f"foreach: the arrays differ in their first extents, {[a.shape for a in arrays]}")
    if steps == 0:
        raise MXNetError("foreach: there is nothing to run over")
    if type(steps) is Extent and state.tracer is not None:
        found = _as_node(state.tracer, body, data, init_states, name)
        if found is not None:
            return found
    states, outputs = init_states, []
    for i in range(steps):
        slices = [a[i] for a in arrays]
        output, states = body(slices[0] if single else slices, states)
        outputs.append(output)
    return _stacked(outputs), states


def while_loop(
    cond: Function, func: Function, loop_vars: Nested, max_iterations: int | None = None, name: str = "while_loop"
) -> tuple[Nested, Nested]:
    """Runs `func(*loop_vars) -> (step output, new loop_vars)` while `cond(*loop_vars)` holds,
    `max_iterations` times at most.

    Gives (outputs stacked along a new axis 0 and padded with zeros to `max_iterations` rows, last loop_vars), the
    latter one array where `loop_vars` is one, and else a list (`loop_vars` itself where `cond` holds never).
    """
    if max_iterations is None:
        raise ValueError("while_loop needs max_iterations")
    single = not isinstance(loop_vars, (list, tuple))
    variables: Sequence[Any] = [loop_vars] if single else loop_vars
    if not variables:
        raise ValueError("while_loop needs at least one loop variable")
    outputs: list[Nested] = []
    if state.tracer is not None and any(map(state.tracer.hides, _flat(variables))):
        found = _while_as_node(state.tracer, cond, func, variables, max_iterations, name)
        if found is not None:
            return found[0], found[1][0] if single else found[1]
    while len(outputs) < max_iterations and bool(cond(*variables).asscalar()):
        output, new = func(*variables)
        new = list(new) if isinstance(new, (list, tuple)) else [new]
        if len(new) != len(variables):
            raise ValueError(f"while_loop: func gives {len(new)} variables, it got {len(variables)}")
        outputs.append([] if output is None else output)
        variables = new
    last = variables[0] if single else variables
    if not outputs:
        return [], last
    missing = max_iterations - len(outputs)
    return _map(lambda stacked: _padded(stacked, missing), _stacked(outputs)), last


def cond(pred: Any, then_func: Function, else_func: Function, name: str = "cond") -> Nested:
    """`then_func()` where the scalar `pred` is true, else `else_func()`."""
    if state.tracer is not None and state.tracer.hides(pred):
        found = _branch_as_node(state.tracer, pred, then_func, else_func, name)
        if found is not None:
            return found
    return then_func() if bool(pred.asscalar()) else else_func()


def _as_node(tracer: Any, body: Function, data: Nested, states: Nested, name: str) -> tuple[Nested, ...] | None:
    """What `foreach` gives, of one node of the graph that is traced, for any number of steps.

    None where the steps are to be taken down one by one.
    """
    results: list[Nested] = []

    def flat(slices: Sequence[Any], held: Sequence[Any]) -> tuple[list[Any], ...]:
        results[:] = body(_nested(data, iter(slices)), _nested(states, iter(held)))
        return tuple([_flat(part) for part in results])

    AttrScope.subgraph_name(name)
    found = tracer.loop(flat, _flat(data), _flat(states))
    return None if found is None else tuple(_nested(part, iter(x)) for part, x in zip(results, found, strict=True))


def _while_as_node(
    tracer: Any, cond: Function, func: Function, variables: Sequence[Any], most: int, name: str
) -> tuple[Nested, list[Any]] | None:
    """What `while_loop` gives, of one node; None where the steps are to be taken down one by one."""
    results: list[Nested] = []

    def step(given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        output, new = func(*_nested(variables, iter(given)))
        results[:] = [[] if output is None else output]
        return _flat(results[0]), _flat(new)

    for part in ("cond", "func"):
        AttrScope.subgraph_name(f"{name}_{part}")
    found = tracer.while_loop(lambda given: cond(*_nested(variables, iter(given))), step, _flat(variables), int(most))
    return None if found is None else (_nested(results[0], iter(found[0])), _nested(variables, iter(found[1])))


def _branch_as_node(tracer: Any, pred: Any, then_func: Function, else_func: Function, name: str) -> Nested | None:
    """What `cond` gives, of one node; None where its branches are not alike."""
    results: list[Nested] = []

    def branch(function: Function) -> list[Any]:
        results.append(function())
        return _flat(results[-1])

    for part in ("pred", "then", "else"):
        AttrScope.subgraph_name(f"{name}_{part}")
    found = tracer.branch(pred, lambda: branch(then_func), lambda: branch(else_func))
    return None if found is None else _nested(results[0], iter(found))


def _flat(value: Nested) -> list[Any]:
    return [x for part in value for x in _flat(part)] if isinstance(value, (list, tuple)) else [value]


def _nested(pattern: Nested, arrays: Iterator[Any]) -> Nested:
    """The arrays in the nesting of `pattern`."""
    return [_nested(part, arrays) for part in pattern] if isinstance(pattern, (list, tuple)) else next(arrays)


def _stacked(outputs: list[Nested]) -> Nested:
    first = outputs[0]
    if isinstance(first, (list, tuple)):
        return [_stacked(list(part)) for part in zip(*outputs)]
    return F.stack(*outputs, axis=0)


def _padded(array: Any, rows: int) -> Any:
    if rows == 0:
        return array
    return F.Concat(array, array.zeros_like()[:1].broadcast_to((rows, *array.shape[1:])), dim=0)


def _map(function: Function, value: Nested) -> Nested:
    return [_map(function, part) for part in value] if isinstance(value, list) else function(value)
