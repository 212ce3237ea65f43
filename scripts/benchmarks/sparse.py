"""Times the sparse training programs of MXNet's examples against the original: processor seconds and peak memory.

- `linear`: softmax regression on 1,000,001 features, CSR batches, a row_sparse weight (example/sparse/linear_classification).
- `factorization`: a factorization machine (example/sparse/factorization_machine).
- `matrix`: matrix factorization with looked-up factors and row_sparse gradients (example/sparse/matrix_factorization).
- `wide_deep`: a linear part on CSR rows beside looked-up columns and dense layers (example/sparse/wide_deep).

Each contender is a process of its own that makes `--steps` steps from scratch; data are random, the same for both.
Importing the library counts as memory, not as time. Anonymous memory is what a process holds at the end that is no
file's: pages of libraries, which processes share and the system may drop, are left out. MXTEST_MXNET_PYTHON names an
interpreter with the original MXNet.

    MXTEST_MXNET_PYTHON=... python scripts/benchmarks/sparse.py
    python scripts/benchmarks/sparse.py linear --steps 3 --small    # to see that it runs
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

OURS, ORIGINAL = "ours", "MXNet 1.9.1"
# What columns are called, and what of an answer they show.
MEMORY = {
    "": "peak", ", above import": "above import", ", anonymous": "anonymous",
    ", anonymous above import": "anonymous above import",
}  # fmt: skip


def main(argv: list[str] | None = None) -> list[dict]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)} (default: all)")
    parser.add_argument("--steps", type=int, default=50, help="steps that are counted (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each contender (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each contender (default: %(default)s)")
    parser.add_argument("--small", action="store_true", help="few features and rows")
    logs = Path(__file__).resolve().parents[2] / "logs"
    parser.add_argument("--logs", type=Path, default=logs, help="folder for the log and the JSON (default: logs)")
    parser.add_argument("--contender", choices=(OURS, ORIGINAL), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    unknown = set(args.programs) - set(PROGRAMS)
    if unknown:
        parser.error(f"unknown programs {', '.join(sorted(unknown))}; {', '.join(PROGRAMS)} are known")
    if args.contender:
        return [contend(args)]
    from scripts.benchmarks.table import report

    rows = [compare(name, args) for name in args.programs or PROGRAMS]
    report("sparse", f"sparse training, {args.steps} steps, processor seconds and peak MB", rows, args.logs)
    return rows


def compare(program: str, args: argparse.Namespace) -> dict:
    """A row of the table: both contenders take turns, the least seconds and the median memory of each count."""
    pythons = {OURS: sys.executable, ORIGINAL: os.environ.get("MXTEST_MXNET_PYTHON")}
    found: dict[str, list[dict]] = {name: [] for name, python in pythons.items() if python}
    for _ in range(args.rounds):
        for name, answers in found.items():
            command = [pythons[name], __file__, program, "--contender", name, "--steps", str(args.steps)]
            environment = os.environ | {"OMP_NUM_THREADS": str(args.threads)}
            done = subprocess.run(
                command + ["--small"] * args.small, capture_output=True, text=True, env=environment, check=False
            )
            if done.returncode:
                raise SystemExit(f"{program}: {name} ended with status {done.returncode}\n{done.stderr[-3000:]}")
            answers.append(json.loads(done.stdout.splitlines()[-1]))
    row: dict = {"program": program}
    for name, answers in found.items():
        row[f"{name} s"] = min(a["seconds"] for a in answers)
        for memory, key in MEMORY.items():
            row[f"{name}{memory} MB"] = statistics.median(a[key] for a in answers)
    if ORIGINAL in found:
        row["time ratio"] = row[f"{OURS} s"] / row[f"{ORIGINAL} s"]
        for memory in MEMORY:
            row[f"MB ratio{memory}"] = row[f"{OURS}{memory} MB"] / row[f"{ORIGINAL}{memory} MB"]
    return row


# ---------------------------------------------------------------- inside a contender


def contend(args: argparse.Namespace) -> dict:
    """Runs one program and prints what it took."""
    if args.contender == ORIGINAL:
        import mxnet as mx
    else:
        import core as mx
    mx.nd.waitall()
    imported, private = peak(), held("RssAnon")
    step = PROGRAMS[args.programs[0]](mx, args.small)
    mx.random.seed(0)
    for _ in range(2):
        step()
    mx.nd.waitall()
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    for _ in range(args.steps):
        output = step()
    mx.nd.waitall()
    after = resource.getrusage(resource.RUSAGE_SELF)
    answer = {
        "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "wall": time.perf_counter() - start,
        "peak": peak(),
        "above import": peak() - imported,
        "anonymous": held("RssAnon"),
        "anonymous above import": held("RssAnon") - private,
        "output": float(output.mean()),
    }
    print(json.dumps(answer))
    return answer


def peak() -> float:
    """The most MB that this process ever held; `getrusage` begins with what the process held that started it."""
    return held("VmHWM")


def held(what: str) -> float:
    """MB of this process under a name that Linux gives them: RssAnon has no pages of files, VmHWM is the most so far."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(what))


