"""Fine-tunes a BERT or RoBERTa on a task of sentences or pairs of sentences (GLUE and its relatives).

    python scripts/bert/finetune_classifier.py --task_name SST --data-dir ../shared/data/sst \\
        --checkpoint all-minilm-l6-v2 --batch_size 32 --lr 5e-5 --epochs 3

The model of the epoch that does best on the dev part is kept in --output_dir; predict.py reads it.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core import autograd, metric
from gluon import Trainer
from gluon.loss import L2Loss, SoftmaxCrossEntropyLoss
from scripts.bert.text_classifier import TextClassifier, named_bert, published_bert
from scripts.common.environment import checksums
from scripts.common.packaged import checkpoint_folder
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.run import ROOT, Run, add_run_arguments

TASKS = ("MRPC", "QQP", "QNLI", "RTE", "STS-B", "CoLA", "MNLI", "WNLI", "SST", "XNLI", "ChnSentiCorp")
MODELS = ("bert_12_768_12", "bert_24_1024_16", "roberta_12_768_12", "roberta_24_1024_16")


def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    context = mx.gpu(args.gpu) if args.gpu is not None else mx.cpu()
    use_dtype(args.dtype)
    task = nlp.data.get_task(args.task_name)
    files = [*args.data_dir.glob("stsa.binary.*"), args.data_dir / "trees" / "train.txt"] if args.data_dir else []
    run = Run("bert", args, data=checksums(sorted(f for f in files if f.exists())))
    classifier = start(args, task.class_labels or [], context)
    parts = {
        name: samples(classifier, texts, task, args.samples)
        for name, texts in (treebank(args.data_dir, args.phrases) if args.data_dir else downloaded(task)).items()
    }
    net = classifier.net
    for parameter in net.collect_params(".*beta|.*gamma|.*bias").values():
        parameter.wd_mult = 0.0
    if args.accumulate > 1:
        net.collect_params().setattr("grad_req", "add")
    steps = args.epochs * -(-len(parts["train"]) // (args.batch_size * args.accumulate))
    warmup = int(args.warmup_ratio * steps)
    schedule = mx.lr_scheduler.PolyScheduler(steps, base_lr=args.lr, pwr=1, final_lr=0, warmup_steps=warmup)
    optimizer = {"learning_rate": args.lr, "lr_scheduler": schedule, "epsilon": args.epsilon, "wd": 0.01}
    trainer = Trainer(net.collect_params(), args.optimizer, optimizer, update_on_kvstore=False)

    dev = [name for name in parts if name.startswith("dev")]
    for epoch in run.epochs(args.epochs, net, trainer):
        batches = classifier.batches(parts["train"], args.batch_size, shuffle=True)
        metrics = {
            "loss": train(classifier, run.progress(batches, f"epoch {epoch}"), trainer, args.accumulate, context)
        }
        for name in dev:
            metrics |= evaluate(classifier, name, parts[name], task.metrics, args.dev_batch_size, context)
        run.epoch_done(epoch, metrics, samples=len(parts["train"]))
        if best(run.record.facts["epochs"], dev[0])["epoch"] == epoch:
            classifier.save(args.output_dir)
    row = best(run.record.facts["epochs"], dev[0])
    final = {name: value for name, value in row.items() if name.startswith("dev")}
    if "test" in parts:
        chosen = TextClassifier.load(args.output_dir, context)
        final |= evaluate(chosen, "test", parts["test"], task.metrics, args.dev_batch_size, context)
    return run.finish(**final)


def train(classifier: TextClassifier, batches, trainer, accumulate: int, context) -> float:
    """One pass of training; the mean loss."""
    mean, loss_function = metric.Loss(), SoftmaxCrossEntropyLoss() if classifier.labels else L2Loss()
    parameters = [p for p in classifier.net.collect_params().values() if p.grad_req != "null"]
    count = len(batches)
    for index, (*inputs, label) in enumerate(batches, 1):
        with autograd.record():
            loss = loss_function(classifier.scores(inputs, context), label.as_in_context(context)).mean()
        loss.backward()
        mean.update(None, loss)
        if index % accumulate == 0 or index == count:
            trainer.allreduce_grads()
            nlp.utils.clip_grad_global_norm(parameters, 1)
            trainer.update(accumulate)
            if accumulate > 1:
                classifier.net.collect_params().zero_grad()
    return mean.get()[1]


def evaluate(classifier: TextClassifier, part: str, samples: list, metrics, batch_size: int, context) -> dict:
    """The task's metrics on a part, by the names of the part and the metric."""
    metrics.reset()
    for *inputs, label in classifier.batches(samples, batch_size, shuffle=False):
        metrics.update([label], [classifier.scores(inputs, context).as_in_context(mx.cpu())])
    return {f"{part}_{name}": value for name, value in metrics.get_name_value()}


