"""Automatic differentiation, as users see it: scopes of recording and training, marked arrays, gradients,
own functions.

`core.tape` is what is recorded, `core.backward` walks it.
"""

from __future__ import annotations

from collections.abc import Sequence

from core import kernels, late_names, storage
from core.backward import finish, place, refill, run
from core.base import BadArgument, MXNetError, as_list
from core.ops.registry import Operator
from core.tape import Application, Leaf, Scope, attach, busy, engage, is_tracked, state, written

__all__ = [  # noqa: F822  get_symbol and NDArray are late names
    "GRAD_REQS", "Function", "Leaf", "NDArray", "Application", "Scope", "attach", "backward", "busy", "engage", "get_symbol", "grad",
    "is_recording", "is_tracked", "is_training", "mark_variables", "pause", "predict_mode", "record", "set_recording",
    "set_training", "state", "train_mode", "written",
]  # fmt: skip
# Of these, what the rest of the library uses, and completion keeps to itself
_OF_THE_LIBRARY = {"Application", "Leaf", "Scope", "attach", "busy", "engage", "is_tracked", "state", "written"}

GRAD_REQS = ("write", "add", "null")


def is_recording() -> bool:
    """Whether operators are put on the tape.

    >>> with autograd.record():
    ...     print(autograd.is_recording())
    True
    """
    return state.recording


def is_training() -> bool:
    """Whether layers such as Dropout and BatchNorm act as in training.

    >>> autograd.is_training()
    False
    """
    return state.training


def set_recording(is_recording: bool) -> bool:
    """Switches recording; returns what it was before.

    >>> before = autograd.set_recording(True)
    >>> autograd.set_recording(before)
    True
    """
    before = state.recording
    engage(bool(is_recording), state.tracer)
    return before


def set_training(train_mode: bool) -> bool:
    """Switches the training mode; returns what it was before.

    >>> before = autograd.set_training(True)
    >>> autograd.set_training(before)
    True
    """
    before, state.training = state.training, bool(train_mode)
    return before


def record(train_mode: bool = True) -> Scope:
    """Scope in which operators are recorded, in training mode unless `train_mode` is False.

    Inside, operators on arrays are written down for `backward`; layers such as Dropout and BatchNorm work as in training.

    >>> x = nd.array([1, 2, 3])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    [2. 4. 6.]
    <NDArray 3 @cpu(0)>
    """
    return Scope(True, train_mode)


def pause(train_mode: bool = False) -> Scope:
    """Scope in which nothing is recorded.

    >>> x = nd.array([1, 2])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     with autograd.pause():
    ...         constant = x * 2
    ...     y = x * constant
    >>> y.backward()
    >>> x.grad
    [2. 4.]
    <NDArray 2 @cpu(0)>
    """
    return Scope(False, train_mode)


def train_mode() -> Scope:
    """Scope of training behaviour; recording is left as it is.

    >>> with autograd.train_mode():
    ...     print(autograd.is_training(), autograd.is_recording())
    True False
    """
    return Scope(None, True)


def predict_mode() -> Scope:
    """Scope of inference behaviour; recording is left as it is.

    >>> with autograd.record(), autograd.predict_mode():
    ...     print(autograd.is_training(), autograd.is_recording())
    False True
    """
    return Scope(None, False)


def mark_variables(variables, gradients, grad_reqs="write") -> None:
    """Attaches gradient buffers to arrays; `grad_reqs` is one of write, add, null, for all or one each.

    >>> x, gradient = nd.array([1, 2]), nd.zeros(2)
    >>> autograd.mark_variables([x], [gradient])
    >>> with autograd.record():
    ...     y = x * x
    >>> y.backward()
    >>> gradient
    [2. 4.]
    <NDArray 2 @cpu(0)>
    """
    if not isinstance(variables, (list, tuple)):
        variables, gradients = [variables], [gradients]
    reqs = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(reqs):
        raise ValueError(
            f"{len(variables)} variables, {len(gradients)} gradients and {len(reqs)} requests differ in number"
        )
    for variable, grad, req in zip(variables, gradients, reqs, strict=True):
        if req not in GRAD_REQS:
            raise ValueError(f"grad_req {req!r} is not one of {', '.join(GRAD_REQS)}")
        variable._entry = None if req == "null" else Leaf(grad, req)


