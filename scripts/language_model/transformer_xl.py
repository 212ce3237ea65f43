"""Trains a Transformer-XL on words (Dai et al., 2019): it reads a stretch at a time and remembers
what its layers read before.

    python scripts/language_model/transformer_xl.py --data-dir ../shared/data --dataset sherlockholmes \\
        --units 128 --num-layers 4 --bptt 64 --mem-len 64

The perplexities are those of word_language_model.py. The model of the epoch that does best on the dev part is kept in
--output_dir; --eval-only tests it again, with a longer memory where --mem-len says so.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core import autograd
from scripts.common import parallel
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.flags import Parser
from scripts.common.kept import keep, kept
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.program import program
from scripts.common.run import ROOT, add_run_arguments
from scripts.language_model.bptt import begin, stretches
from scripts.language_model.text import add_text_arguments, corpora

SHAPE = ("units", "hidden_size", "num_layers", "num_heads", "dropout", "attention_dropout", "clamp_len")


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    use_dtype(args.dtype)
    context = context_of(args)
    parts, files = corpora(args.data_dir, args.dataset, args.words)
    if args.eval_only:
        return evaluate(args, parts, context)
    run, vocab, batches = begin(args, parts, files)
    shape = {name: getattr(args, name) for name in SHAPE}
    net = network(len(vocab), **shape)
    net.initialize(mx.init.Normal(0.02), ctx=context)
    schedule = mx.lr_scheduler.CosineScheduler(
        args.epochs * len(batches["train"]), base_lr=args.lr, final_lr=0, warmup_steps=args.warmup_steps
    )
    optimizer = {"learning_rate": args.lr, "lr_scheduler": schedule}
    trainer = parallel.trainer(args, net.collect_params(), args.optimizer, optimizer, clip_global_norm=args.clip)
    for epoch in run.epochs(args.epochs, net, trainer):
        metrics = {"loss": train(net, run.progress(batches["train"], f"epoch {epoch}"), trainer, args, context)}
        metrics["dev_perplexity"] = perplexity(net, batches["dev"], args.mem_len, context)
        run.epoch_done(epoch, metrics, samples=len(parts["train"]))
        if metrics["dev_perplexity"] == min(row["dev_perplexity"] for row in run.record.facts["epochs"]):
            parallel.on_first(keep, args.output_dir, net, vocab, shape)
    return run.finish("dev_perplexity", test_perplexity=perplexity(net, batches["test"], args.mem_len, context))


def evaluate(args: argparse.Namespace, parts: dict, context) -> dict[str, float]:
    """The perplexities of the model in --output_dir."""
    shape, vocab, parameters = kept(args.output_dir)
    net = network(len(vocab), **shape)
    net.load_parameters(parameters, ctx=context)
    batches = stretches(parts, vocab, args.bptt, args.batch_size)
    found = {f"{part}_perplexity": perplexity(net, batches[part], args.mem_len, context) for part in ("dev", "test")}
    print("  ".join(f"{name} {value:.6g}" for name, value in found.items()))
    return found


def network(words: int, units: int, **shape) -> nlp.model.TransformerXL:
    """The model for so many words, which are scored with their vectors."""
    return nlp.model.TransformerXL(
        vocab_size=words,
        embed_size=units,
        units=units,
        project_same_dim=False,
        tie_input_output_embeddings=True,
        **shape,
    )


def train(net, batches, trainer, args: argparse.Namespace, context) -> float:
    """One pass over the text; the mean cross-entropy of a word."""
    memory, total = net.begin_mems(args.batch_size, args.mem_len, context=context), 0.0
    for data, target in batches:
        data, target = data.T.as_in_context(context), target.T.as_in_context(context)
        with autograd.record():
            losses, memory, _ = net(data, target, memory)
            loss = losses.mean()
        loss.backward()
        trainer.step(1)
        total += float(loss.asscalar())
    return total / len(batches)


def perplexity(net, batches, mem_len: int, context) -> float:
    """exp of the mean cross-entropy of a word of the text."""
    memory, total = net.begin_mems(batches[0][0].shape[1], mem_len, context=context), 0.0
    for data, target in batches:
        losses, memory, _ = net(data.T.as_in_context(context), target.T.as_in_context(context), memory)
        total += float(losses.mean().asscalar())
    return math.exp(total / len(batches))


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_text_arguments(parser)
    add = parser.add_argument
    add("--units", type=int, default=256, help="width of layers and of word vectors (default: %(default)s)")
    add("--hidden-size", type=int, default=1024, help="of position-wise layers (default: %(default)s)")
    add("--num-layers", type=int, default=6, help="(default: %(default)s)")
    add("--num-heads", type=int, default=8, help="of attention (default: %(default)s)")
    add("--dropout", type=float, default=0.1, help="(default: %(default)s)")
    add("--attention-dropout", type=float, default=0.0, help="(default: %(default)s)")
    add("--clamp-len", type=int, default=1000, help="longest distance that is told apart (default: %(default)s)")
    add("--bptt", type=int, default=128, help="words of a stretch (default: %(default)s)")
    add("--mem-len", type=int, default=128, help="words that are remembered (default: %(default)s)")
    add("--optimizer", default="adam", help="(default: %(default)s)")
    add("--lr", type=float, default=5e-4, help="highest rate, falls to zero (default: %(default)s)")
    add("--warmup-steps", type=int, default=0, help="until it is reached (default: %(default)s)")
    add("--clip", type=float, default=0.25, help="longest gradient (default: %(default)s)")
    add("--epochs", type=int, default=10, help="passes over the text (default: %(default)s)")
    add("--batch-size", type=int, default=20, help="texts side by side (default: %(default)s)")
    add("--min_freq", type=int, default=1, help="of words in the vocabulary (default: %(default)s)")
    add("--eval-only", action="store_true", help="test the model in --output_dir, train nothing")
    folder = ROOT / "checkpoints" / "language_model" / "transformer_xl"
    add("--output_dir", type=Path, default=folder, help="(default: checkpoints/language_model/transformer_xl)")
    add_gpu_argument(parser)
    add_dtype_argument(parser)
    add_run_arguments(parser, run="")
    args = parser.parse_args(argv)
    args.run = args.run or f"transformer_xl_{args.dataset}".replace("-", "_")
    return args


if __name__ == "__main__":
    main()
