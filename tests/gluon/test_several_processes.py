"""Trainers of two and three processes in the cases that are not ordinary: each ends with the same weights, or an error."""

import functools

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd
from core.kernels import communication
from core.kvstore import processes
from gluon import nn
from gluon.contrib.nn import SyncBatchNorm
from tests.support import ranks

LOSS = gluon.loss.L2Loss()


def network(seed=0, **names):
    mx.random.seed(seed)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(5, in_units=4, activation="tanh"), nn.Dense(6, in_units=5), nn.Dense(2, in_units=6, **names))
    net.initialize(mx.init.Xavier())
    return net


def data(steps, samples=6):
    numbers = np.random.RandomState(1)
    return [[nd.array(numbers.standard_normal((samples, n))) for n in (4, 2)] for _ in range(steps)]


def weights(net):
    return np.concatenate([p.data().asnumpy().ravel() for p in net.collect_params().values()])


def share(array, rank):
    return array[rank :: communication.size()]


def trainer_of(net, optimizer="sgd", **settings):
    steps = {"learning_rate": 0.1, "momentum": 0.9} if optimizer == "sgd" else {"learning_rate": 0.01}
    return gluon.Trainer(net.collect_params(), optimizer, steps, kvstore="dist_sync", **settings)


def backward(net, x, y, rank):
    with autograd.record():
        loss = LOSS(net(share(x, rank)), share(y, rank))
    loss.backward()


def alike(results):
    for result in results[1:]:
        assert not isinstance(result, str), result
        np.testing.assert_array_equal(result, results[0])
    return results[0]


@pytest.fixture
def small_buckets(monkeypatch):
    monkeypatch.setattr("core.kvstore.reducer.BUCKET_BYTES", 1)
    monkeypatch.setattr("core.kvstore.reducer.FIRST_BYTES", 1)


def plain(rank, optimizer, settings):
    net = network(rank)
    trainer = trainer_of(net, optimizer, **settings)
    for x, y in data(4):
        backward(net, x, y, rank)
        trainer.step(6)
    return weights(net)


@pytest.mark.parametrize(
    ("optimizer", "settings"), [("sgd", {}), ("lamb", {}), ("sgd", {"clip_global_norm": 0.01})], ids=str
)
def test_three_train_as_one(optimizer, settings, small_buckets):
    np.testing.assert_allclose(
        alike(ranks.run(3, plain, optimizer, settings)), one(optimizer, settings), rtol=1e-5, atol=1e-6
    )


def one(optimizer, settings):
    net = network()
    steps = {"learning_rate": 0.1, "momentum": 0.9} if optimizer == "sgd" else {"learning_rate": 0.01}
    trainer = gluon.Trainer(net.collect_params(), optimizer, steps)
    for x, y in data(4):
        backward(net, x, y, 0)
        if "clip_global_norm" in settings:
            gradients = [p.grad() for p in net.collect_params().values()]
            gluon.utils.clip_global_norm(gradients, 6 * settings["clip_global_norm"])
        trainer.step(6)
    return weights(net)


# ---------------------------------------------------------------- stale here, fresh there


def branches(rank):
    net = network(rank)
    trainer = trainer_of(net)
    for k, (x, y) in enumerate(data(5)):
        with autograd.record():
            out = net[1](net[0](share(x, rank)))
            # Another process uses the last layer in each step, and none does in the last one.
            loss = LOSS(net[2](out), share(y, rank)) if k % communication.size() == rank and k < 4 else out.sum()
        loss.backward()
        trainer.step(6, ignore_stale_grad=True)
    return weights(net)


@pytest.mark.parametrize("count", [2, 3])
def test_a_gradient_that_is_fresh_on_one_process_moves_all(count, small_buckets):
    found = alike(ranks.run(count, branches))
    assert np.abs(found - weights(network())).max() > 1e-3


def stale_on_one(rank):
    net = network()
    trainer = trainer_of(net)
    x, y = data(1)[0]
    with autograd.record():
        out = net[1](net[0](share(x, rank)))
        loss = LOSS(net[2](out), share(y, rank)) if rank else out.sum()
    loss.backward()
    trainer.step(6)


def test_a_stale_gradient_is_told_on_every_process():
    for text in ranks.run(2, stale_on_one):
        assert "UserWarning: the gradient of parameter 'net_dense2_bias' on a process" in text


# ---------------------------------------------------------------- written between backward and step


def clipped(rank, optimizer):
    net = network(rank)
    trainer = trainer_of(net, optimizer)
    for k, (x, y) in enumerate(data(5)):
        backward(net, x, y, rank)
        if k == 1 + rank:  # one process only, another one in another step
            for p in net.collect_params().values():
                p.grad()[:] = p.grad() * 0.5
        if k == 4 and rank == 0:
            net[1].weight.grad()[:] = 0
        trainer.step(6)
    return weights(net)


