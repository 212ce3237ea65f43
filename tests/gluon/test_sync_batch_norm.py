"""SyncBatchNorm over several contexts: the same training as BatchNorm on the whole batch."""

import copy
import threading

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd
from gluon import nn
from gluon.contrib.nn import SyncBatchNorm

NUMBERS = np.random.RandomState(0)
IMAGES, LABELS = NUMBERS.standard_normal((6, 3, 8, 8)), np.array([0, 1, 0, 1, 1, 0])
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


def network(norm, contexts):
    mx.random.seed(3)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3), norm(), nn.Activation("relu"), nn.Conv2D(3, 3), norm(), nn.Dense(2))
    net.initialize(mx.init.Xavier(), ctx=contexts)
    return net


def one_by_one(net, xs, ys):
    return [LOSS(net(x), y) for x, y in zip(xs, ys)]


def all_networks_first(net, xs, ys):
    outs = [net(x) for x in xs]
    return [LOSS(out, y) for out, y in zip(outs, ys)]


def in_threads(net, xs, ys):
    losses = [None] * len(xs)

    def compute(i):
        with autograd.record():
            losses[i] = LOSS(net(xs[i]), ys[i])

    threads = [threading.Thread(target=compute, args=(i,)) for i in range(len(xs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return losses


def train(count, calls, hybrid=False):
    contexts = [mx.cpu(i) for i in range(count)]
    net = network(nn.BatchNorm if count == 1 else lambda: SyncBatchNorm(num_devices=count), contexts)
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    for _ in range(2):
        xs, ys = (gluon.utils.split_and_load(nd.array(a), contexts) for a in (IMAGES, LABELS))
        with autograd.record():
            losses = calls(net, xs, ys)
        autograd.backward(losses)
        trainer.step(len(LABELS))
    return {
        (name, context): p.data(context).asnumpy()
        for name, p in net._collect_params_with_prefix().items()
        for context in contexts
    }


@pytest.mark.parametrize(
    ("count", "calls", "hybrid"),
    [(2, one_by_one, False), (3, all_networks_first, True), (2, in_threads, False), (3, in_threads, True)],
)
def test_contexts_train_as_one(count, calls, hybrid):
    expected = train(1, one_by_one)
    for (name, _), array in train(count, calls, hybrid).items():
        np.testing.assert_allclose(array, expected[name, mx.cpu(0)], rtol=1e-5, atol=1e-6, err_msg=name)


def test_what_can_be_done_while_contexts_are_missing():
    net = network(lambda: SyncBatchNorm(num_devices=2), [mx.cpu(0), mx.cpu(1)])
    x = nd.array(IMAGES)
    with autograd.record():
        out = net(x)
        with pytest.raises(mx.MXNetError, match="other contexts"):
            out + 1
        del out  # and with it the call, which the next ones have nothing to do with
        first = nn.Activation("relu")(net(x))
        assert type(first) is not nd.NDArray
        second = nn.Activation("relu")(net(x.as_in_context(mx.cpu(1))))
    assert type(first) is type(second) is nd.NDArray and (first.context, second.context) == (mx.cpu(0), mx.cpu(1))
    np.testing.assert_allclose(first.asnumpy(), second.asnumpy(), rtol=1e-6)
    assert net(x).shape == (6, 2)  # in prediction nobody waits
    with pytest.raises(mx.MXNetError), autograd.record():
        net(nd.ones((2, 5, 8, 8)))
    with autograd.record():
        for out in [net(nd.array(IMAGES, ctx=mx.cpu(i))) for i in range(2)]:
            assert np.isfinite(out.asnumpy()).all()


def test_copies_of_a_layer_meet_elsewhere():
    layer = SyncBatchNorm(num_devices=2)
    assert copy.deepcopy(layer)._barrier is not layer._barrier
