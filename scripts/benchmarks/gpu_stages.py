"""The stages of `scripts/validate_gpu.py`: what each of them does, item by item.

An item is a name and a function that returns the columns of its row; `status` is "wrong" where a result is not what
the CPU has, and "ok" unless it says otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

import core as mx
from core import kernels, random
from scripts.benchmarks import gpu_balance, networks
from scripts.benchmarks import kernels as benchmark
from scripts.benchmarks.kernel_case import Lab
from scripts.benchmarks.kernel_cases import cases
from scripts.common import environment

Item = tuple[str, Callable[[], dict | None]]
DTYPES = ("bfloat16", "float16", "float32")
FEW = 20  # of a dry run's operators and cases, evenly spread
# Families with atomic additions, with loops over tiles, whose ends are where an access goes astray, and with lanes that
# meet in memory.
SANITIZED = ("embedding gradient", "attention", "linear cross-entropy", "matmul", "lstm", "detection", "reduction",
             "linear algebra")  # fmt: skip
SANITIZER_SECONDS = 90


@dataclass(frozen=True)
class Setting:
    """Where results go, and whether there is a GPU."""

    out: Path
    dry_run: bool
    jobs: int

    @property
    def device(self) -> str:
        return "cpu" if self.dry_run else "cuda"

    @property
    def context(self):
        return mx.cpu() if self.dry_run else mx.gpu(0)

    def some(self, items: list, few: int = FEW) -> list:
        """All of them; in a dry run a few."""
        return items[:: max(1, len(items) // few)] if self.dry_run else items


def items(stage: str, setting: Setting) -> Iterator[Item]:
    """The items of a stage, what matters most first."""
    adopt(setting)
    return {"peaks": peaks, "correct": correct, "tune": tune, "kernels": timed_kernels, "networks": timed_networks,
            "traces": traces}[stage](setting)  # fmt: skip


def device_works() -> bool:
    """Whether no kernel has broken the device: from then on every call fails."""
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


# ---------------------------------------------------------------- peaks


def peaks(setting: Setting) -> Iterator[Item]:
    yield "versions", lambda: facts(setting)
    yield "copy, bytes a second", lambda: {"value": copy_speed(setting)}
    for dtype in DTYPES:
        yield f"product in {dtype}, FLOP a second", lambda dtype=dtype: {"value": product_speed(setting, dtype)}


def facts(setting: Setting) -> dict:
    found = {**environment.versions(), "cpus": os.cpu_count()}
    if not setting.dry_run:
        properties = torch.cuda.get_device_properties()
        found |= {"gpu": properties.name, "memory": properties.total_memory, "cuda": torch.version.cuda,
                  "processors": properties.multi_processor_count}  # fmt: skip
    return found


def copy_speed(setting: Setting) -> float | None:
    source = torch.empty(1 << (20 if setting.dry_run else 30), dtype=torch.uint8, device=setting.device)
    target = torch.empty_like(source)
    target.copy_(source)
    return None if setting.dry_run else 2 * source.nbytes / benchmark.seconds([lambda: target.copy_(source)])


def product_speed(setting: Setting, dtype: str) -> float | None:
    n = 64 if setting.dry_run else 8192
    a, b = (torch.randn(n, n, device=setting.device).to(getattr(torch, dtype)) for _ in range(2))
    torch.mm(a, b)
    return None if setting.dry_run else 2 * n**3 / benchmark.seconds([lambda: torch.mm(a, b)])


# ---------------------------------------------------------------- correct


def correct(setting: Setting) -> Iterator[Item]:
    from core.ops.registry import TABLE
    from tests.gpu import test_networks
    from tests.support.once import NAMES

    for name in setting.some(NAMES):
        yield f"operator {name}", lambda name=name: check_operator(TABLE[name], setting)
    trained = [("attention", "sgd")] if setting.dry_run else itertools.product(test_networks.NETWORKS, ("sgd", "adam"))
    for name, optimizer in trained:
        yield f"training {name}, {optimizer}", lambda name=name, how=optimizer: check_training(name, how, setting)
    for name in ("LSTM with dropout", "BERT with dropout"):
        yield f"captured {name}", lambda name=name: check_captured(name, setting)
    # Mixed precision is there for the rest of the process. What comes after it are single kernels.
    for name in ["convolutions"] if setting.dry_run else test_networks.NETWORKS:
        yield f"training {name}, mixed with bfloat16", lambda name=name: check_mixed(name, setting)
    for dtype in DTYPES:
        lab = Lab(setting.device, getattr(torch, dtype), tiny=True)
        for case in setting.some(list(cases(lab)), 3):
            yield f"kernel {case.family}: {case.name}, {dtype}", lambda c=case, d=dtype: check_case(c, d, setting)
    for dtype, way in itertools.product(DTYPES, gpu_balance.WAYS):
        yield f"tiles shared out, {way}, {dtype}", lambda d=dtype, w=way: check_shared(d, w, setting)
    for family, tool in itertools.product(SANITIZED, ("memcheck", "racecheck")):
        yield f"compute-sanitizer {tool} on {family}", lambda f=family, t=tool: sanitize(f, t, setting)


@contextlib.contextmanager
def backend(setting: Setting, exact: bool = False):
    """New memory is filled with NaN; in a dry run kernels are Triton's, interpreted, on a GPU they are in any case.

    exact: nothing is added in an order that does not repeat.
    """
    before = torch.are_deterministic_algorithms_enabled(), kernels.set_deterministic(exact)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with kernels.using("triton") if setting.dry_run else contextlib.nullcontext():
            yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        kernels.set_deterministic(before[1])


def check_operator(op, setting: Setting) -> dict:
    """Against the CPU, three times, so that a remembered call takes part; then twice bit for bit."""
    from tests.support.once import OWN, applied, filled

    sample = filled(op)

    def once() -> list:
        random.seed(7)
        return [t.cpu() for t in applied(op, sample, setting.context)]

    with backend(setting):
        found = [once() for _ in range(1 if setting.dry_run else 3)]
    random.seed(7)
    free = op.name in OWN or op.name.startswith(("_random_", "_sample_"))
    expected = [] if free else applied(op, sample)
    worst = 0.0
    for mine, true in (pair for one in found for pair in zip(one, expected, strict=not free)):
        if mine.shape != true.shape or mine.dtype != true.dtype:
            return {
                "status": "wrong",
                "error": f"{mine.dtype} {tuple(mine.shape)}, not {true.dtype} {tuple(true.shape)}",
            }
        try:
            torch.testing.assert_close(mine, true, rtol=1e-4, atol=1e-5, equal_nan=True)
        except AssertionError as error:
            return {"status": "wrong", "error": str(error)[:300]}
        if mine.numel() and mine.is_floating_point():
            worst = max(worst, float((mine.double() - true.double()).abs().nan_to_num(0, 0).max()))
    with backend(setting, exact=True):
        return repeated(once) | {"largest error": worst}


def repeated(call: Callable[[], Sequence[torch.Tensor]]) -> dict:
    """Says where two calls differ by a bit."""
    pairs = zip(call(), call(), strict=True)
    same = all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs)
    return {} if same else {"status": "wrong", "error": "another result the second time"}


def check_training(name: str, optimizer: str, setting: Setting) -> dict:
    from tests.gpu import test_networks

    # Backends draw other initial weights, so a dry run compares the Triton backend with itself, not hybridized.
    with backend(setting) if setting.dry_run else contextlib.nullcontext():
        test_networks.STEPS = 2 if setting.dry_run else test_networks.STEPS
        expected = test_networks.train(name, optimizer, mx.cpu(), False)
        found = test_networks.train(name, optimizer, setting.context, True)
    error = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(found, expected, strict=True))
    return {"status": "ok" if error < 1e-2 else "wrong", "largest error": error}


def check_mixed(name: str, setting: Setting) -> dict:
    """Products in bfloat16: captured, twice with the same losses, which are near those of the CPU."""
    from tests.gpu import test_networks

    mx.contrib.amp.init("bfloat16")
    with backend(setting, exact=True) if setting.dry_run else contextlib.nullcontext():
        test_networks.STEPS = 2 if setting.dry_run else test_networks.STEPS
        expected = test_networks.train(name, "sgd", mx.cpu(), False)
    with backend(setting, exact=True):
        found, again = (test_networks.train(name, "sgd", setting.context, True) for _ in range(2))
    if found != again:
        return {"status": "wrong", "error": f"two runs differ: {found}, {again}"}
    errors = [abs(a - b) / max(abs(b), 1e-1) for a, b in zip(found, expected, strict=True)]
    # Roundings differ, and each step learns from them: the interpreter is 0.6 % off the CPU at first, 4.5 % at last.
    right = errors[0] < 4 * 2**-8 and max(errors) < 16 * 2**-8
    return {"status": "ok" if right else "wrong", "first error": errors[0], "largest error": max(errors)}


def check_captured(name: str, setting: Setting) -> dict:
    """Steps with dropout: captured or not, the same seed gives the same losses."""
    with backend(setting, exact=True):
        losses = [dropout_losses(name, setting, hybridize) for hybridize in (False, True, True)]
    if losses[1] != losses[2]:
        return {"status": "wrong", "error": f"two captured runs differ: {losses[1:]}"}
    error = max(abs(a - b) / abs(a) for a, b in zip(*losses[:2], strict=True))
    finite = all(map(math.isfinite, losses[1]))
    return {"status": "ok" if finite and losses[1][-1] < losses[1][0] else "wrong", "off eager": error}


def dropout_losses(name: str, setting: Setting, hybridize: bool) -> list[float]:
    import gluon
    from gluon import nn, rnn
    from gluonnlp.model import BERTEncoder

    class First(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.encoder = BERTEncoder(num_layers=1, units=16, hidden_size=32, max_length=9, num_heads=2, dropout=0.1)

        def hybrid_forward(self, F, x):
            y = self.encoder(x)
            return y[0] if isinstance(y, tuple) else y

    mx.random.seed(11)
    net = nn.HybridSequential()
    net.add(rnn.LSTM(16, num_layers=2, layout="NTC", dropout=0.3) if name.startswith("LSTM") else First(), nn.Dense(3))
    net.initialize(mx.init.Xavier(), ctx=setting.context)
    x = mx.nd.random.normal(shape=(4, 9, 16), ctx=setting.context)
    y = mx.nd.array([0, 1, 2, 1], ctx=setting.context)
    loss_function = gluon.loss.SoftmaxCrossEntropyLoss()
    if hybridize:
        net.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.03})
    found = []
    for _ in range(3 if setting.dry_run else 12):
        with mx.autograd.record():
            loss = loss_function(net(x), y).mean()
        loss.backward()
        trainer.step(1)
        found.append(float(loss.asscalar()))
    return found


def check_case(case, dtype: str, setting: Setting) -> dict:
    """Against float64; on a GPU also twice bit for bit."""
    with backend(setting):
        error, right = benchmark.check(case, case.make(), argparse.Namespace(dtype=dtype, tf32=False))
    found = {"status": "ok" if right == "yes" else "wrong", "largest error": error}
    if setting.dry_run or right != "yes":
        return found
    inputs = case.make()
    with backend(setting, exact=True):
        return found | repeated(lambda: benchmark.tensors(case.ours(*(x.clone() for x in inputs))))


def check_shared(dtype: str, way: str, setting: Setting) -> dict:
    """Tiles of products shared out among all processors: against float64, and twice bit for bit."""
    if why := gpu_balance.missing(way, setting.device):
        return {"status": "skipped", "error": why}
    errors = []
    for product in setting.some(list(gpu_balance.products(dtype, way, setting.device)), 2):
        with backend(setting, exact=True):
            found, again = gpu_balance.run(product), gpu_balance.run(product)
        errors.append(gpu_balance.error(found, product.truth()))
        if not errors[-1] <= benchmark.TOLERANCE[dtype]:
            return {"status": "wrong", "largest error": errors[-1], "error": str(product)}
        if not torch.equal(found, again):
            return {"status": "wrong", "error": f"another result the second time: {product}"}
    return {"products": len(errors), "largest error": max(errors)}


def sanitize(family: str, tool: str, setting: Setting) -> dict:
    """What NVIDIA's tool sees in the cases of a family: accesses out of bounds, or races in shared memory."""
    if setting.dry_run or not shutil.which("compute-sanitizer"):
        why = "nothing runs on a GPU" if setting.dry_run else "compute-sanitizer is not on the path"
        return {"status": "skipped", "error": why}
    program = f"from scripts.benchmarks import gpu_stages; gpu_stages.check_family({family!r})"
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", sys.executable, "-c", program]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=SANITIZER_SECONDS)
    except subprocess.TimeoutExpired:
        return {"status": "skipped", "error": f"not through in {SANITIZER_SECONDS} s"}
    print(result.stdout[-3000:], result.stderr[-3000:])
    words = next((line for line in result.stdout.splitlines() if "=========" in line and "rror" in line), "")
    status = {0: "ok", 9: "wrong"}.get(result.returncode, "failed")
    return {"status": status, "exit": result.returncode} | ({} if status == "ok" else {"error": words[:300]})