@pytest.mark.parametrize("optimizer", ["sgd", "lamb"])
def test_a_gradient_written_on_one_process_counts_on_all(optimizer, small_buckets):
    found = alike(ranks.run(2, clipped, optimizer))
    net = network()
    trainer = gluon.Trainer(
        net.collect_params(), optimizer, {"learning_rate": 0.01} if optimizer == "lamb" else {"learning_rate": 0.1, "momentum": 0.9}
    )  # fmt: skip
    for k, (x, y) in enumerate(data(5)):
        parts = []
        for rank in range(2):
            with autograd.record():
                loss = LOSS(net(x[rank::2]), y[rank::2])
            loss.backward()
            own = {name: p.grad().asnumpy() for name, p in net.collect_params().items()}
            own = {name: g * (0.5 if k == 1 + rank else 1) for name, g in own.items()}
            if k == 4 and rank == 0:
                own[net[1].weight.name] *= 0
            parts.append(own)
        for name, p in net.collect_params().items():
            p.grad()[:] = parts[0][name] + parts[1][name]
        trainer.step(6)
    np.testing.assert_allclose(found, weights(net), rtol=1e-5, atol=1e-6)


def counted():
    """How many elements each sum of gradients from now on has."""
    sent, original = [], communication.all_reduce

    @functools.wraps(original)
    def counts(tensor, *rest, **more):
        sent.append(tensor.numel())
        return original(tensor, *rest, **more)

    communication.all_reduce = counts
    return sent


def sizes_sent(rank):
    found = []
    for largest in (None, 0.01):
        net, sent = network(rank), counted()
        trainer = trainer_of(net, clip_global_norm=largest)
        for x, y in data(3):
            backward(net, x, y, rank)
            trainer.step(6)
        found.append(list(sent))
        communication.all_reduce = communication.all_reduce.__wrapped__
    return found


def test_clipped_gradients_travel_once(small_buckets):
    for plain, clipped in ranks.run(3, sizes_sent):
        assert clipped == plain and len(plain) == 3 * 6 and sum(plain) == 3 * weights(network()).size


def two_passes(rank):
    """As a discriminator's: a pass of another trainer writes gradients that are not stepped."""
    net = network(rank)
    trainer, sent, counts = trainer_of(net), counted(), []
    for x, y in data(4):
        backward(net, x * 100, y, rank)
        if rank == 0:
            backward(net, x * 10, y, rank)  # one more on this process: the number of passes need not agree
        backward(net, x, y, rank)
        counts.append(len(sent))
        trainer.step(6)
        counts.append(len(sent))
    return weights(net), counts


def test_gradients_that_no_trainer_steps_do_not_travel(small_buckets):
    (first, counts), (second, others) = ranks.run(2, two_passes)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, one("sgd", {}), rtol=1e-5, atol=1e-6)
    # Six parameters: all in complete() of the first step; then during the last pass, and nothing again.
    assert counts == others == [0, 6, 12, 12, 18, 18, 24, 24]


# ---------------------------------------------------------------- different numbers of batches


def uneven(rank, optimizer, unfinished):
    net = network(rank)
    trainer = trainer_of(net, optimizer, clip_global_norm=0.05)
    with trainer.join():
        for x, y in data(6 - 2 * rank if rank < 2 else 1):
            backward(net, x, y, rank)
            trainer.step(6)
        if unfinished and rank:
            backward(net, *data(1)[0], rank)
    return weights(net)


# unfinished: a process leaves after a backward pass, whose gradients are on their way and belong to no step of its own.
@pytest.mark.parametrize("unfinished", [False, True])
@pytest.mark.parametrize(("count", "optimizer"), [(2, "sgd"), (3, "adam")])
def test_join_of_different_numbers_of_batches(count, optimizer, unfinished, small_buckets):
    found = alike(ranks.run(count, uneven, optimizer, unfinished))
    net = network()
    steps = {"learning_rate": 0.1, "momentum": 0.9} if optimizer == "sgd" else {"learning_rate": 0.01}
    trainer = gluon.Trainer(net.collect_params(), optimizer, steps, clip_global_norm=0.05)
    for k, (x, y) in enumerate(data(6)):
        there = [rank for rank in range(count) if k < (6 - 2 * rank if rank < 2 else 1)]
        with autograd.record():
            losses = [LOSS(net(x[rank::count]), y[rank::count]) for rank in there]
            loss = nd.concat(*losses, dim=0)
        loss.backward()
        trainer.step(6)
    np.testing.assert_allclose(found, weights(net), rtol=1e-5, atol=1e-6)


