"""Trains textCNN (Kim, 2014) on a data set of sentences: TREC, SST-1, SST-2, MR, Subj, CR or MPQA.

    python scripts/sentiment_analysis/sentiment_analysis_cnn.py --data-dir ../shared/data --data_name TREC \\
        --model_mode rand

Data with a test part are trained on with five seeds, the others tested by ten folds. The epoch that does best on the
dev part (a tenth of the training samples where the data have none) gives the test accuracy of a repetition.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core.kvstore import processes
from core.store import home
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.common import parallel
from scripts.common.classify import test, train_epoch
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.packaged import checkpoint_folder
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.program import program
from scripts.common.run import Run, add_run_arguments
from scripts.sentiment_analysis import process_data
from scripts.sentiment_analysis.vectors import WORD2VEC, word_vectors

# CNN-rand, static, non-static and multichannel of Kim (2014), Table 2.
PUBLISHED = {
    "TREC": (0.912, 0.928, 0.936, 0.922),
    "SST-1": (0.450, 0.455, 0.480, 0.474),
    "SST-2": (0.827, 0.868, 0.872, 0.881),
    "MR": (0.761, 0.810, 0.815, 0.811),
    "Subj": (0.896, 0.930, 0.934, 0.932),
    "CR": (0.798, 0.847, 0.843, 0.850),
    "MPQA": (0.834, 0.896, 0.895, 0.894),
}
MODES = ("rand", "static", "non-static", "multichannel")


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    use_dtype(args.dtype)
    context = context_of(args)
    folder = (args.data_dir or Path(home()) / "datasets") / process_data.DATA_SETS[args.data_name][1]
    process_data.fetch(args.data_name, args.data_dir)
    run = Run("sentiment_analysis", args, data=checksums(sorted(f for f in folder.rglob("*") if f.is_file())))
    loss = SoftmaxCrossEntropyLoss()
    repeats = process_data.repeats(
        args.data_name,
        args.data_dir,
        dev_share=args.dev_share,
        count=args.repeats,
        seed=args.seed,
        lower=args.lower,
    )
    for repeat, parts in enumerate(repeats):
        parts = process_data.Parts(*(samples[: args.samples] for samples in parts))
        run.seed(args.seed + repeat)
        # Words outside of the training part are of use only if they have vectors already.
        seen = parts.train if args.model_mode == "rand" else parts.train + parts.dev + parts.test
        vocab = process_data.vocabulary(seen, args.min_freq if args.model_mode == "rand" else 1)
        net = network(args, vocab, len({label for _, label in parts.train}), context)
        steps = args.epochs * max(-(-len(parts.train) // args.batch_size) // processes.count(), 1)
        trainer = parallel.trainer(args, net.collect_params(), args.optimizer, optimizer_arguments(args, steps))
        before = repeat * args.epochs
        for epoch in run.epochs(before + args.epochs, net, trainer, first=before + 1):
            train_batches = process_data.batches(parts.train, vocab, args.batch_size, shuffle=True)
            shown = run.progress(train_batches, f"repeat {repeat}, epoch {epoch - before}")
            if args.log_interval:
                shown = counted(run, shown, args.log_interval)
            metrics = train_epoch(net, shown, trainer, loss, context, after_step=partial(constrain, net, args.max_norm))
            for name, samples in (("dev_accuracy", parts.dev), ("test_accuracy", parts.test)):
                if samples:
                    metrics[name] = test(net, process_data.batches(samples, vocab, 500, shuffle=False), context)
            if args.save_prefix:
                parallel.on_first(net.save_parameters, f"{args.save_prefix}.params")
            run.epoch_done(epoch - before, {"repeat": repeat} | metrics, samples=len(parts.train))
    return run.finish(published=published(args), test_accuracy=chosen(run.record.facts["epochs"]))


def network(args: argparse.Namespace, vocab: nlp.Vocab, classes: int, context: mx.Context) -> nlp.model.TextCNN:
    """TextCNN with zeros for padding and, but in mode rand, with the given vectors for the words that have one."""
    vectors = None
    if args.model_mode != "rand":
        source = None if args.vectors == WORD2VEC else checkpoint_folder(args.vectors)
        vectors = mx.nd.array(word_vectors(source, vocab.idx_to_token, args.embed_scale / 3**0.5), ctx=context)
    net = nlp.model.TextCNN(
        dropout=args.dropout,
        embed_size=args.embed_size if vectors is None else vectors.shape[1],
        vocab_size=len(vocab),
        output_size=classes,
        model_mode=args.model_mode,
        num_filters=(args.filters,) * 3,
    )
    net.initialize(mx.init.Xavier(), ctx=context)
    for embedding in embeddings(net):
        embedding.initialize(mx.init.Uniform(args.embed_scale), ctx=context, force_reinit=True)
        if vectors is not None:
            embedding.weight.set_data(vectors)
    if args.model_mode in ("static", "multichannel"):
        net.embedding.weight.grad_req = "null"
    constrain(net, args.max_norm)
    return net


def counted(run: Run, batches, every: int):
    """The batches; after so many of them a line of the log says how many have been learned from."""
    for number, batch in enumerate(batches, 1):
        yield batch
        if number % every == 0:
            run.record.say(f"  batch {number}")


def embeddings(net: nlp.model.TextCNN) -> list:
    return [e for e in (net.embedding, net.embedding_extend) if e is not None]


def optimizer_arguments(args: argparse.Namespace, steps: int) -> dict:
    """Those of AdaDelta as in Kim (2014), or of Adam with a rate that falls to zero over `steps`."""
    if args.optimizer == "adadelta":
        return {"rho": 0.95, "epsilon": 1e-6, "wd": args.wd}
    schedule = mx.lr_scheduler.PolyScheduler(steps, base_lr=args.lr, pwr=1)
    return {"learning_rate": args.lr, "lr_scheduler": schedule, "wd": args.wd}


def constrain(net, max_norm: float) -> None:
    """After each step: padding stays zero, and weights of a class in the last layer have a norm below `max_norm`."""
    for embedding in embeddings(net):
        embedding.weight.data()[1] = 0  # the vocabulary's padding token
    weight = net.output[-1].weight
    if max_norm and weight._data is not None:
        norm = mx.nd.norm(weight.data(), axis=1, keepdims=True)
        weight.data()[:] = weight.data() * mx.nd.minimum(1, max_norm / mx.nd.maximum(norm, 1e-12))


def chosen(rows: list[dict]) -> list[float]:
    """For each repetition the test accuracy of its epoch with the best dev accuracy, of the last without a dev part."""
    by_repeat: dict[int, list[dict]] = {}
    for row in rows:
        by_repeat.setdefault(row["repeat"], []).append(row)
    best = [
        max(group, key=lambda row: row["dev_accuracy"]) if "dev_accuracy" in group[0] else group[-1]
        for group in by_repeat.values()
    ]
    return [row["test_accuracy"] for row in best]


def published(args: argparse.Namespace) -> str:
    """Kim's figure, and what it was got with where that is something else than here."""
    figure = f"{PUBLISHED[args.data_name][MODES.index(args.model_mode)]} (Kim 2014"
    if args.model_mode != "rand":
        figure += f", word2vec; here {Path(args.vectors).name}" if args.vectors != WORD2VEC else ", word2vec"
    return figure + (", test part; here dev part)" if args.data_name == "SST-1" else ")")


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    parser.add_argument(
        "--data-dir", type=Path, help="folder that holds trec, sst, mr, subj, cr, mpqa (default: ~/.mxnet/datasets)"
    )
    parser.add_argument("--data_name", choices=tuple(PUBLISHED), default="MR", help="(default: %(default)s)")
    parser.add_argument("--model_mode", choices=MODES, default="rand", help="(default: %(default)s)")
    parser.add_argument(
        "--vectors",
        default=WORD2VEC,
        help="text file of word vectors, or folder or name of a BERT whose word pieces give them, such as "
        "all-minilm-l6-v2 (default: %(default)s, downloaded)",
    )
    parser.add_argument("--epochs", type=int, default=25, help="passes over the data (default: %(default)s)")
    parser.add_argument("--batch_size", type=int, default=50, help="texts in a batch (default: %(default)s)")
    parser.add_argument("--dropout", type=float, default=0.5, help="before the last layer (default: %(default)s)")
    parser.add_argument(
        "--max_norm", type=float, default=3.0, help="of a class's weights, 0: any (default: %(default)s)"
    )
    parser.add_argument("--embed_size", type=int, default=300, help="length of word vectors (default: %(default)s)")
    parser.add_argument(
        "--embed_scale", type=float, default=0.05, help="random vectors: -x to x (default: %(default)s)"
    )
    parser.add_argument("--filters", type=int, default=100, help="of each width 3, 4 and 5 (default: %(default)s)")
    parser.add_argument("--min_freq", type=int, default=2, help="of words with a vector (default: %(default)s)")
    parser.add_argument("--lower", action=argparse.BooleanOptionalAction, default=True, help="all in lower case")
    parser.add_argument("--optimizer", choices=("adadelta", "adam"), default="adam", help="(default: %(default)s)")
    parser.add_argument("--lr", type=float, default=1e-3, help="highest rate of adam (default: %(default)s)")
    parser.add_argument("--wd", type=float, default=0.0, help="weight decay (default: %(default)s)")
    parser.add_argument("--dev_share", type=float, default=0.1, help="of the training samples (default: %(default)s)")
    parser.add_argument("--repeats", type=int, help="seeds or folds (default: 5 seeds, 10 folds)")
    parser.add_argument("--samples", type=int, help="use only the first so many of each part")
    parser.add_argument("--save-prefix", help="beginning of the file that gets the last parameters, .params behind it")
    parser.add_argument("--log-interval", type=int, default=0, metavar="N", help="batches between lines in the log")
    add_gpu_argument(parser)
    add_dtype_argument(parser)
    add_run_arguments(parser, run="")
    args = parser.parse_args(argv)
    args.run = args.run or f"{args.data_name}_{args.model_mode}".lower().replace("-", "_")
    return args


if __name__ == "__main__":
    main()