def check_family(family: str) -> None:
    """Runs the small cases of a family on the GPU."""
    lab = Lab("cuda", torch.float32, tiny=True)
    for case in cases(lab):
        if case.family == family:
            with kernels.using("triton"):
                case.ours(*case.make())
    torch.cuda.synchronize()


# ---------------------------------------------------------------- tune


def tune(setting: Setting) -> Iterator[Item]:
    """Kernels are compiled side by side first, nothing is run meanwhile; then each case is run once, which chooses its configurations."""
    for dtype in DTYPES[:1] if setting.dry_run else DTYPES:
        yield f"compile side by side, {dtype}", lambda dtype=dtype: compile_cases(dtype, setting)
    for dtype in DTYPES:
        lab = Lab(setting.device, getattr(torch, dtype), tiny=setting.dry_run)
        for case in setting.some(list(cases(lab)), 4):
            yield f"{case.family}: {case.name}, {dtype}", lambda case=case: tune_case(case, setting)


def compile_cases(dtype: str, setting: Setting) -> dict:
    """All configurations of all cases, in processes side by side; a dry run compiles products for Hopper."""
    options = ["--dtype", dtype] + ["--dry-run", "--only", "depthwise"] * setting.dry_run
    jobs = min(2, setting.jobs) if setting.dry_run else setting.jobs
    lines = benchmark.prepare_side_by_side(options, jobs)
    left = [line for line in lines if ": compiled, " not in line]
    return {"processes": jobs, "cases": len(lines), "left": left}


