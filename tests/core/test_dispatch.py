"""The one way from a call to a kernel: how many Python functions it takes, and that every entry goes it."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable

import pytest

from core import autograd, dispatch, nd, np, storage
from core.ops.registry import TABLE, F

ROW = nd.ones((3,))
ARRAY = np.ones((2, 3))

# function of an array: the most Python calls from the public function to the kernel, eager and recorded
LIMITS = {
    "relu": (nd.relu, 1, 3),
    "x + x": (lambda x: x + x, 1, 3),
    "x * 2": (lambda x: x * 2.0, 1, 3),
    "1.5 - x": (lambda x: 1.5 - x, 2, 4),
    "2 / x": (lambda x: 2.0 / x, 3, 5),
    "-x": (lambda x: -x, 2, 4),
    "maximum": (lambda x: nd.maximum(x, x), 1, 3),
    "Activation": (lambda x: nd.Activation(x, act_type="tanh"), 2, 4),
    "clip": (lambda x: nd.clip(x, -1.0, 1.0), 3, 5),  # one of them looks whether the bounds fit the type
    "F.relu": (lambda x: F.relu(x), 2, 4),
    "argmax": (lambda x: x.argmax(axis=1), 5, 7),
    "expand_dims": (lambda x: x.expand_dims(0), 3, 5),
    "reshape": (lambda x: x.reshape((3, 2)), 1, 11),
    "sum": (lambda x: x.sum(axis=1), 4, 6),
    "max": (lambda x: x.max(axis=1), 5, 7),
    "norm": (lambda x: x.norm(), 5, 10),
    "softmax": (nd.softmax, 4, 6),
    "where": (lambda x: nd.where(x, x, x), 7, 33),
    "tile": (lambda x: nd.tile(x, (1, 2)), 3, 5),
    "one_hot": (lambda x: nd.one_hot(x, 4), 5, 7),
    "take": (lambda x: nd.take(x, ROW), 6, 8),
    "dot": (lambda x: nd.dot(x, x, transpose_b=True), 4, 6),
    "FullyConnected": (lambda x: nd.FullyConnected(x, x, no_bias=True, num_hidden=2), 5, 7),
    "LayerNorm": (lambda x: nd.LayerNorm(x, ROW, ROW), 5, 24),
    "np x + x": (lambda x: ARRAY + ARRAY, 5, 7),
    "BatchNorm": (lambda x: nd.BatchNorm(x, ROW, ROW, ROW, ROW), 8, 31),  # one of them refuses sparse arrays
}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("recording", [False, True])
def test_few_python_calls_lead_to_a_kernel(name, recording, monkeypatch):
    monkeypatch.setattr(storage, "writable_elsewhere", set())  # of arrays that other tests gave away
    function, eager, recorded = LIMITS[name]
    x = nd.ones((2, 3))
    x.attach_grad()
    with autograd.Scope(recording, recording):
        function(x), function(x)  # what is remembered is remembered, numbers from the second time on
        made = calls(lambda: function(x))
    wrapper = function.__name__ == "<lambda>"
    assert len(made) - wrapper <= (recorded if recording else eager), made


# function of an array: the most Python calls from `backward` to the gradient that the user reads
BACKWARD = {
    "relu": (nd.relu, 30),
    "x * x": (lambda x: x * x, 37),
    "x * 2": (lambda x: x * 2.0, 29),
    "sum": (lambda x: x.sum(axis=1), 37),
    "softmax": (nd.softmax, 35),
}


@pytest.mark.parametrize("name", BACKWARD)
def test_few_python_calls_lead_to_a_gradient(name):
    function, most = BACKWARD[name]
    x = nd.ones((2, 3))
    x.attach_grad()
    for _ in range(2):  # what is remembered is remembered
        with autograd.record():
            y = function(x)
        head = y.ones_like()
        made = calls(functools.partial(y.backward, head))
    assert len(made) <= most, made


def test_gradients_that_read_the_result_take_the_fast_path():
    x = nd.ones((2, 3))
    x.attach_grad()
    with autograd.record():
        y = nd.relu(x)
    y.backward()
    assert "launch" not in calls(lambda: F._backward_relu_0(y, y))  # whose second input is called `out`


def calls(function: Callable) -> list[str]:
    """The Python functions that a call of `function` calls."""
    found = []

    def note(frame, event, argument):
        if event == "call":
            found.append(frame.f_code.co_qualname)

    gc.disable()  # whose callbacks, of other libraries, may be called in between
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
        gc.enable()
    return found[1:]


@pytest.mark.parametrize("kind", [nd.NDArray, np.ndarray])
def test_functions_methods_and_expressions_share_the_result(kind):
    x = kind._wrap(nd.array([[-1.0, 2.0]])._data, nd.ones(1).context)
    function = dispatch.operator_function(TABLE["relu"], kind)
    for result in (function(x), F.relu(x), TABLE["relu"].typed(x), dispatch.launch(TABLE["relu"], [x], {}, kind)):
        assert type(result) is kind
        assert result.asnumpy().tolist() == [[0.0, 2.0]]


def test_what_mixed_precision_casts_leaves_the_fast_path():
    op = TABLE["hard_sigmoid"]
    x = nd.ones((2,))
    before = nd.hard_sigmoid(x)
    seen = []
    op.cast(lambda inputs, attrs: seen.append(inputs) or inputs)
    try:
        assert nd.hard_sigmoid(x).asnumpy().tolist() == before.asnumpy().tolist()
        assert F.hard_sigmoid(x).shape == (2,)
        assert len(seen) == 2
    finally:
        op.cast(None)
    nd.hard_sigmoid(x)
    assert len(seen) == 2
