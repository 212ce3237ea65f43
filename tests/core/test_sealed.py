"""Arrays that plans rely on are sealed between calls; every way to reach one breaks its seal."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd
from core.ndarray.sealed import Watch
from gluon import nn


def arrays(count=2, kind=nd.array):
    return [kind(np.arange(6.0).reshape(2, 3) + k) for k in range(count)]


def calm(watch):
    """The watch has asked often enough for seals."""
    while watch._open is None:
        watch.changed()
    assert not watch.changed()
    return watch


def is_sealed(array):
    return type(array) is not array._dense_kind


@pytest.mark.parametrize("kind", [nd.array, mx.np.array])
def test_sealed_arrays_are_arrays_and_those_that_are_read_are_as_before(kind):
    first, second = given = arrays(kind=kind)
    plain = type(first)
    calm(Watch(given))
    assert is_sealed(first) and is_sealed(second) and isinstance(first, plain)
    assert repr(type(first)) == repr(plain)
    assert first.shape == (2, 3) and type(first) is plain and is_sealed(second)
    np.testing.assert_array_equal(first.asnumpy(), np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: x + 0])
def test_what_is_made_of_a_sealed_array_is_a_plain_one(take):
    (x,) = given = arrays(1)
    calm(Watch(given))
    made = take(x)
    assert type(made) is nd.NDArray
    np.testing.assert_array_equal(made.asnumpy(), x.asnumpy())


WRITES = {
    "item": lambda x: x.__setitem__((0, 1), 7),
    "slice": lambda x: x.__setitem__(slice(None), nd.ones((2, 3))),
    "sum": lambda x: x.__iadd__(1),
    "out": lambda x: nd.exp(x, out=x),
    "copyto": lambda x: nd.ones((2, 3)).copyto(x),
    "view": lambda x: x.reshape((3, 2)).__setitem__(0, 5),
    "optimizer": lambda x: nd.sgd_update(x, nd.ones((2, 3)), lr=0.5, out=x),
    "tensor": lambda x: setattr(x, "_data", nd.zeros((2, 3))._data),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_are_seen_and_the_seal_comes_back(write):
    first, second = given = arrays()
    watch = calm(Watch(given))
    write(second)
    assert watch.changed() and not watch.changed()
    np.testing.assert_array_equal(watch.tensors[1].numpy(), second.asnumpy())
    assert is_sealed(first) and not is_sealed(second)
    calm(watch)
    assert is_sealed(second)


def test_reading_breaks_a_seal_and_is_no_change():
    (x,) = given = arrays(1)
    watch = calm(Watch(given))
    x.asnumpy()
    assert not is_sealed(x) and not watch.changed()


@pytest.mark.parametrize("alias", [lambda x: x.reshape((3, 2)), lambda x: x.detach(), lambda x: x[0]])
def test_arrays_whose_memory_another_one_shows_are_not_sealed(alias):
    x, y = given = arrays()
    view = alias(x)
    watch = calm(Watch(given))
    assert not is_sealed(x) and is_sealed(y)
    view[:] = 9
    assert watch.changed()


def test_two_watches_share_seals_and_both_are_told():
    x, y = given = arrays()
    first, second = Watch(given), Watch([y])
    second.changed()
    calm(first)
    assert is_sealed(y)
    calm(second)
    y += 1
    assert first.changed() and second.changed() and not first.changed()


def test_what_is_sealed_does_not_keep_a_watch():
    given = arrays()
    watch = calm(Watch(given))
    gone = weakref.ref(watch)
    del watch
    gc.collect()
    assert gone() is None
    given[0] += 1
    assert not is_sealed(given[0]) and is_sealed(given[1])


def test_one_that_is_touched_at_each_call_is_sealed_ever_more_rarely():
    (x,) = given = arrays(1)
    watch, sealed = Watch(given), 0
    for _ in range(100):
        watch.changed()
        sealed += is_sealed(x)
        x.asnumpy()
    assert 4 <= sealed <= 8


def _step(net, x):
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    with autograd.record():
        loss = net(x).sum()
    loss.backward()
    trainer.step(1)


def _backward(net, x):
    """A plan of training writes to the means."""
    with autograd.record():
        y = net(x)
    y.backward()


CHANGES = {
    "set_data": lambda net, x: net[0].weight.set_data(net[0].weight.data() * 2),
    "step": _step,
    "initialize": lambda net, x: net.initialize(mx.init.Normal(0.5), force_reinit=True),
    "running mean": lambda net, x: net[1].running_mean.data().__setitem__(slice(None), 3),
    "moving": lambda net, x: _backward(net, 3 * x),
    "kept": lambda net, x: KEPT[0].__setitem__(slice(None), 0.25),
    "cast": lambda net, x: (net.cast("float64"), net.cast("float32"), net[0].bias.data().__iadd__(1)),
}
KEPT = []


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_hybridized_networks_see_changes_of_their_sealed_parameters(change):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, in_channels=3), nn.BatchNorm(in_channels=8), nn.Dense(4, in_units=8 * 36))
    net.initialize(mx.init.Normal(0.1))
    x = nd.random.uniform(shape=(2, 3, 8, 8))
    net.hybridize()
    KEPT[:] = [net[0].weight.data()]
    for _ in range(4):
        before = net(x).asnumpy()
    assert is_sealed(net[0].weight._data[0])
    change(net, x)
    for _ in range(4):
        found = net(x).asnumpy()
        assert np.abs(found - before).max() > 1e-3
    net.hybridize(False)
    np.testing.assert_allclose(found, net(x).asnumpy(), rtol=1e-4, atol=1e-5)
