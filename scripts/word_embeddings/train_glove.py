"""Learns GloVe's word vectors (Pennington, Socher and Manning, 2014) from counts that cooccur.py made.

    python scripts/word_embeddings/train_glove.py cooccurrences.npz vocab.txt --eval-dir ../shared/data

The vectors are written to --output, for `gluonnlp.embedding.TokenEmbedding.from_file`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
import gluonnlp as nlp
from core import autograd
from core.files.numpy_files import read_npz
from scripts.common import parallel
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.run import ROOT, Run, add_run_arguments
from scripts.word_embeddings import evaluation


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    context = context_of(args)
    run = Run("word_embeddings", args, data=checksums([args.cooccurrences, args.vocab]))
    words = [line.split()[0] for line in args.vocab.read_text(encoding="utf-8").splitlines()]
    counted = read_npz(args.cooccurrences)
    pairs = [counted[name].astype("float32") for name in ("row", "col", "data")]
    run.record.put(vocabulary=len(words), pairs=len(pairs[0]))
    net = nlp.model.GloVe({word: i for i, word in enumerate(words)}, args.emsize, x_max=args.x_max, alpha=args.alpha)
    net.initialize(ctx=context)
    if not args.no_hybridize:
        net.hybridize(static_alloc=not args.no_static_alloc)
    trainer = parallel.trainer(
        args, net.collect_params(), "groupadagrad", {"learning_rate": args.lr, "eps": args.adagrad_eps}
    )
    for epoch in run.epochs(args.epochs, net, trainer):
        with parallel.drawn_alike():
            order = parallel.part(np.random.permutation(len(pairs[0])))
        begins = run.progress(range(0, len(order), args.batch_size), f"epoch {epoch}")
        total = 0.0
        for begin in begins:
            chosen = order[begin : begin + args.batch_size]
            row, col, counts = (mx.nd.array(part[chosen], ctx=context) for part in pairs)
            kept = mx.nd.random.uniform(shape=counts.shape, ctx=context) >= args.dropout
            with autograd.record():
                loss = net(row, col, counts) * kept
                objective = loss.mean()
            objective.backward()
            trainer.step(1)
            total += float(loss.sum().asscalar())
        run.epoch_done(epoch, {"loss": total / len(order)}, samples=len(order))
    embedding = nlp.embedding.TokenEmbedding(unknown_token=None, idx_to_token=words, idx_to_vec=net[words])
    return evaluation.conclude(run, embedding, args)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("cooccurrences", type=Path, help="an .npz with row, col and data")
    add("vocab", type=Path, help="file with a word and its frequency a line")
    add("--emsize", type=int, default=300, help="length of the vectors (default: %(default)s)")
    add("--x-max", type=float, default=100, help="count from which on pairs weigh fully (default: %(default)s)")
    add("--alpha", type=float, default=0.75, help="how fast rarer pairs weigh less (default: %(default)s)")
    add("--batch-size", type=int, default=512, help="pairs at a time (default: %(default)s)")
    add("--epochs", type=int, default=50, help="passes over the pairs (default: %(default)s)")
    add("--lr", type=float, default=0.1, help="rate (default: %(default)s)")
    add("--adagrad-eps", type=float, default=1, help="of the optimizer (default: %(default)s)")
    add("--dropout", type=float, default=0.15, help="share of pairs that are passed over (default: %(default)s)")
    add("--no-hybridize", action="store_true", help="do not compile the network")
    add("--no-static-alloc", action="store_true", help="do not reuse memory of the compiled network")
    add_gpu_argument(parser)
    folder = ROOT / "checkpoints" / "word_embeddings"
    add(
        "--output",
        type=Path,
        default=folder / "glove.npz",
        help="file of the vectors (default: checkpoints/word_embeddings/glove.npz)",
    )
    evaluation.add_evaluation_arguments(parser)
    add_run_arguments(parser, run="glove", seed=1)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
