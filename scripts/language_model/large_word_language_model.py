"""Trains an LSTM with projected states for a large vocabulary (Jozefowicz et al., 2016): in training a word is told
from words that are drawn by their ranks (importance sampling), in tests from all words.

    python scripts/language_model/large_word_language_model.py --data-dir ../shared/data --dataset sherlockholmes \\
        --emsize 128 --nhid 256 --nproj 128 --k 512 --batch-size 20

The perplexities are those of word_language_model.py, with all words. The model of the epoch that does best on the dev
part is kept in --output_dir; --eval-only tests it again.
"""

from __future__ import annotations

import argparse
import glob
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core import autograd
from core.kvstore import processes
from gluon.loss import SoftmaxCrossEntropyLoss
from gluon.utils import clip_global_norm, split_and_load
from scripts.common import parallel
from scripts.common.devices import add_list_argument, contexts
from scripts.common.flags import Parser
from scripts.common.kept import keep
from scripts.common.means import Means
from scripts.common.program import missing, program
from scripts.common.run import ROOT, Run, add_run_arguments
from scripts.language_model.bptt import begin, detached, perplexity, stretches, vocabulary_of
from scripts.language_model.kept_model import load, network
from scripts.language_model.text import add_test_mode_argument, add_text_arguments, corpora, settle_test_mode


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    devices = contexts(args)
    context = devices[0]
    parts, files = corpora(args.data_dir, args.dataset, args.words)
    settings = {name: getattr(args, name) for name in ("emsize", "nhid", "nlayers", "nproj", "dropout")}
    settings["model"] = "big"
    if args.eval_only:
        return test_kept(args, parts, settings, context)
    run, vocab, batches = begin(args, parts, files)
    net = nlp.model.train.BigRNN(
        len(vocab), args.emsize, args.nhid, args.nlayers, args.nproj, args.k, args.dropout, args.dropout,
        sparse_weight=False, prefix="big_",
    )  # fmt: skip
    net.initialize(mx.init.Xavier(factor_type="out"), ctx=devices)
    whole = network(len(vocab), **settings, params=net.collect_params())
    optimizer = {"learning_rate": args.lr, "wd": 0, "eps": args.eps}
    trainer = parallel.trainer(args, net.collect_params(), "adagrad", optimizer, update_on_kvstore=False)
    for epoch in run.epochs(args.epochs, net, trainer):
        shown = run.progress(batches["train"], f"epoch {epoch}")
        metrics = {"sampled_loss": train(run, net, shown, trainer, len(vocab), devices)}
        metrics["dev_perplexity"] = perplexity(whole, batches["dev"], context)
        run.epoch_done(epoch, metrics, samples=len(parts["train"]))
        if metrics["dev_perplexity"] == min(row["dev_perplexity"] for row in run.record.facts["epochs"]):
            parallel.on_first(keep, args.output_dir, whole, vocab, settings)
        if args.save:
            parallel.on_first(whole.save_parameters, f"{args.save}.{epoch:02d}")
    return run.finish("dev_perplexity", test_perplexity=perplexity(whole, batches["test"], context))


def test_kept(args: argparse.Namespace, parts: dict, settings: dict, context) -> dict[str, float]:
    """The perplexities of the model in --output_dir, or those with the parameters in the files of --save."""
    if args.save:
        vocab = vocabulary_of(args.dataset, parts["train"], args.min_freq)
        net = network(len(vocab), **settings)
        first = args.from_epoch if args.from_epoch is not None else 1
        files = sorted(glob.glob(f"{glob.escape(args.save)}.[0-9][0-9]"))
        files = [file for file in files if int(file[-2:]) >= first]
        if not files:
            raise missing(Path(f"{args.save}.{first:02d}"))
    else:
        (net, vocab), files = load(args.output_dir, context), [None]
    batches = stretches(parts, vocab, args.bptt, args.batch_size)
    for file in files:
        if file:
            net.load_parameters(file, ctx=context)
        found = {f"{part}_perplexity": perplexity(net, batches[part], context) for part in ("dev", "test")}
        print(f"{file or args.output_dir}: " + "  ".join(f"{name} {value:.6g}" for name, value in found.items()))
    return found


