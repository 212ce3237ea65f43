"""Stores: sums over contexts, updaters, rows, compression, registered classes."""

import numpy as np
import pytest
import torch

import core as mx
from core.base import MXNetError
from core.kvstore.base import KVStoreBase

SHAPE = (4, 4)
CONTEXTS = [mx.cpu(i) for i in range(4)]


def store(key, stype="default"):
    kv = mx.kv.create()
    kv.init(key[0], mx.nd.zeros(SHAPE, stype=stype))
    kv.init(key[1:], [mx.nd.zeros(SHAPE, stype=stype)] * 3)
    return kv


KEYS = [[3, 5, 7, 11], ["a", "b", "c", "d"]]


@pytest.mark.parametrize("key", KEYS)
def test_push_sums_over_contexts_and_pull_copies(key):
    kv = store(key)
    values = [mx.nd.ones(SHAPE, c) for c in CONTEXTS]
    kv.push(key[0], values)
    values[0][:] = 9
    kv.pull(key[0], out=values)
    assert all((v.asnumpy() == 4).all() and v.context == c for v, c in zip(values, CONTEXTS))
    lists = [[mx.nd.ones(SHAPE, c) * 2 for c in CONTEXTS] for _ in range(3)]
    kv.push(key[1:], lists)
    kv.pull(key[1:], out=lists)
    assert all((v.asnumpy() == 8).all() for row in lists for v in row)
    one = mx.nd.ones(SHAPE)
    kv.pushpull(key[0], one)
    assert (one.asnumpy() == 1).all()


@pytest.mark.parametrize("key", KEYS)
def test_an_updater_decides_what_is_stored(key):
    kv, seen = store(key), set()

    def add(k, received, stored):
        seen.add(k)
        stored += received

    kv._set_updater(add)
    lists = [[mx.nd.ones(SHAPE, c) for c in CONTEXTS] for _ in range(3)]
    for _ in range(4):
        kv.push(key[1:], lists)
    kv.pull(key[1:], out=lists)
    assert all((v.asnumpy() == 16).all() for row in lists for v in row)
    assert seen == set(key[1:])


def test_an_optimizer_in_the_store_keeps_states(tmp_path):
    def trained(kv, steps):
        out = mx.nd.zeros(SHAPE)
        for _ in range(steps):
            kv.push("w", mx.nd.ones(SHAPE))
        kv.pull("w", out)
        return out.asnumpy()

    def fresh(value):
        kv = mx.kv.create("device")
        kv.init("w", mx.nd.array(value))
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
        return kv

    kv = fresh(np.ones(SHAPE))
    np.testing.assert_allclose(trained(kv, 2), 1 - 0.1 - 0.19, rtol=1e-6)
    kv.save_optimizer_states(str(tmp_path / "states"))
    other = fresh(trained(kv, 0))
    other.load_optimizer_states(str(tmp_path / "states"))
    np.testing.assert_array_equal(trained(other, 2), trained(kv, 2))
    with pytest.raises(AssertionError, match="set_optimizer"):
        mx.kv.create().save_optimizer_states("x")


def test_rows_of_sparse_values():
    kv = mx.kv.create()
    kv.init("e", mx.nd.ones(SHAPE).tostype("row_sparse"))
    out = [mx.nd.zeros(SHAPE, stype="row_sparse") for _ in range(2)]
    rows = [mx.nd.array([2, 0, 2], dtype="int64"), mx.nd.array([1], dtype="int64")]
    kv.row_sparse_pull("e", out=out, row_ids=rows)
    assert [v.asnumpy()[:, 0].tolist() for v in out] == [[1, 0, 1, 0], [0, 1, 0, 0]]
    kv.row_sparse_pull("e", out=out, row_ids=rows[1])
    assert [v.asnumpy()[:, 0].tolist() for v in out] == [[0, 1, 0, 0]] * 2
    values = [mx.nd.array(np.diag([i, 0, 0, 1.0])).tostype("row_sparse") for i in range(3)]
    kv.push("e", values)
    kv.row_sparse_pull("e", out=out, row_ids=mx.nd.arange(4, dtype="int64"))
    np.testing.assert_array_equal(out[0].asnumpy(), np.diag([3, 0, 0, 3.0]))
    with pytest.raises(MXNetError, match="row_sparse"):
        kv.row_sparse_pull("e", out=mx.nd.ones(SHAPE), row_ids=rows[0])


def test_compressed_gradients_keep_what_they_lose():
    kv = mx.kv.create("device")
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    kv.init("w", mx.nd.zeros((4,)))
    total, out = np.zeros(4), mx.nd.zeros((4,))
    gradient = np.array([0.2, 0.6, -0.3, -2.0], "float32")
    for _ in range(6):
        kv.push("w", mx.nd.array(gradient))
        kv.pull("w", out)
        assert set(np.unique(out.asnumpy())) <= {-0.5, 0.0, 0.5}
        total += out.asnumpy()
    # 1.2, 3.6 and -1.8 arrive in halves; what exceeds half a threshold a step waits
    np.testing.assert_allclose(total, [1.0, 3.0, -1.5, -3.0])
    with pytest.raises(MXNetError, match="device or dist"):
        mx.kv.create("local").set_gradient_compression({"type": "2bit"})


