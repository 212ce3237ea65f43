"""Trainer: arenas against one-by-one updates, several contexts, stale gradients, states in files."""

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd
from gluon import nn

OPTIMIZERS = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01},
    "nag": {"learning_rate": 0.1, "momentum": 0.9},
    "adam": {"learning_rate": 0.01, "wd": 0.01},
    "adamw": {"learning_rate": 0.01, "wd": 0.1},
    "rmsprop": {"learning_rate": 0.01, "centered": True},
    "lamb": {"learning_rate": 0.01},
}


def network(ctx=None):
    mx.random.seed(3)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(6, in_units=4, activation="tanh"), nn.Dense(2, in_units=6))
    net.initialize(mx.init.Xavier(), ctx=ctx)
    return net


def batches(steps, ctx=None):
    numbers = np.random.RandomState(0)
    for _ in range(steps):
        yield [nd.array(numbers.standard_normal((8, n)), ctx=ctx) for n in (4, 2)]


def train(net, trainer, data):
    loss_function = gluon.loss.L2Loss()
    for x, y in data:
        with autograd.record():
            loss = loss_function(net(x), y)
        loss.backward()
        trainer.step(8)
    return {name: p.data().asnumpy() for name, p in net._collect_params_with_prefix().items()}


def same(a, b, rtol=1e-6):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_allclose(a[name], b[name], rtol=rtol, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_arenas_change_nothing(name, monkeypatch):
    results = []
    for arena in (True, False):
        net = network()
        net[0].bias.lr_mult = 2.0
        net[1].weight.wd_mult = 0.0
        trainer = gluon.Trainer(net.collect_params(), name, dict(OPTIMIZERS[name]))
        if not arena:
            monkeypatch.setattr(trainer, "_update_arenas", lambda: False)
        results.append(train(net, trainer, batches(4)))
        assert bool(trainer._arenas) == (arena and name != "lamb")
    same(*results)


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_large_parameters_outside_of_arenas_change_nothing(name, monkeypatch):
    results = []
    for large in (20, 1 << 30):
        monkeypatch.setattr("gluon.trainer.LARGE", large)
        net = network()
        net[0].weight.lr_mult = 2.0
        trainer = gluon.Trainer(net.collect_params(), name, dict(OPTIMIZERS[name]))
        results.append(train(net, trainer, batches(4)))
        assert trainer._arenas and bool(trainer._large) == (large == 20)
    same(*results)


def test_two_contexts_are_one_large_batch():
    contexts = [mx.cpu(0), mx.cpu(1)]
    whole, split = network(), network(contexts)
    want = train(whole, gluon.Trainer(whole.collect_params(), "adam"), batches(3))
    trainer = gluon.Trainer(split.collect_params(), "adam")
    loss_function = gluon.loss.L2Loss()
    for x, y in batches(3):
        losses = []
        with autograd.record():
            for i, ctx in enumerate(contexts):
                part = slice(4 * i, 4 * i + 4)
                losses.append(loss_function(split(x[part].as_in_context(ctx)), y[part].as_in_context(ctx)))
        autograd.backward(losses)
        trainer.step(8)
    for ctx in contexts:
        same(want, {n: p.data(ctx).asnumpy() for n, p in split._collect_params_with_prefix().items()}, rtol=1e-5)


def test_stale_gradients():
    net = network()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = nd.ones((8, 4))
    with autograd.record():
        loss = net[0](x).sum()
    loss.backward()
    before = net[1].weight.data().asnumpy(), net[0].weight.data().asnumpy()
    with pytest.raises(UserWarning, match="net_dense1"):
        trainer.step(8)
    trainer.step(8, ignore_stale_grad=True)
    np.testing.assert_array_equal(net[1].weight.data().asnumpy(), before[0])
    assert (net[0].weight.data().asnumpy() != before[1]).any()
    # The parameters have been updated unequally often from now on.
    train(net, trainer, batches(2))
    assert trainer.optimizer.num_update == 3


def _dense_on_two_contexts(**trainer):
    """A layer on two contexts with known weights, its trainer, and a pass through half a batch on each."""
    contexts, random = [mx.cpu(0), mx.cpu(1)], np.random.RandomState(0)
    x, weight = random.randn(8, 3).astype("float32"), random.randn(2, 3).astype("float32")
    net = nn.Dense(2, in_units=3)
    net.initialize(ctx=contexts)
    net.weight.set_data(nd.array(weight))

    def backward():
        with autograd.record():
            losses = [(net(part) ** 2).sum() for part in gluon.utils.split_and_load(x, contexts)]
        autograd.backward(losses)

    return net, gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, **trainer), backward


def test_without_a_store_contexts_keep_to_themselves():
    net, trainer, backward = _dense_on_two_contexts(kvstore=None)
    backward()
    trainer.step(8)
    first, second = (weight.asnumpy() for weight in net.weight.list_data())
    np.testing.assert_allclose(first[0], [1.92215, -1.59149, -0.00482], atol=1e-5)  # of MXNet 1.9.1
    np.testing.assert_allclose(second[0], [2.23424, -1.37087, 0.14177], atol=1e-5)


