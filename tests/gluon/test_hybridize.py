"""Hybridized blocks against the same blocks run operator by operator: results, gradients, states, random streams."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, backward, graph
from gluon import nn, rnn

RNG = np.random.default_rng(0)


def array(*shape, low=-1.0, high=1.0):
    return mx.nd.array(RNG.uniform(low, high, shape).astype("float32"))


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in leaves(v)]
    return [value]


def run(net, inputs, record, seed=7):
    """Results of two calls, and after each the gradients and the states of the parameters."""
    mx.random.seed(seed)
    found = []
    for x in leaves(inputs):
        x.attach_grad()
    for _ in range(2):
        with autograd.record() if record else autograd.pause():
            outputs = leaves(net(*inputs))
            loss = sum((y.astype("float32") * y.astype("float32")).sum() for y in outputs)
        found += outputs
        if record:
            loss.backward()
            found += [x.grad for x in leaves(inputs)]
            found += [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]
            found += [p.data() for p in net.collect_params().values() if p.grad_req == "null"]
        found = [x.copy() for x in found]
    return [x.asnumpy() for x in found]


def compare(make, *inputs, exact=True):
    """A block of `make()` gives hybridized what it gives otherwise, in prediction and in training."""
    mx.random.seed(3)
    np.random.seed(3)
    net = make()
    net.initialize(mx.init.Uniform(0.5))
    net(*inputs)
    start = {name: p.data().copy() for name, p in net.collect_params().items()}
    for record in (False, True):
        results = []
        for active in (False, True):
            for name, p in net.collect_params().items():
                p.set_data(start[name])
            net.hybridize(active, static_alloc=True)
            results.append(run(net, inputs, record))
        assert len(results[0]) == len(results[1])
        for eager, compiled in zip(*results, strict=True):
            assert eager.shape == compiled.shape and eager.dtype == compiled.dtype
            if exact:
                np.testing.assert_array_equal(compiled, eager)
            else:
                np.testing.assert_allclose(compiled, eager, rtol=1e-4, atol=1e-5)
    return net


IMAGE = (2, 3, 9, 9)
LAYERS = {
    "dense": (lambda: nn.Dense(5, activation="relu"), (4, 6)),
    "dense, no bias": (lambda: nn.Dense(5, use_bias=False, flatten=False), (2, 4, 6)),
    "conv": (lambda: nn.Conv2D(4, 3, 2, 1, activation="relu"), IMAGE),
    "grouped conv": (lambda: nn.Conv2D(6, 3, groups=3, use_bias=False), IMAGE),
    "conv 1d": (lambda: nn.Conv1D(4, 3, dilation=2), (2, 3, 9)),
    "conv 3d": (lambda: nn.Conv3D(2, 2), (1, 2, 4, 4, 4)),
    "transposed conv": (lambda: nn.Conv2DTranspose(4, 3, 2, 1, 1), IMAGE),
    "max pool": (lambda: nn.MaxPool2D(3, 2, 1), IMAGE),
    "max pool, full": (lambda: nn.MaxPool2D(2, 2, ceil_mode=True), IMAGE),
    "mean pool": (lambda: nn.AvgPool2D(3, 2, 1, count_include_pad=False), IMAGE),
    "global pool": (lambda: nn.GlobalAvgPool2D(), IMAGE),
    "global max": (lambda: nn.GlobalMaxPool1D(), (2, 3, 7)),
    "batch norm": (lambda: nn.BatchNorm(), IMAGE),
    "batch norm, fixed": (lambda: nn.BatchNorm(scale=False, center=False), IMAGE),
    "batch norm, global": (lambda: nn.BatchNorm(use_global_stats=True), IMAGE),
    "layer norm": (lambda: nn.LayerNorm(), (3, 4, 6)),
    "group norm": (lambda: nn.GroupNorm(2), (2, 4, 5)),
    "instance norm": (lambda: nn.InstanceNorm(), IMAGE),
    "dropout": (lambda: nn.Dropout(0.4), (5, 6)),
    "dropout on axes": (lambda: nn.Dropout(0.4, axes=(1,)), (5, 6)),
    "prelu": (lambda: nn.PReLU(), (3, 4)),
    "selu": (lambda: nn.SELU(), (3, 4)),
    "gelu": (lambda: nn.GELU(), (3, 4)),
    "swish": (lambda: nn.Swish(), (3, 4)),
    "elu": (lambda: nn.ELU(), (3, 4)),
    "leaky": (lambda: nn.LeakyReLU(0.2), (3, 4)),
    "softsign": (lambda: nn.Activation("softsign"), (3, 4)),
    "flatten": (lambda: nn.Flatten(), (3, 4, 2)),
    "lambda": (lambda: nn.HybridLambda(lambda F, x: F.exp(x) * 2 - x**2), (3, 4)),
    "reflection": (lambda: nn.ReflectionPad2D(1), IMAGE),
    "concurrent": (lambda: stacked(gluon.contrib.nn.HybridConcurrent(axis=1), nn.Dense(3), nn.Dense(4)), (3, 5)),
    "identity": (lambda: gluon.contrib.nn.Identity(), (3, 4)),
    "shuffle": (lambda: gluon.contrib.nn.PixelShuffle2D(2), (2, 4, 3, 3)),
    "rnn": (lambda: rnn.RNN(4, 2), (5, 2, 3)),
    "lstm": (lambda: rnn.LSTM(4, 2, bidirectional=True, dropout=0.3), (5, 2, 3)),
    "gru": (lambda: rnn.GRU(4, layout="NTC"), (5, 2, 3)),
    "lenet": (
        lambda: stacked(
            nn.HybridSequential(), nn.Conv2D(4, 3, activation="tanh"), nn.MaxPool2D(), nn.BatchNorm(), nn.Flatten(),
            nn.Dense(6, activation="relu"), nn.Dropout(0.5), nn.Dense(3),
        ),
        IMAGE,
    ),
}  # fmt: skip


def stacked(net, *blocks):
    net.add(*blocks) if isinstance(net, nn.HybridSequential) else [net.add(b) for b in blocks]
    return net


def test_a_parameter_that_an_operator_sets():
    for net in (nn.BatchNorm(scale=False, center=False, in_channels=3), nn.HybridSequential()):
        if isinstance(net, nn.HybridSequential):
            net.add(nn.BatchNorm(scale=False, in_channels=3))
        net.initialize()
        for p in net.collect_params(".*gamma").values():
            p.set_data(mx.nd.array([2.0, 3, 4]))
        net.hybridize()
        x = array(8, 3) * 10
        net(x)
        for p in net.collect_params(".*gamma").values():
            p.set_data(mx.nd.array([2.0, 3, 4]))
        with autograd.record():
            y = net(x)
        np.testing.assert_allclose(y.asnumpy().std(axis=0), 1, atol=1e-3)


def test_cells_that_keep_arrays_from_step_to_step():
    for make in (
        lambda: rnn.ZoneoutCell(rnn.RNNCell(4, input_size=3), 0.5, 0.5),
        lambda: gluon.contrib.rnn.VariationalDropoutCell(rnn.GRUCell(4, input_size=3), 0.3, 0.3, 0.3),
    ):
        cell = rnn.HybridSequentialRNNCell()
        cell.add(make())
        cell.initialize()
        results = []
        for active in (False, True):
            cell.hybridize(active)
            cell.reset()
            mx.random.seed(3)
            with autograd.record():
                states = cell.begin_state(batch_size=2)
                for _ in range(3):
                    y, states = cell(mx.nd.ones((2, 3)), states)
            results.append(y.asnumpy())
        np.testing.assert_array_equal(results[0], results[1])


def test_arrays_kept_from_tracing_are_told_of():
    class Keeps(gluon.HybridBlock):
        kept = None

        def hybrid_forward(self, F, x):
            if self.kept is None:
                self.kept = x * 2
            return x + self.kept

    net = Keeps()
    net.hybridize()
    net(array(3))
    with pytest.raises(mx.MXNetError, match="kept"):
        net(array(4))
    with pytest.raises(mx.MXNetError, match="kept"):
        net.kept.asnumpy()


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, shape = LAYERS[name]
    compare(make, array(*shape))


def test_embedding():
    net = nn.Embedding(7, 4)
    net.initialize()
    x = mx.nd.array([[1, 2], [6, 2]])
    results = []
    for active in (False, True):
        net.hybridize(active)
        with autograd.record():
            y = (net(x) ** 2).sum()
        y.backward()
        results.append((y.asnumpy(), net.weight.grad().asnumpy()))
    np.testing.assert_array_equal(results[0][1], results[1][1])


LOSSES = {
    "softmax": (lambda: gluon.loss.SoftmaxCrossEntropyLoss(), (4, 5), np.array([0, 3, 4, 1])),
    "soft labels": (lambda: gluon.loss.SoftmaxCELoss(sparse_label=False), (4, 5), np.full((4, 5), 0.2)),
    "l2": (lambda: gluon.loss.L2Loss(weight=0.3), (4, 5), np.ones((4, 5))),
    "l1": (lambda: gluon.loss.L1Loss(), (4, 5), np.ones((4, 5))),
    "sigmoid": (lambda: gluon.loss.SigmoidBCELoss(), (4, 5), np.ones((4, 5))),
    "huber": (lambda: gluon.loss.HuberLoss(), (4, 5), np.ones((4, 5))),
    "hinge": (lambda: gluon.loss.HingeLoss(), (4, 5), np.ones((4, 5))),
    "kl": (lambda: gluon.loss.KLDivLoss(from_logits=False), (4, 5), np.full((4, 5), 0.2)),
    "ctc": (lambda: gluon.loss.CTCLoss(), (2, 8, 5), np.array([[1, 2], [3, 1]])),
    "poisson": (lambda: gluon.loss.PoissonNLLLoss(), (4, 5), np.ones((4, 5))),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    make, shape, label = LOSSES[name]
    x, label = array(*shape), mx.nd.array(label)
    results = []
    for active in (False, True):
        loss = make()
        loss.hybridize(active)
        x.attach_grad()
        with autograd.record():
            value = loss(x, label)
        value.backward()
        results.append((value.asnumpy(), x.grad.asnumpy()))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


@pytest.mark.parametrize("cell", [rnn.RNNCell, rnn.LSTMCell, rnn.GRUCell])
def test_cells_and_unrolling(cell):
    class Unrolled(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.cell = rnn.HybridSequentialRNNCell()
                for layer in (rnn.ZoneoutCell(cell(4), 0.2, 0.2), rnn.DropoutCell(0.3), rnn.ResidualCell(cell(4))):
                    self.cell.add(layer)

        def hybrid_forward(self, F, x):
            return self.cell.unroll(3, x, layout="NTC", merge_outputs=True)[0]

    compare(Unrolled, array(2, 3, 4))
    states = [array(2, 4) for _ in range(2 if cell is rnn.LSTMCell else 1)]
    compare(lambda: cell(4), array(2, 3), states, exact=False)  # gradients of several outputs add up in another order


class Attention(gluon.HybridBlock):
    """Nested lists in and out, constants, arithmetic of arrays made inside, branches on shapes."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.proj = nn.Dense(6, flatten=False)
            self.scale = self.params.get_constant("scale", mx.nd.array([0.5]))

    def hybrid_forward(self, F, x, pair, scale):
        q = self.proj(x)
        if x.shape[1] > 2:
            q = q + F.arange(0, 6)
        scores = F.batch_dot(q, pair[0], transpose_b=True) * scale.reshape((1, 1, 1))
        return [F.batch_dot(F.softmax(scores), pair[1][0]), (scores, F.zeros_like(x))], q


