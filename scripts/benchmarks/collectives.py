"""When the sums of gradients over processes begin, as a share of the backward pass: BERT-base, bucket by bucket.

python scripts/launch.py -n 2 scripts/benchmarks/collectives.py
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gluon
from core import autograd, nd
from core.kernels import communication
from core.kvstore import processes
from gluonnlp.model import BERTEncoder, BERTModel
from scripts.benchmarks.table import report
from scripts.common.record import LOGS

STEPS = 4  # of which the first tells the order in which gradients arrive, and the last is looked at


def main(argv: list[str] | None = None) -> list[dict]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a tiny network, to see that it runs")
    parser.add_argument("--logs", type=Path, default=LOGS, help="folder for the log and the JSON (default: logs)")
    args = parser.parse_args(argv)
    units, layers, heads, words = (64, 2, 2, 2000) if args.small else (768, 12, 12, 30522)
    settings = {"units": units, "hidden_size": 4 * units, "num_heads": heads, "num_layers": layers, "max_length": 64}
    net = BERTModel(BERTEncoder(dropout=0.0, **settings), words, 2, units=units, embed_size=units, use_decoder=False)
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01}, kvstore="dist_sync")
    ids, types, lengths = nd.arange(128).reshape((2, 64)), nd.zeros((2, 64)), nd.array([64, 64])
    begun: list[tuple[float, int]] = []
    send = communication.all_reduce

    def noting(tensor, *more, **named):
        begun.append((time.perf_counter(), tensor.nbytes))
        return send(tensor, *more, **named)

    communication.all_reduce = noting
    for _ in range(STEPS):
        begun.clear()
        with autograd.record():
            loss = sum(out.mean() for out in net(ids, types, lengths))
        start = time.perf_counter()
        loss.backward()
        end = time.perf_counter()
        trainer.step(1)
    shares = [((t - start) / (end - start), size) for t, size in begun if t < end]
    rows = [
        {
            "network": "BERT, tiny" if args.small else "BERT-base",
            "processes": processes.count(),
            "sums within the backward pass": len(shares),
            "the first begins at": min(share for share, _ in shares),
            "bar": 0.1,
            "the last begins at": max(share for share, _ in shares),
            "MB within": sum(size for _, size in shares) / 1e6,
            "MB of all": sum(size for _, size in begun) / 1e6,
        }
    ]
    if processes.rank() == 0:
        report("collectives", "When sums of gradients begin, as a share of the backward pass", rows, args.logs)
    return rows


if __name__ == "__main__":
    main()
