"""How long training on text waits for its batches, by the profiler's table: textCNN on TREC,
the Transformer on Multi30k.

    python scripts/benchmarks/text_loading.py [--batches 20]

The programs' own networks, data and loops, in the main process and without workers. Making a batch (padding, stacking)
and a step both take the one core, so the share is what workers could save at most.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import core as mx
import gluonnlp as nlp
from core import profiler
from gluon import Trainer
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.benchmarks.table import report
from scripts.common.classify import train_epoch
from scripts.common.record import LOGS
from scripts.machine_translation import experiment, parallel_text, train_transformer
from scripts.sentiment_analysis import process_data, sentiment_analysis_cnn

WAITING, TRAINING = "waiting for batches", "training"


def main(argv: list[str] | None = None) -> list[dict]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="(default: %(default)s)")
    parser.add_argument("--batches", type=int, default=20, help="that are timed (default: %(default)s)")
    parser.add_argument("--log-dir", type=Path, default=LOGS, help="folder of the log (default: logs)")
    args = parser.parse_args(argv)
    rows = []
    for name, make in (("textCNN, TREC", text_cnn), ("Transformer, Multi30k", transformer)):
        train, batches = make(args.data)
        train(itertools.islice(batches, 2))  # caches fill, parameters get their shapes
        times = profiled(train, itertools.islice(batches, args.batches))
        share = times[WAITING] / times[TRAINING]
        rows.append(
            {
                "program": name,
                "waiting, ms a batch": times[WAITING] / args.batches,
                "in all, ms a batch": times[TRAINING] / args.batches,
                "share": share,
            }
        )
    report("text_loading", f"training on text, waiting for batches, {args.batches} batches each", rows, args.log_dir)
    return rows


def profiled(train: Callable[[Iterable], None], batches: Iterable) -> dict[str, float]:
    """Milliseconds of `train(batches)` in all and of waiting for batches; prints the profiler's table."""
    domain = profiler.Domain("text")
    profiler.set_config(profile_imperative=False, profile_symbolic=False)
    profiler.start()
    with domain.new_task(TRAINING):
        train(_marked(batches, domain.new_task(WAITING)))
    profiler.stop()
    times = json.loads(profiler.dumps(format="json"))["Time"][str(domain)]
    print(profiler.dumps(reset=True))
    return {name: times[name]["Total"] for name in (WAITING, TRAINING)}


def _marked(batches: Iterable, task: profiler.Task) -> Iterator:
    """The same batches; `task` runs while the next one is made."""
    iterator = iter(batches)
    while True:
        with task:
            batch = next(iterator, None)
        if batch is None:
            return
        yield batch


def text_cnn(data: Path) -> tuple[Callable, Iterable]:
    args = sentiment_analysis_cnn.parse_args(["--data-dir", str(data), "--data_name", "TREC"])
    repeats = process_data.repeats("TREC", data, dev_share=args.dev_share, count=1, seed=0, lower=args.lower)
    samples = next(repeats).train
    vocab = process_data.vocabulary(samples, args.min_freq)
    net = sentiment_analysis_cnn.network(args, vocab, len({label for _, label in samples}), mx.cpu())
    trainer = Trainer(net.collect_params(), "adam")

    def train(batches: Iterable) -> None:
        train_epoch(net, batches, trainer, SoftmaxCrossEntropyLoss(), mx.cpu())

    return train, process_data.batches(samples, vocab, args.batch_size, shuffle=True)


def transformer(data: Path, pairs: int = 6000) -> tuple[Callable, Iterable]:
    args = train_transformer.parse_args(["--data-dir", str(data / "multi30k")])
    languages = (args.src_lang, args.tgt_lang)
    text = list(nlp.data.Multi30k("train", *languages, root=str(args.data_dir)))[:pairs]
    with tempfile.TemporaryDirectory() as folder:
        sentences = [sentence for pair in text for sentence in pair]
        subwords = parallel_text.Subwords(sentences, args.vocab_size, Path(folder) / "pieces.model")
    samples = parallel_text.pairs(text, subwords, args.max_len)
    net = train_transformer.network(args, subwords.vocab)
    net.initialize(mx.init.Xavier(magnitude=args.magnitude))
    trainer = Trainer(net.collect_params(), "adam")

    def train(batches: Iterable) -> None:
        experiment.train(net, batches, trainer, mx.cpu(), args.epsilon)

    sampler = parallel_text.sampler(samples, args.batch_size, shuffle=True)
    return train, parallel_text.batches(samples, subwords.vocab, sampler)


if __name__ == "__main__":
    main()