def test_nested_inputs_outputs_and_constants():
    x, k, v = array(2, 3, 5), array(2, 4, 6), array(2, 4, 3)
    net = compare(Attention, x, [k, [v]], exact=False)  # three gradients of scores add up in another order
    (y, (scores, zeros)), q = net(x, [k, [v]])
    assert (y.shape, scores.shape, zeros.shape, q.shape) == ((2, 3, 3), (2, 3, 4), (2, 3, 5), (2, 3, 6))


def test_forward_style():
    class Linear(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = gluon.Parameter("weight", shape=(4, 0), allow_deferred_init=True)

        def infer_shape(self, x, *_):
            self.weight.shape = (4, x.shape[1])

        def forward(self, x):
            return mx.npx.fully_connected(mx.np.tanh(x) + 1, self.weight.data(), None, num_hidden=4, no_bias=True)

    mx.util.set_np()
    try:
        net = Linear()
        net.initialize()
        net.hybridize()
        x = mx.np.array(RNG.standard_normal((3, 5)).astype("float32"))
        x.attach_grad()
        with autograd.record():
            y = net(x)
        y.backward()
        compiled = [y.asnumpy(), x.grad.asnumpy(), net.weight.grad().asnumpy()]
        net.hybridize(False)
        with autograd.record():
            y = net(x)
        y.backward()
        for a, b in zip(compiled, [y.asnumpy(), x.grad.asnumpy(), net.weight.grad().asnumpy()], strict=True):
            np.testing.assert_array_equal(a, b)
    finally:
        mx.util.reset_np()


def test_a_branch_on_a_value_names_the_line():
    class Branch(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            if x.sum() > 0:  # the line
                return x
            return -x

    net = Branch()
    net.hybridize()
    with pytest.raises(mx.MXNetError, match=r"test_hybridize.py:\d+, in hybrid_forward: if x.sum\(\) > 0:.*the line"):
        net(array(3))
    net.hybridize(False)
    net(array(3))


@pytest.mark.parametrize("read", ["asnumpy", "asscalar", "item"])
def test_reads_of_parameters_are_refused_too(read):
    class Reads(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.gain = self.params.get("gain", shape=(1,), init="ones")

        def hybrid_forward(self, F, x, gain):
            return x * float(np.asarray(getattr(gain, read)()).reshape(()))

    net = Reads()
    net.initialize()
    net.hybridize()
    with pytest.raises(mx.MXNetError, match="reads the value"):
        net(array(3))


def test_shapes_that_depend_on_values():
    class Kept(gluon.HybridBlock):
        def hybrid_forward(self, F, x, mask):
            return F.contrib.boolean_mask(x, mask) * 2

    net = Kept()
    net.hybridize()
    x = array(4, 2)
    x.attach_grad()
    for mask, count in (([1, 0, 1, 1], 3), ([0, 0, 0, 1], 1)):
        with autograd.record():
            y = net(x, mx.nd.array(mask))
        assert y.shape == (count, 2)
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy()[:, 0], 2.0 * np.array(mask))


def test_control_flow():
    class Loops(gluon.HybridBlock):
        def hybrid_forward(self, F, x, state):
            out, state = F.contrib.foreach(lambda row, s: (row + s[0], [row * s[0]]), x, [state])
            return out, state[0]

    compare(Loops, array(4, 3), array(3))

    class While(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.contrib.while_loop(lambda i: i < 3, lambda i: (i * 2, [i + 1]), [x], max_iterations=5)[0]

    net = While()
    net.hybridize()
    np.testing.assert_array_equal(net(mx.nd.array([0.0])).asnumpy().ravel(), [0, 2, 4, 0, 0])


def test_second_derivatives():
    net = stacked(nn.HybridSequential(), nn.Dense(5, activation="tanh"), nn.Dropout(0.5), nn.Dense(1))
    net.initialize(mx.init.Uniform(0.7))
    x = array(3, 4)
    x.attach_grad()
    net(x)
    results = []
    for active in (False, True):
        net.hybridize(active)
        mx.random.seed(5)
        with autograd.record():
            y = net(x).sum()
            slope = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
            penalty = (slope**2).sum() + y
        penalty.backward()
        results.append([penalty.asnumpy(), x.grad.asnumpy(), net[0].weight.grad().asnumpy()])
    for eager, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-5, atol=1e-6)


def test_backward_twice_and_in_place_writes():
    net = nn.Dense(3, in_units=2)
    net.initialize()
    net.hybridize()
    x = array(4, 2)
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward(retain_graph=True)
    first = x.grad.asnumpy()
    y.backward()
    np.testing.assert_array_equal(first, x.grad.asnumpy())
    with pytest.raises(mx.MXNetError, match="freed"):
        y.backward()
    with autograd.record():
        y = net(x)
    net.weight.set_data(net.weight.data() * 2)
    with pytest.raises(mx.MXNetError, match="changed in place"):
        y.backward()


def test_changes_of_parameters_are_seen():
    net = stacked(nn.HybridSequential(), nn.Dense(3, in_units=2), nn.Dense(2, in_units=3))
    net.initialize()
    net.hybridize()
    x = array(4, 2)

    def expected():
        net.hybridize(False)
        found = net(x).asnumpy()
        net.hybridize()
        return found

    before = net(x).asnumpy()
    np.testing.assert_array_equal(before, expected())
    net(x)
    net[0].weight.set_data(net[0].weight.data() + 1)
    changed = net(x).asnumpy()
    assert (changed != before).any()
    np.testing.assert_array_equal(changed, expected())
    net(x)
    net.initialize(mx.init.One(), force_reinit=True)
    np.testing.assert_array_equal(net(x).asnumpy(), expected())
    net(x)
    net[0].weight.grad_req = "null"
    with autograd.record():
        net(x).sum().backward()
    net[0].weight.grad_req = "write"
    with autograd.record():
        net(x).sum().backward()
    assert np.abs(net[0].weight.grad().asnumpy()).sum() > 0
    net.cast("float16")
    assert net(x.astype("float16")).dtype == np.float16


def test_gradients_that_add_up():
    net = nn.Dense(2, in_units=2)
    net.initialize(mx.init.One())
    net.weight.grad_req = "add"
    net.hybridize()
    x = mx.nd.ones((1, 2))
    for _ in range(3):
        with autograd.record():
            y = net(x) + net(x)
        y.backward()
    np.testing.assert_array_equal(net.weight.grad().asnumpy(), np.full((2, 2), 6.0))


def test_gradients_are_stored_as_soon_as_they_are_known(monkeypatch):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=3), nn.Dense(3, in_units=3))
    net.initialize()
    net.hybridize()
    stored, done = [], []
    node = graph.Compiled.__call__.__globals__["_Call"]
    store, rule = backward._store, node.apply_rule
    monkeypatch.setattr(backward, "_store", lambda leaf, *found: (stored.append(leaf), store(leaf, *found)))
    monkeypatch.setattr(node, "apply_rule", lambda *args: (rule(*args), done.append(len(stored)))[0])
    x, scale = mx.nd.ones((2, 3)), net[0].weight.data()
    with autograd.record():
        y = net(x)
    y.backward()
    leaves = [p.data()._entry for p in (net[1].weight, net[1].bias, net[0].weight, net[0].bias)]
    assert done == [4] and {id(leaf) for leaf in stored[:2]} == {id(leaf) for leaf in leaves[:2]}
    first = {name: p.grad().asnumpy() for name, p in net.collect_params().items()}
    with autograd.record():  # somebody else reads a weight too
        y = net(x) + (scale * 2).sum()
    y.backward()
    for name, p in net.collect_params().items():
        # The sum has 6 elements, each of which adds twice the weight.
        np.testing.assert_allclose(p.grad().asnumpy(), first[name] + 12 * (p is net[0].weight), rtol=1e-6)


