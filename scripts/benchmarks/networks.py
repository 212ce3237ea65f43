"""Times whole networks, inference and training steps, against PyTorch and, on the CPU, the original MXNet.

Each contender runs in its own process; the processes take turns of a few steps, so that all of them see the same
machine. The yardstick of a case is the fastest of PyTorch eager, PyTorch channels-last (of pictures), torch.compile
and MXNet 1.9.1; the bar says how much of its time our hybridized network may take. MXTEST_MXNET_PYTHON names an
interpreter with the original MXNet, if there is one. In bfloat16 inference is timed after `net.cast` and training under
mixed precision (`amp`, `torch.autocast`); the yardstick is our own hybridized network in float32, and PyTorch in
float32 takes part, to show what it gains. `--dtype both --rounds 6` times everything. Memory is the most that the
process held resident, what it took to build (and, for torch.compile, to compile) the network included.

With `--device gpu` the cases are those of `GPU_CASES`, in bfloat16 (`--dtype` chooses another), and the yardstick is
torch.compile, with or without CUDA graphs, or where a case says so PyTorch eager. Without a GPU, `--dry-run` makes a
step of each of those cases with each contender on the CPU, small, and times nothing.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import re
import shutil
import statistics
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmarks.contenders import Contender, serve, take_turns

OURS, HYBRIDIZED = "ours", "ours, hybridized"
TORCH, CHANNELS_LAST, COMPILED, ORIGINAL = "PyTorch", "PyTorch, channels-last", "torch.compile", "MXNet 1.9.1"
REPLAYED = "torch.compile, CUDA graphs"
IN_FLOAT32 = ", float32"  # behind the name of a contender that does not change its type
FLOAT32 = HYBRIDIZED + IN_FLOAT32
TURN = 0.3  # seconds that the slowest contender takes for a turn, if a step is shorter
SGD = ("sgd", {"learning_rate": 0.01, "momentum": 0.9})
ADAM = ("adam", {"learning_rate": 1e-4})


@dataclass(frozen=True)
class Case:
    """A network and what is done with it: pictures or words of `shape`; training, if there is an optimizer."""

    network: str
    shape: tuple
    batch: int
    classes: int
    words: int = 0
    optimizer: tuple = ()
    bfloat16_bar: float | None = None  # of the time in float32
    gpu_bar: tuple = (1.0, (COMPILED, REPLAYED))  # of the time of the fastest of those

    def __str__(self) -> str:
        return f"{self.work} {self.network} batch {self.batch}"

    @property
    def work(self) -> str:
        return "training" if self.optimizer else "inference"

    @property
    def bar(self) -> float:
        return 0.95 if self.words or self.optimizer else 0.85

    def arrays(self):
        """The inputs and the labels, NumPy."""
        import numpy as np

        numbers = np.random.RandomState(0)
        if not self.words:
            inputs = [numbers.standard_normal(self.shape).astype("float32")]
        else:
            inputs = [numbers.randint(0, self.words, self.shape).astype("int32")]
        if self.network.startswith("BERT-base"):
            inputs.append(np.zeros(self.shape, "int32"))
        labels = {"LSTM LM": self.shape, "SSD 300": (self.batch, 8732)}.get(self.network, self.batch)
        return inputs, numbers.randint(0, self.classes, labels).astype("int32")


CASES = {
    str(case): case
    for case in (
        Case("ResNet-50 v1", (1, 3, 224, 224), 1, 1000, bfloat16_bar=1 / 2.5),
        Case("ResNet-50 v1", (8, 3, 224, 224), 8, 1000, bfloat16_bar=1 / 2.5),
        Case("MobileNet 1.0", (8, 3, 224, 224), 8, 1000),
        Case("BERT-base", (8, 128), 8, 2, words=30522, bfloat16_bar=1 / 3),
        Case("LeNet", (64, 1, 28, 28), 64, 10, optimizer=SGD),
        Case("CIFAR ResNet-20", (64, 3, 32, 32), 64, 10, optimizer=SGD),
        Case("textCNN", (50, 56), 50, 2, words=18000, optimizer=ADAM),
        Case("LSTM LM", (35, 20), 20, 10000, words=10000, optimizer=SGD),
        Case("BERT-base", (4, 128), 4, 2, words=30522, optimizer=ADAM, bfloat16_bar=1 / 2),
    )
}


GPU_CASES = {
    str(case): case
    for case in (
        Case("ResNet-50 v1", (64, 3, 224, 224), 64, 1000),
        Case("ResNet-50 v1", (64, 3, 224, 224), 64, 1000, optimizer=SGD),
        Case("BERT-base, length 128", (32, 128), 32, 2, words=30522, optimizer=ADAM),
        Case("BERT-base, length 512", (8, 512), 8, 2, words=30522, optimizer=ADAM),
        Case("SSD 300", (16, 3, 300, 300), 16, 25, optimizer=SGD),  # 21 scores and 4 offsets an anchor
        Case("textCNN", (50, 56), 50, 2, words=18000, optimizer=ADAM),
        Case("LSTM LM", (35, 20), 20, 10000, words=10000, optimizer=SGD),
        Case("GPT-2 decoding", (8, 1), 8, 50257, words=50257),
        Case("LeNet", (64, 1, 28, 28), 64, 10, optimizer=SGD, gpu_bar=(1 / 3, (TORCH,))),
    )
}
BY_TORCH = (TORCH, CHANNELS_LAST, COMPILED, REPLAYED)


def main(argv: list[str] | None = None) -> list[dict]:
    args = parse_args(argv)
    if args.contender:
        contender, case, dtype, device = args.contender
        contender = contender.removesuffix(IN_FLOAT32)
        build = torch_step if contender in BY_TORCH else gluon_step
        serve(*build(contender, (GPU_CASES if device == "gpu" else CASES)[case], dtype, device))
        return []
    if args.dry_run:
        return [row for name, case in GPU_CASES.items() if re.search(args.only, name) for row in dry_run(case)]
    types = ("float32", "bfloat16") if args.dtype == "both" else (args.dtype,)
    if args.device == "gpu":
        return [row for dtype in types for row in on_gpu(args, dtype)]
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    from core.files.atomic import write_bytes
    from scripts.benchmarks.bars import svg
    from scripts.benchmarks.table import report

    every = []
    for dtype in types:
        cases = [case for name, case in CASES.items() if re.search(args.only, name)]
        if dtype != "float32":
            cases = [case for case in cases if case.bfloat16_bar]
        if not cases:
            raise SystemExit(f"--only {args.only} fits none of: {', '.join(CASES)}")
        skipped = missing(dtype)
        for contender, reason in skipped.items():
            print(f"{contender} is skipped: {reason}")
        rows = [row for case in cases for row in compare(case, dtype, args.rounds, skipped)]
        name = "networks" if dtype == "float32" else f"networks_{dtype}"
        report(name, f"networks, {dtype}, {args.threads} threads, medians", rows, args.log_dir)
        bars = [(f"{r['pass']} {r['network']}", r["contender"], r["over yardstick"], r["bar"] or None) for r in rows]
        write_bytes(args.log_dir / "benchmarks" / f"{name}.svg", svg("time over the yardstick's", bars).encode())
        every += rows
    return every


def missing(dtype: str) -> dict[str, str]:
    """Which contenders cannot take part in any case, and why."""
    if dtype != "float32":
        return {
            ORIGINAL: f"its layers have no {dtype} on a CPU",
            COMPILED: f"in {dtype} the yardstick is our own network",
        }
    reasons = {}
    compiler = os.environ.get("CXX", "g++")  # as torch.compile chooses it
    if not shutil.which(compiler):
        reasons[COMPILED] = f"it needs a C++ compiler, and there is no {compiler} (CXX names another)"
    if not os.environ.get("MXTEST_MXNET_PYTHON"):
        reasons[ORIGINAL] = "MXTEST_MXNET_PYTHON names no interpreter"
    return reasons


def compare(case: Case, dtype: str, rounds: int, skipped: dict[str, str]) -> list[dict]:
    """Rows of the table for one case."""
    names = [OURS, HYBRIDIZED, TORCH, CHANNELS_LAST, COMPILED, ORIGINAL]
    if case.words:
        names.remove(CHANNELS_LAST)
    if case.network.startswith("BERT-base"):
        names.remove(ORIGINAL)  # its toolkit has the network, its own layers do not
    if dtype != "float32":
        names += [FLOAT32, TORCH + IN_FLOAT32]
    contenders = {}
    for name in names:
        if name not in skipped:
            python = os.environ["MXTEST_MXNET_PYTHON"] if name == ORIGINAL else sys.executable
            kind = "float32" if name.endswith(IN_FLOAT32) else dtype
            contenders[name] = Contender(python, __file__, [name, str(case), kind, "cpu"])
    turns = timed(case, contenders, rounds)
    median = medians(turns)
    yardstick = median[FLOAT32] if FLOAT32 in median else min(median[n] for n in median if n not in (OURS, HYBRIDIZED))
    return table(case, turns, median, yardstick, case.bar if dtype == "float32" else case.bfloat16_bar)


def timed(case: Case, contenders: dict[str, Contender], rounds: int) -> dict[str, list[dict]]:
    """What the contenders answer in turn, after they have warmed up."""
    slowest = 0.0
    for name, contender in contenders.items():
        contender.steps(2)  # compiles, plans, takes memory
        warm = contender.steps(1)
        slowest = max(slowest, *warm["seconds"])
        print(f"{case}: {name} is ready", file=sys.stderr)
    turns = take_turns(contenders, rounds, min(max(round(TURN / slowest), 1), 10))

    sizes = {name: answers[0]["parameters"] for name, answers in turns.items()}
    if len(set(sizes.values())) > 1:
        raise SystemExit(f"{case}: the contenders are not the same network, they have parameters: {sizes}")
    return turns


def medians(turns: dict[str, list[dict]]) -> dict[str, float]:
    """Seconds of a step of each contender."""
    return {name: statistics.median(s for a in answers for s in a["seconds"]) for name, answers in turns.items()}


def table(case: Case, turns: dict, median: dict[str, float], yardstick: float, bar: float | None) -> list[dict]:
    return [
        {
            "network": f"{case.network}, batch {case.batch}",
            "pass": case.work,
            "contender": name,
            "ms": 1000 * median[name],
            "over yardstick": median[name] / yardstick,
            "bar": (bar or "") if name == HYBRIDIZED else "",
            "peak MB": round(answers[-1]["peak"] / 1024),
            "page faults a step": round(statistics.median(answer["faults"] for answer in answers)),
        }
        for name, answers in turns.items()
    ]


# ---------------------------------------------------------------- on a GPU


def on_gpu(args: argparse.Namespace, dtype: str) -> list[dict]:
    """Times the cases of a GPU and writes their table."""
    import torch

    from scripts.benchmarks.table import report

    if not torch.cuda.is_available():
        raise SystemExit("There is no CUDA device here, so nothing can be timed on one. --dry-run makes small steps.")
    rows, title = [], f"networks on {torch.cuda.get_device_name()}, {dtype}, medians"
    end = time.monotonic() + 60 * args.minutes
    for case in (case for name, case in GPU_CASES.items() if re.search(args.only, name)):
        if time.monotonic() > end:
            print(f"{case}: not begun, {args.minutes:.0f} minutes are over", flush=True)
            continue
        rows += time_on_gpu(case, dtype, args.rounds)
        report(f"networks_gpu_{dtype}", title, rows, args.log_dir)
    return rows


def time_on_gpu(case: Case, dtype: str, rounds: int) -> list[dict]:
    """Rows of the table for one case with all contenders, each in a process of its own."""
    names = [OURS, HYBRIDIZED, *BY_TORCH]
    if case.words:
        names.remove(CHANNELS_LAST)
    contenders = {n: Contender(sys.executable, __file__, [n, str(case), dtype, "gpu"]) for n in names}
    try:
        return compare_on_gpu(case, contenders, rounds)
    except (Exception, SystemExit) as error:  # the next network is timed all the same
        print(f"{case}: {type(error).__name__}: {error}", flush=True)
        return [failed_row(case, name) for name in names]
    finally:
        for contender in contenders.values():
            contender.stop()


def compare_on_gpu(case: Case, contenders: dict[str, Contender], rounds: int) -> list[dict]:
    """Rows of the table for one case; a contender that cannot begin has one without times."""
    running = dict(contenders)
    for contender in running.values():
        contender.ask(2)  # all compile side by side
    for name in list(running):
        try:
            running[name].answer()
        except SystemExit as error:
            print(f"{case}: {error}", flush=True)
            del running[name]
    turns = timed(case, running, rounds)
    median, (bar, against) = medians(turns), case.gpu_bar
    yardstick = min((n for n in against if n in median), key=median.get, default="")
    rows = [failed_row(case, name) for name in contenders if name not in running]
    for row in table(case, turns, median, median.get(yardstick, math.nan), bar):
        met = "" if row["bar"] == "" else "yes" if row["over yardstick"] <= row["bar"] else "no"
        rows.append({**row, "yardstick": yardstick, "met": met if yardstick else "not measured"})
    return rows


def failed_row(case: Case, contender: str) -> dict:
    """The row of a contender that gave no times; its own words are above."""
    bar, against = case.gpu_bar
    ours = contender == HYBRIDIZED
    return {
        "network": f"{case.network}, batch {case.batch}",
        "pass": case.work,
        "contender": contender,
        "ms": math.nan,
        "over yardstick": math.nan,
        "bar": bar if ours else "",
        "peak MB": "",
        "page faults a step": "",
        "yardstick": against[0],
        "met": "failed" if ours else "",
    }


def dry_run(case: Case) -> list[dict]:
    """A step of a small case with each contender, on the CPU: that the cases can be run, and are the same networks."""
    shape = (1, *case.shape[1:]) if case.network.startswith("SSD") else (2, *(min(n, 64) for n in case.shape[1:]))
    small, sizes = replace(case, shape=shape, batch=shape[0]), {}
    for name in (OURS, HYBRIDIZED, TORCH):
        step, sizes[name] = (torch_step if name == TORCH else gluon_step)(name, small, "float32", "cpu")
        step()
        del step
        gc.collect()  # blocks and their parts refer to each other
    print(f"{case}: runs, parameters: {sizes}", flush=True)
    if len(set(sizes.values())) > 1:
        raise SystemExit(f"{case}: the contenders are not the same network, they have parameters: {sizes}")
    return [{"network": case.network, "pass": case.work, "contender": name} for name in sizes]


# ---------------------------------------------------------------- inside a contender


def gluon_step(contender: str, case: Case, dtype: str, device: str):
    """The step of this project or of the original, and the number of parameters."""
    if contender == ORIGINAL:
        import mxnet as mx
        from mxnet import gluon
    else:
        import core as mx
        import gluon
    from scripts.benchmarks.networks_gluon import build

    net, place = build(case.network, gluon, case.words), mx.gpu() if device == "gpu" else mx.cpu()
    net.initialize(mx.init.Xavier(), ctx=place)
    inputs, labels = case.arrays()
    inputs, labels = [mx.nd.array(x, dtype=x.dtype, ctx=place) for x in inputs], mx.nd.array(labels, ctx=place)
    with mx.autograd.train_mode() if case.optimizer else mx.autograd.predict_mode():
        net(*inputs)  # finds out the shapes
    if dtype != "float32" and case.optimizer:
        mx.contrib.amp.init(dtype)
    elif dtype != "float32":
        net.cast(dtype)
        inputs = [x if case.words else x.astype(dtype) for x in inputs]
    loss_function = gluon.loss.SoftmaxCrossEntropyLoss()
    if contender != OURS:
        net.hybridize(static_alloc=True, static_shape=True)
        if device == "gpu":
            loss_function.hybridize(static_alloc=True, static_shape=True)

    def infer():
        net(*inputs)
        mx.nd.waitall()

    def train():
        with mx.autograd.record():
            loss = loss_function(last(net(*inputs)), labels)
        loss.backward()
        trainer.step(loss.size)
        mx.nd.waitall()

    if case.optimizer:
        trainer = gluon.Trainer(net.collect_params(), *case.optimizer)
    trained = [p for p in net.collect_params().values() if p.grad_req != "null"]
    return train if case.optimizer else infer, sum(p.data().size for p in trained)


def torch_step(contender: str, case: Case, dtype: str, device: str):
    """The same step in PyTorch, as its tutorials write it, and the number of parameters."""
    import torch

    from scripts.benchmarks.networks_torch import build

    place = "cuda" if device == "gpu" else "cpu"
    net = build(case.network, case.words).train(bool(case.optimizer)).to(place)
    inputs, labels = case.arrays()
    inputs, labels = [torch.from_numpy(x).to(place) for x in inputs], torch.from_numpy(labels).long().to(place)
    if not case.optimizer:
        net.to(getattr(torch, dtype))
    if not (case.optimizer or case.words):
        inputs = [x.to(getattr(torch, dtype)) for x in inputs]
    if contender == CHANNELS_LAST or (device == "gpu" and contender != TORCH and not case.words):
        net, inputs = net.to(memory_format=torch.channels_last), [inputs[0].to(memory_format=torch.channels_last)]
    if contender in (COMPILED, REPLAYED):
        net.compile(mode="reduce-overhead" if contender == REPLAYED else None)

    def wait():
        if device == "gpu":
            torch.cuda.synchronize()

    @torch.inference_mode()
    def infer():
        net(*inputs)
        wait()

    def train():
        optimizer.zero_grad()
        with torch.autocast(place, torch.bfloat16, enabled=dtype != "float32"):
            scores = last(net(*inputs)).float()
        loss_function(scores.flatten(0, -2), labels.flatten()).backward()
        optimizer.step()
        wait()

    if case.optimizer:
        loss_function = torch.nn.CrossEntropyLoss()
        name, options = case.optimizer
        options = {{"learning_rate": "lr"}.get(key, key): value for key, value in options.items()}
        optimizer = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[name](net.parameters(), **options)
    return train if case.optimizer else infer, sum(p.numel() for p in net.parameters())


def last(outputs):
    """The scores: a network's only output, or the last of several."""
    return outputs[-1] if isinstance(outputs, (tuple, list)) else outputs


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="cases such as 'inference ResNet-50 v1 batch 1'")
    parser.add_argument("--threads", type=int, default=2, help="threads of each contender (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each contender (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="on a GPU, begin no case after so many")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="default: %(default)s")
    parser.add_argument("--dry-run", action="store_true", help="a small step of each case for a GPU, on the CPU")
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "both"), help="default: float32, on a GPU bfloat16")
    logs = Path(__file__).resolve().parents[2] / "logs"
    parser.add_argument("--log-dir", type=Path, default=logs, help="folder of the table, JSON and chart")
    parser.add_argument("--contender", nargs=4, metavar=("KIND", "CASE", "DTYPE", "DEVICE"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    args.dtype = args.dtype or ("bfloat16" if args.device == "gpu" else "float32")
    return args


if __name__ == "__main__":
    main()
