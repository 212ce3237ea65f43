"""Compiles every tuned Triton configuration and prints what it takes: registers, spills, shared memory.

Needs no GPU. Exits with 1 if a configuration spills registers, takes more shared memory than the architecture has,
lacks the tensor-core instructions that it promises, or does not compile.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.pop("TRITON_INTERPRET", None)

from core.kernels.triton.aot import ARCHITECTURES, SHARED_LIMIT, AotCase, Resources, compile_case, rooms
from scripts.benchmarks.table import report


def main() -> int:
    arguments = parse()
    failures, summaries = 0, []
    for room, cases in rooms().items():
        if arguments.room and room not in arguments.room:
            continue
        for arch in arguments.arch:
            there = [case for case in cases if case.since <= arch]
            rows = []
            for case in spread(there, arguments.at_most):
                rows.append(inspect(room, case, arch))
                print(json.dumps(rows[-1]) if arguments.json else table_row(rows[-1]), flush=True)
            failures += sum(bool(row["wrong"]) for row in rows)
            if rows:
                summaries.append(summary(room, arch, rows, len(there)))
    if arguments.log:
        report(
            "kernel_resources", "what compiled kernels take: most registers and bytes of any configuration", summaries
        )
    return int(failures > 0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", nargs="*", help="rooms such as matmul or conv (default: all)")
    parser.add_argument("--arch", nargs="*", type=int, default=ARCHITECTURES, help="80, 90, 100 (default: all)")
    parser.add_argument(
        "--at-most", type=int, help="cases of a room for each architecture, evenly spread (default: all)"
    )
    parser.add_argument("--log", action="store_true", help="keep a row a room and architecture in logs/benchmarks/")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser.parse_args()


def spread(cases: list[AotCase], at_most: int | None) -> list[AotCase]:
    """At most so many of the cases, evenly spread, the first among them."""
    return cases if at_most is None else cases[:: max(1, -(-len(cases) // at_most))]


def inspect(room: str, case: AotCase, arch: int) -> dict:
    """One row of the table; "wrong" lists what the configuration fails at."""
    row = {"room": room, "arch": arch, "case": str(case), "wrong": []}
    try:
        taken = compile_case(case, arch)
    except Exception as error:  # the table goes on; the row carries the compiler's words
        return {**row, "wrong": [f"{type(error).__name__}: {error}"[-500:]]}
    return {**row, **dataclasses.asdict(taken), "wrong": judge(case, taken, arch)}


def judge(case: AotCase, taken: Resources, arch: int) -> list[str]:
    wrong = []
    if taken.spills:
        wrong.append(f"spills {taken.spills} bytes")
    if taken.shared > SHARED_LIMIT[arch]:
        wrong.append(f"takes {taken.shared} bytes of shared memory, sm_{arch} has {SHARED_LIMIT[arch]}")
    if case.tensor_core and not taken.tensor_core:
        wrong.append("uses no tensor cores")
    return wrong


def summary(room: str, arch: int, rows: list[dict], cases: int) -> dict:
    """The extremes of a room on one architecture, and how many of its cases were compiled at all."""
    return {
        "room": room,
        "architecture": f"sm_{arch}",
        "compiled": len(rows),
        "of": cases,
        **{name: max(row.get(name) or 0 for row in rows) for name in ("registers", "spills", "shared")},
        "shared limit": SHARED_LIMIT[arch],
        "wrong": "; ".join(f"{row['case']}: {', '.join(row['wrong'])}" for row in rows if row["wrong"]) or "none",
    }


def table_row(row: dict) -> str:
    figures = "".join(f"{row.get(name) or 0:>8}" for name in ("registers", "spills", "shared"))
    verdict = "; ".join(row["wrong"]) or "ok"
    return f"sm_{row['arch']:<4}{figures} {row.get('tensor_core') or '-':>8}  {row['room']}: {row['case']}  {verdict}"


if __name__ == "__main__":
    sys.exit(main())