FAULTS = """
import resource
import core as mx
from core import autograd
from gluon import nn

net = nn.HybridLambda(lambda F, x: F.broadcast_add(F.exp(x), F.sum(F.relu(x) * x, axis=0, keepdims=True)))
net.hybridize(static_alloc=True, static_shape=True)
x = mx.nd.ones((256, 4096))  # 4 MiB, 1024 pages
x.attach_grad()

def faults(calls):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(calls):
        with autograd.record():
            y = net(x)
        y.backward()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults(4)
print(faults(40))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="page faults are counted as Linux does")
def test_calls_take_the_memory_of_earlier_ones():
    """Forty calls, which make over a hundred buffers, meet five of new pages at most while the heap settles."""
    found = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    assert int(found.stdout) <= 5 * 1024


def test_hooks_and_partial_hybridization():
    class Parent(gluon.Block):
        def __init__(self):
            super().__init__()
            self.child = nn.Dense(2, in_units=2)

        def forward(self, x):
            return self.child(x) if x.sum().asscalar() > 0 else x

    net = Parent()
    net.initialize()
    net.hybridize()
    seen = []
    with net.child.register_forward_hook(lambda block, inputs, output: seen.append(output.asnumpy())):
        net(mx.nd.ones((1, 2)))
        net(mx.nd.ones((1, 2)))
    assert len(seen) == 2
    with pytest.raises(ValueError, match="HybridBlock"):
        nn.HybridSequential().add(Parent())


def test_outputs_are_the_users():
    net = nn.HybridLambda(lambda F, x: (x, F.relu(x), F.reshape(x, shape=(-1,))))
    net.hybridize(static_alloc=True, static_shape=True)
    x = array(2, 3)
    same, first, flat = net(x)
    assert same is x
    kept = first.asnumpy()
    net(array(2, 3))
    np.testing.assert_array_equal(first.asnumpy(), kept)
    np.testing.assert_array_equal(flat.asnumpy(), x.asnumpy().ravel())


def test_several_shapes_and_a_bounded_cache(monkeypatch):
    from core.graph import compiled

    monkeypatch.setattr(compiled, "LIMIT", 3)
    monkeypatch.setattr(compiled, "WARM_UP", 0)
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    for n in (1, 2, 3, 4, 5, 1):
        assert net(array(n, 3)).shape == (n, 2)
    assert len(net._compiled._plans) == 3


def plans_of(net):
    return list({id(plan): plan for plan in net._compiled._plans.values()}.values())


def test_the_second_shape_gets_a_plan_that_serves_all_others():
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    for n in (2, 3, 4, 3, 100):
        x = array(n, 3)
        expected = mx.nd.FullyConnected(x, net.weight.data(), net.bias.data(), num_hidden=2)
        np.testing.assert_array_equal(net(x).asnumpy(), expected.asnumpy())
    assert [plan.shapes is None for plan in plans_of(net)] == [True, False]
    net(array(1, 3))  # a length of 1 repeats against others
    assert len(plans_of(net)) == 3
    with autograd.record():
        net(array(4, 3))
    assert len(plans_of(net)) == 4  # and the first that is recorded


def test_shapes_that_no_plan_can_leave_open_are_compiled_when_they_came_often_enough(monkeypatch):
    from core.graph import compiled

    class Steps(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            total = x[0]
            for k in range(1, x.shape[0]):  # as many nodes as there are steps
                total = total * 0.5 + x[k]
            return total

    monkeypatch.setattr(compiled, "WARM_UP", 2)
    net = Steps()
    net.hybridize()
    for n in (2, 3, 4, 3):
        x = array(n, 5)
        weights = 0.5 ** np.arange(n)[::-1, None]
        np.testing.assert_allclose(net(x).asnumpy(), (weights * x.asnumpy()).sum(0), rtol=1e-6)
    (known,) = net._compiled._classes.values()
    assert "needed as numbers by" in known.closed and "test_hybridize.py" in known.closed
    assert sorted(plan.graph.inputs[0].shape[0] for plan in plans_of(net)) == [2, 3]


def test_static_shapes_do_not_wait():
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    for n in (1, 2, 3):
        net(array(n, 3))
    assert len(net._compiled._plans) == 3


def test_large_arrays_are_waited_for_less():
    net = nn.Dense(2, in_units=3, flatten=False)
    net.initialize()
    net.hybridize()
    small, large = (net.plan_of(array(n, 3)).warm_up for n in (1, 100_000))
    assert small > 20 > 5 > large


def test_parts_have_no_plans_of_their_own_while_the_whole_waits_for_one():
    class Rows(nn.HybridSequential):
        def hybrid_forward(self, F, x):
            return F.concat(*[super(Rows, self).hybrid_forward(F, x[k : k + 1]) for k in range(x.shape[0])], dim=0)

    net = Rows()
    net.add(nn.Dense(2, in_units=3), nn.Dense(2, in_units=2))
    net.initialize()
    net.hybridize()
    for n in (2, 3, 4):
        net(array(n, 3))
    assert len(net._compiled._plans) == 1
    assert not any(part._compiled and part._compiled._plans for part in net)


def test_parts_of_a_block_that_is_not_compiled_take_what_they_take_in_a_traced_one(monkeypatch):
    from core.graph import compiled

    class Scaled(gluon.HybridBlock):
        def hybrid_forward(self, F, x, by, options):
            return x * by + len(options)

    class Outer(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.part = Scaled()

        def hybrid_forward(self, F, x):
            return self.part(x, 3, {"a": 1})

    monkeypatch.setattr(compiled, "WARM_UP", 100)
    net = Outer()
    net.hybridize()
    for n in (1, 2, 3):
        assert net(mx.nd.ones(n)).asnumpy().tolist() == [4.0] * n
    with pytest.raises(ValueError, match="takes arrays"):
        net.part(mx.nd.ones(2), 3, {})


def test_constants_that_a_block_keeps_from_its_first_call_are_part_of_later_ones():
    class Trend(gluon.HybridBlock):
        basis = None

        def hybrid_forward(self, F, x):
            if self.basis is None:
                self.basis = F.stack(*[F.broadcast_power(F.arange(3), F.full((1,), p)) for p in (1, 2)])
            return F.dot(x, self.basis)

    class Outer(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense, self.trend = nn.Dense(2, weight_initializer="ones"), Trend()

        def hybrid_forward(self, F, x):
            return self.trend(self.dense(x))

    net = Outer()
    net.initialize()
    net.hybridize()
    for n in (1, 2):  # the first call traces twice: a parameter gets its shape on the way
        np.testing.assert_array_equal(net(mx.nd.ones((n, 4))).asnumpy(), [[0, 8, 24]] * n)


def test_parameters_seen_another_way_are_followed():
    class Detached(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(2, in_units=3)

        def hybrid_forward(self, F, x):
            return self.dense(x) + F.sum(self.dense.weight.data().detach())

    net = Detached()
    net.initialize()
    net.hybridize()
    x = array(4, 3)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    for _ in range(3):
        with autograd.record():
            net(x).sum().backward()
        trainer.step(1)  # moves the weights to one block of memory
        compiled = net(x).asnumpy()
        net.hybridize(False)
        np.testing.assert_allclose(compiled, net(x).asnumpy(), rtol=1e-6)
        net.hybridize()


def test_a_child_that_comes_later():
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3))
    net.initialize()
    net.hybridize()
    assert net(array(2, 3)).shape == (2, 4)
    net.add(nn.Dense(5, in_units=4))
    net[1].initialize()
    assert net(array(2, 3)).shape == (2, 5)
    net.optimize_for(array(2, 3), backend="MKLDNN")
    assert net(array(2, 3)).shape == (2, 5)


def test_inputs_left_out():
    class Optional(gluon.HybridBlock):
        def hybrid_forward(self, F, x, y=None, pair=(None, None)):
            z = x if y is None else x + y
            return z if pair[1] is None else z - pair[1]

    x = mx.nd.ones((2,))
    for expected, *inputs in ((1, x), (2, x, x), (1, x, x, [None, x]), (0, x, None, [None, x])):
        net = Optional()
        net.hybridize()
        assert net(*inputs).asnumpy()[0] == expected


def test_states_given_or_not():
    layer = rnn.LSTM(4, input_size=3)
    layer.initialize()
    layer.hybridize()
    x = array(5, 2, 3)
    assert layer(x).shape == (5, 2, 4)
    y, states = layer(x, layer.begin_state(2))
    assert y.shape == (5, 2, 4) and len(states) == 2
    assert layer(x).shape == (5, 2, 4)


@pytest.mark.parametrize("name", ["squeezenet1.1", "mobilenet0.25", "resnet18_v2", "densenet121"])
def test_networks(name):
    net = gluon.model_zoo.vision.get_model(name, classes=5)
    net.initialize(mx.init.Xavier())
    x = array(1, 3, 32, 32) if "resnet" in name else array(1, 3, 224, 224)
    eager = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), eager, rtol=1e-4, atol=1e-5)


def test_several_contexts():
    class Scaled(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(4, in_units=3)
            self.weight = gluon.Parameter("weight", shape=(4,))

        def forward(self, x):
            return self.dense(x) * self.weight.data(x.context)

    net = Scaled()
    net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    net.hybridize()
    x = array(2, 3)
    results = []
    for ctx in (mx.cpu(0), mx.cpu(1)):
        with autograd.record():
            y = net(x.as_in_context(ctx))
        y.backward()
        assert y.context == ctx
        results.append((y.asnumpy(), net.weight.grad(ctx).asnumpy()))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


class Indexing(gluon.HybridBlock):
    """Means something else for symbols, of which an index picks outputs and a sum does not broadcast."""

    def __init__(self, results):
        super().__init__()
        self.dense, self.results = nn.Dense(3, flatten=False), results

    def hybrid_forward(self, F, x):
        return self.results(F, self.dense(x))


PLACES = mx.nd.array([1, -1], dtype="int32")


def written(y):
    y[:, 1:] = 3
    y[0] = y[1]
    y[..., 0] = 0.5
    return y


@pytest.mark.parametrize(
    "results",
    [
        lambda F, y: y[0],
        lambda F, y: F.relu(y[:, 1:3]),
        lambda F, y: [y[0], y[-1] * 2, y[0]],
        lambda F, y: (F.concat(y, y[:, ::-1], dim=0), [y]),
        lambda F, y: (y, y),
        lambda F, y: y + F.mean(y, axis=1, keepdims=True),
        lambda F, y: [y[:, PLACES], y[PLACES], y[PLACES, PLACES], y[1:, PLACES, ::2], y[0, PLACES], y[..., PLACES]],
        lambda F, y: [y[PLACES.reshape((1, 2)), :, PLACES], y[:, PLACES.reshape((2, 1)), PLACES], y[0, :, PLACES]],
        lambda F, y: written(y * 1),
    ],
)
def test_export_is_what_calls_computed(results, tmp_path):
    net = Indexing(results)
    net.initialize()
    net.hybridize()
    x = mx.nd.array(np.arange(12).reshape(2, 2, 3))
    expected = list(leaves([net(x)]))
    net.export(str(tmp_path / "net"))
    read = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    for got, want in zip(leaves([read(x)]), expected, strict=True):
        np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())


def test_export_of_blocks_that_define_forward(tmp_path):
    class Scaled(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(6, activation="relu")
            self.drop = nn.Dropout(0.5)
            self.weight = gluon.Parameter("weight", shape=(6,))

        def forward(self, x):
            y = self.drop(self.dense(x) * self.weight.data())
            y * mx.np.array([2.0] * 6)  # nobody reads it
            return [y[:, 1:4] + mx.np.array([1.0, 2, 3]), y[0], y[..., None, ::2]]

    mx.util.set_np()
    try:
        net = Scaled()
        net.initialize()
        net.hybridize()
        x = mx.np.array(RNG.standard_normal((2, 5)).astype("float32"))
        expected = net(x)
        files = net.export(str(tmp_path / "net"))
        found = gluon.SymbolBlock.imports(files[0], ["data"], files[1])(x)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    finally:
        mx.util.reset_np()


def test_symbol_of_a_recorded_computation():
    x, one = array(3), mx.nd.ones((3,))
    x.attach_grad()
    with autograd.record():
        y = x * x + 2 * x
        z = y * one
    symbol = autograd.get_symbol(y)
    (name,) = symbol.list_arguments()
    np.testing.assert_allclose(symbol.eval(**{name: x})[0].asnumpy(), y.asnumpy())
    assert autograd.get_symbol(x).list_outputs() == [name]  # one name in all symbols, as in MXNet 1.9.1
    arguments = autograd.get_symbol(z).list_arguments()
    assert len(arguments) == 2 and name in arguments
    with pytest.raises(mx.MXNetError, match="nor marked"):
        autograd.get_symbol(one)


def test_trained_steps_equal_eager_ones():
    def steps(active):
        mx.random.seed(11)
        np.random.seed(11)
        net = LAYERS["lenet"][0]()
        net.initialize(mx.init.Xavier())
        data, label = mx.nd.random.uniform(shape=(4, 3, 9, 9)), mx.nd.array([0, 1, 2, 1])
        net(data)
        net.hybridize(active, static_alloc=True)
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        loss.hybridize(active)
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
        mx.random.seed(5)
        found = []
        for _ in range(4):
            with autograd.record():
                value = loss(net(data), label)
            value.backward()
            trainer.step(4)
            found.append(value.asnumpy())
        return found, [p.data().asnumpy() for p in net.collect_params().values()]

    (losses, weights), (compiled_losses, compiled_weights) = steps(False), steps(True)
    for eager, compiled in zip(losses + weights, compiled_losses + compiled_weights, strict=True):
        np.testing.assert_array_equal(compiled, eager)


class Jittered(gluon.HybridBlock):
    """A Gaussian process: with arrays it looks at their values, with symbols it does not."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.dense = nn.Dense(3)
            self.scale = self.params.get("scale", shape=(1,), init="ones")

    def hybrid_forward(self, F, x, states, scale):
        kernel = F.linalg.gemm2(x, x, transpose_b=True) + F.eye(2) * 0.5
        if F is mx.nd:
            assert F.sum(kernel <= 0) < 1000
            kernel = kernel + 1
        return F.broadcast_mul(self.dense(F.linalg.potrf(kernel)), scale), [kernel * 2, states[0]]


