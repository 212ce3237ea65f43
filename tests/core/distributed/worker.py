"""What each process of a distributed test does: `python worker.py FOLDER TASK ...`."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np

import core as mx
from core.kernels import communication
from gluon import Trainer, loss, nn

SAMPLES, STEPS = 16, 4


def inputs():
    random = np.random.RandomState(3)
    return random.randn(STEPS, SAMPLES, 6).astype("float32"), random.randint(0, 3, (STEPS, SAMPLES)).astype("float32")


def network(seed, normalised=None, hybridize=False):
    mx.random.seed(seed)
    net = nn.HybridSequential()
    # Trainers go by the order of names, in which dense10_ would come before dense9_; the second layer waits for its shape.
    net.add(nn.Dense(17, activation="tanh", in_units=6, prefix="first_"))
    net.add(nn.Dense(33, activation="tanh", prefix="second_"))
    if normalised is not None:
        net.add(normalised)
    net.add(nn.Dense(3, prefix="third_"))
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    return net


def train(kvstore, optimizer="sgd", settings=None, seed=None, net=None, steps=STEPS, compression=None, contexts=None):
    """Parameters after training on this process's share of every batch."""
    rank, count = communication.rank(), communication.size()
    net = net or network(rank if seed is None else seed)
    if contexts:
        net.collect_params().reset_ctx(contexts)
    settings = {"learning_rate": 0.1} if settings is None else settings
    trainer = Trainer(net.collect_params(), optimizer, settings, kvstore=kvstore, compression_params=compression)
    objective = loss.SoftmaxCrossEntropyLoss()
    for x, y in zip(*inputs()[:2]):
        x, y = x[rank::count], y[rank::count]
        parts = list(zip(np.array_split(x, len(contexts or [0])), np.array_split(y, len(contexts or [0]))))
        with mx.autograd.record():
            losses = [
                objective(net(mx.nd.array(a, ctx=c)), mx.nd.array(b, ctx=c))
                for (a, b), c in zip(parts, contexts or [mx.cpu()])
            ]
        mx.autograd.backward(losses)
        trainer.step(SAMPLES)
    return net, trainer


def save(net, path):
    np.savez(path, *[p.data(p.list_ctx()[0]).asnumpy() for p in net.collect_params().values()])


def main(task, folder):
    rank = communication.rank()
    out = f"{folder}/{task}-{rank}.npz"
    if task == "sgd":
        net, trainer = train("dist_sync", settings={"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01})
        assert communication.size() == 1 or trainer._processes.reducer._buckets
        save(net, out)
    elif task == "lamb":  # whose weights lie in no arena
        save(train("dist_device_sync", "lamb", {"learning_rate": 0.01})[0], out)
    elif task == "hybrid":
        save(train("dist_sync", net=network(rank, hybridize=True))[0], out)
    elif task == "contexts":
        save(train("dist_sync", contexts=[mx.cpu(0), mx.cpu(1)])[0], out)
    elif task == "norm":
        from gluon.contrib.nn import SyncBatchNorm

        save(train("dist_sync", net=network(rank, SyncBatchNorm(num_devices=communication.size())))[0], out)
    elif task == "compressed":
        save(train("dist_sync", compression={"type": "2bit", "threshold": 0.05})[0], out)
    elif task == "store":
        kv = mx.kv.create("dist_sync")
        assert (kv.rank, kv.num_workers) == (rank, 2)
        kv.init("a", mx.nd.ones((3,)) * (rank + 5))
        value = mx.nd.zeros((3,))
        kv.pull("a", value)
        first = value.asnumpy().copy()
        kv.push("a", [mx.nd.ones((3,), mx.cpu(i)) * (rank + 1) for i in range(2)])
        kv.pull("a", value)
        rows = mx.nd.array(np.diag([rank + 1.0, 0, 7 * rank])).tostype("row_sparse")
        kv.init("s", mx.nd.zeros((3, 3), stype="row_sparse"))
        kv.push("s", rows)
        sparse = mx.nd.zeros((3, 3), stype="row_sparse")
        kv.row_sparse_pull("s", sparse, row_ids=mx.nd.arange(3, dtype="int64"))
        kv.barrier()
        np.savez(out, first, value.asnumpy(), sparse.asnumpy())
    elif task == "module":
        save_module(out, rank)
    elif task == "killed":
        train("dist_sync")
        if rank == 1:
            os.kill(os.getpid(), 9)
        train("dist_sync", seed=0)
    else:
        raise SystemExit(f"there is no task {task}")


def save_module(out, rank):
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(x, name="softmax"))
    data, labels = (a.reshape(-1, *a.shape[2:])[rank :: communication.size()] for a in inputs())
    batches = mx.io.NDArrayIter(data, labels, SAMPLES // communication.size())
    mx.random.seed(rank)
    module.fit(batches, num_epoch=2, kvstore="dist_sync", optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    np.savez(out, *[v.asnumpy() for _, v in sorted(module.get_params()[0].items())])


if __name__ == "__main__":
    for name in sys.argv[2:]:
        main(name, sys.argv[1])
