"""Random programs of views, pointwise operators and reductions: compiled, they give the numbers of the eager ones.

What is written in place, and what shares memory with what, is the part of a compiler where one wrong assumption
shows on some programs only.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd

ONE = [
    lambda F, a: F.relu(a),
    lambda F, a: F.tanh(a),
    lambda F, a: F.sigmoid(a) * 2 - a,
    lambda F, a: F.exp(-F.abs(a)),
    lambda F, a: 1 / (1 + F.square(a)),
    lambda F, a: a.reshape((-1,)).reshape((4, 4)),
    lambda F, a: a.transpose((1, 0)),
    lambda F, a: F.flip(a, axis=0),
    lambda F, a: F.concat(a[:2], a[2:] * 2, dim=0),
    lambda F, a: F.broadcast_to(F.slice_axis(a, axis=1, begin=1, end=2), shape=(4, 4)),
    lambda F, a: F.Dropout(a, p=0.3),
    lambda F, a: F.broadcast_sub(a, F.mean(a, axis=1, keepdims=True)),
    lambda F, a: F.softmax(a),
    lambda F, a: F.BlockGrad(a) + a,
    lambda F, a: a.copy(),
    lambda F, a: F.expand_dims(a, axis=0).squeeze(axis=0),
    lambda F, a: F.stack(*F.split(a, num_outputs=4, axis=0, squeeze_axis=True), axis=1),
    lambda F, a: F.where(a > 0, a, -a),
]
TWO = [
    lambda F, a, b: a + b,
    lambda F, a, b: a * b,
    lambda F, a, b: a - b * 0.5,
    lambda F, a, b: F.dot(a, b) * 0.25,
    lambda F, a, b: F.broadcast_maximum(a, b),
    lambda F, a, b: F.broadcast_add(a, F.sum(b, axis=0, keepdims=True) * 0.1),
]


class Program(gluon.HybridBlock):
    """`count` random steps on two inputs and a parameter; gives back some of the values met on the way."""

    def __init__(self, seed: int, count: int = 14):
        super().__init__()
        choose = random.Random(seed)
        self.steps = []
        for k in range(3, 3 + count):
            if choose.random() < 0.5:
                self.steps.append((choose.choice(ONE), (choose.randrange(max(0, k - 4), k),)))
            else:
                self.steps.append((choose.choice(TWO), (choose.randrange(k), choose.randrange(max(0, k - 3), k))))
        self.given = sorted(choose.sample(range(3, 3 + count), 2)) + [2 + count]
        self.weight = self.params.get("weight", shape=(4, 4), init=mx.init.Uniform(1))

    def hybrid_forward(self, F, x, y, weight):
        values = [x, y, weight]
        for function, places in self.steps:
            values.append(function(F, *(values[p] for p in places)))
        return [values[k] for k in self.given]


@pytest.mark.parametrize("seed", range(40))
def test_compiled_is_eager(seed):
    rng = np.random.default_rng(seed)
    net = Program(seed)
    net.initialize()
    x, y = (mx.nd.array(rng.uniform(-1, 1, (4, 4))) for _ in range(2))
    results = []
    for active in (False, True):
        net.hybridize(active)
        mx.random.seed(seed)
        found = list(net(x, y))
        for z in (x, y):
            z.attach_grad()
        with autograd.record():
            outputs = net(x, y)
        kept = [o.copy() for o in outputs]
        autograd.backward(outputs, retain_graph=True)
        found += [*outputs, *kept, x.grad.copy(), y.grad.copy(), net.weight.grad().copy()]
        autograd.backward(outputs)  # the first pass has left alone what the second one reads
        found += [x.grad, y.grad, net.weight.grad().copy()]
        results.append([f.asnumpy() for f in found])
    for eager, compiled in zip(*results, strict=True):
        # Gradients of what is read several times add up in the order in which outputs come.
        np.testing.assert_allclose(compiled, eager, rtol=2e-5, atol=2e-6)
    for eager, compiled in zip(results[0][:9], results[1][:9], strict=True):
        np.testing.assert_array_equal(compiled, eager)
