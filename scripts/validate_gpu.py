"""Says in half an hour on a GPU what works, how fast it is, and where the time goes; begins with what matters most.

    python scripts/validate_gpu.py --out DIR --minutes 28 --commit $(git rev-parse --short HEAD)

Needs no installation and no network. Each stage runs in processes of its own, within its share of the time; what it
finds is in DIR at once, so that a run that was cut off can be read, and goes on with the same command:

- summary.json: versions, device, and for each stage how many items were right, wrong, failed or not begun;
- bench.jsonl: a row an item: a check, or a time with its floor and with PyTorch's; failures.jsonl: those that are wrong
  or failed, with the end of their traceback;
- tuned.json: the configurations that were chosen, by GPU, to be copied to core/kernels/triton/tuned.json; one that lies
  in DIR at the beginning is used;
- trace.json.gz: where the time of two training steps goes, for chrome://tracing; log.txt: what the programs printed.

Stages: peaks, correct, tune, kernels, networks, traces. Exit status: 0 all right, 1 something is wrong, 2 no device,
or no C compiler for Triton's launcher.
`--dry-run` goes through all stages at tiny sizes on the CPU, with Triton's interpreter, and times nothing of a GPU.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

# Shares of the time: (stage, share). What a stage leaves over is the next ones'.
STAGES = {"peaks": 0.03, "correct": 0.25, "tune": 0.25, "kernels": 0.2, "networks": 0.22, "traces": 0.05}
# Stages whose time is the compiler's: several processes have each a part of the items. A dry run, which times nothing,
# shares all of them out.
SHARED_OUT = ("correct",)
LARGEST = 16 << 20  # bytes of a file
BROKEN = 3  # the status of a process in which a kernel has broken the device: what is left needs another one
STARTS = 40  # of a process of a stage: each broken device costs one


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    os.environ.update(environment_of(out, args.dry_run))
    if args.item_stage:
        return work(args.item_stage, out, args)
    if not args.dry_run and not has_device():
        print(
            "There is no CUDA device here, so nothing can be validated. --dry-run goes through the stages without one."
        )
        return 2
    if not args.dry_run and (problem := launcher_problem()):
        print(f"Triton cannot launch kernels here, which takes a C compiler and Python's headers ({problem}).")
        return 2
    end, left = time.monotonic() + 60 * args.minutes, sum(STAGES[s] for s in args.stage)
    for stage in args.stage:
        seconds = max(0.0, end - time.monotonic()) * STAGES[stage] / left
        left -= STAGES[stage]
        oversee(stage, out, args, seconds)
        summarize(out, args)
    return int(any(row["status"] in ("wrong", "failed") for row in rows_of(out)))


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--minutes", type=float, default=28, help="time for all stages (default: %(default)s)")
    parser.add_argument("--stage", nargs="+", choices=STAGES, default=list(STAGES), help="default: all, in this order")
    parser.add_argument("--commit", default="unknown", help="what is validated; the machine may have no git")
    parser.add_argument("--jobs", type=int, default=min(16, os.cpu_count() or 1), help="processes that compile")
    parser.add_argument("--dry-run", action="store_true", help="tiny sizes, on the CPU")
    parser.add_argument("--item-stage", choices=STAGES, help=argparse.SUPPRESS)  # a process of a stage
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), help=argparse.SUPPRESS)  # its items: K of N
    return parser.parse_args(argv)


def environment_of(out: Path, dry_run: bool) -> dict[str, str]:
    """Choices of the tuner are kept beside the results; the dry run interprets kernels, and has no device."""
    found = {"XDG_CACHE_HOME": str(out / "cache"), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    if dry_run:
        return found | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    return found | {"TRITON_INTERPRET": "0"}


def has_device() -> bool:
    from core.context import num_gpus

    return num_gpus() > 0


def launcher_problem() -> str | None:
    """Why Triton cannot build, or load, what it launches kernels with."""
    from triton.runtime import driver

    try:
        driver.active.get_current_target()
    except Exception as error:  # of a compiler, a linker or a driver
        return f"{type(error).__name__}: {error}"
    return None


# ---------------------------------------------------------------- the process that oversees


def oversee(stage: str, out: Path, args: argparse.Namespace, seconds: float) -> None:
    """Runs the processes of a stage until it is through or its time is over."""
    end, parts = time.monotonic() + seconds, args.jobs if args.dry_run or stage in SHARED_OUT else 1
    print(f"{stage}: up to {seconds:.0f} s", flush=True)
    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(lambda part: oversee_part(stage, (part, parts), out, args, end), range(parts)))
    cut(out / "log.txt")


def oversee_part(stage: str, part: tuple[int, int], out: Path, args: argparse.Namespace, end: float) -> None:
    """Runs a process for a part of the items, and another one where it ends before it is through."""
    command = [sys.executable, __file__, "--out", out, "--item-stage", stage, "--commit", args.commit]
    command += ["--jobs", args.jobs, "--part", *part] + ["--dry-run"] * args.dry_run
    begun = out / f"begun-{part[0]}.json"
    for start in range(1, STARTS + 1):
        if time.monotonic() >= end:
            return
        with (out / "log.txt").open("a") as log:
            log.write(f"\n==== {stage}, part {part[0]}, process {start}, {time.strftime('%H:%M:%S')}\n")
            log.flush()
            process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, start_new_session=True)
            try:
                status = process.wait(max(1.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                clear_begun(begun, None)
                return
        if status == 0:
            return
        if status != BROKEN and not begun.exists():  # it does not even begin
            error = f"status {status}, see log.txt"
            add_row(out, {"stage": stage, "item": "start", "status": "failed", "error": error})
            return
        clear_begun(begun, f"the process ended with {status}")


def clear_begun(begun: Path, failure: str | None) -> None:
    """The item that a process was at when it ended has failed; where its time was over, it is as if it had not begun."""
    if begun.exists():
        if failure is not None:
            add_row(begun.parent, {**json.loads(begun.read_text()), "status": "failed", "error": failure})
        begun.unlink()


def summarize(out: Path, args: argparse.Namespace) -> None:
    counts: dict = collections.defaultdict(collections.Counter)
    rows = rows_of(out)
    for row in rows:
        counts[row["stage"]][row["status"]] += 1
    facts = next((row for row in rows if row["item"] == "versions"), {})
    summary = {
        "commit": args.commit,
        "dry run": args.dry_run,
        "facts": {k: v for k, v in facts.items() if k not in ("stage", "item", "status")},
        "peaks": {row["item"]: row["value"] for row in rows if row["stage"] == "peaks" and "value" in row},
        "stages": {stage: dict(counts[stage]) for stage in STAGES},
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(json.dumps(summary["stages"]), flush=True)


def cut(path: Path) -> None:
    """The beginning and the end of a file that has become too large."""
    if path.stat().st_size > LARGEST - (1 << 20):
        content = path.read_bytes()
        path.write_bytes(content[: 4 << 20] + b"\n...\n" + content[-(4 << 20) :])


# ---------------------------------------------------------------- rows


def rows_of(out: Path) -> list[dict]:
    """All rows that are whole, the last of an item."""
    path, found = out / "bench.jsonl", {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.endswith("}"):
            row = json.loads(line)
            found[row["stage"], row["item"]] = row
    return list(found.values())


def add_row(out: Path, row: dict) -> None:
    """Writes a row, on a line that begins with its end, so that half of one spoils no other."""
    names = ["bench.jsonl"] + ["failures.jsonl"] * (row["status"] in ("wrong", "failed"))
    for name in names:
        kept = row if name == "failures.jsonl" else {k: v for k, v in row.items() if k != "traceback"}
        path = out / name
        if not path.exists() or path.stat().st_size < LARGEST - (1 << 20):
            with path.open("a") as file:
                file.write("\n" + json.dumps(kept))
                file.flush()
                os.fsync(file.fileno())


# ---------------------------------------------------------------- the process of a stage


def work(stage: str, out: Path, args: argparse.Namespace) -> int:
    """Goes through its part of the items of a stage that have no row yet, up to one that breaks the device."""
    from scripts.benchmarks import gpu_stages

    done = {row["item"] for row in rows_of(out) if row["stage"] == stage}
    part, parts = args.part
    every, begun = gpu_stages.items(stage, gpu_stages.Setting(out, args.dry_run, args.jobs)), out / f"begun-{part}.json"
    for item, run in itertools.islice(every, part, None, parts):
        if item in done:
            continue
        begun.write_text(json.dumps({"stage": stage, "item": item}))
        start = time.monotonic()
        try:
            found = {"status": "ok", **(run() or {})}
        except Exception as error:  # the next item is tried all the same; the row carries the words
            traceback.print_exc()
            found = {"status": "failed", "error": f"{type(error).__name__}: {error}"[:400]}
            found["traceback"] = traceback.format_exc()[-3000:]
        add_row(out, {"stage": stage, "item": item, **found, "seconds": round(time.monotonic() - start, 3)})
        begun.unlink()
        if not args.dry_run and not gpu_stages.device_works():
            return BROKEN
    return 0


if __name__ == "__main__":
    sys.exit(main())
