"""Random networks of layers, loops, branches, statistics and dropout give the same numbers whichever way they are run:
operator by operator, hybridized, with static memory, from an exported file, and bound as a symbol."""

from __future__ import annotations

import random

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd
from gluon import nn, rnn

ROWS, PICTURE, COLUMN = "rows (n, 4)", "pictures (n, 2, 4, 4)", "column (n)"


def _each_column(F, layer, a):
    outputs, (last,) = F.contrib.foreach(
        lambda x, s: (F.tanh(x + s[0]), [s[0] * 0.5 + x]), F.transpose(a), [F.sum(a, axis=1)]
    )
    return F.broadcast_add(F.transpose(outputs), F.expand_dims(last, axis=1))


def _while(F, layer, a):
    return F.contrib.while_loop(
        lambda i, s: i < 3, lambda i, s: ([], [i + 1, F.sin(s) + a]), [F.zeros((1,)), a], max_iterations=4
    )[1][1]


def _either(F, layer, a, b):
    return F.contrib.cond(F.sum(a) > 0, lambda: a * b, lambda: a - b)


def _unrolled(F, layer, a):
    outputs, states = layer.unroll(3, F.stack(a, F.relu(a), -a, axis=1), layout="NTC", merge_outputs=True)
    return F.max(outputs, axis=1) + states[0]


def _to_pictures(F, layer, a):
    tall, wide = F.reshape(a, shape=(0, 2, 2, 1)), F.reshape(F.sigmoid(a), shape=(0, 2, 1, 2))
    return F.repeat(F.repeat(F.broadcast_mul(tall, wide), repeats=2, axis=2), repeats=2, axis=3)


# (what it gives, what it takes, a layer, the function)
STEPS = [
    (ROWS, (ROWS,), lambda: nn.Dense(4, activation="relu"), lambda F, layer, a: layer(a) + layer(a * 2)),
    (ROWS, (ROWS,), lambda: nn.BatchNorm(in_channels=4), lambda F, layer, a: layer(a)),
    (ROWS, (ROWS,), nn.LayerNorm, lambda F, layer, a: layer(a)),
    (ROWS, (ROWS,), lambda: nn.Dropout(0.4), lambda F, layer, a: layer(a)),
    (ROWS, (ROWS,), lambda: rnn.GRUCell(4, input_size=4), _unrolled),
    (ROWS, (ROWS,), lambda: rnn.LSTM(4, input_size=4), lambda F, layer, a: F.mean(layer(F.stack(a, a * a)), axis=0)),
    (ROWS, (ROWS,), None, _each_column),
    (ROWS, (ROWS,), None, _while),
    (ROWS, (ROWS, ROWS), None, _either),
    (ROWS, (ROWS,), None, lambda F, layer, a: F.one_hot(F.argmax(a, axis=1), 4) * a),
    (ROWS, (ROWS, ROWS), None, lambda F, layer, a, b: F.where(a > b, a, b * 2)),
    (ROWS, (ROWS, ROWS), None, lambda F, layer, a, b: F.dot(F.softmax(F.dot(a, b, transpose_b=True)), b)),
    (ROWS, (ROWS, COLUMN), None, lambda F, layer, a, s: F.broadcast_mul(a, F.expand_dims(s, axis=1))),
    (COLUMN, (ROWS,), None, lambda F, layer, a: F.pick(F.log_softmax(a), F.argmin(a, axis=1))),
    (COLUMN, (COLUMN, COLUMN), None, lambda F, layer, a, b: a / (1 + F.abs(b))),
    (PICTURE, (ROWS,), None, _to_pictures),
    (PICTURE, (PICTURE,), lambda: nn.Conv2D(2, 3, padding=1, activation="relu"), lambda F, layer, a: layer(a)),
    (PICTURE, (PICTURE,), lambda: nn.BatchNorm(in_channels=2), lambda F, layer, a: F.relu(layer(a) + a)),
    (PICTURE, (PICTURE, COLUMN), None, lambda F, layer, a, s: F.broadcast_mul(a, F.reshape(s, shape=(-1, 1, 1, 1)))),
    (ROWS, (PICTURE,), None, lambda F, layer, a: F.Flatten(F.Pooling(a, kernel=(4, 2), stride=(4, 2), pool_type="avg"))),
]  # fmt: skip


