"""Loops and branches over `np` arrays, run step by step."""

from __future__ import annotations

from core.ndarray import control_flow


def foreach(body, data, init_states, name="foreach"):
    """`nd.contrib.foreach` on `np` arrays; `name` says nothing here."""
    return control_flow.foreach(body, data, init_states)


def while_loop(cond, func, loop_vars, max_iterations=None, name="while_loop"):
    """`nd.contrib.while_loop` on `np` arrays; `name` says nothing here."""
    return control_flow.while_loop(cond, func, loop_vars, max_iterations)


def cond(pred, then_func, else_func, inputs, name="cond"):
    """`then_func(*inputs)` where the scalar `pred(*inputs)` is true, else `else_func(*inputs)`."""
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    return control_flow.cond(pred(*inputs), lambda: then_func(*inputs), lambda: else_func(*inputs))