def train(run: Run, net, batches, trainer, words: int, devices: list) -> float:
    """One pass over the text, whose columns the devices share; the mean cross-entropy of a word among those that were
    drawn.
    """
    args, means = run.args, Means(run, run.args.log_interval)
    loss_function, states = SoftmaxCrossEntropyLoss(), None
    for batch in batches:
        pieces = list(zip(*(split_and_load(field, devices, batch_axis=1) for field in batch), strict=True))
        states = states or [net.begin_state(batch_size=x.shape[1], ctx=x.context) for x, _ in pieces]
        draws = [mx.nd.contrib.rand_zipfian(target, args.k, words, ctx=target.context) for _, target in pieces]
        with autograd.record():
            losses = []
            for place, ((data, target), (drawn, of_target, of_drawn)) in enumerate(zip(pieces, draws, strict=True)):
                scores, states[place], labels = net(data, target, states[place], (drawn, of_drawn, of_target))
                losses.append(loss_function(scores.reshape((-3, -1)), labels.reshape((-1,))))
            autograd.backward([loss.sum() / args.batch_size for loss in losses])
        states = [detached(state) for state in states]
        trainer.allreduce_grads()
        for device in devices:
            for parameter in net.embedding.collect_params().values():
                gradient = parameter.grad(device)
                gradient *= args.batch_size  # a word has its gradient from few places, whatever the size of the batch
            encoder = [parameter.grad(device) for parameter in net.encoder.collect_params().values()]
            clip_global_norm(encoder, args.clip * processes.count())
        trainer.update(1)
        means.add(loss=losses)
    return means.row()["loss"]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_text_arguments(parser, ("gbw", "wikitext-2", "sherlockholmes"))
    add = parser.add_argument
    add("--emsize", type=int, default=512, help="length of word vectors (default: %(default)s)")
    add("--nhid", type=int, default=2048, help="units of a layer (default: %(default)s)")
    add("--nproj", type=int, default=512, help="units that they are projected to (default: %(default)s)")
    add("--nlayers", type=int, default=1, help="recurrent layers (default: %(default)s)")
    add("--dropout", type=float, default=0.1, help="of word vectors and of what layers give (default: %(default)s)")
    add("--k", type=int, default=8192, help="words that are drawn for a batch (default: %(default)s)")
    add("--lr", type=float, default=0.2, help="rate of AdaGrad (default: %(default)s)")
    add("--eps", type=float, default=1.0, help="of AdaGrad (default: %(default)s)")
    add("--clip", type=float, default=10.0, help="longest gradient of the LSTM (default: %(default)s)")
    add("--epochs", type=int, default=50, help="passes over the text (default: %(default)s)")
    add("--batch-size", type=int, default=256, help="texts side by side (default: %(default)s)")
    add("--bptt", type=int, default=20, help="words that gradients go back (default: %(default)s)")
    add("--min_freq", type=int, default=1, help="of words in the vocabulary (default: %(default)s)")
    add_test_mode_argument(parser)
    add("--eval-only", action="store_true", help="test the model in --output_dir, train nothing")
    folder = ROOT / "checkpoints" / "language_model" / "big"
    add("--output_dir", type=Path, default=folder, help="of the result (default: checkpoints/language_model/big)")
    add("--save", default="", help="beginning of the files that get the parameters of each epoch")
    add("--from-epoch", type=int, help="with --eval-only: test those files of --save, from this epoch on")
    add("--log-interval", type=int, default=0, metavar="N", help="batches between lines in the log (default: none)")
    add_list_argument(parser, "--gpu")
    add_run_arguments(parser, run="", seed=1)
    args = parser.parse_args(argv)
    settle_test_mode(args)
    args.run = args.run or f"big_{args.dataset}".replace("-", "_")
    return args


if __name__ == "__main__":
    main()