class Network(gluon.HybridBlock):
    """Random steps on two inputs; gives back some of the values met on the way."""

    def __init__(self, seed: int):
        super().__init__(prefix="net_")
        choose, kinds = random.Random(seed), [ROWS, ROWS]
        self.steps = []
        while len(self.steps) < 9:
            kind, wanted, layer, function = choose.choice(STEPS)
            if set(wanted) <= set(kinds):
                places = [choose.choice([k for k, held in enumerate(kinds) if held is w][-4:]) for w in wanted]
                self.steps.append((function, places))
                kinds.append(kind)
                with self.name_scope():
                    setattr(self, f"layer{len(self.steps)}", layer and layer())
        self.given = [*sorted(choose.sample(range(2, len(kinds) - 1), 2)), len(kinds) - 1]

    def compute(self, F, *values):
        values = list(values)
        for k, (function, places) in enumerate(self.steps, 1):
            values.append(function(F, getattr(self, f"layer{k}"), *(values[p] for p in places)))
        return [values[k] for k in self.given]


class Older(Network):
    def hybrid_forward(self, F, x, y):
        return self.compute(F, x, y)


class Newer(Network):
    def forward(self, x, y):
        return self.compute(nd, x, y)


def _inputs(call):
    rng = np.random.default_rng(call)
    return [nd.array(rng.normal(size=(3 - call, 4))) for _ in range(2)]


def _predictions(function):
    found = []
    for call in range(2):
        mx.random.seed(call)
        found += [o.asnumpy() for o in function(*_inputs(call))]
    return found


def _trained(net, request):
    """Outputs, gradients and statistics of two steps with inputs of other values and sizes,
    and predictions between them.
    """
    parameters = [p for p in net.collect_params().values() if p.grad_req != "null"]
    for p in parameters:
        p.grad_req = request
    found = []
    for call in range(2):
        x, y = _inputs(call)
        x.attach_grad()
        mx.random.seed(7)
        with autograd.record():
            outputs = net(x, y)
        autograd.backward([o for o in outputs if o._entry is not None])
        found += [o.asnumpy() for o in (*outputs, x.grad, *(p.data() for p in net.collect_params().values()))]
        found += [p.grad().asnumpy() for p in parameters]
        found += [o.asnumpy() for o in net(x, y)]
    return found


def _bound(net, folder):
    """The exported network as an imported block and as an executor."""
    symbol_file, params_file = net.export(str(folder / "net"))
    block = gluon.SymbolBlock.imports(symbol_file, ["data0", "data1"], params_file)
    symbol = mx.sym.load_json(mx.sym.load(symbol_file).tojson())
    held = {name[4:]: array for name, array in dict(nd.load(params_file) or {}).items()}

    def execute(x, y):
        arrays = {**held, "data0": x, "data1": y}
        states = {n: arrays[n] for n in symbol.list_auxiliary_states()}
        return symbol.bind(mx.cpu(), {n: arrays[n] for n in symbol.list_arguments()}, aux_states=states).forward()

    return block, execute


@pytest.mark.parametrize("kind", [Older, Newer])
@pytest.mark.parametrize("seed", range(3))
def test_every_way_gives_the_same(seed, kind, tmp_path):
    def fresh(**flags):
        mx.random.seed(seed)
        net = kind(seed)
        net.initialize(mx.init.Uniform(0.6))
        net(*_inputs(0))
        if flags:
            net.hybridize(**flags)
        return net

    for request, flags in (("write", {"active": True}), ("add", {"static_alloc": True, "static_shape": True})):
        expected = _trained(fresh(), request)
        for found, wanted in zip(_trained(fresh(**flags), request), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5 * max(1, np.abs(wanted).max(initial=0)))
    net = fresh(active=True)
    expected = _predictions(net)
    for way in _bound(net, tmp_path):
        for found, wanted in zip(_predictions(way), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5 * max(1, np.abs(wanted).max(initial=0)))
