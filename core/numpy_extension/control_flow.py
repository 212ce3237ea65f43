"""Loops and branches over `np` arrays, run step by step."""

from __future__ import annotations

from core.ndarray import control_flow


def foreach(body, data, init_states, name="foreach"):
    """`nd.contrib.foreach` on `np` arrays.

    >>> outputs, last = npx.foreach(lambda x, total: (x + total, x + total), np.array([1.0, 2.0, 3.0]), np.array([0.0]))
    >>> outputs.reshape(-1)
    array([1., 3., 6.])
    """
    return control_flow.foreach(body, data, init_states, name)


def while_loop(cond, func, loop_vars, max_iterations=None, name="while_loop"):
    """`nd.contrib.while_loop` on `np` arrays.

    >>> outputs, variables = npx.while_loop(lambda i: i < 3, lambda i: (i * 10, i + 1), [np.array([0.0])], max_iterations=5)
    >>> variables[0]
    array([3.])
    """
    return control_flow.while_loop(cond, func, loop_vars, max_iterations, name)


def cond(pred, then_func, else_func, inputs, name="cond"):
    """`then_func(*inputs)` where the scalar `pred(*inputs)` is true, else `else_func(*inputs)`.

    >>> x = np.array([3.0])
    >>> npx.cond(lambda x: x > 2, lambda x: x * 10, lambda x: x, [x])
    array([30.])
    """
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    return control_flow.cond(pred(*inputs), lambda: then_func(*inputs), lambda: else_func(*inputs), name)