def start(args: argparse.Namespace, labels: list[str], context) -> TextClassifier:
    """The classifier before training: with the weights of a checkpoint, of a file, or random ones."""
    merges = None
    if args.checkpoint:
        bert, vocab, shapes, merges = published_bert(checkpoint_folder(args.checkpoint), args.bert_model, context)
    else:
        vocab = nlp.data.BERTTokenizer.from_file(args.vocab).vocab
        shapes = {"bert_model": args.bert_model, "dropout": args.dropout}
        bert = named_bert(vocab, **shapes)
        bert.initialize(mx.init.Normal(0.02), ctx=context)
        if args.pretrained_bert_parameters:
            bert.load_parameters(args.pretrained_bert_parameters, ctx=context, ignore_extra=True)
    classifier = TextClassifier(
        bert, vocab, labels=labels, max_len=args.max_len, shapes=shapes, dropout=args.dropout, merges=merges
    )
    classifier.net.classifier.initialize(mx.init.Normal(0.02), ctx=context)
    if args.hybridize:
        classifier.net.hybridize(static_alloc=True)
    return classifier


def treebank(folder: Path, phrases: int) -> dict[str, list]:
    """The sentences of SST-2 in Kim's files, `label text` a line, and `phrases` random phrases of the training trees."""
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task_name", choices=TASKS, required=True, help="what to learn")
    parser.add_argument("--data-dir", type=Path, help="folder with stsa.binary.{train,dev,test} (else: download GLUE)")
    parser.add_argument(
        "--phrases", type=int, default=0, help="of SST to train on beside sentences (default: %(default)s)"
    )
    parser.add_argument("--bert_model", choices=MODELS, default=MODELS[0], help="shapes (default: %(default)s)")
    parser.add_argument(
        "--checkpoint", help="a folder of config.json, model.safetensors and vocab.txt or tokenizer.json, or its name"
    )
    parser.add_argument("--pretrained_bert_parameters", help="a .params file for --bert_model")
    parser.add_argument("--vocab", help="vocab.txt of --bert_model, where there is no --checkpoint")
    parser.add_argument(
        "--output_dir", type=Path, default=ROOT / "checkpoints" / "bert" / "model", help="of the result"
    )
    parser.add_argument("--optimizer", default="bertadam", help="(default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=3, help="passes over the data (default: %(default)s)")
    parser.add_argument("--batch_size", type=int, default=32, help="texts in a batch (default: %(default)s)")
    parser.add_argument("--dev_batch_size", type=int, default=64, help="of evaluation (default: %(default)s)")
    parser.add_argument("--accumulate", type=int, default=1, help="batches for one update (default: %(default)s)")
    parser.add_argument("--lr", type=float, default=3e-5, help="highest learning rate (default: %(default)s)")
    parser.add_argument("--warmup_ratio", type=float, default=0.1, help="part of the steps (default: %(default)s)")
    parser.add_argument("--epsilon", type=float, default=1e-6, help="of the optimizer (default: %(default)s)")
    parser.add_argument(
        "--dropout", type=float, default=0.1, help="of new layers, and of --bert_model (default: %(default)s)"
    )
    parser.add_argument("--max_len", type=int, default=128, help="word pieces of a text (default: %(default)s)")
    parser.add_argument("--hybridize", action="store_true", help="compile the network")
    add_dtype_argument(parser)
    parser.add_argument("--samples", type=int, help="use only the first so many of each part")
    parser.add_argument("--gpu", type=int, help="train on this GPU (default: CPU)")
    add_run_arguments(parser, run="", seed=2)
    args = parser.parse_args(argv)
    args.run = args.run or f"{args.checkpoint or args.bert_model}_{args.task_name}".lower().replace("-", "_")
    if not (args.checkpoint or args.vocab):
        parser.error("give --checkpoint, or --vocab with --bert_model")
    if args.bert_model.startswith("roberta") and not args.checkpoint:
        parser.error("a RoBERTa needs --checkpoint, which has its byte pairs")
    if args.data_dir and args.task_name != "SST":
        parser.error("--data-dir is for --task_name SST; the other tasks are downloaded")
    return args


if __name__ == "__main__":
    main()
