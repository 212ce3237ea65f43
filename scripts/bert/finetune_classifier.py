"""Fine-tunes a BERT or RoBERTa on a task of sentences or pairs of sentences (GLUE and its relatives).

    python scripts/bert/finetune_classifier.py --task_name SST --data-dir ../shared/data/sst \\
        --checkpoint all-minilm-l6-v2 --batch_size 32 --lr 5e-5 --epochs 3

The model of the epoch that does best on the dev part is kept in --output_dir; predict.py reads it.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from gluon.loss import L2Loss, SoftmaxCrossEntropyLoss
from scripts.bert.deployment import INPUTS, add_deployment_arguments, calibrate, check_deployment_arguments
from scripts.bert.pretrained import add_bert_arguments, pretrained, settle_bert_arguments
from scripts.bert.text_classifier import TextClassifier
from scripts.bert.tuning import add_tuning_arguments, train, trainer
from scripts.common import parallel
from scripts.common.deployment import deployed
from scripts.common.devices import context_of, contexts, spread
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.precision import use_dtype
from scripts.common.program import program
from scripts.common.run import Run

TASKS = ("MRPC", "QQP", "QNLI", "RTE", "STS-B", "CoLA", "MNLI", "WNLI", "SST", "XNLI", "LCQMC", "ChnSentiCorp")


@program
def main(argv: list[str] | None = None) -> dict:
    return execute(parse_args(argv), "bert", TextClassifier, start)


def execute(args: argparse.Namespace, folder: str, kind: type, begin: Callable) -> dict:
    """Tunes the classifier that `begin(args, labels, context)` makes, or tests the kept one of the class `kind`."""
    devices = contexts(args) if "num_gpus" in args else [context_of(args)]
    use_dtype(args.dtype)
    task = nlp.data.get_task(args.task_name)
    labels = task.class_labels or []
    if args.only_inference:
        named = args.model_parameters or getattr(args, "deploy", False)
        classifier = begin(args, labels, devices[0]) if named else kind.load(args.output_dir, devices[0])
        return infer(args, classifier, task, devices[0])
    if getattr(args, "only_calibration", False):
        classifier = begin(args, labels, devices[0])
        parts = read(args, classifier, task)
        (dev,) = (samples for name, samples in parts.items() if name.startswith("dev"))
        batches = classifier.batches(dev, args.dev_batch_size, shuffle=False, round_to=args.max_len)  # all of one shape
        ordered = ((words, segments, lengths) for words, lengths, segments, _ in batches)
        prefix = calibrate(args, classifier.net, ordered, args.dev_batch_size, devices[0], args.task_name)
        return {"model_prefix": str(prefix)}
    run = Run(folder, args, data=sums(args))
    return tune(run, begin(args, labels, devices), task, devices)


def round_to(args: argparse.Namespace) -> int:
    """What lengths of batches are multiples of: of --max_len with --pad."""
    return args.max_len if args.pad else getattr(args, "round_to", None) or 8


def tune(run: Run, classifier, task, devices: list[mx.Context]) -> dict:
    """Trains a TextClassifier, or what has its methods, keeps the best and tests it."""
    args, context = run.args, devices[0]
    parts = read(args, classifier, task)
    net = classifier.net
    learner = trainer(args, net, len(parts["train"]))
    loss_function = SoftmaxCrossEntropyLoss() if classifier.labels else L2Loss()

    def loss_of(batch):
        pieces = zip(*(spread(field, devices) for field in batch), strict=True)
        return [
            loss_function(classifier.scores(inputs, label.context), label).sum() / batch[-1].shape[0]
            for *inputs, label in pieces
        ]

    dev = [name for name in parts if name.startswith("dev")]
    for epoch in run.epochs(args.epochs, net, learner):
        batches = run.progress(
            classifier.batches(parts["train"], args.batch_size, shuffle=True, round_to=round_to(args)), f"epoch {epoch}"
        )
        metrics = train(run, net, batches, loss_of, learner)
        for name in dev:
            metrics |= evaluate(classifier, name, parts[name], task.metrics, args, context)
        run.epoch_done(epoch, metrics, samples=len(parts["train"]))
        last_best = best(run.record.facts["epochs"], dev[0])["epoch"]
        if last_best == epoch:
            parallel.on_first(classifier.save, args.output_dir)
        if args.early_stop and epoch - last_best >= args.early_stop:
            run.record.say(f"the dev part has not gained for {args.early_stop} epochs")
            break
    row = best(run.record.facts["epochs"], dev[0])
    final = {name: value for name, value in row.items() if name.startswith("dev")}
    if "test" in parts:
        chosen = type(classifier).load(args.output_dir, context)
        final |= evaluate(chosen, "test", parts["test"], task.metrics, args, context)
    return run.finish(**final)


def infer(args: argparse.Namespace, classifier, task, context) -> dict:
    """The metrics of a classifier, without training."""
    found = {}
    for name, part in read(args, classifier, task).items():
        if name != "train":
            found |= evaluate(classifier, name, part, task.metrics, args, context)
    print("  ".join(f"{name} {value:.6g}" for name, value in found.items()))
    return found


def sums(args: argparse.Namespace) -> dict[str, str]:
    """The checksums of what is read below --data-dir."""
    files = [*args.data_dir.glob("stsa.binary.*"), args.data_dir / "trees" / "train.txt"] if args.data_dir else []
    return checksums(sorted(f for f in files if f.exists()))


def read(args: argparse.Namespace, classifier: TextClassifier, task) -> dict[str, list[tuple]]:
    """The samples of each part of the task."""
    parts = treebank(args.data_dir, args.phrases) if args.data_dir else downloaded(task)
    return {name: samples(classifier, texts, task, args.samples) for name, texts in parts.items()}


def evaluate(classifier: TextClassifier, part: str, samples: list, metrics, args: argparse.Namespace, context) -> dict:
    """The task's metrics on a part, by the names of the part and the metric."""
    metrics.reset()
    for *inputs, label in classifier.batches(samples, args.dev_batch_size, shuffle=False, round_to=round_to(args)):
        metrics.update([label], [classifier.scores(inputs, context).as_in_context(mx.cpu())])
    return {f"{part}_{name}": value for name, value in metrics.get_name_value()}


