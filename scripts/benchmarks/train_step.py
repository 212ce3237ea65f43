"""Times a training step on the CPU (forward, loss, backward, update) against PyTorch's eager one.

Each contender runs in its own process; the processes take turns of a few steps, so that all of them see the same
machine. PyTorch runs as it comes, and once more with freed memory kept in the process (two settings of glibc), which
is what our own start-up arranges. MXTEST_MXNET_PYTHON names an interpreter with the original MXNet, if there is one.
Page faults are counted because the system's zeroed pages cost a small step more than its arithmetic; the processor
time of all threads is less sensitive than the clock to what else the machine is doing.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

BATCH = 64
INPUTS = {"LeNet": (BATCH, 1, 28, 28), "ResNet": (BATCH, 3, 32, 32)}
KEPT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str((1 << 31) - 1)}


def main() -> None:
    args = parse_args()
    if args.contender:
        serve(*args.contender)
        return
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    from scripts.benchmarks.table import report

    rows = [row for network in INPUTS for row in compare(network, args.rounds, args.steps)]
    report("train_step", f"training step, batch {BATCH}, {args.threads} threads, medians", rows)


def compare(network: str, rounds: int, steps: int) -> list[dict]:
    """Rows of the table for one network."""
    contenders = {
        "ours": Contender(sys.executable, "ours", network),
        "ours, hybridized": Contender(sys.executable, "hybridized", network),
        "PyTorch": Contender(sys.executable, "torch", network),
        "PyTorch, freed memory kept": Contender(sys.executable, "torch", network, KEPT_MEMORY),
    }
    if original := os.environ.get("MXTEST_MXNET_PYTHON"):
        contenders["MXNet 1.9.1"] = Contender(original, "mxnet", network)
    for contender in contenders.values():
        contender.steps(3 * steps)
    turns = {name: [] for name in contenders}
    order = list(contenders)
    for _ in range(rounds):
        for name in order:
            turns[name].append(contenders[name].steps(steps))
        order.append(order.pop(0))  # nobody always comes after the same neighbour
    for contender in contenders.values():
        contender.close()

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


class Contender:
    """A process that makes so many training steps when asked, and waits in between."""

    def __init__(self, python: str, kind: str, network: str, environment: dict[str, str] | None = None):
        self.name = f"{kind} {network}"
        self.process = subprocess.Popen(
            [python, __file__, "--contender", kind, network],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | (environment or {}),
        )  # fmt: skip

    def steps(self, count: int) -> dict:
        """{"seconds": of each step, "processor": seconds of all threads a step, "faults": page faults a step, ...}."""
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.name} ended with status {self.process.wait()}")
        return json.loads(answer)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=60)


# ---------------------------------------------------------------- inside a contender


def serve(kind: str, network: str) -> None:
    """Answers each line "count" on stdin with the measurements of that many steps."""
    step, parameters = torch_step(network) if kind == "torch" else gluon_step(kind, network)
    for line in sys.stdin:
        count, seconds = int(line), []
        before = resource.getrusage(resource.RUSAGE_SELF)
        for _ in range(count):
            start = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_SELF)
        answer = {
            "seconds": seconds,
            "processor": (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / count,
            "faults": (after.ru_minflt - before.ru_minflt) / count,
            "parameters": parameters,
        }
        print(json.dumps(answer), flush=True)


def gluon_step(kind: str, network: str):
    """The step of this project ("ours", "hybridized") or of the original ("mxnet"), and the number of parameters."""
    if kind == "mxnet":
        import mxnet as mx
        from mxnet import gluon
    else:
        import core as mx
        import gluon
    from scripts.common.lenet import lenet

    net = lenet(gluon.nn) if network == "LeNet" else gluon_resnet(gluon)
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


def gluon_resnet(gluon):
    """A stem and three residual blocks of 16, 32 and 64 channels, as in the networks for CIFAR of He et al., 2016."""
    nn = gluon.nn

    class Residual(gluon.HybridBlock):
        def __init__(self, channels, stride):
            super().__init__()
            with self.name_scope():
                self.body = nn.HybridSequential()
                self.body.add(
                    nn.Conv2D(channels, 3, stride, 1, use_bias=False),
                    nn.BatchNorm(),
                    nn.Activation("relu"),
                    nn.Conv2D(channels, 3, 1, 1, use_bias=False),
                    nn.BatchNorm(),
                )
                self.shortcut = nn.HybridSequential()
                if stride > 1:
                    self.shortcut.add(nn.Conv2D(channels, 1, stride, use_bias=False), nn.BatchNorm())

        def hybrid_forward(self, F, x):
            return F.relu(self.body(x) + self.shortcut(x))

    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, 1, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    net.add(Residual(16, 1), Residual(32, 2), Residual(64, 2))
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10))
    return net


def torch_step(network: str):
    """The same step in PyTorch, as its tutorials write it, and the number of parameters."""
    import torch

    net = torch_lenet(torch.nn) if network == "LeNet" else torch_resnet(torch)
    x, label = torch.randn(INPUTS[network]), torch.arange(BATCH) % 10
    loss_function = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss_function(net(x), label).backward()
        optimizer.step()

    return step, sum(p.numel() for p in net.parameters())


def torch_lenet(nn):
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10),
    )  # fmt: skip


def torch_resnet(torch):
    nn = torch.nn

    class Residual(nn.Module):
        def __init__(self, inputs, channels, stride):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(inputs, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
                nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels),
            )  # fmt: skip
            self.shortcut = nn.Sequential()
            if stride > 1:
                convolution = nn.Conv2d(inputs, channels, 1, stride, bias=False)
                self.shortcut = nn.Sequential(convolution, nn.BatchNorm2d(channels))

        def forward(self, x):
            return torch.relu(self.body(x) + self.shortcut(x))

    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="threads of each contender (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each contender (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=10, help="training steps in a turn (default: %(default)s)")
    parser.add_argument("--contender", nargs=2, metavar=("KIND", "NETWORK"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