def no_join(rank):
    net = network(rank)
    trainer = trainer_of(net)
    for x, y in data(3 - rank):
        backward(net, x, y, rank)
        trainer.step(6)
    mx.kv.create("dist_sync").barrier()


def test_without_join_the_error_says_so():
    for text in ranks.run(2, no_join):
        assert "process 0: step 3 of trainer" in text and "process 1: a barrier" in text and "Trainer.join" in text


def other_sizes(rank):
    net = network(rank)
    x, y = data(1)[0]
    backward(net, x, y, rank)
    trainer_of(net).step(6 - rank)


def test_batch_sizes_differ():
    for text in ranks.run(2, other_sizes):
        assert "what step() divides by differ" in text and "process 0: 6; process 1: 5" in text


# ---------------------------------------------------------------- other parameters


def other_network(rank, kind):
    if kind == "shape":
        net = nn.Dense(3 + rank, in_units=4, prefix="a_")
    elif kind == "layer":
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(nn.Dense(3, in_units=4), *[nn.Dense(3, in_units=3)] * rank)
    elif kind == "dtype":
        net = nn.Dense(3, in_units=4, prefix="a_", dtype="float64" if rank else "float32")
    elif kind == "deferred":
        net = nn.Dense(3, in_units=0 if rank else 4, prefix="a_")
    else:  # the shape comes with the data
        net = nn.Dense(3, prefix="a_")
    net.initialize()
    gluon.Trainer(net.collect_params(), "sgd", kvstore="dist_sync")
    net(nd.ones((2, 4 + rank)))
    return "trains on"


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("shape", "process 0: a_bias (3,) float32 default grad_req 'write', with values; process 1: a_bias (4,)"),
        ("layer", "process 0: nothing more; process 1: net_dense1_bias"),
        ("dtype", "process 0: a_bias (3,) float32 default grad_req 'write', with values; process 1: a_bias (3,) float64"),
        ("deferred", "process 0: a_weight (3, 4) float32 default grad_req 'write', with values; process 1: a_weight (3, 0)"),
        ("data", "process 0: first values of a_weight, default <class 'numpy.float32'> (3, 4); process 1: first values"),
    ],
)  # fmt: skip
def test_other_parameters_are_told_on_every_process(kind, error):
    for text in ranks.run(2, other_network, kind):
        assert "MXNetError" in text and error in text


# ---------------------------------------------------------------- sparse and compressed


def sparse(rank, sizes):
    mx.random.seed(rank)
    net = nn.Embedding(1000, 8, sparse_grad=True)
    net.initialize(mx.init.Uniform())
    before, sent = [], []
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5}, kvstore="dist_sync")
    before.append(net.weight.data().asnumpy())
    original = communication._begin

    def counted(what, tensor, *rest, **more):
        sent.append(tensor.numel() * tensor.element_size())
        return original(what, tensor, *rest, **more)

    communication._begin = counted
    for step in range(2):
        numbers = np.random.RandomState(10 * step + rank)
        with autograd.record():
            loss = (net(nd.array(numbers.randint(0, 1000, sizes[rank]))) ** 2).sum()
        loss.backward()
        trainer.step(1)
    return before[0], net.weight.data().asnumpy(), sum(sent)


def test_sparse_gradients_travel_as_rows():
    results = ranks.run(2, sparse, (20, 12))
    np.testing.assert_array_equal(results[0][1], results[1][1])
    expected = results[0][0].astype(np.float64)
    for step in range(2):
        rows = [np.random.RandomState(10 * step + r).randint(0, 1000, n) for r, n in enumerate((20, 12))]
        change = np.zeros_like(expected)
        np.add.at(change, np.concatenate(rows), 2 * expected[np.concatenate(rows)])
        expected -= 0.5 * change
    np.testing.assert_allclose(results[0][1], expected, rtol=1e-5, atol=1e-6)
    assert max(result[2] for result in results) < 10_000  # of 32,000 bytes in a dense gradient, twice


def compressed(rank):
    net = network(rank)
    trainer = trainer_of(net, compression_params={"type": "2bit", "threshold": 0.05})
    start, calls = weights(net), []
    original = communication.begin_all_gather
    communication.begin_all_gather = lambda t, *rest: calls.append(t.numel()) or original(t, *rest)
    for x, y in data(3):
        backward(net, x, y, rank)
        during = len(calls)
        trainer.step(6)
    return start, weights(net), calls, during


