"""The names that automatic differentiation had before `mx.autograd`."""

from __future__ import annotations

import functools

from core import autograd
from core.ndarray import NDArray

mark_variables = autograd.mark_variables


def set_is_training(is_train: bool) -> bool:
    """Switches recording and the training mode; returns what was before."""
    autograd.set_recording(is_train)
    return autograd.set_training(is_train)


class TrainingStateScope:
    """Scope in which recording and the training mode are as `enter_state` says."""

    def __init__(self, enter_state: bool):
        self._enter_state = enter_state

    def __enter__(self):
        self._before = set_is_training(self._enter_state)

    def __exit__(self, kind, value, trace):
        set_is_training(self._before)


def train_section():
    """Scope that is recorded, in training mode."""
    return autograd.record()


def test_section():
    """Scope that is not recorded, in prediction mode."""
    return autograd.pause()


def backward(outputs, out_grads=None, retain_graph=False):
    """Stores the gradients of the outputs (a list) in the marked arrays."""
    if not isinstance(outputs, (list, tuple)):
        raise AssertionError(f"outputs is a list of arrays, got {type(outputs).__name__}")
    autograd.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs):
    """`backward` with ones for the gradients of the outputs."""
    backward(outputs)


def grad_and_loss(func, argnum=None):
    """A function that gives (gradients of `func` by its arguments, its results); argnum: which arguments."""

    @functools.wraps(func)
    def wrapped(*args):
        numbers = range(len(args)) if argnum is None else argnum if isinstance(argnum, list) else [argnum]
        variables = [args[i] for i in numbers]
        for x in variables:
            if not isinstance(x, NDArray):
                raise AssertionError(f"gradients are taken by arrays, got {type(x).__name__}")
        grads = [x.zeros_like() for x in variables]
        mark_variables(variables, grads)
        with train_section():
            outputs = func(*args)
        compute_gradient([outputs] if isinstance(outputs, NDArray) else outputs)
        return grads, outputs

    return wrapped


def grad(func, argnum=None):
    """A function that gives the gradients of `func` by its arguments."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(both)
    def wrapped(*args):
        return both(*args)[0]

    return wrapped
