"""Times a training step on the CPU (forward, loss, backward, update) against PyTorch's eager one.

Each contender runs in its own process; the processes take turns of a few steps, so that all of them see the same
machine. PyTorch runs as it comes, and once more with freed memory kept in the process (two settings of glibc), which
is what our own start-up arranges. MXTEST_MXNET_PYTHON names an interpreter with the original MXNet, if there is one.
Page faults are counted because the system's zeroed pages cost a small step more than its arithmetic; the processor
time of all threads is less sensitive than the clock to what else the machine is doing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmarks.contenders import Contender, serve, take_turns

BATCH = 64
INPUTS = {"LeNet": (BATCH, 1, 28, 28), "ResNet": (BATCH, 3, 32, 32)}
KEPT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str((1 << 31) - 1)}


def main() -> None:
    args = parse_args()
    if args.contender:
        kind, network = args.contender
        serve(*(torch_step(network) if kind == "torch" else gluon_step(kind, network)))
        return
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    from scripts.benchmarks.table import report

    rows = [row for network in INPUTS for row in compare(network, args.rounds, args.steps)]
    report("train_step", f"training step, batch {BATCH}, {args.threads} threads, medians", rows)


def compare(network: str, rounds: int, steps: int) -> list[dict]:
    """Rows of the table for one network."""
    contenders = {
        "ours": Contender(sys.executable, __file__, ["ours", network]),
        "ours, hybridized": Contender(sys.executable, __file__, ["hybridized", network]),
        "PyTorch": Contender(sys.executable, __file__, ["torch", network]),
        "PyTorch, freed memory kept": Contender(sys.executable, __file__, ["torch", network], KEPT_MEMORY),
    }
    if original := os.environ.get("MXTEST_MXNET_PYTHON"):
        contenders["MXNet 1.9.1"] = Contender(original, __file__, ["mxnet", network])
    for contender in contenders.values():
        contender.steps(3 * steps)
    turns = take_turns(contenders, rounds, steps)
    median = {
        name: statistics.median(s for turn in results for s in turn["seconds"]) for name, results in turns.items()
    }
    return [
        {
            "network": network,
            "contender": name,
            "ms": 1000 * median[name],
            "over PyTorch": median[name] / median["PyTorch"],
            "CPU ms": 1000 * statistics.median(turn["processor"] for turn in results),
            "page faults a step": round(statistics.median(turn["faults"] for turn in results)),
            "parameters": results[0]["parameters"],
        }
        for name, results in turns.items()
    ]


def gluon_step(kind: str, network: str):
    """The step of this project ("ours", "hybridized") or of the original ("mxnet"), and the number of parameters."""
    if kind == "mxnet":
        import mxnet as mx
        from mxnet import gluon
    else:
        import core as mx
        import gluon
    from scripts.benchmarks.networks_gluon import cifar_resnet
    from scripts.common.lenet import lenet

    net = lenet(gluon.nn) if network == "LeNet" else cifar_resnet(gluon, blocks=1)
    net.initialize(mx.init.Xavier())
    if kind == "hybridized":
        net.hybridize(static_alloc=True, static_shape=True)
    x, label = mx.nd.random.normal(shape=INPUTS[network]), mx.nd.arange(BATCH) % 10
    loss_function = gluon.loss.SoftmaxCrossEntropyLoss()
    net(x)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})

    def step():
        with mx.autograd.record():
            loss = loss_function(net(x), label)
        loss.backward()
        trainer.step(BATCH)
        mx.nd.waitall()

    trained = [p for p in net.collect_params().values() if p.grad_req != "null"]
    return step, sum(p.data().size for p in trained)


def torch_step(network: str):
    """The same step in PyTorch, as its tutorials write it, and the number of parameters."""
    import torch

    from scripts.benchmarks.networks_torch import cifar_resnet, lenet

    net = lenet() if network == "LeNet" else cifar_resnet(blocks=1)
    x, label = torch.randn(INPUTS[network]), torch.arange(BATCH) % 10
    loss_function = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss_function(net(x), label).backward()
        optimizer.step()

    return step, sum(p.numel() for p in net.parameters())


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="threads of each contender (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each contender (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=10, help="training steps in a turn (default: %(default)s)")
    parser.add_argument("--contender", nargs=2, metavar=("KIND", "NETWORK"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
