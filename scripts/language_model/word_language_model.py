"""Trains a word language model: an LSTM (Zaremba, Sutskever and Vinyals, 2014), or with --weight_dropout an AWD LSTM
(Merity, Keskar and Socher, 2017).

    python scripts/language_model/word_language_model.py --data-dir ../shared/data --dataset sherlockholmes

The perplexity of a text is exp of the mean loss of a word; words outside of the vocabulary count as one, <unk>. Where
WikiText-2 has no training part, the first nine tenths of its valid part are trained on and the last tenth is the
dev part: such perplexities compare with each other, and not with those published for WikiText-2. The model of the best
epoch is kept in --output_dir, for cache_language_model.py and scripts/text_generation/sequence_sampling.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core import autograd
from gluon import Trainer
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.kept import keep
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.run import ROOT, add_run_arguments
from scripts.language_model.bptt import begin, detached, perplexity
from scripts.language_model.kept_model import description, network
from scripts.language_model.text import add_text_arguments, corpora


def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    use_dtype(args.dtype)
    context = context_of(args)
    parts, files = corpora(args.data_dir, args.dataset, args.words)
    run, vocab, batches = begin(args, parts, files)
    settings = description(args)
    net = network(len(vocab), **settings)
    net.initialize(mx.init.Xavier(), ctx=context)
    schedule = mx.lr_scheduler.CosineScheduler(args.epochs * len(batches["train"]), base_lr=args.lr, final_lr=0)
    optimizer = {"learning_rate": args.lr, "lr_scheduler": schedule, "wd": args.wd}
    trainer = Trainer(net.collect_params(), args.optimizer, optimizer)

    for epoch in run.epochs(args.epochs, net, trainer):
        metrics = {"loss": train(net, run.progress(batches["train"], f"epoch {epoch}"), trainer, args, context)}
        metrics["dev_perplexity"] = perplexity(net, batches["dev"], context)
        run.epoch_done(epoch, metrics, samples=len(parts["train"]))
        if metrics["dev_perplexity"] == min(row["dev_perplexity"] for row in run.record.facts["epochs"]):
            keep(args.output_dir, net, vocab, settings)
    return run.finish("dev_perplexity", test_perplexity=perplexity(net, batches["test"], context))


def train(net, batches, trainer, args: argparse.Namespace, context) -> float:
    """One pass over the text; the mean cross-entropy of a word, without the penalties."""
    loss_function = SoftmaxCrossEntropyLoss()
    ar = nlp.loss.ActivationRegularizationLoss(args.alpha)
    tar = nlp.loss.TemporalActivationRegularizationLoss(args.beta)
    parameters = [p for p in net.collect_params().values() if p.grad_req != "null"]
    total, state = 0.0, net.begin_state(batch_size=args.batch_size, ctx=context)
    for data, target in batches:
        data, target = data.as_in_context(context), target.as_in_context(context)
        with autograd.record():
            scores, state, raw, dropped = net(data, state)
            loss = loss_function(scores.reshape((-3, -1)), target.reshape((-1,))).mean()
            objective = loss + ar(*dropped) + tar(*raw) if args.weight_dropout else loss
        objective.backward()
        state = detached(state)
        nlp.utils.clip_grad_global_norm(parameters, args.clip)
        trainer.step(1)
        total += float(loss.asscalar())
    return total / len(batches)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_text_arguments(parser)
    parser.add_argument(
        "--model", choices=("rnn_relu", "rnn_tanh", "lstm", "gru"), default="lstm", help="kind of cells"
    )
    parser.add_argument("--emsize", type=int, default=200, help="length of word vectors (default: %(default)s)")
    parser.add_argument("--nhid", type=int, default=200, help="units of a layer (default: %(default)s)")
    parser.add_argument("--nlayers", type=int, default=2, help="recurrent layers (default: %(default)s)")
    parser.add_argument("--tied", action="store_true", help="words are scored with their vectors")
    parser.add_argument("--dropout", type=float, default=0.4, help="of what layers give (default: %(default)s)")
    parser.add_argument("--dropout_h", type=float, default=0.2, help="between layers, AWD (default: %(default)s)")
    parser.add_argument("--dropout_i", type=float, default=0.65, help="of word vectors, AWD (default: %(default)s)")
    parser.add_argument("--dropout_e", type=float, default=0.1, help="of whole words, AWD (default: %(default)s)")
    parser.add_argument("--weight_dropout", type=float, default=0.0, help="above 0: AWD LSTM (default: %(default)s)")
    parser.add_argument("--alpha", type=float, default=2.0, help="of AR, AWD (default: %(default)s)")
    parser.add_argument("--beta", type=float, default=1.0, help="of TAR, AWD (default: %(default)s)")
    parser.add_argument("--optimizer", default="adam", help="(default: %(default)s)")
    parser.add_argument("--lr", type=float, default=3e-3, help="first rate, falls to zero (default: %(default)s)")
    parser.add_argument("--wd", type=float, default=1.2e-6, help="weight decay (default: %(default)s)")
    parser.add_argument("--clip", type=float, default=0.25, help="longest gradient (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the text (default: %(default)s)")
    parser.add_argument("--batch_size", type=int, default=20, help="texts side by side (default: %(default)s)")
    parser.add_argument("--bptt", type=int, default=35, help="words that gradients go back (default: %(default)s)")
    parser.add_argument("--min_freq", type=int, default=1, help="of words in the vocabulary (default: %(default)s)")
    parser.add_argument(
        "--output_dir",
        type=Path,
        default=ROOT / "checkpoints" / "language_model" / "model",
        help="of the model of the epoch that does best on the dev part (default: checkpoints/language_model/model)",
    )
    add_gpu_argument(parser)
    add_dtype_argument(parser)
    add_run_arguments(parser, run="")
    args = parser.parse_args(argv)
    args.run = args.run or f"{'awd_' if args.weight_dropout else ''}{args.model}_{args.dataset}".replace("-", "_")
    return args


if __name__ == "__main__":
    main()