def csr_rows(mx, random, rows: int, columns: int, stored: int):
    """CSR rows with `stored` ones each, some columns far more often than others."""
    indices = np.sort(random.zipf(1.3, (rows, stored)) * 7919 % columns, axis=1) + np.arange(stored)
    indices = np.minimum(indices, columns - stored + np.arange(stored))
    parts = np.ones(rows * stored, "float32"), indices.reshape(-1), np.arange(0, rows * stored + 1, stored)
    return mx.nd.sparse.csr_matrix(parts, shape=(rows, columns))


def labels_of(mx, random, *shape: int):
    """Random labels of 0 and 1."""
    return mx.nd.array(random.randint(0, 2, shape))


def trained(mx, symbol, batches, rows_of, optimizer, options, label="softmax_label"):
    """The step of `Module.fit` on one batch after the other, which pulls the rows that a batch needs.

    batches: ({name: array}, labels) each.
    """
    names = list(batches[0][0])
    module = mx.mod.Module(symbol, data_names=names, label_names=[label])
    module.bind(
        data_shapes=[mx.io.DataDesc(name, x.shape) for name, x in batches[0][0].items()],
        label_shapes=[mx.io.DataDesc(label, batches[0][1].shape)],
    )
    module.init_params(mx.init.Normal(0.01))
    module.init_optimizer(kvstore=mx.kv.create("local"), optimizer=optimizer, optimizer_params=options)
    turn = itertools.cycle([mx.io.DataBatch([x[name] for name in names], [y]) for x, y in batches])

    def step():
        batch = next(turn)
        module.prepare(batch, sparse_row_id_fn=rows_of)
        module.forward_backward(batch)
        module.update()
        return module.get_outputs()[0].asnumpy()

    return step


def linear(mx, small: bool):
    """Softmax regression; AVAZU's shape: 1,000,001 features, 15 of them in a row."""
    columns, batch = (1001, 64) if small else (1_000_001, 2000)
    x, y = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("softmax_label")
    weight = mx.sym.Variable("weight", stype="row_sparse", init=mx.init.Normal(0.01), shape=(columns, 2))
    scores = mx.sym.broadcast_add(mx.sym.sparse.dot(x, weight), mx.sym.Variable("bias", shape=(2,)))
    random = np.random.RandomState(0)
    batches = [({"data": csr_rows(mx, random, batch, columns, 15)}, labels_of(mx, random, batch)) for _ in range(3)]
    return trained(
        mx, mx.sym.SoftmaxOutput(scores, label=y, name="out"), batches,
        lambda batch: {"weight": batch.data[0].indices}, "sgd", {"learning_rate": 0.1, "rescale_grad": 1 / batch},
    )  # fmt: skip


def factorization(mx, small: bool):
    """A factorization machine of 16 factors on CSR rows, AdaGrad on rows."""
    columns, batch, factors = (1001, 64, 4) if small else (1_000_001, 1000, 16)
    x = mx.sym.Variable("data", stype="csr")
    v = mx.sym.Variable("v", shape=(columns, factors), stype="row_sparse", init=mx.init.Normal(0.001))
    w1 = mx.sym.var("w1", shape=(columns, 1), stype="row_sparse", init=mx.init.Normal(0.001))
    bias = mx.sym.Variable("bias", shape=(1,), init=mx.init.Normal(0.001))
    linear_part = mx.sym.broadcast_add(mx.sym.dot(x, w1), bias)
    squares = mx.sym.square(mx.sym.dot(x, v))
    sums = mx.sym.dot(mx.sym.square(x), mx.sym.square(v))
    pairs = 0.5 * mx.sym.sum(squares - sums, axis=1, keepdims=True)
    output = mx.sym.LogisticRegressionOutput(linear_part + pairs, mx.sym.Variable("softmax_label"), name="out")
    random = np.random.RandomState(0)
    batches = [({"data": csr_rows(mx, random, batch, columns, 39)}, labels_of(mx, random, batch, 1)) for _ in range(3)]
    return trained(
        mx, output, batches, lambda batch: dict.fromkeys(("v", "w1"), batch.data[0].indices), "adagrad",
        {"learning_rate": 0.01, "rescale_grad": 1 / batch},
    )  # fmt: skip