def tune_case(case, setting: Setting) -> None:
    with kernels.using("triton"):
        case.ours(*case.make())
    keep_choices(setting)


def keep_choices(setting: Setting) -> None:
    """tuned.json: what this GPU has chosen, with what was there before for other ones."""
    path, chosen = setting.out / "tuned.json", {}
    if path.exists():
        chosen = json.loads(path.read_text())
    if not setting.dry_run:
        from core.kernels.triton import autotune

        if autotune.cache_file().exists():
            chosen[autotune.gpu_name()] = json.loads(autotune.cache_file().read_text())
    written = path.with_suffix(f".{os.getpid()}")  # another process may read it meanwhile
    written.write_text(json.dumps(chosen, indent=1, sort_keys=True) + "\n")
    written.replace(path)


def adopt(setting: Setting) -> None:
    """Uses the choices of a tuned.json that lies there."""
    path = setting.out / "tuned.json"
    if setting.dry_run or not path.exists():
        return
    from core.kernels.triton import autotune

    known = json.loads(path.read_text()).get(autotune.gpu_name())
    if known and not autotune.cache_file().exists():
        autotune.cache_file().parent.mkdir(parents=True, exist_ok=True)
        autotune.cache_file().write_text(json.dumps(known))


# ---------------------------------------------------------------- times