def test_compressed_gradients_travel_in_buckets():
    (start, first, calls, during), (_, second, *_) = ranks.run(2, compressed)
    np.testing.assert_array_equal(first, second)
    assert (
        len(calls) == 3 and during == 3 and calls[0] <= 96 // 4
    )  # one bucket, from the second step on during the pass
    net, rest = network(), [0, 0]
    velocity = np.zeros_like(start)
    state = start.copy()
    for x, y in data(3):
        total = 0
        for rank in range(2):
            offset = 0
            for p in net.collect_params().values():
                p.set_data(nd.array(state[offset : offset + p.data().size].reshape(p.shape)))
                offset += p.data().size
            with autograd.record():
                loss = LOSS(net(x[rank::2]), y[rank::2])
            loss.backward()
            wanted = np.concatenate([p.grad().asnumpy().ravel() for p in net.collect_params().values()]) + rest[rank]
            sent = 0.05 * ((wanted >= 0.05).astype(float) - (wanted <= -0.05))
            rest[rank] = wanted - sent
            total = total + sent
        velocity = 0.9 * velocity - 0.1 * total / 6
        state = state + velocity
    np.testing.assert_allclose(first, state, rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------- statistics and metrics of all


def normalised(rank, hybridize):
    mx.random.seed(rank)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(5, in_units=4), SyncBatchNorm(in_channels=5), nn.Dense(3, in_units=5))
        net.add(SyncBatchNorm(in_channels=3), nn.Dense(2, in_units=3))
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    trainer, sums = trainer_of(net), []
    original = processes.sum_statistics
    processes.sum_statistics = lambda array: sums.append(array.size) or original(array)
    for x, y in data(3):
        backward(net, x, y, rank)
        trainer.step(6)
    return weights(net), sums


@pytest.mark.parametrize(("count", "hybridize"), [(2, False), (2, True), (3, True)])
def test_sync_batch_norm_syncs_over_processes_by_default(count, hybridize):
    results = ranks.run(count, normalised, hybridize)
    found = alike([result[0] if isinstance(result, tuple) else result for result in results])
    assert results[0][1] == [11, 7, 6, 10] * 3  # one sum a layer and direction
    mx.random.seed(0)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(5, in_units=4), nn.BatchNorm(in_channels=5), nn.Dense(3, in_units=5))
        net.add(nn.BatchNorm(in_channels=3), nn.Dense(2, in_units=3))
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    for x, y in data(3):
        backward(net, x, y, 0)
        trainer.step(6)
    np.testing.assert_allclose(found, weights(net), rtol=1e-4, atol=1e-5)


def reduced(rank):
    mx.random.seed(0)
    norm = nn.BatchNorm(in_channels=4, momentum=0)
    norm.initialize()
    x = data(1)[0][0]
    with autograd.record():
        norm(x[rank::2]).backward()
    processes.average_statistics(norm)
    scores = mx.metric.CompositeEvalMetric(["acc", "ce"])
    scores.update([nd.array([0, 1, 1][: 3 - rank])], [nd.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]][: 3 - rank])])
    whole = processes.sum_metric(scores)
    with pytest.raises(mx.base.NotSupportedError, match="MCC"):
        processes.sum_metric(mx.metric.MCC(average="micro"))
    return norm.running_mean.data().asnumpy(), whole.get()[1], scores.metrics[0].num_inst


def test_statistics_and_metrics_of_all_processes():
    x, results = data(1)[0][0].asnumpy(), ranks.run(2, reduced)
    for (mean, (accuracy, entropy), own), count in zip(results, (3, 2)):
        np.testing.assert_allclose(mean, x.mean(axis=0), rtol=1e-5)
        assert accuracy == 3 / 5 and own == count
        assert entropy == pytest.approx(-np.log([0.9, 0.2, 0.9, 0.9, 0.2]).mean())


# ---------------------------------------------------------------- stores


def store_and_barrier(rank, kind):
    kv = mx.kv.create("dist_sync")
    kv.init("a", nd.ones((3 + (kind == "init" and rank),)))
    kv.push("a", nd.ones((3,)))
    if kind == "elsewhere" and rank:
        kv.barrier()
    kv.push("a", nd.ones((4 if kind == "push" else 3,)))


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("init", "process 0: first values of key 'a', default <class 'numpy.float32'> (3,); process 1: first values"),
        ("push", "the value of key 'a' is of shape (3,), pushed one of (4,)"),
        ("elsewhere", "the processes wait for different things: process 0 for the sum of key 'a'; process 1 for a barrier"),
    ],
)  # fmt: skip
def test_a_store_names_what_processes_do_differently(kind, error):
    texts = ranks.run(2, store_and_barrier, kind)
    assert all("MXNetError" in text for text in texts) and any(error in text for text in texts)
