"""Throughput, memory and accuracy of the classification networks of the zoo, as Figure 1 of Guo et al. (2020).

    OMP_NUM_THREADS=1 python scripts/benchmarks/classification_zoo.py
    python scripts/benchmarks/classification_zoo.py --device gpu --batch-size 64 --dtype bfloat16 --run classification_zoo_gpu

Each network with a published top-1 accuracy on ImageNet (published_accuracies.tsv, beside this file: those of GluonCV's
model zoo, with the sides of the pictures that they are of) is built with random weights, compiled, and timed on random
pictures: the median of some warm passes. Time and memory depend on the shapes alone, accuracy on the published weights,
so the first two are measured here and the last is data. Memory is that of the parameters. The table goes to
logs/benchmarks/, the picture beside it: a circle for each network, its area the memory of its parameters.

It stands with the benchmarks and not with the programs for image classification because it trains and tests nothing.
"""

from __future__ import annotations

import argparse
import csv
import gc
import re
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
from core import nd
from gluoncv.model_zoo import get_model
from scripts.benchmarks.table import report
from scripts.common.program import program
from scripts.common.record import LOGS

PUBLISHED = Path(__file__).with_name("published_accuracies.tsv")
# The family of a network: the first of these that its name begins with.
FAMILIES = (
    "resnest", "se_resnext", "senet", "resnext", "resnet", "mobilenetv3", "mobilenetv2", "mobilenet", "densenet", "vgg",
    "squeezenet", "alexnet", "darknet", "googlenet", "inception", "xception",
)  # fmt: skip
MEBI = 2**20
SHOWN = 12  # networks whose names stand in the picture: the most accurate of those that none is faster than


@program
def main(argv: list[str] | None = None) -> list[dict]:
    """Gives a row for each network, the fastest first."""
    args = parse_args(argv)
    ctx = mx.gpu(0) if args.device == "gpu" else mx.cpu()
    chosen = [row for row in published() if re.fullmatch(args.only, row["network"])]
    if not chosen:
        raise SystemExit(f"--only {args.only} fits none of: {', '.join(row['network'] for row in published())}")
    rows = []
    for row in chosen:
        rows.append(row | measure(row["network"], row["pixels"], ctx, args))
        print(f"{row['network']}: {rows[-1]['ms']:.1f} ms", flush=True)
        gc.collect()
    rows.sort(key=lambda row: row["ms"] / args.batch_size)
    title = f"classification zoo, batch {args.batch_size}, {args.dtype}, medians of {args.passes} passes"
    report(args.run, title, rows, args.log_dir)
    draw(rows, title, args.log_dir / "benchmarks" / f"{args.run}.png")
    return rows


def published() -> list[dict]:
    """Networks with their top-1 accuracy in percent, and the sides of the pictures that it is of."""
    with open(PUBLISHED, encoding="utf-8") as table:
        return [
            {"network": row["network"], "top-1": float(row["top-1"]), "pixels": int(row["pixels"])}
            for row in csv.DictReader(table, delimiter="\t")
        ]


def measure(name: str, pixels: int, ctx, args: argparse.Namespace) -> dict[str, float]:
    """Memory of the parameters in MiB, milliseconds a batch, and pictures a second."""
    net = get_model(name, pretrained_base=False)
    net.initialize(ctx=ctx)
    x = nd.random.normal(shape=(args.batch_size, 3, pixels, pixels), ctx=ctx)
    net(x[:1])  # shapes of parameters become known
    if args.dtype != "float32":
        net.cast(args.dtype)
        x = x.astype(args.dtype)
    net.hybridize(static_alloc=True, static_shape=True)
    held = sum(p.data(ctx).size * np.dtype(p.data(ctx).dtype).itemsize for p in net.collect_params().values())
    times = []
    for _ in range(args.warm_up + args.passes):
        begin = time.perf_counter()
        net(x).wait_to_read()
        mx.nd.waitall()
        times.append(time.perf_counter() - begin)
    seconds = statistics.median(times[args.warm_up :])
    return {"MiB": held / MEBI, "ms": seconds * 1000, "pictures/s": args.batch_size / seconds}


def draw(rows: list[dict], title: str, path: Path) -> None:
    """Accuracy over throughput, in a picture of matplotlib's."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.subplots()
    families = [name for name in FAMILIES if any(family(row["network"]) == name for row in rows)]
    for index, name in enumerate(families):
        own = [row for row in rows if family(row["network"]) == name]
        columns = ([row[key] for row in own] for key in ("pictures/s", "top-1"))
        sizes = [row["MiB"] for row in own]
        axes.scatter(
            *columns, s=sizes, alpha=0.6, color=f"C{index}" if index < 10 else f"{0.8 - index / 20}", label=name
        )
    for row in frontier(rows)[-SHOWN:]:
        axes.annotate(
            row["network"], (row["pictures/s"], row["top-1"]), fontsize=7, xytext=(3, 3), textcoords="offset points"
        )
    axes.set(xscale="log", xlabel="pictures a second", ylabel="published top-1 accuracy on ImageNet, %", title=title)
    axes.grid(alpha=0.3)
    handles = axes.legend(
        fontsize=7, loc="lower left", title="area: memory of parameters", title_fontsize=7
    ).legend_handles
    for handle in handles:
        handle.set_sizes([30])
    figure.savefig(path, dpi=110, metadata={"Software": None})


def family(network: str) -> str:
    """The family that a network's name begins with; ValueError for one that has none."""
    for name in FAMILIES:
        if network.startswith(name):
            return name
    raise ValueError(f"{network} begins with none of the families {', '.join(FAMILIES)}")


def frontier(rows: list[dict]) -> list[dict]:
    """The networks that no other is both faster and more accurate than, by rising accuracy."""
    best, found = -1.0, []
    for row in sorted(rows, key=lambda row: (-row["pictures/s"], -row["top-1"])):
        if row["top-1"] > best:
            best = row["top-1"]
            found.append(row)
    return found


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--only", default=".*", help="regular expression of the networks' names (default: all)")
    add("--device", choices=("cpu", "gpu"), default="cpu", help="(default: %(default)s)")
    add("--dtype", choices=("float32", "bfloat16", "float16"), default="float32", help="(default: %(default)s)")
    add("--batch-size", type=int, default=1, help="pictures in a batch (default: %(default)s)")
    add("--warm-up", type=int, default=2, help="passes before those that count (default: %(default)s)")
    add("--passes", type=int, default=5, help="passes that count (default: %(default)s)")
    add("--run", default="classification_zoo", help="name of the log files (default: %(default)s)")
    add("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
