"""Runs every benchmark of a GPU, one after the other, and puts all bars into one table: met, missed or not measured.

Kernels are timed in bfloat16, float16 and float32 (with and without tf32), whole networks in bfloat16. Each program
leaves its own log in logs/benchmarks/, this one `gpu_bars`. `--dry-run` passes that on: everything is checked at tiny
sizes on the CPU, and nothing is timed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmarks.table import report
from scripts.common.record import LOGS

# (program, arguments, log that it leaves)
RUNS = [
    ("kernels.py", ["--dtype", "bfloat16"], "kernels_bfloat16"),
    ("kernels.py", ["--dtype", "float16"], "kernels_float16"),
    ("kernels.py", ["--dtype", "float32"], "kernels_float32"),
    ("kernels.py", ["--dtype", "float32", "--tf32"], "kernels_float32_tf32"),
    ("networks.py", ["--device", "gpu"], "networks_gpu_bfloat16"),
]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="correctness at tiny sizes, without a GPU or times")
    args = parser.parse_args(argv)
    rows, failed = [], False
    for program, arguments, log in RUNS:
        command = [sys.executable, Path(__file__).with_name(program), *arguments, *["--dry-run"] * args.dry_run]
        status = subprocess.run(command).returncode
        if status == 2 and not args.dry_run:
            return status  # the program has said that there is no GPU
        failed |= bool(status)
        if not args.dry_run:
            rows += bars(log, json.loads((LOGS / "benchmarks" / f"{log}.json").read_text())["rows"])
    if rows:
        report(
            "gpu_bars",
            "bars of the benchmarks on a GPU; a share is a speed, of PyTorch's or of the hardware's floor",
            rows,
        )
    return int(failed or any(row["met"] == "no" for row in rows))


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
