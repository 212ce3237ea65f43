"""Loops and branches as nodes of plans: `foreach` for every number of steps, `while_loop` and `cond` by values."""

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd
from core.graph.compiled import Plan
from gluon import nn, rnn


class Steps(gluon.HybridBlock):
    """A recurrent cell and a layer over all steps, times a number that is made outside of the loop."""

    def __init__(self, dropout=0.0):
        super().__init__()
        with self.name_scope():
            self.cell = rnn.LSTMCell(5, input_size=4)
            self.out = nn.HybridSequential()
            self.out.add(nn.Dense(3, in_units=5, flatten=False), nn.Dropout(dropout))

    def hybrid_forward(self, F, x, h, c):
        scale = F.sum(x).reshape((1, 1)) * 0.01

        def step(row, states):
            y, states = self.cell(row, states)
            return [self.out(y) * scale, row], states

        (y, same), states = F.contrib.foreach(step, x, [h, c])
        return [y + same.sum(), *states]


def _arrays(steps):
    rng = np.random.default_rng(steps)
    return [nd.array(rng.normal(size=shape)) for shape in ((steps, 2, 4), (2, 5), (2, 5))]


def _gradients(net, arrays):
    for x in arrays:
        x.attach_grad()
    with autograd.record():
        y, h, c = net(*arrays)
        loss = (y * y).sum() + (h * c).sum()
    loss.backward()
    grads = [x.grad for x in arrays] + [p.grad() for p in net.collect_params().values()]
    return [x.asnumpy() for x in (y, h, c, *grads)]


def _plans(net):
    found = {id(plan): plan for plan in net._compiled._plans.values()}
    assert all(type(plan) is Plan for plan in found.values())
    return list(found.values())


def _net(*given):
    net = Steps(*given)
    net.initialize(mx.init.Uniform(0.5))
    return net


