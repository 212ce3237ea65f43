"""Pretrains a BERT on masked words and following passages (Devlin et al., 2019),
on what create_pretraining_data.py made.

    python scripts/bert/run_pretraining.py --data instances/*.npz --vocab vocab.txt --num_steps 1000

    python scripts/bert/run_pretraining.py --data 'instances/*.npz' --data_eval held.npz --pretrained --accumulate 4

    python scripts/bert/run_pretraining.py --raw --data 'texts/*.txt' --vocab vocab.txt --max_seq_length 128

With --raw instances are made of texts here. --ckpt_interval N keeps STEP.params and STEP.states in --output_dir, which
--start_step goes on from; --phase2 begins a schedule of its own there (longer sequences, say, after short ones).

The network is kept in --output_dir, which finetune_classifier.py and its relatives take as --checkpoint. An epoch in
the log is --log_interval steps.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

import core as mx
import gluonnlp as nlp
from core import autograd
from core.kvstore import processes
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.bert import pretraining
from scripts.bert.tuning import rising_and_falling
from scripts.common import parallel
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.kept import keep
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.program import program
from scripts.common.run import ROOT, Run, add_run_arguments

SHAPES = ("num_layers", "units", "hidden_size", "num_heads", "max_length")


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    context = context_of(args)
    use_dtype(args.dtype)
    run = Run("bert", args, data=checksums(args.data), cuts_batches=True)
    vocab = pretraining.tokenizer(args).vocab
    read = (lambda files: pretraining.of_texts(args, files, args.seed)) if args.raw else pretraining.load
    arrays = read(args.data)
    held = read(args.data_eval) if args.data_eval else None
    settings = {name: getattr(args, name) for name in SHAPES if getattr(args, name) is not None}
    settings |= {"embed_size": settings["units"]} if "units" in settings else {}
    settings["dropout"] = args.dropout
    named = {"dataset_name": args.dataset_name} if args.pretrained is True else {"vocab": vocab}
    net, _ = nlp.model.get_model(
        args.model, pretrained=args.pretrained, ctx=context, hparam_allow_override=True, **named, **settings
    )
    if not args.pretrained:
        net.initialize(mx.init.Normal(0.02), ctx=context)
    if args.accumulate > 1:
        net.collect_params().setattr("grad_req", "add")
    if args.hybridize:
        net.hybridize(static_alloc=True)
    share = max(args.total_batch_size // processes.count(), 1)
    past = args.phase1_num_steps if args.phase2 else 0
    trainer = rising_and_falling(net, args.num_steps, args, past, wd=0.01)
    if args.start_step:
        net.load_parameters(str(checkpoint(args, args.start_step, "params")), ctx=context)
        schedule = trainer.optimizer.lr_scheduler
        trainer.load_states(str(checkpoint(args, args.start_step, "states")))
        trainer.optimizer.lr_scheduler = schedule  # not that of the phase before, which the states hold
    begun = args.start_step - past  # of this phase
    for epoch in run.epochs(-(-args.num_steps // args.log_interval), net, trainer, begun // args.log_interval + 1):
        first = max(begun, (epoch - 1) * args.log_interval)
        steps = min(epoch * args.log_interval, args.num_steps) - first
        rows = drawn(arrays["valid_lengths"], share, args.num_buckets, steps)

        def keep_step(number: int, done: int = past + first):
            if (done + number) % args.ckpt_interval == 0:
                save_step(args, net, trainer, done + number)

        shown = run.progress(rows, f"epoch {epoch}")
        metrics = train(net, arrays, shown, trainer, context, args.accumulate, keep_step)
        if held is not None:
            metrics |= test(net, held, args.total_batch_size_eval, context)
        run.epoch_done(epoch, metrics, samples=steps * args.total_batch_size)
        shapes = {"bert_model": args.model, **settings}
        parallel.on_first(
            keep, args.output_dir, net, vocab, {"shapes": shapes, "merges": None, "lower": not args.cased}
        )
    save_step(args, net, trainer, past + args.num_steps)
    shown = ("masked_loss", "masked_accuracy", "next_loss", "next_accuracy")
    return run.finish(*shown, *(f"eval_{name}" for name in shown if held is not None))


def drawn(lengths: np.ndarray, size: int, buckets: int, steps: int) -> list[np.ndarray]:
    """The instances of each step, drawn at random; with buckets those of a step are of similar lengths."""
    if buckets == 1:
        return [np.random.randint(len(lengths), size=size) for _ in range(steps)]
    sampler = nlp.data.FixedBucketSampler(lengths.tolist(), size, buckets, ratio=0, shuffle=True)
    passes = itertools.chain.from_iterable(itertools.repeat(sampler))
    return [np.array(rows) for rows in itertools.islice(passes, steps)]


def checkpoint(args: argparse.Namespace, step: int, kind: str) -> Path:
    """The file of parameters or states after a step."""
    return args.output_dir / f"{step:07d}.{kind}"


def save_step(args: argparse.Namespace, net, trainer, step: int) -> None:
    """Keeps parameters and states for --start_step."""
    args.output_dir.mkdir(parents=True, exist_ok=True)
    parallel.on_first(net.save_parameters, str(checkpoint(args, step, "params")))
    parallel.on_first(trainer.save_states, str(checkpoint(args, step, "states")))


def train(
    net, arrays: dict[str, np.ndarray], batches, trainer, context, accumulate: int = 1,
    after_step: Callable[[int], None] = lambda number: None,
) -> dict[str, float]:  # fmt: skip
    """So many steps; the losses and the shares of right answers, for masked words and for following passages.

    accumulate: the parts that the instances of a step are taken in, one after the other. after_step: told the number of
    each step, from 1.
    """
    parameters = [p for p in net.collect_params().values() if p.grad_req != "null"]
    sums = np.zeros(6)
    for number, rows in enumerate(batches, 1):
        for part in np.array_split(rows, accumulate):
            with autograd.record():
                loss, counted = objective(net, arrays, part, context)
            loss.backward()
            sums += counted()
        trainer.allreduce_grads()
        nlp.utils.clip_grad_global_norm(parameters, accumulate * processes.count())
        trainer.update(accumulate)
        if accumulate > 1:
            net.collect_params().zero_grad()
        after_step(number)
    return means(sums)


def test(net, arrays: dict[str, np.ndarray], size: int, context) -> dict[str, float]:
    """The same of all instances, `size` at a time, without learning."""
    sums = np.zeros(6)
    for begin in range(0, len(arrays["input_ids"]), size):
        rows = np.arange(begin, min(begin + size, len(arrays["input_ids"])))
        sums += objective(net, arrays, rows, context)[1]()
    return {f"eval_{name}": value for name, value in means(sums).items()}


def objective(net, arrays: dict[str, np.ndarray], rows: np.ndarray, context):
    """(the loss of some instances, a function that gives what `means` takes of them)."""
    loss_function = SoftmaxCrossEntropyLoss()
    longest = int(arrays["valid_lengths"][rows].max())
    fields = (arrays[name][rows] for name in pretraining.FIELDS)
    tokens, segments, places, words, weights, following, lengths = (mx.nd.array(f, ctx=context) for f in fields)
    *_, of_next, of_words = net(tokens[:, :longest], segments[:, :longest], lengths, places.astype("int32"))
    count = weights.sum()
    masked = (loss_function(of_words, words, weights.expand_dims(2)) * weights.shape[1]).sum() / count
    next_ = loss_function(of_next, following).mean()

    def counted() -> np.ndarray:
        right = ((of_words.argmax(axis=2) == words) * weights).sum()
        right_next = (of_next.argmax(axis=1) == following).sum()
        found = (masked * count, right, count, next_ * len(rows), right_next)
        return np.array([*(float(x.asscalar()) for x in found), len(rows)])

    return masked + next_, counted


def means(sums: np.ndarray) -> dict[str, float]:
    """Losses and shares of right answers, from sums over instances."""
    return {
        "masked_loss": sums[0] / sums[2],
        "masked_accuracy": sums[1] / sums[2],
        "next_loss": sums[3] / sums[5],
        "next_accuracy": sums[4] / sums[5],
    }


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add(
        "--data", nargs="+", required=True, help="files of create_pretraining_data.py, or patterns such as 'made/*.npz'"
    )
    add("--raw", action="store_true", help="--data and --data_eval are texts, a sentence a line")
    pretraining.add_instance_arguments(parser)
    add("--data_eval", nargs="+", help="such files that the network is tested on with every row of the log")
    pretraining.add_vocabulary_arguments(parser)
    add(
        "--pretrained", nargs="?", const=True, default=False, metavar="WEIGHTS",
        help="begin with the published weights for --dataset_name, or with those of a file, a folder or a name",
    )  # fmt: skip
    add(
        "--model",
        default="bert_12_768_12",
        choices=("bert_12_768_12", "bert_24_1024_16"),
        help="(default: %(default)s)",
    )
    for name in SHAPES:
        add(f"--{name}", type=int, help="in place of that of --model")
    add("--dropout", type=float, default=0.1, help="(default: %(default)s)")
    add("--total_batch_size", "--batch_size", type=int, default=256, help="instances of a step (default: %(default)s)")
    add("--total_batch_size_eval", "--batch_size_eval", type=int, default=256, help="of a test (default: %(default)s)")
    add("--accumulate", type=int, default=1, help="parts that a step is computed in (default: %(default)s)")
    add("--num_steps", type=int, default=20, help="updates (default: %(default)s)")
    add("--start_step", type=int, default=0, metavar="N", help="go on from N.params and N.states in --output_dir")
    add("--ckpt_interval", type=int, default=250000, metavar="N", help="keep such files every N steps, and at the end")
    add("--phase2", action="store_true", help="the second phase, whose steps and rates count from its own beginning")
    add("--phase1_num_steps", type=int, default=0, metavar="N", help="steps of the first phase, for --phase2")
    add("--num_buckets", type=int, default=1, help="of lengths, one of which a step is from (default: %(default)s)")
    add(
        "--comm_backend", dest="kv_store", default=argparse.SUPPRESS, choices=("device", "horovod", "byteps", "dist_sync"),
        help="the same as --kv-store",
    )  # fmt: skip
    add("--log_interval", type=int, default=250, help="steps of a row in the log (default: %(default)s)")
    add("--optimizer", default="bertadam", help="(default: %(default)s)")
    add("--lr", type=float, default=1e-4, help="highest rate (default: %(default)s)")
    add("--warmup_ratio", type=float, default=0.01, help="part of the steps (default: %(default)s)")
    add("--hybridize", action="store_true", help="compile the network")
    add_gpu_argument(parser)
    folder = ROOT / "checkpoints" / "bert" / "pretrained"
    add(
        "--output_dir",
        "--ckpt_dir",
        type=Path,
        default=folder,
        help="of the result (default: checkpoints/bert/pretrained)",
    )
    add_dtype_argument(parser)
    add_run_arguments(parser, run="pretraining")
    args = parser.parse_args(argv)
    args.data, args.data_eval = pretraining.matching(args.data), pretraining.matching(args.data_eval or ())
    for name in ("accumulate", "ckpt_interval", "num_buckets"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} is 1 or more, got {getattr(args, name)}")
    if args.phase2 and args.start_step < args.phase1_num_steps:
        parser.error("--phase2 goes on from --start_step, the steps of --phase1_num_steps or more")
    return args


if __name__ == "__main__":
    main()
