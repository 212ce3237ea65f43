"""Runs every benchmark of a GPU, one after the other, and puts all bars into one table: met, missed or not measured.

Kernels are timed in bfloat16, float16 and float32 (with and without tf32), whole networks in bfloat16. Each program
leaves its own log in logs/benchmarks/, this one `gpu_bars`, which is written anew after each program. A kernel or
network that fails has a row that says so, and the rest goes on. What is measured is in build/gpu/ at once: at the same
commit the same command goes on from there, `--minutes` says for how long.

With `--smoke` nothing is timed: each operator, kernel and a few small networks run on the GPU and are compared with the
CPU, in a few minutes (`make gpu`). `--dry-run` needs no GPU: everything is checked at tiny sizes on the CPU.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.benchmarks.kernels import BROKEN, prepare_side_by_side
from scripts.benchmarks.table import report
from scripts.common.record import LOGS

# (program, arguments, log that it leaves), what matters most first
RUNS = [
    ("kernels.py", ["--dtype", "bfloat16"], "kernels_bfloat16"),
    ("networks.py", ["--device", "gpu", "--rounds", "10"], "networks_gpu_bfloat16"),
    ("kernels.py", ["--dtype", "float32"], "kernels_float32"),
    ("kernels.py", ["--dtype", "float16"], "kernels_float16"),
    ("kernels.py", ["--dtype", "float32", "--tf32"], "kernels_float32_tf32"),
]
KEPT = ROOT / "build" / "gpu" / "kernels.jsonl"


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    if args.smoke:
        return smoke(args.jobs)
    rows, failed, end = [], False, time.monotonic() + 60 * args.minutes
    for program, arguments, log in RUNS:
        status = run(program, arguments, args, end)
        if status == 2 and not args.dry_run:
            return status  # the program has said that there is no GPU
        failed |= bool(status)
        found = LOGS / "benchmarks" / f"{log}.json"
        if not args.dry_run and found.exists():
            rows += bars(log, json.loads(found.read_text())["rows"])
        if rows:
            title = "bars of the benchmarks on a GPU; a share is a speed, of PyTorch's or of the hardware's floor"
            report("gpu_bars", title, rows)
    return int(failed or any(row["met"] != "yes" for row in rows))


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="right or wrong, in a few minutes; nothing is timed")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin nothing after so many")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1), help="processes that compile kernels")
    parser.add_argument("--dry-run", action="store_true", help="correctness at tiny sizes, without a GPU or times")
    return parser.parse_args(argv)


def smoke(jobs: int) -> int:
    """The tests of a GPU, which fail where there is none; a worker whose device a kernel has broken is replaced."""
    workers = ["--numprocesses", str(jobs), "--max-worker-restart", "100"] if find_spec("xdist") else []
    command = [sys.executable, "-m", "pytest", "-q", "tests/gpu", *workers]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "TRITON_INTERPRET": "0"}).returncode


def run(program: str, arguments: list[str], args: argparse.Namespace, end: float) -> int:
    """The status of a program, which is started again where a kernel has broken the device or ended the process."""
    command = [sys.executable, Path(__file__).with_name(program), *arguments]
    if args.dry_run:
        return subprocess.run([*command, "--dry-run"]).returncode
    if program == "kernels.py":
        command += ["--kept", KEPT]
        prepare_side_by_side(arguments, args.jobs)
    status, begun = BROKEN, -1
    while not 0 <= status < BROKEN and begun < _size(KEPT):
        begun, left = _size(KEPT), max(0.0, (end - time.monotonic()) / 60)
        status = subprocess.run([*command, "--minutes", str(left)]).returncode
        if program != "kernels.py":
            break
    return status


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def bars(log: str, rows: list[dict]) -> list[dict]:
    """One row a bar: its name, what was reached, and whether that is enough."""
    found = []
    for row in rows:
        if "family" in row:
            least, reached = row["bar"], row["geometric mean"] if row["bar"].endswith("mean") else row["worst"]
            named = f"{row['family']}: share of {row['share of']}"
        elif row["met"]:
            least, reached = f"{1 / row['bar']:.2f}", 1 / row["over yardstick"]
            named = f"{row['pass']} {row['network']}: share of {row['yardstick']}"
        else:
            continue
        found.append({"run": log, "bar": named, "at least": least, "reached": reached, "met": row["met"]})
    return found


if __name__ == "__main__":
    sys.exit(main())