def test_a_store_that_updates_takes_old_gradients_and_leaves_them_alone():
    net, trainer, backward = _dense_on_two_contexts(kvstore="device")
    backward()
    own = [gradient.asnumpy() for gradient in net.weight.list_grad()]
    want = [1.88664, 1.50353, 1.12042]  # of MXNet 1.9.1
    for value in want:
        trainer.step(8)
        for weight, gradient, before in zip(net.weight.list_data(), net.weight.list_grad(), own):
            np.testing.assert_allclose(weight.asnumpy()[0, 0], value, atol=1e-5)
            np.testing.assert_array_equal(gradient.asnumpy(), before)


@pytest.mark.parametrize("on_store", [None, False])
def test_gradients_of_contexts_are_compressed(on_store):
    compression = {"type": "2bit", "threshold": 0.5}
    net, trainer, backward = _dense_on_two_contexts(update_on_kvstore=on_store, compression_params=compression)
    for _ in range(3):
        backward()
        trainer.step(2)
    for weight, bias in zip(net.weight.list_data(), net.bias.list_data()):  # of MXNet 1.9.1
        np.testing.assert_allclose(
            weight.asnumpy(), [[2.11975, -1.45437, 0.04576], [-0.18718, 1.38278, 1.31936]], atol=1e-5
        )
        np.testing.assert_allclose(bias.asnumpy(), [-0.15, 0], atol=1e-6)


def test_set_data_and_reinitialisation_between_steps():
    results = []
    for arena in (True, False):
        net = network()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        if not arena:
            trainer._update_arenas = lambda: False
        train(net, trainer, batches(2))
        net[0].weight.set_data(nd.ones((6, 4)))
        train(net, trainer, batches(1))
        net[1].initialize(mx.init.One(), force_reinit=True)
        results.append(train(net, trainer, batches(2)))
    same(*results)


@pytest.mark.parametrize("name", ["sgd", "adam", "rmsprop"])
def test_states_survive_a_file(name, tmp_path):
    path = str(tmp_path / "trainer.states")
    net = network()
    trainer = gluon.Trainer(net.collect_params(), name, dict(OPTIMIZERS[name]))
    data = list(batches(5))
    train(net, trainer, data[:2])
    trainer.save_states(path)
    weights = [p.data().asnumpy() for p in net.collect_params().values()]
    want = train(net, trainer, data[2:])

    again = network()
    for parameter, value in zip(again.collect_params().values(), weights):
        parameter.set_data(nd.array(value))
    resumed = gluon.Trainer(again.collect_params(), name, dict(OPTIMIZERS[name]))
    resumed.load_states(path)
    assert resumed.optimizer.num_update == 2
    same(want, train(again, resumed, data[2:]))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_states_of_other_parameters_are_refused(name, tmp_path):
    path = str(tmp_path / "trainer.states")
    for units in (4, 300):
        net = nn.Dense(units, in_units=3)
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), name, dict(OPTIMIZERS[name]))
        with autograd.record():
            loss = net(nd.ones((2, 3))).sum()
        loss.backward()
        if units == 4:
            trainer.step(2)
            trainer.save_states(path)
            continue
        trainer.load_states(path)
        before = net.weight.data().asnumpy()
        with pytest.raises(mx.MXNetError, match="the states loaded for parameter 0 are"):
            trainer.step(2)
        np.testing.assert_array_equal(net.weight.data().asnumpy(), before)


def test_learning_rate_of_a_schedule_cannot_be_set():
    net = network()
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=1.0)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"lr_scheduler": schedule})
    assert trainer.learning_rate == 1.0
    with pytest.raises(UserWarning, match="lr_scheduler"):
        trainer.set_learning_rate(0.1)


def test_unknown_stores_are_refused_by_name():
    net = network()
    with pytest.raises(mx.MXNetError, match="use dist_sync"):
        gluon.Trainer(net.collect_params(), "sgd", kvstore="dist_async")
    with pytest.raises(mx.MXNetError, match="'local'"):
        gluon.Trainer(net.collect_params(), "sgd", kvstore="locale")


