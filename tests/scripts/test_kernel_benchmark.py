"""The program that times kernels: what it says without a GPU, a few cases in the interpreter, and its arithmetic."""

import argparse
import math
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from scripts.benchmarks import gpu
from scripts.benchmarks import kernels as benchmark
from scripts.benchmarks.kept import Kept
from scripts.benchmarks.kernel_case import BARS, Bar, Case, Lab
from scripts.benchmarks.kernel_cases import MOBILENET, RESNET50, cases
from tests.support import forked

ROOT = Path(__file__).resolve().parents[2]
ARGS = argparse.Namespace(dtype="float32", tf32=False)


def program(*arguments: str):
    """The program in its own process: Triton has to be imported with the interpreter."""
    command = [sys.executable, ROOT / "scripts/benchmarks/kernels.py", *arguments]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    return forked.run(command, env=environment)


def test_says_that_there_is_no_gpu():
    result = program()
    assert result.returncode == 2
    assert "no CUDA device" in result.stdout and "--dry-run" in result.stdout


@pytest.mark.interpreter
@pytest.mark.parametrize("case", ["matmul: BERT projection, TN", "softmax: forward", "optimizer: adam", "non-maximum"])
def test_case_in_the_interpreter(case):
    result = program("--dry-run", "--dtype", "float32", "--only", case)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "nothing is timed" in result.stdout


def test_every_family_has_a_bar():
    named = [(case.family, case.name) for case in cases(Lab("cpu", torch.float32, tiny=True))]
    assert len(set(named)) == len(named)
    assert {family for family, _ in named} == set(BARS)


def test_tables_hold_the_published_networks():
    """ResNet-50 has 53 convolutions of 23.45 million weights, MobileNet 13 depthwise ones of 44 640."""
    assert sum(times for times, *_ in RESNET50) == 53
    assert sum(times * i * o * k * k for times, i, o, k, _, _ in RESNET50) == 23_454_912
    assert sum(times for times, *_ in MOBILENET) == 13
    assert sum(times * channels * 9 for times, channels, _, _ in MOBILENET) == 44_640


def test_a_wrong_kernel_is_found():
    x = torch.ones(10)
    right = Case("f", "right", lambda: (x,), lambda x: x * 2, lambda x: x + x)
    wrong = Case("f", "wrong", lambda: (x,), lambda x: x * 2.001, lambda x: x + x)
    nothing = Case("f", "NaN", lambda: (x,), lambda x: x * math.nan, lambda x: x + x)
    assert benchmark.check(right, (x,), ARGS) == (0.0, "yes")
    assert benchmark.check(wrong, (x,), ARGS)[1] == benchmark.check(nothing, (x,), ARGS)[1] == "no"
    short = Case("f", "short", lambda: (x,), lambda x: x[1:], lambda x: x)
    with pytest.raises(SystemExit, match=r"\(9,\), not \(10,\)"):
        benchmark.check(short, (x,), ARGS)


def test_verdicts():
    rows = [
        {"family": "f", "case": name, "of torch": share, "right": "yes"} for name, share in [("a", 0.5), ("b", 2.0)]
    ]
    each, mean = (
        benchmark.verdict("f", Bar("torch", 0.95), rows),
        benchmark.verdict("f", Bar("torch", 0.95, False), rows),
    )
    assert (each["met"], each["worst"], each["at"]) == ("no", 0.5, "a")
    assert mean["met"] == "yes" and mean["geometric mean"] == pytest.approx(1.0)
    wrong = [*rows[1:], {"family": "f", "case": "c", "of torch": 2.0, "right": "no"}]
    assert benchmark.verdict("f", Bar("torch", 0.95), wrong)["met"] == "no"
    alone = [{"family": "f", "case": "a", "of torch": math.nan, "right": "yes"}]
    alone = benchmark.verdict("f", Bar("torch", 1.0), alone)
    assert alone["met"] == "not measured"


