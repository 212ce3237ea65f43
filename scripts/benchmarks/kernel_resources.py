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


def main() -> int:
    arguments = parse()
    failures = 0
    for room, cases in rooms().items():
        if arguments.room and room not in arguments.room:
            continue
        for arch in arguments.arch:
            for case in spread([case for case in cases if case.since <= arch], arguments.at_most):
                row = inspect(room, case, arch)
                failures += bool(row["wrong"])
                print(json.dumps(row) if arguments.json else table_row(row), flush=True)
    return int(failures > 0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--room", nargs="*", help="rooms such as matmul or conv (default: all)")
    parser.add_argument("--arch", nargs="*", type=int, default=ARCHITECTURES, help="80, 90, 100 (default: all)")
    parser.add_argument(
        "--at-most", type=int, help="cases of a room for each architecture, evenly spread (default: all)"
    )
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


def table_row(row: dict) -> str:
    figures = "".join(f"{row.get(name) or 0:>8}" for name in ("registers", "spills", "shared"))
    verdict = "; ".join(row["wrong"]) or "ok"
    return f"sm_{row['arch']:<4}{figures} {row.get('tensor_core') or '-':>8}  {row['room']}: {row['case']}  {verdict}"


if __name__ == "__main__":
    sys.exit(main())