def _close(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_one_plan_for_all_numbers_of_steps():
    net, lengths = _net(), [5, 7, *range(3, 21)]
    eager = [_gradients(net, _arrays(n)) for n in lengths]
    net.hybridize()
    for n, expected in zip(lengths, eager):
        _close(_gradients(net, _arrays(n)), expected)
    plans = _plans(net)
    assert len(plans) <= 3 and sum("_loop" in str(plan.graph) for plan in plans) == len(plans) - 1


def test_dropout_in_a_step_draws_what_eager_steps_draw():
    net, found = _net(0.5), []
    for hybridized in (False, True):
        net.hybridize(hybridized)
        for n in (3, 4, 6):
            mx.random.seed(1)
            found.append(_gradients(net, _arrays(n)))
    for eager, compiled in zip(found[:3], found[3:]):
        _close(compiled, eager)


def test_second_derivatives():
    net = _net()

    def second(n):
        x, h, c = _arrays(n)
        x.attach_grad()
        with autograd.record():
            y = net(x, h, c)[0]
            (first,) = autograd.grad((y * y).sum(), [x], create_graph=True)
            loss = (first * first).sum()
        loss.backward()
        return x.grad.asnumpy()

    eager = [second(n) for n in (3, 5, 4)]
    net.hybridize()
    _close([second(n) for n in (3, 5, 4)], eager)

    net = _net(0.5)
    net.hybridize()
    second(3)  # of one number of steps, which are taken down one by one
    with pytest.raises(mx.base.MXNetError, match="drew numbers in a loop or branch"):
        second(5)


class Running(gluon.HybridBlock):
    """A step that moves running statistics, or a state that grows: neither can be one node."""

    def __init__(self, grows):
        super().__init__()
        self.grows, self.norm = grows, nn.BatchNorm(in_channels=4)

    def hybrid_forward(self, F, x, h):
        def step(row, states):
            if self.grows:
                return self.norm(row).sum(), [F.concat(states[0], row, dim=0)]
            return self.norm(row), [states[0] + 1]

        y, states = F.contrib.foreach(step, x, [h])
        return y, states[0]


@pytest.mark.parametrize("grows", [False, True])
def test_steps_that_are_not_alike_are_unrolled(grows):
    found = []
    for hybridized in (False, True):
        net = Running(grows)
        net.initialize()
        net.hybridize(hybridized)
        for n in (2, 3, 4):
            with autograd.record():
                y, h = net(nd.array(np.random.default_rng(n).normal(size=(n, 2, 4))), nd.ones((2, 4)))
            y.backward()
            found.append([y.asnumpy(), h.asnumpy(), net.norm.running_mean.data().asnumpy()])
    for eager, compiled in zip(found[:3], found[3:]):
        _close(compiled, eager)


class Forward(gluon.HybridBlock):
    """A network that is exported by a trace, for it defines `forward`."""

    def __init__(self):
        super().__init__()
        self.cell = rnn.GRUCell(5, input_size=4)

    def forward(self, x, h):
        def step(row, states):
            y, states = self.cell(row, states)
            return y * x.sum().reshape((1, 1)), states

        y, states = nd.contrib.foreach(step, x, [h])
        return y, states[0]


def test_a_loop_over_an_open_axis_is_exported_as_a_loop(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    net = Forward()
    net.initialize(mx.init.Uniform(0.5))
    inputs = {n: [x.asnumpy() for x in _arrays(n)[:2]] for n in (3, 6, 9)}
    eager = {n: [y.asnumpy() for y in net(*map(nd.array, arrays))] for n, arrays in inputs.items()}
    net.hybridize()
    for arrays in inputs.values():
        net(*map(nd.array, arrays))
    files = net.export(str(tmp_path / "net"))
    path = mx.contrib.onnx.export_model(
        *files, [(3, 2, 4), (2, 5)], onnx_file_path=str(tmp_path / "net.onnx"), dynamic=True,
        dynamic_input_shapes=[("steps", 2, 4), (2, 5)],
    )  # fmt: skip
    block = gluon.SymbolBlock.imports(files[0], ["data0", "data1"], files[1])
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for n, arrays in inputs.items():
        _close([y.asnumpy() for y in block(*map(nd.array, arrays))], eager[n])
        _close(session.run(None, {v.name: x for v, x in zip(session.get_inputs(), arrays)}), eager[n])


class Values(gluon.HybridBlock):
    """A loop that ends, and a branch that is taken, by values."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.dense = kind, nn.Dense(4, in_units=4)

    def hybrid_forward(self, F, x):
        if self.kind == "cond":
            return F.contrib.cond(x.sum() > 0, lambda: [self.dense(x), x * 2], lambda: [x * x, self.dense(x * 3)])
        outputs, (x, total) = F.contrib.while_loop(
            lambda x, total: total.sum() < 3,
            lambda x, total: (x.sum(axis=1), [F.tanh(self.dense(x)), total + 1]),
            [x, F.zeros((1,))],
            max_iterations=5,
        )
        return [outputs, x + total.sum()]


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("kind", ["while", "cond"])
def test_loops_and_branches_by_values_are_part_of_plans(kind, second):
    net, found = Values(kind), []
    net.initialize(mx.init.Uniform(0.5))
    for hybridized in (False, True):
        net.hybridize(hybridized)
        for n, sign in ((2, 1), (3, 1), (4, -1), (2, -1)):
            x = nd.array(np.random.default_rng(n).uniform(size=(n, 4))) * sign
            x.attach_grad()
            with autograd.record():
                y, z = net(x)
                loss = (y * y).sum() + (z * z).sum()
                if second:
                    (first,) = autograd.grad(loss, [x], create_graph=True)
                    loss = (first * first).sum()
            loss.backward()
            found.append([v.asnumpy() for v in (y, z, x.grad, net.dense.weight.grad())])
    for eager, compiled in zip(found[:4], found[4:]):
        _close(compiled, eager)
    assert all("_loop" in str(plan.graph) for plan in _plans(net))


@pytest.mark.parametrize("kind", ["while", "cond"])
def test_loops_and_branches_of_a_trace_are_exported(kind, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

    class Styled(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.inner = Values(kind)

        def forward(self, x):
            return self.inner(x)

    net = Styled()
    net.initialize(mx.init.Uniform(0.5))
    inputs = [np.random.default_rng(n).uniform(size=(2, 4)).astype("float32") * sign for n, sign in ((1, 1), (2, -1))]
    eager = [[y.asnumpy() for y in net(nd.array(x))] for x in inputs]
    net.hybridize()
    net(nd.array(inputs[0]))
    files = net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    path = mx.contrib.onnx.export_model(*files, [(2, 4)], onnx_file_path=str(tmp_path / "net.onnx"))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for x, expected in zip(inputs, eager):
        _close([y.asnumpy() for y in block(nd.array(x))], expected)
        _close(session.run(None, {"data": x}), expected)