def timed_kernels(setting: Setting) -> Iterator[Item]:
    machine = None if setting.dry_run else {dtype: None for dtype in DTYPES}

    def time_case(case, dtype: str) -> dict:
        if setting.dry_run:
            return check_case(case, dtype, setting)
        if machine[dtype] is None:
            machine[dtype] = benchmark.Machine(dtype)
        row = benchmark.time_case(case, machine[dtype], argparse.Namespace(dtype=dtype, tf32=False))
        torch.cuda.empty_cache()
        return {"status": "ok" if row["right"] == "yes" else "wrong", **row}

    for dtype in DTYPES:
        lab = Lab(setting.device, getattr(torch, dtype), tiny=setting.dry_run)
        for case in setting.some(list(cases(lab)), 4):
            yield f"{case.family}: {case.name}, {dtype}", lambda case=case, dtype=dtype: time_case(case, dtype)


def timed_networks(setting: Setting) -> Iterator[Item]:
    """Each network with all its contenders, eager, hybridized (captured) and compiled, in turns."""
    for name, case in networks.GPU_CASES.items():
        yield name, lambda case=case: time_network(case, setting)


def time_network(case, setting: Setting) -> dict:
    if setting.dry_run:
        return {"contenders": [row["contender"] for row in networks.dry_run(case)]}
    found = networks.time_on_gpu(case, "bfloat16", rounds=6)
    times = {row["contender"]: row["ms"] for row in found}
    return {"status": "failed" if math.isnan(times[networks.HYBRIDIZED]) else "ok", "ms": times}


# ---------------------------------------------------------------- traces


def traces(setting: Setting) -> Iterator[Item]:
    """Where the time of training steps goes, in one file."""
    names = ["training LeNet batch 64"] if setting.dry_run else [
        "training ResNet-50 v1 batch 64", "training BERT-base, length 128 batch 32"
    ]  # fmt: skip
    for name in names:
        yield name, lambda name=name: trace(networks.GPU_CASES[name], setting)


def trace(case, setting: Setting) -> dict:
    from torch.profiler import ProfilerActivity, profile

    step, _ = networks.gluon_step(networks.HYBRIDIZED, case, "float32", "cpu" if setting.dry_run else "gpu")
    for _ in range(2 if setting.dry_run else 5):
        step()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (not setting.dry_run)
    with profile(activities=activities) as recorded:
        step()
    with tempfile.TemporaryDirectory() as place:
        raw = Path(place) / "trace.json"
        recorded.export_chrome_trace(str(raw))
        events = json.loads(raw.read_text())["traceEvents"]
    path = setting.out / "trace.json.gz"
    before = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if path.exists() else []
    content = gzip.compress(json.dumps({"traceEvents": before + events}).encode())
    if len(content) < 16 << 20:
        path.write_bytes(content)
    return {"events": len(events), "kept": len(content) < 16 << 20}