def test_stores_of_users():
    @mx.kv.KVStoreBase.register
    class Doubling(mx.kv.TestStore):
        def pushpull(self, key, value, out=None, priority=0):
            super().pushpull(key, value, out, priority)
            for v in value if out is None else out:
                v *= 2

    kv = mx.kv.create("doubling")
    values = [mx.nd.ones(SHAPE, c) for c in CONTEXTS]
    kv.pushpull(1, values)
    assert (values[2].asnumpy() == 8).all()
    assert not kv.is_capable("optimizer")
    del mx.kv.KVStoreBase.kv_registry["doubling"]


def test_names_and_mistakes():
    assert mx.kv.create("local_allreduce_cpu").type == "local_allreduce_cpu"
    alone = mx.kv.create("dist_sync")
    assert (alone.rank, alone.num_workers) == (0, 1)
    with pytest.raises(MXNetError, match="Did you mean 'device'"):
        mx.kv.create("devise")
    with pytest.raises(MXNetError, match="dist_sync"):
        mx.kv.create("dist_async")
    kv = mx.kv.create()
    kv.init("a", mx.nd.ones(SHAPE))
    with pytest.raises(MXNetError, match="already"):
        kv.init("a", mx.nd.ones(SHAPE))
    with pytest.raises(MXNetError, match="type str"):
        kv.init(3, mx.nd.ones(SHAPE))
    with pytest.raises(MXNetError, match="'b' is not in the store"):
        kv.pull("b", out=mx.nd.ones(SHAPE))


def test_sparse_arrays_are_left_as_they_are_by_a_pull():
    store = mx.kv.create()
    store.init(3, mx.nd.zeros((2, 2)))
    out = (mx.nd.ones((2, 2)) * 2).tostype("row_sparse")
    store.pull(3, out=out)
    assert (out.asnumpy() == 2).all()


def test_dense_arrays_are_pulled_from_row_sparse_keys():
    kv = mx.kv.create()
    kv.init(3, mx.nd.zeros(SHAPE, stype="row_sparse"))
    kv._set_updater(lambda key, received, stored: stored.__iadd__(received))
    values = [mx.nd.ones(SHAPE, mx.cpu(i)) for i in range(4)]
    kv.push(3, values)
    kv.pull(3, out=values)
    assert all((value.asnumpy() == 4).all() for value in values)


MANY = 20_000  # numbers in a weight that is worth sharing


def updating_store(weight):
    """A store of one key that subtracts what is pushed, and counts its updates."""
    store = mx.kv.create("local")
    store.init("w", weight)
    store._set_updater(lambda key, gradient, stored: stored.__isub__(gradient))
    return store


def test_what_a_step_takes_back_shares_the_memory_of_the_store():
    """As after `push` and `pull`, whoever writes between steps; of what the update leaves alone nothing is copied."""
    begin = np.random.RandomState(0).rand(MANY).astype("float32")
    ours, plain = (updating_store(mx.nd.array(begin)) for _ in range(2))
    weights = [[mx.nd.array(begin, ctx=mx.cpu(i)) for i in range(2)] for _ in range(2)]
    for step in range(4):
        gradients = [mx.nd.full((MANY,), step + 1, ctx=mx.cpu(i)) for i in range(2)]
        ours._push_and_pull("w", gradients, weights[0])
        KVStoreBase._push_and_pull(plain, "w", gradients, weights[1])
        expected = begin - 2 * sum(range(1, step + 2))
        for array in (*weights[0], *weights[1]):
            np.testing.assert_allclose(array.asnumpy(), expected, rtol=1e-5)
        assert len({torch._C._data_address(array._data) for array in (*weights[0], ours._stored["w"])}) == 1
        if step == 1:
            for first, _ in weights:
                first[:5] = 100  # neither the store nor the other context sees it, and the next step overwrites it
            assert weights[0][1].max().asscalar() < 1 and ours._stored["w"].max().asscalar() < 1


def test_views_of_a_weight_and_failing_updates_see_what_a_pull_would_give():
    store, weight = updating_store(mx.nd.ones((MANY,))), mx.nd.ones((MANY,))
    view, tensor = weight[:2], weight._data
    store._push_and_pull("w", mx.nd.ones((MANY,)), weight)
    assert view.asnumpy().tolist() == [0, 0] and weight._data is tensor and weight.sum().asscalar() == 0
    view = tensor = None

    def fail(key, gradient, stored):
        raise ValueError("no update")

    store._set_updater(fail)
    with pytest.raises(ValueError, match="no update"):
        store._push_and_pull("w", mx.nd.ones((MANY,)), weight)
    assert weight.shape == (MANY,) and weight.sum().asscalar() == 0
    weight[:] = 3
    assert store._stored["w"].sum().asscalar() == 0