def start(args: argparse.Namespace, labels: list[str], context) -> TextClassifier:
    """The classifier before training."""
    bert = pretrained(args, context)
    classifier = TextClassifier(bert, labels=labels, max_len=args.max_len, dropout=args.dropout)
    classifier.net.classifier.initialize(mx.init.Normal(0.02), ctx=context)
    if args.model_parameters:
        classifier.net.load_parameters(args.model_parameters, ctx=context)
    if args.deploy:
        classifier.net = deployed(args.model_prefix, INPUTS, context)
    elif args.hybridize:
        classifier.net.hybridize(static_alloc=True)
    return classifier


def treebank(folder: Path, phrases: int) -> dict[str, list]:
    """Sentences of SST-2 in Kim's files, `label text` a line, and `phrases` random phrases of the training trees."""
    parts = {}
    for part in ("train", "dev", "test"):
        with open(folder / f"stsa.binary.{part}", encoding="utf8") as lines:
            parts[part] = [[text.strip(), label] for label, _, text in (line.partition(" ") for line in lines)]
    if phrases:
        whole = {text for text, _ in parts["train"]}
        others = [[text, str(label)] for text, label in nlp.data.SST_2("train", root=str(folder)) if text not in whole]
        parts["train"] += random.sample([sample for sample in others if " " in sample[0]], phrases)
    return parts


def downloaded(task) -> dict[str, list]:
    """The training and dev parts of a task of GLUE."""
    dev = task.dataset_dev()
    return dict([task.dataset_train(), *(dev if isinstance(dev, list) else [dev])])


def samples(classifier: TextClassifier, texts, task, limit: int | None) -> list[tuple]:
    """Inputs and label of each sample; `limit` takes the first ones only."""
    texts = list(texts)[:limit]
    alias = task.label_alias or {}
    labels = [alias.get(label, label) for *_, label in texts]
    numbers = [classifier.labels.index(label) for label in labels] if classifier.labels else map(float, labels)
    inputs = classifier.inputs(tuple(text) for *text, _ in texts)
    return [(*fields, number) for fields, number in zip(inputs, numbers, strict=True)]


def best(rows: list[dict], part: str) -> dict:
    """The first of the rows with the highest first metric of `part`."""
    name = next(name for name in rows[0] if name.startswith(part))
    return max(rows, key=lambda row: row[name])


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_task_arguments(parser)
    add_bert_arguments(parser)
    add_deployment_arguments(parser, batches=5)
    add_tuning_arguments(parser, "bert/model", lr=5e-5)
    args = parser.parse_args(argv)
    settle_bert_arguments(parser, args, args.task_name)
    check_task_arguments(parser, args)
    check_deployment_arguments(parser, args)
    return args


def add_task_arguments(parser: argparse.ArgumentParser, task: str | None = None) -> None:
    """Adds what is learned, `task` unless it is said, and on which samples; `check_task_arguments` looks at the values."""
    parser.add_argument("--task_name", choices=TASKS, default=task, required=task is None, help="what to learn")
    parser.add_argument("--data-dir", type=Path, help="folder with stsa.binary.{train,dev,test} (else: download GLUE)")
    parser.add_argument(
        "--phrases", type=int, default=0, help="of SST to train on beside sentences (default: %(default)s)"
    )
    parser.add_argument("--dev_batch_size", type=int, default=64, help="of evaluation (default: %(default)s)")
    parser.add_argument("--pad", action="store_true", help="every batch is --max_len long")
    parser.add_argument(
        "--only_inference",
        action="store_true",
        help="test the network of --model_parameters or --model_prefix, or that in --output_dir, and train nothing",
    )
    parser.add_argument("--model_parameters", help="a .params file of the whole network to begin with")
    parser.add_argument("--early_stop", type=int, help="end after so many epochs without a gain on the dev part")
    parser.add_argument("--max_len", type=int, default=128, help="word pieces of a text (default: %(default)s)")


def check_task_arguments(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Ends the program where the arguments contradict each other."""
    if args.data_dir and args.task_name != "SST":
        parser.error("--data-dir is for --task_name SST; the other tasks are downloaded")


if __name__ == "__main__":
    main()
