"""Loops and branches over arrays: `nd.contrib.foreach`, `while_loop` and `cond`, run step by step.

`name` is for symbols: blocks pass it whichever they run on.
"""

from __future__ import annotations

from core.base import MXNetError
from core.ops.registry import F


def foreach(body, data, init_states, name="foreach"):
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
    states, outputs = init_states, []
    for i in range(steps):
        slices = [a[i] for a in arrays]
        output, states = body(slices[0] if single else slices, states)
        outputs.append(output)
    return _stacked(outputs), states


def while_loop(cond, func, loop_vars, max_iterations=None, name="while_loop"):
    """Runs `func(*loop_vars) -> (step output, new loop_vars)` while `cond(*loop_vars)` holds,
    `max_iterations` times at most.

    Gives (outputs stacked along a new axis 0 and padded with zeros to `max_iterations` rows, last loop_vars).
    """
    if max_iterations is None:
        raise ValueError("while_loop needs max_iterations")
    if not isinstance(loop_vars, (list, tuple)):
        loop_vars = [loop_vars]
    if not loop_vars:
        raise ValueError("while_loop needs at least one loop variable")
    outputs, variables = [], list(loop_vars)
    while len(outputs) < max_iterations and bool(cond(*variables).asscalar()):
        output, new = func(*variables)
        new = list(new) if isinstance(new, (list, tuple)) else [new]
        if len(new) != len(variables):
            raise ValueError(f"while_loop: func gives {len(new)} variables, it got {len(variables)}")
        outputs.append([] if output is None else output)
        variables = new
    if not outputs:
        return [], variables
    missing = max_iterations - len(outputs)
    return _map(lambda stacked: _padded(stacked, missing), _stacked(outputs)), variables


def cond(pred, then_func, else_func, name="cond"):
    """`then_func()` where the scalar `pred` is true, else `else_func()`."""
    return then_func() if bool(pred.asscalar()) else else_func()


def _stacked(outputs):
    first = outputs[0]
    if isinstance(first, (list, tuple)):
        return [_stacked(list(part)) for part in zip(*outputs)]
    return F.stack(*outputs, axis=0)


def _padded(array, rows):
    if rows == 0:
        return array
    return F.Concat(array, array.zeros_like()[:1].broadcast_to((rows, *array.shape[1:])), dim=0)


def _map(function, value):
    return [_map(function, part) for part in value] if isinstance(value, list) else function(value)
