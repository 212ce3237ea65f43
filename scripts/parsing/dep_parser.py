"""Trains a dependency parser with deep biaffine attention (Dozat and Manning, 2017).

    python scripts/parsing/dep_parser.py --train_file ../shared/data/ud_english_ewt/en_ewt-ud-train.conllu.gz \\
        --dev_file ../shared/data/ud_english_ewt/en_ewt-ud-dev.conllu.gz \\
        --test_file ../shared/data/ud_english_ewt/en_ewt-ud-test.conllu.gz

Files are in CoNLL-X or CoNLL-U, plain or .gz. Words come with their tags, the fourth column; the accuracies are shares
of all words, punctuation among them. The parser of the epoch with the best UAS on the dev part is kept in --output_dir,
for parse.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from core import autograd, metric
from gluon import Trainer
from scripts.common import parallel
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.run import ROOT, Run, add_run_arguments
from scripts.parsing.kept_parser import DepParser
from scripts.parsing.treebank import Batches, ParserVocabulary, read

# Arguments of the network, and what the program calls them.
SHAPE = {
    "word_dims": "word_dims",
    "tag_dims": "tag_dims",
    "dropout_dim": "dropout_emb",
    "lstm_layers": "lstm_layers",
    "lstm_hiddens": "lstm_hiddens",
    "dropout_lstm_input": "dropout_lstm_input",
    "dropout_lstm_hidden": "dropout_lstm_hidden",
    "mlp_arc_size": "mlp_arc_size",
    "mlp_rel_size": "mlp_rel_size",
    "dropout_mlp": "dropout_mlp",
    "debug": "debug",
}


class ExponentialScheduler(mx.lr_scheduler.LRScheduler):
    """The rate falls by the factor `decay` in `decay_steps` updates, a little in each."""

    def __init__(self, base_lr: float, decay: float, decay_steps: int):
        super().__init__(base_lr)
        self._decay, self._decay_steps = decay, decay_steps

    def __call__(self, num_update: int) -> float:
        return self.base_lr * self._decay ** (num_update / self._decay_steps)


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    paths = {"train": args.train_file, "dev": args.dev_file, "test": args.test_file}
    run = Run("parsing", args, data=checksums(paths.values()))
    parts = {name: read(path)[: args.samples] for name, path in paths.items()}
    vocab = ParserVocabulary.of(parts["train"], args.min_occur_count)
    run.record.put(words=len(vocab.words), tags=len(vocab.tags), relations=len(vocab.relations))
    with context_of(args):
        parser = DepParser(vocab, {name: getattr(args, given) for name, given in SHAPE.items()})
        schedule = ExponentialScheduler(args.learning_rate, args.decay, args.decay_steps)
        optimizer = mx.optimizer.Adam(args.learning_rate, args.beta_1, args.beta_2, args.epsilon, lr_scheduler=schedule)
        trainer = parallel.trainer(args, parser.net.collect_params(), optimizer)
        samples = [vocab.numbers(sentence) for sentence in parts["train"]]
        batches = parallel.shared(Batches(samples, args.num_buckets_train, args.train_batch_size, shuffle=True))
        how = args.num_buckets_test, args.test_batch_size
        for epoch in run.epochs(args.epochs, parser.net, trainer):
            metrics = train(parser.net, run.progress(batches, f"epoch {epoch}"), trainer)
            metrics |= {f"dev_{name}": value for name, value in parser.evaluate(parts["dev"], *how).items()}
            run.epoch_done(epoch, metrics, samples=len(samples))
            if max(run.record.facts["epochs"], key=lambda row: row["dev_uas"])["epoch"] == epoch:
                parallel.on_first(parser.save, args.output_dir)
        found = DepParser.load(args.output_dir).evaluate(parts["test"], *how)
    return run.finish(**{f"test_{name}": value for name, value in found.items()})


def train(net, batches, trainer: Trainer) -> dict[str, float]:
    """One pass of training: the mean loss, and the share of words whose head was found, of the batches."""
    losses, heads = metric.Loss(), metric.Loss()
    for _, numbers in batches:
        with autograd.record():
            right, _, _, loss = net(*numbers.transpose(2, 0, 1))
        loss.backward()
        trainer.step(1)
        losses.update(None, loss)
        heads.update(None, mx.nd.array([right]))
    return {"loss": losses.get()[1], "train_uas": heads.get()[1]}


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    for part in ("train", "dev", "test"):
        add(f"--{part}_file", type=Path, required=True, help=f"trees of the {part} part")
    add("--min_occur_count", type=int, default=2, help="rarer words and these are unknown ones (default: %(default)s)")
    add("--word_dims", type=int, default=100, help="length of vectors of words (default: %(default)s)")
    add("--tag_dims", type=int, default=100, help="length of vectors of tags (default: %(default)s)")
    add("--dropout_emb", type=float, default=0.33, help="of whole words and tags (default: %(default)s)")
    add("--lstm_layers", type=int, default=3, help="in either direction (default: %(default)s)")
    add("--lstm_hiddens", type=int, default=400, help="units of a layer and direction (default: %(default)s)")
    add("--dropout_lstm_input", type=float, default=0.33, help="(default: %(default)s)")
    add("--dropout_lstm_hidden", type=float, default=0.33, help="of states (default: %(default)s)")
    add("--mlp_arc_size", type=int, default=500, help="what heads are told by (default: %(default)s)")
    add("--mlp_rel_size", type=int, default=100, help="what relations are told by (default: %(default)s)")
    add("--dropout_mlp", type=float, default=0.33, help="(default: %(default)s)")
    add("--learning_rate", type=float, default=2e-3, help="first rate (default: %(default)s)")
    add("--decay", type=float, default=0.75, help="factor of the rate in --decay_steps (default: %(default)s)")
    add("--decay_steps", type=int, default=5000, help="updates (default: %(default)s)")
    add("--beta_1", type=float, default=0.9, help="of Adam (default: %(default)s)")
    add("--beta_2", type=float, default=0.9, help="of Adam (default: %(default)s)")
    add("--epsilon", type=float, default=1e-12, help="of Adam (default: %(default)s)")
    add("--num_buckets_train", type=int, default=40, help="clusters of lengths (default: %(default)s)")
    add("--num_buckets_test", type=int, default=10, help="clusters of lengths (default: %(default)s)")
    add("--train_batch_size", type=int, default=5000, help="tokens (default: %(default)s)")
    add("--test_batch_size", type=int, default=5000, help="tokens (default: %(default)s)")
    add("--epochs", type=int, default=20, help="passes over the data (default: %(default)s)")
    add("--samples", type=int, help="use only the first so many sentences of each part")
    add("--debug", action="store_true", help="begin with random rather than orthonormal weights, which takes less time")
    folder = ROOT / "checkpoints" / "parsing" / "model"
    add("--output_dir", type=Path, default=folder, help="of the result (default: checkpoints/parsing/model)")
    add_gpu_argument(parser)
    add_run_arguments(parser, run="")
    args = parser.parse_args(argv)
    args.run = args.run or "biaffine_" + args.train_file.name.split(".")[0].replace("-", "_").lower()
    return args


if __name__ == "__main__":
    main()
