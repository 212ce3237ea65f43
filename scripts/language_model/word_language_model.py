"""Trains a word language model: an LSTM (Zaremba, Sutskever and Vinyals, 2014), or unless --weight_dropout is 0 an AWD LSTM
(Merity, Keskar and Socher, 2017).

    python scripts/language_model/word_language_model.py --data-dir ../shared/data --dataset sherlockholmes

The perplexity of a text is exp of the mean loss of a word; words outside of the vocabulary count as one, <unk>. Where
WikiText-2 has no training part, the first nine tenths of its valid part are trained on and the last tenth is the
dev part: such perplexities compare with each other, and not with those published for WikiText-2. The model of the best
epoch is kept in --output_dir, for cache_language_model.py and scripts/text_generation/sequence_sampling.py. Defaults
are those published for the AWD LSTM on WikiText-2, and for the smaller text some that suit it.
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
from gluon.loss import SoftmaxCrossEntropyLoss
from gluon.utils import split_and_load
from scripts.common import parallel
from scripts.common.averages import Mean
from scripts.common.devices import add_list_argument, contexts
from scripts.common.flags import Parser
from scripts.common.kept import keep
from scripts.common.means import Means
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.program import program
from scripts.common.run import ROOT, Run, add_run_arguments
from scripts.common.several import Networks
from scripts.language_model.bptt import begin, detached, perplexity, stretches
from scripts.language_model.kept_model import description, load, network
from scripts.language_model.text import add_test_mode_argument, add_text_arguments, corpora, settle_test_mode

# Epochs that may gain nothing until NT-ASGD averages
WAIT = 5
# What serves a text of 80,000 words in minutes; the defaults are those published for WikiText-2
SMALL = {
    "emsize": 200, "nhid": 200, "nlayers": 2, "weight_dropout": 0.0, "optimizer": "adam", "lr": 3e-3,
    "schedule": "cosine", "epochs": 10, "batch_size": 20, "bptt": 35,
}  # fmt: skip


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    use_dtype(args.dtype)
    devices = contexts(args)
    parts, files = corpora(args.data_dir, args.dataset, args.words)
    if args.eval_only:
        return test_kept(args, parts, devices[0])
    run, vocab, batches = begin(args, parts, files)
    settings = description(args)
    net = network(len(vocab), **settings)
    net.initialize(mx.init.Xavier(), ctx=devices)
    optimizer = {"learning_rate": args.lr, "wd": args.wd}
    if args.schedule == "cosine":
        steps = args.epochs * len(batches["train"])
        optimizer["lr_scheduler"] = mx.lr_scheduler.CosineScheduler(steps, base_lr=args.lr, final_lr=0)
    trainer = parallel.trainer(args, net.collect_params(), args.optimizer, optimizer, clip_global_norm=args.clip)
    mean = Mean(net, network(len(vocab), **settings), devices[0]) if args.ntasgd else None
    learned = Networks(net=net, mean=mean.net) if mean else net

    def averaged(rows: list[dict]) -> bool:
        """Whether the epoch after those ends in averaged weights."""
        return mean is not None and stalled([row["dev_perplexity"] for row in rows])

    for epoch in run.epochs(args.epochs, learned, trainer):
        reached = [row["dev_perplexity"] for row in run.record.facts["epochs"]]
        if args.schedule == "step":
            trainer.set_learning_rate(rate(args, reached))
        averaging = averaged(run.record.facts["epochs"])
        if mean:  # what a resumed run has averaged already
            mean.count = len(batches["train"]) * sum(stalled(reached[:e]) for e in range(len(reached)))
        after_step = mean.add if averaging else lambda: None
        shown = run.progress(batches["train"], f"epoch {epoch}")
        metrics = {"loss": train(run, net, shown, trainer, devices, after_step)}
        tested = mean.net if averaging else net
        metrics["dev_perplexity"] = perplexity(tested, batches["dev"], devices[0])
        run.epoch_done(epoch, metrics, samples=len(parts["train"]))
        if metrics["dev_perplexity"] == min([*reached, metrics["dev_perplexity"]]):
            parallel.on_first(keep, args.output_dir, tested, vocab, settings)
            if args.save:
                parallel.on_first(tested.save_parameters, args.save)
    tested = mean.net if averaged(run.record.facts["epochs"][:-1]) else net
    return run.finish("dev_perplexity", test_perplexity=perplexity(tested, batches["test"], devices[0]))


def test_kept(args: argparse.Namespace, parts: dict, context) -> dict[str, float]:
    """The perplexities of the model in --output_dir."""
    net, vocab = load(args.output_dir, context)
    batches = stretches(parts, vocab, args.bptt, args.batch_size)
    found = {f"{part}_perplexity": perplexity(net, batches[part], context) for part in ("dev", "test")}
    print("  ".join(f"{name} {value:.6g}" for name, value in found.items()))
    return found


def rate(args: argparse.Namespace, reached: list[float]) -> float:
    """The learning rate after epochs of these perplexities: less by a factor after every so many that gain nothing."""
    lr, best, waited = args.lr, float("inf"), 0
    for value in reached:
        waited = 0 if value < best else waited + 1
        best = min(best, value)
        if waited == args.lr_update_interval:
            lr, waited = lr * args.lr_update_factor, 0
    return lr


def stalled(reached: list[float]) -> bool:
    """Whether a perplexity was worse than the best before its last five (Merity, Keskar and Socher, 2017)."""
    return any(i > WAIT and reached[i] > min(reached[: i - WAIT]) for i in range(len(reached)))


def train(run: Run, net, batches, trainer, devices: list, after_step: Callable[[], None]) -> float:
    """One pass over the text, whose columns the devices share; the mean cross-entropy of a word, without penalties."""
    args, means = run.args, Means(run, run.args.log_interval)
    loss_function = SoftmaxCrossEntropyLoss()
    ar = nlp.loss.ActivationRegularizationLoss(args.alpha)
    tar = nlp.loss.TemporalActivationRegularizationLoss(args.beta)
    states = None
    for batch in batches:
        pieces = list(zip(*(split_and_load(field, devices, batch_axis=1) for field in batch), strict=True))
        states = states or [net.begin_state(batch_size=x.shape[1], ctx=x.context) for x, _ in pieces]
        with autograd.record():
            losses, objectives = [], []
            for place, (data, target) in enumerate(pieces):
                scores, states[place], raw, dropped = net(data, states[place])
                loss = loss_function(scores.reshape((-3, -1)), target.reshape((-1,))).mean() / len(pieces)
                losses.append(loss)
                extra = (ar(*dropped) + tar(*raw)) / len(pieces) if args.weight_dropout else None
                objectives.append(loss if extra is None else loss + extra)
            autograd.backward(objectives)
        states = [detached(state) for state in states]
        trainer.step(1)
        after_step()
        means.add(loss=sum(float(loss.asscalar()) for loss in losses))
    return means.row()["loss"]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_text_arguments(parser)
    parser.add_argument(
        "--model", choices=("rnn_relu", "rnn_tanh", "lstm", "gru"), default="lstm", help="kind of cells"
    )
    parser.add_argument("--emsize", type=int, default=400, help="length of word vectors (default: %(default)s)")
    parser.add_argument("--nhid", type=int, default=1150, help="units of a layer (default: %(default)s)")
    parser.add_argument("--nlayers", type=int, default=3, help="recurrent layers (default: %(default)s)")
    parser.add_argument("--tied", action="store_true", help="words are scored with their vectors")
    parser.add_argument("--dropout", type=float, default=0.4, help="of what layers give (default: %(default)s)")
    parser.add_argument("--dropout_h", type=float, default=0.2, help="between layers, AWD (default: %(default)s)")
    parser.add_argument("--dropout_i", type=float, default=0.65, help="of word vectors, AWD (default: %(default)s)")
    parser.add_argument("--dropout_e", type=float, default=0.1, help="of whole words, AWD (default: %(default)s)")
    parser.add_argument("--weight_dropout", type=float, default=0.5, help="above 0: AWD LSTM (default: %(default)s)")
    parser.add_argument("--alpha", type=float, default=2.0, help="of AR, AWD (default: %(default)s)")
    parser.add_argument("--beta", type=float, default=1.0, help="of TAR, AWD (default: %(default)s)")
    parser.add_argument("--optimizer", default="sgd", help="(default: %(default)s)")
    parser.add_argument("--lr", type=float, default=30, help="first rate (default: %(default)s)")
    parser.add_argument(
        "--schedule", choices=("step", "cosine"), default="step", help="how the rate falls (default: %(default)s)"
    )
    parser.add_argument(
        "--lr_update_interval", type=int, default=30, help="step: epochs without a gain until (default: %(default)s)"
    )
    parser.add_argument("--lr_update_factor", type=float, default=0.1, help="its factor (default: %(default)s)")
    parser.add_argument(
        "--ntasgd", action="store_true", help="once nothing is gained, parameters are averaged (NT-ASGD)"
    )
    parser.add_argument("--wd", type=float, default=1.2e-6, help="weight decay (default: %(default)s)")
    parser.add_argument("--clip", type=float, default=0.25, help="longest gradient (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=750, help="passes over the text (default: %(default)s)")
    parser.add_argument("--batch_size", type=int, default=80, help="texts side by side (default: %(default)s)")
    parser.add_argument("--bptt", type=int, default=70, help="words that gradients go back (default: %(default)s)")
    parser.add_argument("--min_freq", type=int, default=1, help="of words in the vocabulary (default: %(default)s)")
    parser.add_argument(
        "--output_dir",
        type=Path,
        default=ROOT / "checkpoints" / "language_model" / "model",
        help="of the model of the epoch that does best on the dev part (default: checkpoints/language_model/model)",
    )
    parser.add_argument("--save", help="file that gets the parameters of that model, too")
    parser.add_argument(
        "--log-interval", type=int, default=0, metavar="N", help="batches between lines in the log (default: none)"
    )
    add_test_mode_argument(parser)
    parser.add_argument("--eval_only", action="store_true", help="test the model in --output_dir, train nothing")
    add_list_argument(parser, "--gpu")
    add_dtype_argument(parser)
    add_run_arguments(parser, run="")
    known, _ = parser.parse_known_args(argv)
    if known.dataset != "wikitext-2":
        parser.set_defaults(**SMALL)
    args = parser.parse_args(argv)
    settle_test_mode(args, emsize=200, nhid=200, nlayers=1, epochs=3)
    args.run = args.run or f"{'awd_' if args.weight_dropout else ''}{args.model}_{args.dataset}".replace("-", "_")
    return args


if __name__ == "__main__":
    main()