def test_a_block_that_reads_values_of_arrays_only_is_what_it_composes_of_symbols():
    """The numbers are those of MXNet 1.9.1, which hybridizes with symbols."""
    net = Jittered()
    net.initialize("ones")
    x, states = mx.nd.array([[1.0, 2, 0], [0, 1, 1]]), [mx.nd.ones((2,))]
    np.testing.assert_allclose(net(x, states)[0].asnumpy()[:, 0], [2.5495098, 2.631133], rtol=1e-6)
    net.hybridize()
    with autograd.record():
        y, (doubled, same) = net(x, states)
    y.backward()
    np.testing.assert_allclose(y.asnumpy()[:, 0], [2.345208, 2.1842408], rtol=1e-6)
    assert doubled.shape == (2, 2) and same.shape == (2,) and net.scale.grad().shape == (1,)


def test_the_only_result_of_such_a_block_is_whole():
    def rows(F, x):
        if F is mx.nd:
            assert F.sum(x).asscalar() > 0
        return F.sum(x * x, axis=1)

    net = nn.HybridLambda(rows)
    net.hybridize()
    x = mx.nd.array([[1.0, 2], [3, 4], [5, 6]])
    x.attach_grad()
    for _ in range(2):
        with autograd.record():
            y = net(x)
        y.backward()
        assert y.asnumpy().tolist() == [5, 25, 61]
        np.testing.assert_array_equal(x.grad.asnumpy(), 2 * x.asnumpy())


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("stop", ["BlockGrad", "rint", "zeros_like", "argmax"])
def test_backward_moves_statistics_behind_what_stops_gradients(stop, hybrid):
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.norm, self.dense = gluon.nn.BatchNorm(momentum=0.9), gluon.nn.Dense(2)

        def hybrid_forward(self, F, x):
            return self.dense(getattr(F, stop)(self.norm(x), **({"axis": 1} if stop == "argmax" else {})))

    net = Net()
    net.initialize()
    net.hybridize(hybrid)
    x = mx.nd.array([[1.0, 2.0], [3.0, 6.0]])
    with mx.autograd.record():
        loss = net(x)
    np.testing.assert_array_equal(net.norm.running_mean.data().asnumpy(), [0, 0])
    loss.backward()
    np.testing.assert_allclose(net.norm.running_mean.data().asnumpy(), [0.2, 0.4], rtol=1e-6)
    np.testing.assert_array_equal(net.norm.gamma.grad().asnumpy(), [0, 0])
    norm = net.norm
    with mx.autograd.record():
        loss = norm(x) * 1
        loss = getattr(mx.nd, stop)(loss) * net.dense.weight.data()[0, 0]
    loss.backward()  # of a block whose gradients stop outside
    np.testing.assert_allclose(norm.running_mean.data().asnumpy(), [0.38, 0.76], rtol=1e-6)


def test_statistics_move_without_gradients_where_none_are_needed(monkeypatch):
    from core.kernels.cpu import norm

    layer = nn.BatchNorm(in_channels=2, momentum=0.5)
    layer.initialize()
    x, scale = mx.nd.array([[1.0, 2.0], [3.0, 6.0]]), mx.nd.ones((1,))
    scale.attach_grad()

    def refused(*_):
        raise AssertionError("a gradient that nobody reads is computed")

    monkeypatch.setattr(norm, "_batch_norm_grad", refused)
    with autograd.record():
        loss = (mx.nd.BlockGrad(layer(x)) * scale).sum()
    loss.backward()
    np.testing.assert_allclose(layer.running_mean.data().asnumpy(), [1.0, 2.0])
