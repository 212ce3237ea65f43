"""Learns word vectors by skip-gram or CBOW with negative samples (Mikolov, Sutskever, Chen, Corrado and Dean, 2013),
with --ngram-buckets those of fastText, which makes the vector of a word from its n-grams too (Bojanowski et al., 2017).

    python scripts/word_embeddings/train_sg_cbow.py --data ../shared/data/wikitext-2/wiki.valid.tokens \\
        ../shared/data/wikitext-2/wiki.test.tokens --eval-dir ../shared/data --ngram-buckets 0

The vectors are written to --output, for `gluonnlp.embedding.TokenEmbedding.from_file` and for `--vectors` of textCNN.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
import gluonnlp as nlp
from core import autograd
from core.kvstore import processes
from gluon.loss import SigmoidBinaryCrossEntropyLoss
from scripts.common import parallel
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.run import ROOT, Run, add_run_arguments
from scripts.word_embeddings import data, evaluation
from scripts.word_embeddings.model import NegativeSampling, Subwords


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    context = context_of(args)
    run = Run("word_embeddings", args, data=data.files(args))
    words = data.sentences(args)
    vocab, counts = data.vocabulary(args, words)
    texts = data.numbered(words, vocab)
    run.record.put(vocabulary=len(vocab), words=int(counts.sum()))
    subwords = Subwords(vocab, args.ngrams, args.ngram_buckets)
    net = NegativeSampling(len(subwords), len(vocab), args.emsize)
    net.initialize(mx.init.Uniform(1 / args.emsize), ctx=context)
    candidates = nlp.data.UnigramCandidateSampler(mx.nd.array(counts**0.75), dtype="float64")
    candidates.initialize(ctx=context)
    if not args.no_hybridize:
        net.hybridize()
        candidates.hybridize()
    pairs = 2 * counts.sum() * (args.window + 1) / 2 if args.model == "skipgram" else counts.sum()
    steps = max(1, math.ceil(args.epochs * pairs / args.batch_size / processes.count()))
    schedule = mx.lr_scheduler.PolyScheduler(steps, base_lr=args.lr, pwr=1, final_lr=args.lr * 1e-4)
    trainer = parallel.trainer(
        args, net.collect_params(), args.optimizer, {"learning_rate": args.lr, "lr_scheduler": schedule}
    )

    alone = len(texts) < processes.count()  # few long texts are cut, many are dealt out
    own = [parallel.part(text) for text in texts] if alone else texts[processes.rank() :: processes.count()]
    for epoch in run.epochs(args.epochs, net, trainer):
        kept = data.subsampled(own, counts, args.frequent_token_subsampling)
        stream = run.progress(parallel.in_step(batches(kept, subwords, args)), f"epoch {epoch}")
        metrics = {"loss": train(net, stream, candidates, trainer, args.negative, context)}
        run.epoch_done(epoch, metrics, samples=sum(map(len, kept)))
    embedding = nlp.embedding.TokenEmbedding(
        unknown_token=None, idx_to_token=vocab.idx_to_token, idx_to_vec=subwords.vectors(net)
    )
    return evaluation.conclude(run, embedding, args)


def batches(texts: list[np.ndarray], subwords: Subwords, args: argparse.Namespace):
    """Sparse inputs, and the words to tell, of one pass: a word tells one near it, with CBOW those near it tell it."""
    cbow = args.model == "cbow"
    make = nlp.data.batchify.EmbeddingCenterContextBatchify(
        args.batch_size, args.window, cbow=cbow, index_dtype="int64"
    )
    random.seed(np.random.randint(2**31))  # the stream's order follows the run's seed, epoch by epoch
    for centres, (weights, rows, contexts) in make([numbers.tolist() for numbers in texts]):
        if cbow:
            yield subwords.inputs(contexts, rows, weights, len(centres)), centres
        else:
            yield subwords.inputs(centres, np.arange(len(centres)), np.ones(len(centres)), len(centres)), contexts


def train(net, batches, candidates, trainer, negative: int, context) -> float:
    """One pass of training; the mean loss of a word to tell, with `negative` other words beside it."""
    loss_function, total, count = SigmoidBinaryCrossEntropyLoss(), 0.0, 0
    for inputs, wanted in batches:
        wanted = mx.nd.array(wanted, ctx=context, dtype="float64").reshape((-1, 1))
        others = candidates(mx.nd.zeros((len(wanted), negative), ctx=context, dtype="float64"))
        words = mx.nd.concat(wanted, others, dim=1)
        label = mx.nd.concat(mx.nd.ones((len(wanted), 1), ctx=context), mx.nd.zeros(others.shape, ctx=context), dim=1)
        # A word that was drawn although it is the one to tell does not count.
        counts = mx.nd.concat(label[:, :1], mx.nd.broadcast_not_equal(others, wanted).astype("float32"), dim=1)
        with autograd.record():
            loss = loss_function(net(inputs.as_in_context(context), words), label, counts) * words.shape[1]
        loss.backward()
        trainer.step(1)
        total, count = total + float(loss.sum().asscalar()), count + len(wanted)
    return total / max(1, count)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    data.add_text_arguments(parser)
    add = parser.add_argument
    add("--model", type=str.lower, choices=("skipgram", "cbow"), default="skipgram", help="(default: %(default)s)")
    add("--window", type=int, default=5, help="words to both sides at most (default: %(default)s)")
    add("--negative", type=int, default=5, help="words beside the right one (default: %(default)s)")
    add(
        "--frequent-token-subsampling",
        type=float,
        default=1e-4,
        help="frequency above which words are passed over (default: %(default)s)",
    )
    add("--emsize", type=int, default=300, help="length of the vectors (default: %(default)s)")
    add("--ngrams", type=int, nargs="+", default=[3, 4, 5, 6], help="characters (default: 3 4 5 6)")
    add("--ngram-buckets", type=int, default=2_000_000, help="of n-grams; 0: words only (default: %(default)s)")
    add("--batch-size", type=int, default=1024, help="words to tell at a time (default: %(default)s)")
    add("--epochs", type=int, default=5, help="passes over the texts (default: %(default)s)")
    add("--optimizer", default="groupadagrad", help="(default: %(default)s)")
    add("--lr", type=float, default=0.1, help="first rate, falls to almost zero (default: %(default)s)")
    add("--no-hybridize", action="store_true", help="do not compile the network")
    add_gpu_argument(parser)
    folder = ROOT / "checkpoints" / "word_embeddings"
    add(
        "--output",
        type=Path,
        default=folder / "vectors.npz",
        help="file of the vectors (default: checkpoints/word_embeddings/vectors.npz)",
    )
    evaluation.add_evaluation_arguments(parser)
    add_run_arguments(parser, run="", seed=1)
    args = parser.parse_args(argv)
    name = Path(args.data[0])
    args.run = args.run or f"{args.model}_{name.parent.name or name.stem}".lower().replace("-", "_")
    return args


if __name__ == "__main__":
    main()
