"""Fine-tunes the encoder of a language model to tell whether a film review is positive (IMDB).

    python scripts/sentiment_analysis/finetune_lm.py --gpu 0 --batch_size 16 --bucket_type fixed --epochs 3 \\
        --lr 0.005 --valid_ratio 0.1 --save-prefix imdb_lstm_200

The encoder is that of a language model trained on WikiText-2; with --no_pretrained it begins with random weights. The
network of the epoch that does best on the held-out reviews is kept as --save-prefix.params and tested.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core import autograd
from gluon import Trainer
from gluon.data import DataLoader
from gluon.loss import SigmoidBCELoss
from gluonnlp.data import batchify
from scripts.common import parallel
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.means import Means
from scripts.common.program import program
from scripts.common.run import Run, add_run_arguments

TOKENIZERS = {
    "spacy": nlp.data.SpacyTokenizer,
    "sacremoses": nlp.data.SacreMosesTokenizer,
    "blanks": lambda: str.split,
}
POSITIVE = 5  # ratings above it are positive
TEST_BATCH = 64


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    context = context_of(args)
    root = {"root": str(args.data_dir)} if args.data_dir else {}
    reviews = {part: list(nlp.data.IMDB(part, **root))[: args.samples] for part in ("train", "test")}
    files = sorted(args.data_dir.glob("*.json")) if args.data_dir else []
    run = Run("sentiment_analysis", args, data=checksums(files), best="valid_accuracy")
    net, vocab = network(args, [text for text, _ in reviews["train"]], context)
    cut = TOKENIZERS[args.tokenizer]()
    samples = {part: numbers(some, cut, vocab, args.longest) for part, some in reviews.items()}
    samples["train"], samples["valid"] = nlp.data.train_valid_split(samples["train"], args.valid_ratio)
    trainer = parallel.trainer(
        args, net.collect_params(), "ftml", {"learning_rate": args.lr}, clip_global_norm=args.clip or None
    )
    pad = vocab[vocab.padding_token] if vocab.padding_token else 0
    for epoch in run.epochs(args.epochs, net, trainer):
        batches = run.progress(loader(args, samples["train"], pad), f"epoch {epoch}")
        metrics = train(run, net, batches, trainer, context)
        metrics["valid_accuracy"] = accuracy(net, samples["valid"], pad, context)
        run.epoch_done(epoch, metrics, samples=len(samples["train"]))
        reached = [row["valid_accuracy"] for row in run.record.facts["epochs"]]
        if reached[-1] > max(reached[:-1], default=-1.0):
            parallel.on_first(net.save_parameters, f"{args.save_prefix}.params")
        if len(reached) - reached.index(max(reached)) > args.patience:
            run.record.say(f"the held-out reviews have not gained for {args.patience} epochs")
            break
    net.load_parameters(f"{args.save_prefix}.params", ctx=context)
    return run.finish("valid_accuracy", test_accuracy=accuracy(net, samples["test"], pad, context))


def network(args: argparse.Namespace, texts: list[str], context) -> tuple[nlp.model.SentimentNet, nlp.Vocab]:
    """The network, with the encoder and the vocabulary of the language model, or with words of the reviews where
    --no_pretrained and --data-dir leave nothing else.
    """
    net = nlp.model.SentimentNet(dropout=args.dropout, use_mean_pool=args.use_mean_pool)
    vocab = None
    if args.no_pretrained and args.data_dir:
        counter = nlp.data.count_tokens([word for text in texts for word in TOKENIZERS[args.tokenizer]()(text)])
        vocab = nlp.Vocab(counter, min_freq=args.min_freq, bos_token=None)
    with net.name_scope():
        language_model, vocab = nlp.model.get_model(
            args.lm_model, dataset_name=None if vocab else "wikitext-2", vocab=vocab,
            pretrained=not args.no_pretrained, ctx=context, dropout=args.dropout,
            **({"hparam_allow_override": True} if vocab else {}),
        )  # fmt: skip
    net.embedding, net.encoder = language_model.embedding, language_model.encoder
    if args.no_pretrained:
        net.initialize(mx.init.Xavier(), ctx=context)
    else:
        net.output.initialize(mx.init.Xavier(), ctx=context)
    net.hybridize()
    return net, vocab


def numbers(reviews: list, cut: Callable[[str], list[str]], vocab: nlp.Vocab, longest: int) -> list[tuple]:
    """Words, by their numbers, of each review, and 1 where it is positive."""
    return [(vocab[cut(text)[:longest]], int(rating > POSITIVE)) for text, rating in reviews]


def together(pad: int):
    """The batchify function: words (length, batch), lengths (batch,), labels (batch,)."""
    both = batchify.Tuple(batchify.Pad(pad_val=pad, ret_length=True, dtype="int32"), batchify.Stack("float32"))

    def apply(chosen):
        (words, lengths), labels = both(chosen)
        return words.T, lengths.astype("float32"), labels

    return apply


def loader(args: argparse.Namespace, samples: list, pad: int) -> DataLoader:
    """Batches of reviews to learn from, put together as --bucket_type says."""
    lengths = [len(words) for words, _ in samples]
    if args.bucket_type == "fixed":
        sampler = nlp.data.FixedBucketSampler(
            lengths, args.batch_size, args.bucket_num, ratio=args.bucket_ratio, shuffle=True
        )
    elif args.bucket_type == "sorted":
        sampler = nlp.data.SortedBucketSampler(lengths, args.batch_size, mult=args.bucket_mult, shuffle=True)
    else:
        return parallel.loader(samples, args.batch_size, batchify_fn=together(pad))
    return parallel.loader(samples, args.batch_size, batch_sampler=sampler, batchify_fn=together(pad))


def train(run: Run, net, batches, trainer: Trainer, context) -> dict[str, float]:
    """One pass of training; the mean loss."""
    loss_function, means = SigmoidBCELoss(), Means(run, run.args.log_interval)
    for batch in batches:
        words, lengths, labels = (field.as_in_context(context) for field in batch)
        with autograd.record():
            loss = loss_function(net(words, lengths), labels).mean()
        loss.backward()
        trainer.step(1)
        means.add(loss=loss)
    return means.row()


def accuracy(net, samples: list, pad: int, context) -> float:
    """The share of reviews that are told right."""
    right = 0
    sampler = nlp.data.SortedSampler([len(words) for words, _ in samples])
    for batch in DataLoader(samples, TEST_BATCH, sampler=sampler, batchify_fn=together(pad)):
        words, lengths, labels = (field.as_in_context(context) for field in batch)
        right += int(((net(words, lengths).reshape((-1,)) > 0) == labels).sum().asscalar())
    return right / len(samples)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--data-dir", type=Path, help="folder of the published files of IMDB (default: downloaded)")
    add("--lm_model", default="standard_lstm_lm_200", help="a published language model (default: %(default)s)")
    add(
        "--use-mean-pool",
        type=lambda text: text.lower() not in ("", "0", "false"),
        default=True,
        help="the mean of all states, else the last one (default: %(default)s)",
    )
    add("--no_pretrained", action="store_true", help="begin with random weights")
    add("--lr", type=float, default=2.5e-3, help="rate of FTML (default: %(default)s)")
    add("--clip", type=float, help="longest gradient (default: any)")
    add("--bucket_type", choices=("fixed", "sorted"), help="texts of similar length are together (default: at random)")
    add("--bucket_num", type=int, default=10, help="fixed: buckets (default: %(default)s)")
    add("--bucket_ratio", type=float, default=0.0, help="fixed: how much larger batches of short texts are")
    add("--bucket_mult", type=int, default=100, help="sorted: batches that are sorted together (default: %(default)s)")
    add("--valid_ratio", type=float, default=0.05, help="share of reviews that is held out (default: %(default)s)")
    add("--epochs", type=int, default=3, help="passes over the data (default: %(default)s)")
    add("--patience", type=int, default=3, help="epochs without a gain until the end (default: %(default)s)")
    add("--batch_size", type=int, default=16, metavar="N", help="reviews (default: %(default)s)")
    add("--dropout", type=float, default=0.0, help="(default: %(default)s)")
    add("--log-interval", type=int, default=0, metavar="N", help="batches between lines in the log (default: none)")
    add("--save-prefix", default="sa-model", help="the best parameters go to PREFIX.params (default: %(default)s)")
    add("--tokenizer", choices=TOKENIZERS, default="spacy", help="what cuts texts into words (default: %(default)s)")
    add("--longest", type=int, default=500, help="words of a review that are read (default: %(default)s)")
    add("--min_freq", type=int, default=5, help="of words, where the reviews' own are read (default: %(default)s)")
    add("--samples", type=int, help="use only the first so many of each part")
    add_gpu_argument(parser)
    add_run_arguments(parser, run="imdb_lstm")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
