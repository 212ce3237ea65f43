"""A training run in shards that stops, is killed, and goes on with other numbers of processes.

    python elastic.py FOLDER [--die STEP] [--stop STEP]

Every epoch has one order of samples for all processes (`SplitSampler(seed=...)`), and besides a stream of files. Every
second step is kept: weights, states, positions, and which samples of the stream each process has seen since.
"""

import argparse
import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
import gluon
from core import autograd, nd
from core.files.atomic import write_bytes
from core.kernels import communication
from core.kvstore import processes
from gluon.data import SplitSampler
from gluon.data.streaming import Stream

SAMPLES, BATCH, EPOCHS, EVERY = 48, 12, 2, 2
FILES, LINES = 7, 5


def train(folder: Path, die: int = 0, stop: int = 0) -> None:
    """Trains from the last checkpoint on. die: the step before which the last process is killed; stop: after which all end."""
    rank, count = communication.rank(), communication.size()
    communication.start()
    mx.random.seed(rank)
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(7, in_units=5, activation="tanh"), gluon.nn.Dense(3, in_units=7))
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01}, kvstore="dist_sharded", stage=2)
    sampler = SplitSampler(SAMPLES, count, rank, seed=1)
    stream = Stream(sorted((folder / "data").iterdir()), seed=3, buffer=3)
    numbers = np.random.RandomState(0)
    x, y = numbers.standard_normal((SAMPLES, 5)), numbers.standard_normal((SAMPLES, 3))
    step, seen = resume(folder, trainer, stream), []
    while step < EPOCHS * SAMPLES // BATCH:
        epoch, done = divmod(step * BATCH, SAMPLES)
        sampler.set_epoch(epoch, done)
        mine, samples = list(sampler), iter(stream)
        for k in range(0, len(mine), BATCH // count):
            step += 1
            if step == die and rank == count - 1 and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
                os.kill(os.getpid(), signal.SIGKILL)
            part = mine[k : k + BATCH // count]
            with autograd.record():
                loss = gluon.loss.L2Loss()(net(nd.array(x[part])), nd.array(y[part]))
            loss.backward()
            trainer.step(BATCH)
            over = step * BATCH % SAMPLES == 0
            seen += [[epoch, s] for s in ([*samples] if over else [s for s in [next(samples, None)] if s is not None])]
            if step % EVERY == 0:
                keep(folder / f"step-{step:04d}", trainer, stream, seen)
                seen = []
            if step == stop:
                return
    if rank == 0:
        np.savez(folder / "final.npz", **{name: p.data().asnumpy() for name, p in net.collect_params().items()})
    processes.barrier()


def keep(folder: Path, trainer, stream, seen: list) -> None:
    """The checkpoint counts when `position.json` is there, which all parts come before."""
    trainer.save_shards(folder)
    position = stream.state()
    write_bytes(folder / f"seen-{communication.rank()}.json", json.dumps(seen).encode())
    processes.barrier()
    if communication.rank() == 0:
        write_bytes(folder / "position.json", json.dumps(position).encode())
    processes.barrier()


def resume(folder: Path, trainer, stream) -> int:
    """The step of the last whole checkpoint, from which all go on."""
    whole = sorted(path.parent for path in folder.glob("step-*/position.json"))
    processes.barrier()
    if not whole:
        return 0
    trainer.load_shards(whole[-1])
    stream.load_state(json.loads((whole[-1] / "position.json").read_text()))
    return int(whole[-1].name.removeprefix("step-"))


def make_files(folder: Path) -> None:
    (folder / "data").mkdir(parents=True)
    for k in range(FILES):
        lines = "".join(f"{100 * k + i}\n" for i in range(LINES + k))
        (folder / "data" / f"{k}.jsonl").write_text(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--die", type=int, default=0)
    arguments = parser.parse_args()
    train(arguments.folder, arguments.die)
