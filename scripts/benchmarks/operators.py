"""Times 60 operators, eager, forward and forward with backward, against PyTorch's eager ones on the CPU.

Small operands hold 1 KB, where what is timed is the cost of dispatching an operator; large ones 10 MB, where it is the
kernel. The two libraries take turns, call by call or in short bursts, so that both see the same machine, and read the
same memory, for where operands lie is worth up to a fifth of the time. A round is ours, theirs, theirs, ours: what one
leaves in the caches serves both alike. Where results and code lie differs from process to process, by some hundredths:
the figure is the median over processes of the median of the rounds' ratios. Each operator is printed; the log holds
the geometric means, the worst, and the number beyond the bar. An operator that takes PyTorch less than 50 microseconds
on large operands reads a small part of them: it counts as dispatch.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# (rows, columns) of the operands: 1 KB and 10 MB of float32.
SIZES = {"small": (16, 16), "large": (1280, 2048)}


@dataclass
class Case:
    """An operator as MXNet's users write it and as PyTorch's do; `shapes` of its operands are of (rows, columns)."""

    name: str
    ours: Callable
    torch: Callable
    shapes: Callable = lambda r, c: [(r, c)]
    positive: bool = False  # operands above zero
    differentiable: bool = True
    labels: bool = False  # the last operand holds class numbers below the columns
    constants: int = 0  # so many operands, the first ones, get no gradient
    states: int = 0  # nor do so many, the last ones, which are written to


def cases() -> list[Case]:
    """The operators, roughly in the order of how often programs use them."""
    import torch
    from torch.nn import functional as tf

    from core import nd

    two, three = (lambda r, c: [(r, c)] * 2), (lambda r, c: [(r, c)] * 3)
    row = lambda r, c: [(r, c), (1, c)]  # noqa: E731
    square = lambda r, c: [(min(r, c),) * 2] * 2  # noqa: E731
    picture = lambda r, c: [(4, 4, 4, 4)] if r == 16 else [(8, 16, 160, 128)]  # noqa: E731
    batch = lambda r, c: [(4, 8, 8)] * 2 if r == 16 else [(40, 256, 256)] * 2  # noqa: E731

    def convolution(r, c):
        return [(1, 4, 8, 8), (4, 4, 3, 3)] if r == 16 else [(8, 16, 160, 128), (16, 16, 3, 3)]

    def normalized(r, c):
        return [*picture(r, c), *[(picture(r, c)[0][1],)] * 4]

    def layer(r, c):
        return [(r, c), (c,), (c,)]

    return [
        Case("add", lambda x, y: x + y, lambda x, y: x + y, two),
        Case("subtract", lambda x, y: x - y, lambda x, y: x - y, two),
        Case("multiply", lambda x, y: x * y, lambda x, y: x * y, two),
        Case("divide", lambda x, y: x / y, lambda x, y: x / y, two, positive=True),
        Case("add a row", lambda x, y: nd.broadcast_add(x, y), lambda x, y: x + y, row),
        Case("multiply by a row", lambda x, y: nd.broadcast_mul(x, y), lambda x, y: x * y, row),
        Case("add a scalar", lambda x: x + 1.5, lambda x: x + 1.5),
        Case("multiply by a scalar", lambda x: x * 1.5, lambda x: x * 1.5),
        Case("negative", lambda x: -x, lambda x: -x),
        Case("power of a scalar", lambda x: x**2, lambda x: x**2),
        Case("relu", nd.relu, torch.relu),
        Case("sigmoid", nd.sigmoid, torch.sigmoid),
        Case("tanh", nd.tanh, torch.tanh),
        Case("exp", nd.exp, torch.exp),
        Case("log", nd.log, torch.log, positive=True),
        Case("sqrt", nd.sqrt, torch.sqrt, positive=True),
        Case("square", nd.square, torch.square),
        Case("abs", nd.abs, torch.abs),
        Case("clip", lambda x: nd.clip(x, -0.5, 0.5), lambda x: torch.clamp(x, -0.5, 0.5)),
        Case("maximum", nd.maximum, torch.maximum, two),
        Case("minimum", nd.minimum, torch.minimum, two),
        Case("where", lambda c, x, y: nd.where(c, x, y), lambda c, x, y: torch.where(c != 0, x, y), three, constants=1),
        Case("gelu", lambda x: nd.LeakyReLU(x, act_type="gelu"), tf.gelu),
        Case("leaky relu", lambda x: nd.LeakyReLU(x, slope=0.1), lambda x: tf.leaky_relu(x, 0.1)),
        Case("elu", lambda x: nd.LeakyReLU(x, act_type="elu", slope=1.0), tf.elu),
        Case("softrelu", lambda x: nd.Activation(x, "softrelu"), tf.softplus),
        Case("greater", lambda x, y: x > y, lambda x, y: x > y, two, differentiable=False),
        Case("sum", lambda x: x.sum(), lambda x: x.sum()),
        Case("sum of rows", lambda x: x.sum(axis=1), lambda x: x.sum(dim=1)),
        Case("sum of columns", lambda x: x.sum(axis=0), lambda x: x.sum(dim=0)),
        Case("mean", lambda x: x.mean(), lambda x: x.mean()),
        Case("max of rows", lambda x: x.max(axis=1), lambda x: x.amax(dim=1)),
        Case("norm", lambda x: x.norm(), lambda x: x.norm()),
        Case("argmax", lambda x: x.argmax(axis=1), lambda x: x.argmax(dim=1), differentiable=False),
        Case("cumsum", lambda x: nd.cumsum(x, axis=1), lambda x: x.cumsum(1)),
        Case("softmax", nd.softmax, lambda x: x.softmax(-1)),
        Case("log_softmax", nd.log_softmax, lambda x: x.log_softmax(-1)),
        Case("reshape", lambda x: x.reshape((-1, 8)), lambda x: x.reshape(-1, 8)),
        Case("transpose", lambda x: x.T, lambda x: x.t().contiguous()),
        Case("expand_dims", lambda x: x.expand_dims(0), lambda x: x.unsqueeze(0)),
        Case("flatten", nd.flatten, lambda x: x.flatten(1)),
        Case("slice", lambda x: x[2:9], lambda x: x[2:9]),
        Case("slice_axis", lambda x: nd.slice_axis(x, axis=1, begin=1, end=9), lambda x: x[:, 1:9].contiguous()),
        Case("concat", lambda x, y: nd.concat(x, y, dim=1), lambda x, y: torch.cat([x, y], 1), two),
        Case("stack", lambda x, y: nd.stack(x, y), lambda x, y: torch.stack([x, y]), two),
        Case("split", lambda x: nd.split(x, 2)[0], lambda x: torch.split_copy(x, x.shape[1] // 2, 1)[0]),
        Case("tile", lambda x: nd.tile(x, (1, 2)), lambda x: x.repeat(1, 2)),
        Case("broadcast_to", lambda x: x.broadcast_to((4, *x.shape[1:])),
             lambda x: x.expand(4, *x.shape[1:]).contiguous(), lambda r, c: [(1, r, c)]),
        Case("take", lambda x, i: nd.take(x, i), lambda x, i: tf.embedding(i.long(), x), lambda r, c: [(c, r), (r,)],
             labels=True),
        Case("one_hot", lambda i: nd.one_hot(i, 64), lambda i: tf.one_hot(i.long(), 64).float(), lambda r, c: [(r,)],
             differentiable=False, labels=True),
        Case("pick", lambda x, i: nd.pick(x, i), lambda x, i: x.gather(1, i.long()[:, None])[:, 0],
             lambda r, c: [(r, c), (r,)], labels=True),
        Case("sort", lambda x: nd.sort(x), lambda x: x.sort(stable=True)[0]),
        Case("topk", lambda x: nd.topk(x, k=5), lambda x: x.topk(5)[1], differentiable=False),
        Case("dot", nd.dot, torch.mm, square),
        Case("batch_dot", nd.batch_dot, torch.bmm, batch),
        Case("FullyConnected", lambda x, w, b: nd.FullyConnected(x, w, b, num_hidden=w.shape[0]), tf.linear,
             lambda r, c: [(r, c), (r, c), (r,)]),
        Case("Convolution",
             lambda x, w: nd.Convolution(x, w, kernel=(3, 3), pad=(1, 1), num_filter=w.shape[0], no_bias=True),
             lambda x, w: tf.conv2d(x, w, padding=1), convolution),
        Case("Pooling", lambda x: nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max"),
             lambda x: tf.max_pool2d(x, 2), picture),
        Case("BatchNorm", lambda x, g, b, m, v: nd.BatchNorm(x, g, b, m, v, fix_gamma=False),
             lambda x, g, b, m, v: tf.batch_norm(x, m, v, g, b, torch.is_grad_enabled(), eps=1e-3), normalized,
             positive=True, states=2),
        Case("LayerNorm", lambda x, g, b: nd.LayerNorm(x, g, b),
             lambda x, g, b: tf.layer_norm(x, (x.shape[-1],), g, b), layer),
    ]  # fmt: skip


def main() -> None:
    args = parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    from scripts.benchmarks.table import report

    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as fresh:
        rows = [middle(same) for same in zip(*fresh.map(measure_all, [args] * args.processes), strict=True)]
    summary = []
    for size in SIZES:
        for what in ("forward", "forward and backward"):
            ratios = {r["operator"]: r["ratio"] for r in rows if r["size"] == size and r["pass"] == what}
            if not ratios:
                continue
            worst = max(ratios, key=ratios.get)
            beyond = [r for r in rows if r["size"] == size and r["pass"] == what and r["ratio"] > bar(r)]
            summary.append(
                {
                    "size": size,
                    "pass": what,
                    "operators": len(ratios),
                    "geometric mean": math.exp(statistics.fmean(map(math.log, ratios.values()))),
                    "beyond the bar": len(beyond),
                    "worst": ratios[worst],
                    "of": worst,
                }
            )
    for row in rows:
        print("  ".join(f"{v:.3f}" if isinstance(v, float) else f"{v}" for v in row.values()))
    if args.only:
        for row in summary:
            print("  ".join(f"{v:.3f}" if isinstance(v, float) else f"{v}" for v in row.values()))
    else:
        report("operators", f"eager operators over PyTorch, {args.threads} threads", summary)


def bar(row: dict) -> float:
    """The ratio that an operator is to stay below: that of dispatch, or that of kernels."""
    return 2.5 if row["size"] == "small" or row["PyTorch us"] < 50 else 1.1


def measure_all(args: argparse.Namespace) -> list[dict]:
    """What one process measures."""
    return [row for size in SIZES for backward in (False, True) for row in measure(size, backward, args)]


def middle(rows: Sequence[dict]) -> dict:
    """An operator's row with the medians of what the processes measured."""
    return {k: statistics.median(r[k] for r in rows) if isinstance(v, float) else v for k, v in rows[0].items()}


