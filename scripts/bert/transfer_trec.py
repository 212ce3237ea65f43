"""What a sentence encoder that others trained is worth for the questions of TREC: fine-tuned, and the same from nothing.

    python scripts/bert/transfer_trec.py --data-dir ../shared/data/trec --checkpoint all-minilm-l6-v2

5,452 questions of six classes train, 500 test. The textCNN that this project trains on them without vectors of words
finds 91.4 % (logs/sentiment_analysis/trec_static.log). The record has the curves of both.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
from core import autograd
from gluon import Trainer
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.bert.pretrained import published_bert
from scripts.bert.text_classifier import TextClassifier
from scripts.common.environment import checksums
from scripts.common.packaged import checkpoint_folder
from scripts.common.record import LOGS, Record

LABELS = [str(k) for k in range(6)]


def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    folder = checkpoint_folder(args.checkpoint)
    files = [args.data_dir / f"TREC.{part}.all" for part in ("train", "test")]
    record = Record("bert", args.run, seed=args.seed, data=checksums(files), folder=args.log_dir)
    record.begin()
    rows, final = [], {}
    for kind, rate in (("fine-tuned", args.lr), ("from nothing", args.scratch_lr)):
        mx.random.seed(args.seed)
        np.random.seed(args.seed)
        start = published_bert(folder, "bert_12_768_12", mx.cpu())
        if kind == "from nothing":
            start.bert.initialize(mx.init.Normal(0.02), force_reinit=True)
        classifier = TextClassifier(start, labels=LABELS, max_len=args.max_len, dropout=0.1)
        classifier.net.classifier.initialize(mx.init.Normal(0.02))
        for epoch, (loss, accuracy) in enumerate(learn(classifier, rate, *map(questions, files), args), 1):
            record.say(f"{kind}, epoch {epoch}: loss {loss:.4f}  test_accuracy {accuracy:.4f}")
            rows.append({"kind": kind, "epoch": epoch, "loss": loss, "test_accuracy": accuracy})
            final[kind] = accuracy
    record.say("final: " + ", ".join(f"{kind} {accuracy:.4f}" for kind, accuracy in final.items()))
    arguments = {key: value for key, value in vars(args).items() if not isinstance(value, Path)}
    record.put(title="MiniLM on TREC", arguments=arguments, rows=rows, final=final, published="textCNN 0.914")
    return final


def learn(classifier: TextClassifier, rate: float, train: list, test: list, args: argparse.Namespace):
    """(mean loss, accuracy on the test questions) of each epoch."""
    samples, held = (
        [(*fields, label) for fields, label in zip(classifier.inputs((text,) for text, _ in part), [k for _, k in part], strict=True)]
        for part in (train[: args.samples], test)
    )  # fmt: skip
    steps = args.epochs * -(-len(samples) // args.batch_size)
    schedule = mx.lr_scheduler.PolyScheduler(steps, base_lr=rate, pwr=1, warmup_steps=steps // 10)
    settings = {"learning_rate": rate, "wd": 0.01, "lr_scheduler": schedule}
    trainer = Trainer(classifier.net.collect_params(), "adamw", settings)
    loss_function, context = SoftmaxCrossEntropyLoss(), mx.cpu()
    for _ in range(args.epochs):
        losses = []
        for *inputs, label in classifier.batches(samples, args.batch_size, shuffle=True):
            with autograd.record():
                loss = loss_function(classifier.scores(inputs, context), label)
            loss.backward()
            trainer.step(len(label))
            losses.append(float(loss.mean().asscalar()))
        right = 0
        for *inputs, label in classifier.batches(held, 64, shuffle=False):
            right += int((classifier.scores(inputs, context).argmax(axis=1) == label).sum().asscalar())
        yield float(np.mean(losses)), right / len(held)


def questions(path: Path) -> list[tuple[str, int]]:
    """(text, class) of each line."""
    with open(path, encoding="latin-1") as lines:
        return [(text.strip(), int(label)) for label, _, text in (line.partition(" ") for line in lines)]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with TREC.train.all and TREC.test.all")
    parser.add_argument("--checkpoint", default="all-minilm-l6-v2", help="folder, or package's (default: %(default)s)")
    parser.add_argument("--samples", type=int, help="use only the first so many questions")
    parser.add_argument("--epochs", type=int, default=4, help="passes over the questions (default: %(default)s)")
    parser.add_argument("--batch-size", type=int, default=32, help="(default: %(default)s)")
    parser.add_argument("--lr", type=float, default=1e-4, help="of fine-tuning (default: %(default)s)")
    parser.add_argument("--scratch-lr", type=float, default=3e-4, help="from nothing (default: %(default)s)")
    parser.add_argument("--max_len", type=int, default=48, help="word pieces of a question (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default: %(default)s)")
    parser.add_argument("--run", default="transfer_minilm_trec", help="name of the log files (default: %(default)s)")
    parser.add_argument("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