def test_a_store_of_a_user_sums_gradients():
    calls = []

    @mx.kv.KVStoreBase.register
    class Counting(mx.kv.TestStore):
        def broadcast(self, key, value, out, priority=0):
            calls.append("broadcast")
            super().broadcast(key, value, out, priority)

        def pushpull(self, key, value, out=None, priority=0):
            calls.append("pushpull")
            super().pushpull(key, value, out, priority)

    net = network()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore="counting")
    train(net, trainer, batches(2))
    count = len(net.collect_params())
    assert calls.count("broadcast") == count and calls.count("pushpull") == 2 * count
    del mx.kv.KVStoreBase.kv_registry["counting"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_master_copies_in_arenas(name, dtype):
    results = []
    for arena in (True, False):
        net = network()
        net.cast(dtype)
        trainer = gluon.Trainer(net.collect_params(), name, {**OPTIMIZERS[name], "multi_precision": True})
        if not arena:
            trainer._update_arenas = lambda: False
        data = [[a.astype(dtype) for a in batch] for batch in batches(3)]
        results.append(train(net, trainer, data))
        assert bool(trainer._arenas) == arena
    same(*results)


def test_convolutions_keep_their_weights_channels_last_in_arenas():
    results = []
    for arena in (True, False):
        mx.random.seed(5)
        net = nn.HybridSequential()
        net.add(nn.Conv2D(4, 3, activation="relu"), nn.Conv2D(6, 3), nn.Flatten(), nn.Dense(2))
        net.initialize(mx.init.Xavier())
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
        if not arena:
            trainer._update_arenas = lambda: False
        numbers = np.random.RandomState(0)
        data = [[nd.array(numbers.standard_normal(s)) for s in ((8, 1, 8, 8), (8, 2))] for _ in range(4)]
        train(net, trainer, data[:2])
        # A state that is set from outside, in the usual order, has to meet the right elements.
        states = trainer._updaters[0].get_states()
        trainer._updaters[0].set_states(states)
        results.append(train(net, trainer, data[2:]))
        for layer in net[:2]:
            weight, gradient = layer.weight.data()._data, layer.weight.grad()._data
            assert weight.stride() == gradient.stride()
            assert weight.stride(1) == 1
    same(*results, rtol=1e-5)


@pytest.mark.parametrize(
    ("contexts", "stype", "wanted", "expected"),
    [
        (1, "default", None, None), (2, "default", None, True), (2, "default", False, False), (2, "row_sparse", None, False),
        (2, "row_sparse", True, True),
    ],
)  # fmt: skip
def test_what_updates_is_decided_as_in_mxnet(contexts, stype, wanted, expected):
    x = gluon.Parameter("x", shape=(10, 1), grad_stype=stype)
    x.initialize("zeros", ctx=[mx.cpu(i) for i in range(contexts)])
    trainer = gluon.Trainer([x], "sgd", {"learning_rate": 0.1}, update_on_kvstore=wanted)
    with mx.autograd.record():
        for w in x.list_data():
            (w + 1).backward()
    trainer.step(1)
    assert trainer._update_on_kvstore is expected
    np.testing.assert_allclose(x.list_data()[0].asnumpy(), -0.1 * contexts)
    assert (trainer._kvstore is None) == (contexts == 1)
    if expected:
        assert trainer._kvstore._updater.optimizer is trainer.optimizer
        with pytest.raises(AssertionError, match="update_on_kvstore=False"):
            trainer.allreduce_grads()
        x.set_data(mx.nd.zeros((10, 1)))
        assert trainer._kvstore is None and not trainer._kv_initialized
    else:
        trainer.allreduce_grads()


def test_parameters_of_two_dtypes_are_updated_once_where_one_of_them_has_a_count_of_its_own():
    """Rows of flat arrays cannot be used where counts differ; that shows before any of them is updated."""
    parameters = gluon.ParameterDict()
    for k, dtype in enumerate(("float32", "float32", "float64", "float64")):
        parameters.get(f"p{k}", shape=(2,), dtype=dtype, init="ones")
    parameters.initialize()
    trainer = gluon.Trainer(parameters, "sgd", {"learning_rate": 0.5}, kvstore=None)
    for step in range(2):
        with mx.autograd.record():
            total = sum(p.data().astype("float64").sum() for p in parameters.values())
        total.backward()
        trainer.step(1)
        for p in parameters.values():
            assert p.data().asnumpy().tolist() == [0.5 - 0.5 * step] * 2
        trainer._optimizer._index_update_count[3] += 1


def test_compression_says_nothing_where_one_context_sends_nothing():
    layer = gluon.nn.Dense(1, in_units=1)
    layer.initialize("ones")
    compression = {"type": "2bit", "threshold": 0.5}
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 1}, compression_params=compression)
    with autograd.record():
        loss = layer(nd.array([[0.25]])).sum()
    loss.backward()
    trainer.step(1)
    assert layer.weight.data().asscalar() == 0.75  # by the gradient as it is, not by one of -0.5, 0 or 0.5


def test_a_parameter_written_to_while_recording_leaves_its_neighbours():
    weight, estimate = gluon.Parameter("weight", shape=(3,)), gluon.Parameter("estimate", shape=(1,))
    for parameter in (weight, estimate):
        parameter.initialize(mx.init.One())
    trainer = gluon.Trainer([weight, estimate], "sgd", {"learning_rate": 0.25})
    for expected in ([0.5] * 3, [0.25] * 3):
        with mx.autograd.record():
            objective = (weight.data() ** 2 / estimate.data()).sum()
            with mx.autograd.pause():
                estimate.set_data(mx.nd.ones((1,)))
        objective.backward()
        trainer.step(1)
        np.testing.assert_allclose(weight.data().asnumpy(), expected)
    with mx.autograd.record():
        early, late = [(weight.data() ** 2 / estimate.data()).sum() for _ in range(2)]
    late.backward()
    trainer.step(1)
    with pytest.raises(mx.MXNetError, match="changed in place"):
        early.backward()
