"""Compiles every tuned Triton configuration and prints what it takes: registers, spills, shared memory, instructions.

Needs no GPU. Exits with 1 if a configuration spills registers, takes more shared memory than the target has,
lacks the tensor-core or copy instructions that it promises, or does not compile.

All of them take the better part of an hour of one core. With `--kept FILE` each result is added to that file as soon
as it is there, and what the file has already is not compiled again, as long as kernel, configuration and Triton are
the same: a run that was killed goes on, and after a change only the changed kernels are compiled.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import hashlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.pop("TRITON_INTERPRET", None)

import triton

from core.kernels.triton.aot import AotCase, Resources, cases, compile_case
from core.kernels.triton.targets import TARGETS, Target
from scripts.benchmarks.kept import Kept
from scripts.benchmarks.table import report


def main() -> int:
    arguments = parse()
    kept = Kept(arguments.kept)
    failures, summaries, every = 0, [], []
    for module, listed in cases().items():
        if arguments.module and module not in arguments.module:
            continue
        for target in map(TARGETS.__getitem__, arguments.target):
            there = [case for case in listed if case.meant_for(target)]
            rows = []
            for case in spread(there, arguments.at_most):
                rows.append(inspect(module, case, target, kept))
                print(json.dumps(rows[-1]) if arguments.json else table_row(rows[-1]), flush=True)
            failures += sum(bool(row["wrong"]) for row in rows)
            every += rows
            if rows:
                summaries.append(summary(module, target, rows, len(there)))
    if arguments.log:
        title = "what compiled kernels take: most registers and bytes of any configuration; instructions expected/found"
        report("kernel_resources", title, summaries, configurations=[table_row(row) for row in every])
    return int(failures > 0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", nargs="*", help="kernel modules such as matmul or conv (default: all)")
    parser.add_argument(
        "--target",
        nargs="*",
        choices=TARGETS,
        default=[name for name in TARGETS if name.startswith("cuda")],
        help="cuda:90, hip:gfx942, ... (default: those of CUDA, for which the configurations are tuned)",
    )
    parser.add_argument("--at-most", type=int, help="cases of a module for each target, evenly spread (default: all)")
    parser.add_argument("--kept", type=Path, help="file of results to go on from and to add to, JSON lines")
    parser.add_argument("--log", action="store_true", help="keep the results in logs/benchmarks/")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    return parser.parse_args()


def spread(cases: list[AotCase], at_most: int | None) -> list[AotCase]:
    """At most so many of the cases, evenly spread, the first among them."""
    return cases if at_most is None else cases[:: max(1, -(-len(cases) // at_most))]


def resources(case: AotCase, target: Target, kept: Kept) -> Resources:
    """What a case takes, compiled unless it was before."""
    of = identity(case, target)
    row = kept.rows.get(of) or kept.add(of, dataclasses.asdict(compile_case(case, target)))
    return Resources(**row)


def identity(case: AotCase, target: Target) -> str:
    """Equal for equal work of the compiler: the sources of the kernel and of all that it calls are part of it."""
    forget_lines()
    functions = [case.kernel, *(value for value in case.constexprs.values() if hasattr(value, "cache_key"))]
    work = [str(case), case.signature, target.arch, triton.__version__, [function.cache_key for function in functions]]
    return hashlib.sha256(repr(work).encode()).hexdigest()


@functools.cache
def forget_lines() -> None:
    """Triton's keys of functions hold the lines where they begin, which a comment above them moves."""
    for name, module in list(sys.modules.items()):
        if name.startswith("core.kernels.triton."):
            for value in vars(module).values():
                if isinstance(value, triton.JITFunction):
                    value.starting_line_number = 0


def inspect(module: str, case: AotCase, target: Target, kept: Kept) -> dict:
    """One row of the table; "wrong" lists what the configuration fails at."""
    row = {
        "module": module,
        "target": str(target),
        "case": str(case),
        "expected": [case.instruction(target), case.way(target)],
        "wrong": [],
    }
    try:
        taken = resources(case, target, kept)
    except Exception as error:  # the table goes on; the row carries the compiler's words
        return {**row, "wrong": [f"{type(error).__name__}: {error}"[-500:]]}
    return {**row, **dataclasses.asdict(taken), "wrong": shortcomings(case, taken, target)}


def shortcomings(case: AotCase, taken: Resources, target: Target) -> list[str]:
    wrong = []
    if taken.spills:
        wrong.append(f"spills {taken.spills} bytes")
    if taken.shared > target.shared:
        wrong.append(f"takes {taken.shared} bytes of shared memory, {target} has {target.shared}")
    for name, demanded in (("tensor_core", case.instruction(target)), ("copies", case.way(target))):
        if demanded and getattr(taken, name) != demanded:
            wrong.append(f"has {getattr(taken, name) or 'nothing'} where {demanded} is expected")
    return wrong


def summary(module: str, target: Target, rows: list[dict], cases: int) -> dict:
    """The extremes of a module on one target, and how many of its cases were compiled at all."""
    return {
        "module": module,
        "target": str(target),
        "compiled": len(rows),
        "of": cases,
        **{name: max(row.get(name) or 0 for row in rows) for name in ("registers", "spills", "local", "shared")},
        "shared limit": target.shared,
        "tensor cores": instructions(rows, 0, "tensor_core"),
        "copies": instructions(rows, 1, "copies"),
        "wrong": "; ".join(f"{row['case']}: {', '.join(row['wrong'])}" for row in rows if row["wrong"]) or "none",
    }


def instructions(rows: list[dict], place: int, name: str) -> str:
    """How many configurations should have each kind of instruction, and how many of those have it: "wgmma 3/3"."""
    wanted = collections.Counter(row["expected"][place] for row in rows)
    found = collections.Counter(row["expected"][place] for row in rows if row["expected"][place] == row.get(name))
    return ", ".join(f"{kind} {count}/{found[kind]}" for kind, count in wanted.items() if kind) or "-"


def table_row(row: dict) -> str:
    figures = "".join(f"{row.get(name) or 0:>8}" for name in ("registers", "spills", "shared"))
    found = f"{row.get('tensor_core') or '-':>8} {row.get('copies') or '-':>9}"
    verdict = "; ".join(row["wrong"]) or "ok"
    return f"{row['target']:<11}{figures} {found}  {row['module']}: {row['case']}  {verdict}"


if __name__ == "__main__":
    sys.exit(main())