def matrix(mx, small: bool):
    """Matrix factorization: 138,493 users, 131,262 films, factors of 128 and a dense layer, lazy Adam."""
    sizes, batch, factors = (
        ({"user": 100, "item": 80}, 16, 4) if small else ({"user": 138_493, "item": 131_262}, 256, 128)
    )
    parts = []
    for name, count in sizes.items():
        looked_up = mx.sym.Embedding(
            mx.sym.Variable(name), mx.sym.Variable(f"{name}_weight"), input_dim=count, output_dim=factors,
            sparse_grad=True,
        )  # fmt: skip
        parts.append(mx.sym.FullyConnected(mx.sym.Activation(looked_up, act_type="relu"), num_hidden=factors))
    score = mx.sym.Flatten(mx.sym.sum(parts[0] * parts[1], axis=1))
    output = mx.sym.LinearRegressionOutput(score, mx.sym.Variable("score"), name="out")
    random = np.random.RandomState(0)
    batches = [
        ({name: mx.nd.array(random.randint(0, n, batch)) for name, n in sizes.items()}, mx.nd.array(random.rand(batch)))
        for _ in range(30)
    ]
    options = {"learning_rate": 0.01, "rescale_grad": 1 / batch}
    return trained(mx, output, batches, None, "adam", options, label="score")


def wide_deep(mx, small: bool):
    """Wide and deep: 3,000 CSR columns, 8 looked-up columns of 1,000 words, 5 numbers, 3 dense layers."""
    columns, batch, words, hidden = (300, 16, 50, 8) if small else (3000, 100, 1000, 100)
    weight = mx.sym.Variable("linear_weight", stype="row_sparse", init=mx.init.Normal(0.01), shape=(columns, 2))
    wide = mx.sym.sparse.dot(mx.sym.Variable("csr_data", stype="csr"), weight)
    wide = mx.sym.broadcast_add(wide, mx.sym.Variable("linear_bias", shape=(2,)))
    dense = mx.sym.Variable("dns_data")
    parts = mx.sym.split(mx.sym.slice_axis(dense, axis=1, begin=0, end=8), num_outputs=8, squeeze_axis=1)
    features = [
        mx.sym.Embedding(
            parts[k], mx.sym.Variable(f"embed_{k}_weight", stype="row_sparse"), input_dim=words, output_dim=16,
            sparse_grad=True,
        )
        for k in range(8)
    ]  # fmt: skip
    deep = mx.sym.concat(*features, mx.sym.slice_axis(dense, axis=1, begin=8, end=13), dim=1)
    for width in (hidden, hidden // 2):
        deep = mx.sym.Activation(mx.sym.FullyConnected(deep, num_hidden=width), act_type="relu")
    deep = mx.sym.FullyConnected(deep, num_hidden=2)
    output = mx.sym.SoftmaxOutput(wide + deep, mx.sym.Variable("softmax_label"), name="out")
    random, batches = np.random.RandomState(0), []
    for _ in range(30):
        numbers = np.concatenate([random.randint(0, words, (batch, 8)), random.rand(batch, 5)], axis=1)
        rows = csr_rows(mx, random, batch, columns, 2)
        batches.append(({"csr_data": rows, "dns_data": mx.nd.array(numbers)}, labels_of(mx, random, batch)))

    def rows_of(batch):
        found = {"linear_weight": batch.data[0].indices}
        return found | {f"embed_{k}_weight": batch.data[1][:, k].astype("int64") for k in range(8)}

    return trained(mx, output, batches, rows_of, "adam", {"learning_rate": 0.001, "rescale_grad": 1 / batch})


PROGRAMS = {"linear": linear, "factorization": factorization, "matrix": matrix, "wide_deep": wide_deep}

if __name__ == "__main__":
    main()