def backward(heads, head_grads=None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Computes the gradients of outputs, `heads`, with respect to every marked array and stores them there.

    head_grads: gradients with respect to these outputs, None for ones. Without `retain_graph` the tape is freed.

    >>> x = nd.array([1, 2])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y, z = x * 2, x * 3
    >>> autograd.backward([y, z])
    >>> x.grad
    [5. 5.]
    <NDArray 2 @cpu(0)>
    """
    heads = as_list(heads)
    released: list[Leaf] = []
    try:
        sums = run(
            heads, _output_gradients(heads, head_grads), retain_graph, train_mode, create_graph=False, store=released
        )
        for leaf in list(sums.reached.values()):
            finish(sums, leaf)
    except BaseException:
        for leaf in released:
            if leaf.released is not None:
                refill(leaf, None)
        raise
    for hook in sums.hooks:
        hook.finish()


def grad(heads, variables, head_grads=None, retain_graph=None, create_graph: bool = False, train_mode: bool = True):
    """The gradients of outputs, `heads`, with respect to `variables`, as new arrays; nothing is stored.

    With `create_graph` the result can be differentiated again. `retain_graph` defaults to `create_graph`.
    The result is a list, also for a single variable.

    >>> x = nd.array([1, 2])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = x**3
    ...     slope = autograd.grad(y, x, create_graph=True)[0]
    >>> slope.backward()
    >>> slope
    [ 3. 12.]
    <NDArray 2 @cpu(0)>
    >>> x.grad
    [ 6. 12.]
    <NDArray 2 @cpu(0)>
    """
    heads, variables = as_list(heads), as_list(variables)
    if not variables:
        raise BadArgument("at least one variable is needed")
    entries = []
    for v in variables:
        if not hasattr(v, "_entry"):
            raise TypeError(f"autograd.grad: variables are arrays, given {v!r}")
        if v._entry is None:
            raise MXNetError(
                "a variable is not part of the recorded computation: call attach_grad() on it before record()"
            )
        entries.append(v._entry)
    retain = create_graph if retain_graph is None else retain_graph
    given = _output_gradients(heads, head_grads)
    sums = run(heads, given, retain, train_mode, create_graph, entries)
    found = [sums.wanted.get(place(entry)) for entry in entries]
    if create_graph:
        found = [_hung(value, v) for v, value in zip(variables, found, strict=True)]
    elif state.tracer is None:
        found = _apart(found, given)
    return [v.zeros_like() if value is None else value for v, value in zip(variables, found, strict=True)]


def _apart(found: list, given: list) -> list:
    """The arrays, copied where they lie in the memory of one another or of what was given: x + y passes on what it gets."""
    taken = {storage.memory(array._data) for array in given if array.stype == "default"}
    own = []
    for array in found:
        if array is not None and array.stype == "default":
            if storage.memory(array._data) in taken:
                array = array.copy()
            taken.add(storage.memory(array._data))
        own.append(array)
    return own


def _hung(gradient, variable):
    """A gradient that does not depend on the variable, put on the tape all the same: its own gradient is zero,
    as in MXNet.
    """
    if gradient is None or gradient._entry is not None or gradient.stype != "default":
        return gradient
    with Scope(True, None):
        return gradient + variable.zeros_like()


def _output_gradients(heads, head_grads) -> list:
    if head_grads is None:
        return [_ones_for(x) for x in heads]
    given = head_grads if isinstance(head_grads, (list, tuple)) else [head_grads]
    if len(given) != len(heads):
        raise BadArgument(
            f"{len(heads)} outputs, but {len(given)} gradients in head_grads: one for each, or None for ones"
        )
    found = []
    for output, gradient in zip(heads, given, strict=True):
        if gradient is None:
            gradient = _ones_for(output)
        elif gradient.size != output.size and _is_differentiable(output):
            raise MXNetError(
                f"an output gradient of shape {gradient.shape} does not fit the output, whose shape is {output.shape}"
            )
        found.append(gradient)
    return found


def _is_differentiable(output) -> bool:
    """Whether the gradient of an output is read: not where its operator has none."""
    op = output._entry and getattr(output._entry[0], "op", None)
    return op is None or op.differentiable


def _ones_for(output):
    """The gradient of what is differentiated by itself."""
    if state.tracer is not None or output.stype != "default" or storage.is_meta(output._data):
        return output.ones_like()
    return output._new(kernels.shape.ones_of(storage.like(output._data)), output._ctx)


class Function:
    """A differentiable function of the user: override `forward` and `backward` on arrays.

    `save_for_backward(*arrays)` in forward; `self.saved_tensors` in backward, which gets one gradient per output
    and returns one per input.

    >>> class Doubling(autograd.Function):
    ...     def forward(self, x):
    ...         return x * 2
    ...     def backward(self, dy):
    ...         return dy * 2
    >>> x = nd.array([1, 2])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = Doubling()(x)
    >>> y.backward()
    >>> x.grad
    [2. 2.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self):
        self.saved_tensors: tuple = ()

    def save_for_backward(self, *arrays) -> None:
        self.saved_tensors = arrays

    def forward(self, *inputs):
        raise NotImplementedError(f"{type(self).__name__} must define forward")

    def backward(self, *output_grads):
        raise NotImplementedError(f"{type(self).__name__} must define backward")

    def __call__(self, *inputs):
        with pause(train_mode=state.training):
            outputs = self.forward(*inputs)
        single = not isinstance(outputs, (list, tuple))
        results = [outputs] if single else list(outputs)
        if state.recording and any(x._entry is not None for x in inputs if hasattr(x, "_entry")):
            results = [r.detach() for r in results]
            _attach_function(self, list(inputs), results)
        return results[0] if single else type(outputs)(results)


def _attach_function(function: Function, inputs: Sequence, outputs: Sequence) -> None:
    """Puts one application of a user's `Function` on the tape."""
    op = Operator("_Function", lambda *data: None)
    op.several_outputs = True

    def rule(dys):
        with pause(train_mode=state.training):
            grads = function.backward(*dys)
        return as_list(grads)

    op.user_rule = rule
    attach(op, {}, inputs, outputs)


def __getattr__(name: str):
    return late_names.find(__name__, name)


def __dir__():
    return [name for name in __all__ if name not in _OF_THE_LIBRARY]