def measure(size: str, backward: bool, args: argparse.Namespace) -> list[dict]:
    """One row per operator: microseconds of both, and the ratio."""
    import torch

    rows = []
    for case in cases():
        if (args.only and args.only not in case.name) or (backward and not case.differentiable):
            continue
        ours, theirs = calls(case, *SIZES[size], backward)
        ratios, mine, others = [], [], []
        with torch.set_grad_enabled(backward):
            burst = burst_of(theirs)
            for call in (ours, theirs):
                seconds(call, burst)
            for _ in range(args.rounds):
                turns = [seconds(call, burst) for call in (ours, theirs, theirs, ours)]
                mine.append((turns[0] + turns[3]) / 2)
                others.append((turns[1] + turns[2]) / 2)
                ratios.append(mine[-1] / others[-1])
        rows.append(
            {
                "size": size,
                "pass": "forward and backward" if backward else "forward",
                "operator": case.name,
                "us": 1e6 * statistics.median(mine),
                "PyTorch us": 1e6 * statistics.median(others),
                "ratio": statistics.median(ratios),
            }
        )
    return rows


def calls(case: Case, rows: int, columns: int, backward: bool) -> tuple[Callable, Callable]:
    """One call of the operator in each library, on the same numbers."""
    import numpy as np
    import torch

    from core import autograd, nd

    draw = np.random.RandomState(0)
    values = [draw.rand(*shape).astype("float32") + 0.1 if case.positive else draw.randn(*shape).astype("float32")
              for shape in case.shapes(rows, columns)]  # fmt: skip
    if case.labels:
        values[-1] = draw.randint(0, min(rows, 64), values[-1].shape).astype("float32")
    arrays = [nd.array(v) for v in values]
    tensors = [torch.from_dlpack(a) for a in arrays]
    if not backward:
        with torch.no_grad():
            assert_equal(case.ours(*arrays), case.torch(*tensors), case.name)

        return (lambda: case.ours(*arrays)), (lambda: case.torch(*tensors))

    learnt = slice(case.constants, len(values) - case.labels - case.states)
    for array, tensor in zip(arrays[learnt], tensors[learnt], strict=True):
        array.attach_grad()
        tensor.requires_grad_()
    with autograd.pause():
        head = case.ours(*arrays).ones_like()
    torch_head = torch.ones_like(case.torch(*tensors))

    def ours():
        with autograd.record():
            result = case.ours(*arrays)
        result.backward(head)

    def theirs():
        for tensor in tensors:
            tensor.grad = None
        case.torch(*tensors).backward(torch_head)

    return ours, theirs


def assert_equal(ours, theirs, name: str) -> None:
    import numpy as np

    if not np.allclose(ours.asnumpy(), theirs.numpy(), rtol=1e-3, atol=1e-3):
        raise SystemExit(f"{name}: the two libraries give different numbers, so their times cannot be compared")


def burst_of(call: Callable) -> int:
    """How many calls take about a millisecond."""
    call()
    start = time.perf_counter()
    call()
    return max(1, min(200, int(1e-3 / (time.perf_counter() - start))))


def seconds(call: Callable, burst: int) -> float:
    """Time of one call in a burst."""
    start = time.perf_counter()
    for _ in range(burst):
        call()
    return (time.perf_counter() - start) / burst


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="threads of both libraries (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of two turns each (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=5, help="processes to measure in (default: %(default)s)")
    parser.add_argument("--only", help="operators whose name contains this; prints, and writes no log")
    return parser.parse_args()


if __name__ == "__main__":
    main()
