"""Times the GPU kernels against the floor of the hardware and against PyTorch's (cuBLAS, cuDNN, flash attention).

The floor of a kernel is what its bytes take at the bandwidth of a large copy, or its arithmetic at the speed of a large
matrix product of the library, whichever is longer; both are measured in the same run. What is timed, on both sides, are
replays of CUDA graphs in which a call goes over several sets of operands in turn, so that neither the launches from
Python count nor what the cache still holds. Before it is timed, a kernel is checked against float64. Cases and shapes stand in `kernel_cases.py`, bars in `kernel_case.py`.

Without a GPU nothing can be timed. `--dry-run` then checks every case at tiny shapes on the CPU, with Triton's
interpreter, and makes no statement about speed.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.benchmarks.kept import Kept
from scripts.common import environment

# Norm of the error over the norm of the truth.
TOLERANCE = {"bfloat16": 1e-2, "float16": 1e-2, "float32": 1e-5}
TF32_TOLERANCE = 2e-3
TF32 = "MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION"
TURNS = 3  # of ours and theirs, in alternation; the median counts


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    if args.dry_run:  # Triton reads it when it is imported
        os.environ["TRITON_INTERPRET"] = str(int(not args.prepare))
    os.environ[TF32] = str(int(args.tf32))
    import torch

    if not args.dry_run and not torch.cuda.is_available():
        print(
            "There is no CUDA device here, so no kernel can be timed. With --dry-run every case is checked for "
            "correctness at tiny shapes, on the CPU."
        )
        return 2
    from scripts.benchmarks.kernel_case import Lab
    from scripts.benchmarks.kernel_cases import cases

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = args.tf32
    torch.backends.cudnn.benchmark = True
    lab = Lab("cpu" if args.dry_run else "cuda", getattr(torch, args.dtype), args.dry_run)
    chosen = [case for case in cases(lab) if args.only in f"{case.family}: {case.name}"]
    if not chosen:
        raise SystemExit(f"no case has {args.only!r} in its name")
    if args.prepare:
        return prepare(chosen, args)
    return (dry_run if args.dry_run else measure)(chosen, args)


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", choices=TOLERANCE, default="bfloat16", help="default: %(default)s")
    parser.add_argument("--tf32", action="store_true", help="float32 products may round their operands to tf32")
    parser.add_argument("--only", default="", help="cases whose 'family: name' contains this; writes no log")
    parser.add_argument("--dry-run", action="store_true", help="correctness at tiny shapes, without a GPU or times")
    parser.add_argument("--kept", type=Path, help="file of results to go on from and to add to, JSON lines")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no case after so many")
    parser.add_argument(
        "--prepare",
        metavar="K/N",
        help="compile the kernels of every N-th case, from the K-th on; run nothing. A dry run compiles for Hopper",
    )
    return parser.parse_args(argv)


# ---------------------------------------------------------------- with a GPU


BROKEN = 3  # the status when a kernel has broken the device: what is left needs another process


def measure(chosen: list, args: argparse.Namespace) -> int:
    """Times the cases, each by itself: one that fails has a row that says so."""
    import torch

    from scripts.benchmarks.kernel_case import BARS

    machine, kept = Machine(args.dtype), Kept(args.kept)
    end = time.monotonic() + 60 * args.minutes
    here = f"{environment.commit()} {args.dtype} {args.tf32} "
    for case in chosen:
        of = f"{here}{case.family}: {case.name}"
        if of in kept.rows or time.monotonic() > end:
            continue
        kept.add(of, failed_row(case, "the process died"))  # unless this is replaced
        try:
            row = time_case(case, machine, args)
        except (Exception, SystemExit) as error:  # the table goes on; the row carries the words
            traceback.print_exc()
            row = failed_row(case, f"{type(error).__name__}: {error}"[:300])
        print(kept.add(of, row), file=sys.stderr, flush=True)
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            return BROKEN
        torch.cuda.empty_cache()
    rows = [row for of, row in kept.rows.items() if of.startswith(here)]
    verdicts = [verdict(family, bar, rows) for family, bar in BARS.items() if any(r["family"] == family for r in rows)]
    title = (
        f"{torch.cuda.get_device_name()}, {args.dtype}{', tf32' if args.tf32 else ''}: a copy moves "
        f"{machine.bandwidth / 1e12:.2f} TB/s, torch.mm does {machine.peak / 1e12:.0f} TFLOP/s"
    )
    kind = args.dtype + "_tf32" * args.tf32
    show((f"kernels_each_{kind}", "each kernel on " + title, rows), args)
    show((f"kernels_{kind}", "kernels on " + title, verdicts), args)
    return int(any(r["right"] != "yes" for r in rows))


def prepare(chosen: list, args: argparse.Namespace) -> int:
    """Compiles the kernels of the cases, in all configurations among which they are tuned, and says so line by line.

    A case that reads values back may fail, for nothing is computed: its kernels are compiled when it runs.
    """
    from core import kernels
    from core.kernels.triton import ahead

    if args.dry_run:
        from tests.support.fake_gpu import FakeGpu

        FakeGpu("cuda:90", compiles=True).start()
    first, step = map(int, args.prepare.split("/"))
    for case in chosen[first::step]:
        start = time.perf_counter()
        try:
            with kernels.using("triton"), ahead.compiling(threads=1):
                case.ours(*case.make())
            how = "compiled"
        except Exception as error:  # of any kernel
            how = f"not compiled ahead, {type(error).__name__}: {error}"[:200]
        print(f"{case.family}: {case.name}: {how}, {time.perf_counter() - start:.1f} s", flush=True)
    return 0


def prepare_side_by_side(options: Sequence[str], jobs: int) -> list[str]:
    """What `prepare` says of each case, in so many processes; the kernels are in Triton's cache afterwards."""
    command = [sys.executable, __file__, *options, "--prepare"]
    workers = [
        subprocess.Popen([*command, f"{k}/{jobs}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for k in range(jobs)
    ]
    return [line for worker in workers for line in worker.communicate()[0].splitlines()]


def failed_row(case, why: str) -> dict:
    """The row of a case without times."""
    times = dict.fromkeys(("ms", "floor ms", "of floor", "torch ms", "of torch"), math.nan)
    return {"family": case.family, "case": case.name, **times, "error": why, "right": "failed"}


class Machine:
    """What this GPU can do: bytes a second of a copy of 1 GB, FLOP a second of an 8192 cubed product of the library."""

    def __init__(self, dtype: str):
        import torch

        source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
        target = torch.empty_like(source)
        self.bandwidth = 2 * source.nbytes / seconds([lambda: target.copy_(source)])
        n = 8192
        a, b = (torch.randn(n, n, device="cuda").to(getattr(torch, dtype)) for _ in range(2))
        self.peak = 2 * n**3 / seconds([lambda: torch.mm(a, b)])

    def floor(self, moved: int, flops: float) -> float:
        return max(moved / self.bandwidth, flops / self.peak)


def time_case(case, machine: Machine, args: argparse.Namespace) -> dict:
    inputs = case.make()
    error, right = check(case, inputs, args)
    moved = case.reread * total_bytes(inputs) + total_bytes(tensors(case.ours(*inputs)))
    sets = [inputs, *(case.make() for _ in range(rotations(total_bytes(inputs)) - 1))]
    run = [[partial(function, *given) for given in sets] for function in (case.ours, case.theirs) if function]
    ours, theirs = [], []
    for _ in range(TURNS):
        for times, calls in zip((ours, theirs), run):
            times.append(seconds(calls))
    mine, floor = statistics.median(ours), machine.floor(moved, case.flops)
    other = statistics.median(theirs) if theirs else math.nan
    return {
        "family": case.family,
        "case": case.name,
        "ms": 1e3 * mine,
        "floor ms": 1e3 * floor,
        "of floor": floor / mine,
        "torch ms": 1e3 * other,
        "of torch": other / mine,
        "error": f"{error:.1e}",
        "right": right,
    }


def rotations(moved: int) -> int:
    """How many sets of operands of so many bytes are worth twice the cache of the GPU; not more than 16."""
    import torch

    cache = getattr(torch.cuda.get_device_properties(), "L2_cache_size", 64 << 20)
    return max(1, min(16, math.ceil(2 * cache / max(moved, 1))))


def seconds(calls: list) -> float:
    """Time of one of `calls` on the GPU; those that no CUDA graph can hold are timed with their launches."""
    import triton.testing

    from core.kernels.triton import timing

    try:
        return timing.seconds(calls, replays=5)
    except RuntimeError as error:
        print(f"timed with its launches, not as a graph: {error}"[:300], file=sys.stderr, flush=True)
        return 1e-3 * triton.testing.do_bench(calls[0], warmup=20, rep=60, return_mode="median")


def total_bytes(inputs) -> int:
    return sum(x.nbytes for x in inputs)


def verdict(family: str, bar, rows: list[dict]) -> dict:
    """The speeds of a family beside its bar; what could not be compared is counted."""
    found = {r["case"]: r[f"of {bar.of}"] for r in rows if r["family"] == family}
    shares = {case: share for case, share in found.items() if not math.isnan(share)}
    right = all(r["right"] == "yes" for r in rows if r["family"] == family)
    mean = math.exp(statistics.fmean(map(math.log, shares.values()))) if shares else math.nan
    worst = min(shares, key=shares.get, default="-")
    reached = shares[worst] if bar.each and shares else mean
    return {
        "family": family,
        "cases": len(found),
        "compared": len(shares),
        "share of": bar.of,
        "geometric mean": mean,
        "worst": shares.get(worst, math.nan),
        "at": worst,
        "bar": f"{bar.least:.2f} {'each' if bar.each else 'mean'}",
        "met": "not measured" if not shares else "yes" if right and reached >= bar.least else "no",
    }


# ---------------------------------------------------------------- without one


def dry_run(chosen: list, args: argparse.Namespace) -> int:
    """Checks the cases in the interpreter; 1 if a kernel is wrong."""
    from core import kernels

    families: dict[str, dict] = {}
    for case in chosen:
        with kernels.using("triton"):
            error, right = check(case, case.make(), args)
        row = families.setdefault(
            case.family, {"family": case.family, "cases": 0, "wrong": 0, "largest error": 0.0, "at": "-"}
        )
        row["cases"] += 1
        row["wrong"] += right == "no"
        if error >= float(row["largest error"]):
            row |= {"largest error": f"{error:.1e}", "at": case.name}
        if right == "no":
            print(f"{case.family}: {case.name} is off by {error:.1e}", file=sys.stderr, flush=True)
    title = (
        f"kernels in Triton's interpreter at tiny shapes, {args.dtype}: error relative to float64, nothing is timed; "
        "these shapes say nothing of speed"
    )
    show((f"kernels_dry_run_{args.dtype}{'_tf32' * args.tf32}", title, list(families.values())), args)
    return int(any(row["wrong"] for row in families.values()))


# ---------------------------------------------------------------- both


def check(case, inputs: tuple, args: argparse.Namespace) -> tuple[float, str]:
    """The largest relative error of the results against float64, and "yes" or "no"."""
    import torch

    wide = tuple(x.double() if x.is_floating_point() else x for x in inputs)
    expected = tensors((case.truth or case.theirs)(*wide))
    got = tensors(case.ours(*(x.clone() for x in inputs)))
    error = 0.0
    for a, b in zip(got, expected, strict=True):
        if a.shape != b.shape:
            raise SystemExit(f"{case.family}: {case.name} has shape {tuple(a.shape)}, not {tuple(b.shape)}")
        one = float(torch.linalg.vector_norm(a.double() - b) / torch.linalg.vector_norm(b.double()).clamp(min=1e-30))
        error = max(error, math.inf if math.isnan(one) else one)
    limit = TF32_TOLERANCE if args.tf32 and args.dtype == "float32" else TOLERANCE[args.dtype]
    return error, "yes" if error <= limit else "no"


def tensors(result) -> tuple:
    return result if isinstance(result, tuple) else (result,)


def show(table: tuple[str, str, list[dict]], args: argparse.Namespace) -> None:
    """Prints the table and, unless only a part was asked for, keeps it in logs/benchmarks/."""
    from scripts.benchmarks.table import report

    name, title, rows = table
    if not args.only:
        report(name, title, rows)
        return
    print(title)
    for row in rows:
        print("  ".join(f"{v:.3f}" if isinstance(v, float) else f"{v}" for v in row.values()))


if __name__ == "__main__":
    sys.exit(main())
