"""Trains fastText's classifier of texts (Joulin, Grave, Bojanowski and Mikolov, 2017): the mean of vectors of words and
word n-grams, and a linear layer.

    python scripts/text_classification/fasttext_word_ngram.py --input ../shared/data/trec/TREC.train.all \\
        --validation ../shared/data/trec/TREC.test.all --encoding latin1 --ngrams 2

Files have a label, a space and a text on each line; labels may begin with __label__, as fastText writes them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core import autograd, metric
from core.kvstore import processes
from gluon.data import DataLoader
from gluon.loss import SigmoidBinaryCrossEntropyLoss, SoftmaxCrossEntropyLoss
from gluonnlp.data import batchify
from scripts.common import parallel
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.run import Run, add_run_arguments

NAME = "net.params"


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    context = context_of(args)
    run = Run("text_classification", args, data=checksums([args.input, args.validation]))
    train_texts = read(args.input, args.encoding, args.ngrams)[: args.samples]
    test_texts = read(args.validation, args.encoding, args.ngrams)[: args.samples]
    labels = sorted({label for label, _ in train_texts})
    counter = nlp.data.count_tokens([word for _, words in train_texts for word in words])
    vocab = nlp.Vocab(counter, min_freq=args.min_freq, bos_token=None, eos_token=None)
    run.record.put(vocabulary=len(vocab), labels=labels)

    net = nlp.model.FastTextClassificationModel(len(vocab), args.emsize, len(labels))
    net.initialize(mx.init.Xavier(), ctx=context)
    if not args.no_hybridize:
        net.hybridize()
    batches = max(-(-len(train_texts) // args.batch_size) // processes.count(), 1)
    schedule = mx.lr_scheduler.PolyScheduler(args.epochs * batches, base_lr=args.lr, pwr=1)
    trainer = parallel.trainer(
        args, net.collect_params(), args.optimizer, {"learning_rate": args.lr, "lr_scheduler": schedule}
    )
    for epoch in run.epochs(args.epochs, net, trainer):
        shuffled = loader(train_texts, labels, vocab, args.batch_size, shuffle=True)
        metrics = {"loss": train(net, run.progress(shuffled, f"epoch {epoch}"), trainer, len(labels), context)}
        metrics["validation_accuracy"] = test(net, loader(test_texts, labels, vocab, 500, shuffle=False), context)
        run.epoch_done(epoch, metrics, samples=len(train_texts))
    if args.output:
        args.output.mkdir(parents=True, exist_ok=True)
        parallel.on_first(net.save_parameters, str(args.output / NAME))
    return run.finish("validation_accuracy")


def read(path: Path, encoding: str, ngrams: int) -> list[tuple[str, list[str]]]:
    """Label, and words and word n-grams, of each line that has a text."""
    with open(path, encoding=encoding) as lines:
        pairs = (line.strip().partition(" ") for line in lines)
        samples = [(label.removeprefix("__label__"), text.split()) for label, _, text in pairs if text.strip()]
    return [(label, grams(words, ngrams)) for label, words in samples]


def grams(words: list[str], longest: int) -> list[str]:
    """All sequences of up to `longest` words, the short ones first."""
    return [
        " ".join(words[begin : begin + size])
        for size in range(1, longest + 1)
        for begin in range(len(words) - size + 1)
    ]


def loader(texts: list, labels: list[str], vocab, batch_size: int, *, shuffle: bool) -> DataLoader:
    """Batches of words (batch, length), their numbers (batch,) and label numbers (batch,)."""
    samples = [(vocab[words], len(words), labels.index(label)) for label, words in texts]
    sampler = nlp.data.SortedBucketSampler([n for _, n, _ in samples], batch_size, shuffle=shuffle)
    pad = batchify.Pad(pad_val=vocab[vocab.padding_token], dtype="int32")
    together = batchify.Tuple(pad, batchify.Stack("float32"), batchify.Stack("float32"))
    return DataLoader(samples, batch_sampler=parallel.shared(sampler) if shuffle else sampler, batchify_fn=together)


def train(net, batches, trainer, classes: int, context) -> float:
    """One pass of training; the mean loss."""
    mean, loss_function = metric.Loss(), SigmoidBinaryCrossEntropyLoss() if classes == 2 else SoftmaxCrossEntropyLoss()
    for batch in batches:
        words, lengths, label = (field.as_in_context(context) for field in batch)
        with autograd.record():
            loss = loss_function(net(words, lengths), label)
        loss.backward()
        trainer.step(len(label))
        mean.update(None, loss)
    return mean.get()[1]


def test(net, batches, context) -> float:
    """The accuracy; the score of two classes is that of the second."""
    right = count = 0
    for *inputs, label in batches:
        scores = net(*(field.as_in_context(context) for field in inputs)).asnumpy()
        found = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        right, count = right + int((found == label.asnumpy()).sum()), count + len(label)
    return right / count


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    parser.add_argument("--input", type=Path, required=True, help="file to train on")
    parser.add_argument("--validation", type=Path, required=True, help="file to test on")
    parser.add_argument("--output", type=Path, help="folder for the parameters of the result")
    parser.add_argument("--encoding", default="utf8", help="of both files (default: %(default)s)")
    parser.add_argument("--ngrams", type=int, default=1, help="longest sequence of words (default: %(default)s)")
    parser.add_argument("--min_freq", type=int, default=1, help="of words with a vector (default: %(default)s)")
    parser.add_argument("--emsize", type=int, default=100, help="length of vectors (default: %(default)s)")
    parser.add_argument("--batch_size", type=int, default=16, help="texts in a batch (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the data (default: %(default)s)")
    parser.add_argument("--optimizer", default="adam", help="(default: %(default)s)")
    parser.add_argument("--lr", type=float, default=0.05, help="first rate, falls to zero (default: %(default)s)")
    parser.add_argument("--no-hybridize", action="store_true", help="do not compile the network")
    parser.add_argument("--samples", type=int, help="use only the first so many of each file")
    add_gpu_argument(parser)
    add_run_arguments(parser, run="")
    args = parser.parse_args(argv)
    args.run = args.run or f"fasttext_{args.input.name.split('.')[0]}".lower().replace("-", "_")
    return args


if __name__ == "__main__":
    main()
