"""Arrays that are computed when something first asks for their values."""

import pickle

import numpy as np
import pytest

from core import autograd, nd
from core.ndarray.lazy import lazy
from gluon import nn

USES = {
    "asnumpy": lambda a, b: a.asnumpy(),
    "operator": lambda a, b: nd.broadcast_add(b, a).asnumpy() - b.asnumpy(),
    "infix": lambda a, b: (a * b).asnumpy() / b.asnumpy(),
    "number": lambda a, b: (2 * a).asnumpy() / 2,
    "method": lambda a, b: a.reshape((2, 3)).asnumpy().reshape(-1),
    "index": lambda a, b: a[:].asnumpy(),
    "pickle": lambda a, b: pickle.loads(pickle.dumps(a)).asnumpy(),
    "copyto": lambda a, b: a.copyto(nd.zeros_like(b)).asnumpy(),
}


@pytest.mark.parametrize("use", USES)
def test_any_use_computes_it_once(use):
    calls, other = [], nd.arange(1, 7)
    array = lazy(lambda: calls.append(None) or nd.arange(6), other.context)
    assert not calls and isinstance(array, nd.NDArray) and array.context == other.context and not calls
    for _ in range(2):
        np.testing.assert_allclose(USES[use](array, other), np.arange(6), rtol=1e-6)
    assert len(calls) == 1 and type(array) is nd.NDArray and array.shape == (6,)


@pytest.mark.parametrize("looks", ["inside", "outside", "head"])
def test_gradients_flow_as_if_it_had_been_computed_where_it_was_made(looks):
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        square = lazy(lambda: x * x, x.context)
        y = square * 3 if looks == "inside" else None
    if looks == "outside":
        assert square.shape == (2,)
    if y is None:
        with autograd.record():
            y = square * 3
    (y if looks != "head" else square).backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [2, 4] if looks == "head" else [6, 12])


def test_one_made_without_recording_stays_off_the_tape():
    x, seen = nd.array([1.0, 2.0]), []
    x.attach_grad()
    square = lazy(lambda: seen.append(autograd.is_training()) or x * x, x.context)
    with autograd.record():
        y = square * x
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [1, 4])
    assert seen == [False]


def test_a_graph_takes_it_as_a_captured_constant():
    held = lazy(lambda: nd.array([1.0, 2.0]), nd.zeros((1,)).context)
    net = nn.HybridLambda(lambda F, x: x + held)
    net.hybridize()
    np.testing.assert_allclose(net(nd.ones((2,))).asnumpy(), [2, 3])
    assert type(held) is nd.NDArray
