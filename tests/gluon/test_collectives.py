"""Horovod's and BytePS's interfaces: their programs train as one process with all batches does."""

import sys

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd
from core.base import MXNetError
from gluon.contrib import collectives
from tests.support import ranks


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(collectives, "_begun", False)
    monkeypatch.setattr(ranks, "PATIENCE", 30.0)


def network(seed):
    mx.random.seed(seed)
    net = gluon.nn.Dense(3, in_units=4, prefix="net_")
    net.initialize(mx.init.Xavier())
    return net


def data():
    numbers = np.random.RandomState(0)
    return [[nd.array(numbers.standard_normal((6, n))) for n in (4, 3)] for _ in range(4)]


def train(net, trainer, rank, count, batch):
    for x, y in data():
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(x[rank::count]), y[rank::count])
        loss.backward()
        trainer.step(batch)
    return np.concatenate([p.data().asnumpy().ravel() for p in net.collect_params().values()])


def program(rank, package, how):
    """As Horovod's and BytePS's examples are written."""
    mx.install_as_mxnet()
    if package == "horovod":
        import horovod.mxnet as hvd
    else:
        import byteps.mxnet as hvd
    with pytest.raises(ValueError, match="call init"):
        hvd.rank()
    hvd.init()
    net = network(hvd.rank())
    params = net.collect_params()
    hvd.broadcast_parameters(params, root_rank=0)
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    if how == "trainer":
        trainer = hvd.DistributedTrainer(params, "sgd", settings)
    else:
        optimizer = hvd.DistributedOptimizer(mx.optimizer.create("sgd", **settings))
        trainer = gluon.Trainer(params, optimizer, kvstore=None)
    return train(net, trainer, hvd.rank(), hvd.size(), 6 // hvd.size())


@pytest.mark.parametrize(("package", "how"), [("horovod", "trainer"), ("horovod", "optimizer"), ("byteps", "trainer")])
@pytest.mark.parametrize("count", [2, 3])
def test_programs_train_as_one(package, how, count):
    results = ranks.run(count, program, package, how, HEARTBEAT=30.0)
    net = network(0)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    expected = train(net, trainer, 0, 1, 6)
    for result in results:
        assert not isinstance(result, str), result
        np.testing.assert_array_equal(result, results[0])
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def operations(rank):
    collectives.init()
    own = nd.array([[rank, 1]])
    gathered = collectives.allgather(nd.full((rank + 1, 2), rank))
    summed = own.copy()
    collectives.byteps_push_pull(summed, is_average=False)
    return (
        collectives.allreduce(own).asnumpy().tolist(),
        collectives.allreduce(own, op=collectives.Sum).asnumpy().tolist(),
        summed.asnumpy().tolist(),
        gathered.asnumpy().tolist(),
        collectives.broadcast(own, 1).asnumpy().tolist(),
        collectives.broadcast_object({"epoch": rank}, 1),
        (collectives.local_rank(), collectives.size()),
    )


def test_operations():
    for rank, found in enumerate(ranks.run(2, operations, HEARTBEAT=30.0)):
        assert found[:6] == ([[0.5, 1]], [[1, 2]], [[1, 2]], [[0, 0], [1, 1], [1, 1]], [[1, 1]], {"epoch": 1})
        assert found[6] == (rank, 2)


def test_one_process_alone():
    collectives.init()
    net = network(0)
    trainer = collectives.DistributedTrainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    train(net, trainer, 0, 1, 6)
    assert collectives.allreduce(nd.ones((2,))).asnumpy().tolist() == [1, 1] and collectives.size() == 1
    with pytest.raises(MXNetError, match=r"compression is Compression\.none"):
        collectives.DistributedTrainer(net.collect_params(), "sgd", compression=collectives.Compression.fp16)
    with pytest.raises(MXNetError, match="takes what JSON can say, given set"):
        collectives.broadcast_object({1})


def test_numbers_of_other_launchers():
    given = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
    collectives.find_numbers(given)
    assert (given["RANK"], given["LOCAL_RANK"], given["WORLD_SIZE"]) == ("3", "1", "4")
    assert given["MASTER_ADDR"] == "127.0.0.1"


def test_other_packages_of_the_names_stay(tmp_path, monkeypatch):
    for name in ("horovod", "horovod.mxnet"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "horovod").mkdir()
    (tmp_path / "horovod" / "__init__.py").write_text("theirs = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    mx.install_as_mxnet()
    import horovod

    assert horovod.theirs
    for name in ("horovod", "horovod.mxnet"):
        sys.modules.pop(name, None)