def test_all_bars_stand_in_one_table():
    verdicts = [
        {"family": "f", "share of": "torch", "geometric mean": 1.1, "worst": 0.5, "bar": "0.95 mean", "met": "yes"},
        {"family": "g", "share of": "floor", "geometric mean": 1.1, "worst": 0.5, "bar": "0.90 each", "met": "no"},
    ]
    networks = [
        {
            "network": "LeNet",
            "pass": "training",
            "over yardstick": 0.25,
            "bar": 1 / 3,
            "yardstick": "PyTorch",
            "met": "yes",
        },
        {"network": "LeNet", "pass": "training", "over yardstick": 1.0, "bar": "", "yardstick": "PyTorch", "met": ""},
    ]
    found = [*gpu.bars("kernels", verdicts), *gpu.bars("networks", networks)]
    assert [(row["bar"], row["reached"], row["met"]) for row in found] == [
        ("f: share of torch", 1.1, "yes"),
        ("g: share of floor", 0.5, "no"),
        ("training LeNet: share of PyTorch", 4.0, "yes"),
    ]


@pytest.mark.parametrize("moved, sets", [(1, 16), (20 << 20, 5), (1 << 30, 1)])
def test_operands_go_round_twice_the_cache(moved, sets, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: SimpleNamespace(L2_cache_size=50 << 20))
    assert benchmark.rotations(moved) == sets


@pytest.fixture
def machine(monkeypatch):
    """A GPU that measures nothing; `broken` is what it says when somebody waits for it."""
    gpu = SimpleNamespace(floor=lambda moved, flops: 1.0, bandwidth=1.0, peak=1.0, broken=None)
    monkeypatch.setattr(benchmark, "Machine", lambda dtype: gpu)
    monkeypatch.setattr(benchmark, "seconds", lambda calls: [call() for call in calls] and 2.0)
    monkeypatch.setattr(benchmark, "rotations", lambda moved: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a stand-in")
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)

    def synchronize():
        if gpu.broken:
            raise RuntimeError(gpu.broken)

    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    return gpu


def test_one_case_that_fails_leaves_the_others(machine, tmp_path, capsys):
    x = torch.ones(10)

    def fail(x):
        raise ValueError("no kernel")

    every = [Case("softmax", name, lambda: (x,), ours, lambda x: x * 2) for name, ours in
             [("right", lambda x: x + x), ("failing", fail), ("wrong", lambda x: x), ("last", lambda x: x * 2)]]  # fmt: skip
    args = argparse.Namespace(**vars(ARGS), only="softmax", kept=tmp_path / "kept", minutes=math.inf)
    assert benchmark.measure(every, args) == 1
    rows = {row["case"]: row for row in Kept(args.kept).rows.values()}
    assert {name: row["right"] for name, row in rows.items()} == {
        "right": "yes", "failing": "failed", "wrong": "no", "last": "yes"
    }  # fmt: skip
    assert "no kernel" in rows["failing"]["error"] and "no kernel" in capsys.readouterr().err
    every[0].ours = fail  # which is not run again
    assert benchmark.measure(every, args) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_a_broken_device_asks_for_another_process(machine, tmp_path):
    x = torch.ones(3)
    machine.broken = "an illegal memory access was encountered"
    every = [Case("softmax", name, lambda: (x,), lambda x: x, lambda x: x) for name in "ab"]
    args = argparse.Namespace(**vars(ARGS), only="softmax", kept=tmp_path / "kept", minutes=math.inf)
    assert benchmark.measure(every, args) == benchmark.BROKEN and len(Kept(args.kept).rows) == 1
    machine.broken = None
    assert benchmark.measure(every, args) == 0 and len(Kept(args.kept).rows) == 2
    assert benchmark.measure(every, argparse.Namespace(**{**vars(args), "minutes": 0, "kept": None})) == 0


def test_programs_of_a_gpu_are_started_again_while_they_get_on(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(gpu, "prepare_side_by_side", lambda options, jobs: None)
    statuses, started = [-11, benchmark.BROKEN, 0], []

    def start(command):
        started.append(command)
        with gpu.KEPT.open("a") as file:
            file.write("{}\n")
        return SimpleNamespace(returncode=statuses[len(started) - 1])

    monkeypatch.setattr(gpu.subprocess, "run", start)
    assert gpu.run("kernels.py", [], gpu.parse([]), math.inf) == 0 and len(started) == 3
    statuses[:] = [-11, -11]
    started.clear()
    monkeypatch.setattr(
        gpu.subprocess, "run", lambda command: started.append(command) or SimpleNamespace(returncode=-11)
    )
    assert gpu.run("kernels.py", [], gpu.parse([]), math.inf) == -11 and len(started) == 1  # it begins nothing
