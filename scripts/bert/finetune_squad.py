"""Fine-tunes a BERT to find answers in paragraphs (SQuAD 1.1 or 2.0).

    python scripts/bert/finetune_squad.py --data-dir squad --checkpoint all-minilm-l6-v2 --version 1.1

--data-dir holds the published files train-v1.1.json and dev-v1.1.json (or those of 2.0); without it they are downloaded.
The network of the last epoch is kept in --output_dir as net.params, its answers to the dev part as predictions.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core import autograd, metric
from core.files.atomic import write_bytes
from gluon import Trainer
from gluon.data import DataLoader
from gluon.loss import SoftmaxCrossEntropyLoss
from gluonnlp.data import batchify
from scripts.bert import squad
from scripts.common.environment import checksums
from scripts.common.packaged import checkpoint_folder
from scripts.common.precision import add_dtype_argument, use_dtype
from scripts.common.run import ROOT, Run, add_run_arguments

HEADS = {"use_pooler": False, "use_decoder": False, "use_classifier": False}


def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    context = mx.gpu(args.gpu) if args.gpu is not None else mx.cpu()
    use_dtype(args.dtype)
    files = sorted(args.data_dir.glob(f"*-v{args.version}.json")) if args.data_dir else []
    run = Run("bert", args, data=checksums(files))
    root = str(args.data_dir) if args.data_dir else None
    records = {part: list(nlp.data.SQuAD(part, args.version, root))[: args.samples] for part in ("train", "dev")}
    bert, tokenizer = start(args, context)
    windows = {
        part: [window for number, record in enumerate(some) for window in cut(number, record, tokenizer, part, args)]
        for part, some in records.items()
    }
    net = nlp.model.BERTForQA(bert)
    net.span_classifier.initialize(mx.init.Normal(0.02), ctx=context)
    for parameter in net.collect_params(".*beta|.*gamma|.*bias").values():
        parameter.wd_mult = 0.0
    steps = args.epochs * -(-len(windows["train"]) // args.batch_size)
    schedule = mx.lr_scheduler.PolyScheduler(
        steps, base_lr=args.lr, pwr=1, final_lr=0, warmup_steps=int(args.warmup_ratio * steps)
    )
    optimizer = {"learning_rate": args.lr, "lr_scheduler": schedule, "wd": 0.01}
    trainer = Trainer(net.collect_params(), args.optimizer, optimizer, update_on_kvstore=False)

    pad = tokenizer.vocab[tokenizer.vocab.padding_token]
    for epoch in run.epochs(args.epochs, net, trainer):
        batches = batched(windows["train"], pad, args.batch_size, shuffle=True)
        metrics = {"loss": train(net, run.progress(batches, f"epoch {epoch}"), trainer, context)}
        answers = answered(net, records["dev"], windows["dev"], pad, args, context)
        metrics |= squad.quality(answers, [record[4] for record in records["dev"]])
        run.epoch_done(epoch, metrics, samples=len(windows["train"]))
        args.output_dir.mkdir(parents=True, exist_ok=True)
        net.save_parameters(str(args.output_dir / "net.params"))
        found = {record[1]: text for record, text in zip(records["dev"], answers, strict=True)}
        write_bytes(args.output_dir / "predictions.json", json.dumps(found, ensure_ascii=False, indent=1).encode())
    return run.finish("exact_match", "f1")


def start(args: argparse.Namespace, context) -> tuple[nlp.model.BERTModel, nlp.data.BERTTokenizer]:
    """The network before training and its tokenizer: with the weights of a checkpoint, of a file, or random ones."""
    if args.checkpoint:
        bert, vocab, _ = nlp.model.load_huggingface(str(checkpoint_folder(args.checkpoint)), ctx=context, **HEADS)
        return bert, nlp.data.BERTTokenizer(vocab)
    tokenizer = nlp.data.BERTTokenizer.from_file(args.vocab)
    bert, _ = nlp.model.get_model(args.bert_model, vocab=tokenizer.vocab, dropout=args.dropout, **HEADS)
    bert.initialize(mx.init.Normal(0.02), ctx=context)
    if args.pretrained_bert_parameters:
        bert.load_parameters(args.pretrained_bert_parameters, ctx=context, ignore_extra=True)
    return bert, tokenizer


def cut(number: int, record: tuple, tokenizer, part: str, args: argparse.Namespace) -> list[squad.Window]:
    """The windows of a record of a part."""
    return squad.windows(
        number,
        record,
        tokenizer,
        longest=args.max_seq_length,
        stride=args.doc_stride,
        question=args.max_query_length,
        training=part == "train",
    )


def batched(windows: list[squad.Window], pad: int, batch_size: int, *, shuffle: bool) -> DataLoader:
    """Batches of tokens, segments, lengths, and places of first and last tokens; similar lengths are together."""
    together = batchify.Tuple(
        batchify.Pad(pad_val=pad, dtype="int32", round_to=8),
        batchify.Pad(pad_val=0, dtype="int32", round_to=8),
        *(batchify.Stack("float32") for _ in range(3)),
    )
    samples = [(w.tokens, w.segments, len(w.tokens), w.start, w.end) for w in windows]
    if shuffle:
        lengths = [len(w.tokens) for w in windows]
        sampler = nlp.data.SortedBucketSampler(lengths, batch_size, mult=20, shuffle=True)
        return DataLoader(samples, batch_sampler=sampler, batchify_fn=together)
    return DataLoader(samples, batch_size=batch_size, batchify_fn=together)


def train(net, batches, trainer, context) -> float:
    """One pass of training; the mean of the losses of start and end."""
    mean, loss_function = metric.Loss(), SoftmaxCrossEntropyLoss()
    parameters = [p for p in net.collect_params().values() if p.grad_req != "null"]
    for batch in batches:
        tokens, segments, lengths, start, end = (field.as_in_context(context) for field in batch)
        with autograd.record():
            scores = net(tokens, segments, lengths)
            loss = (loss_function(scores[:, :, 0], start) + loss_function(scores[:, :, 1], end)).mean() / 2
        loss.backward()
        trainer.allreduce_grads()
        nlp.utils.clip_grad_global_norm(parameters, 1)
        trainer.update(1)
        mean.update(None, loss)
    return mean.get()[1]


def answered(net, records: list, windows: list[squad.Window], pad: int, args: argparse.Namespace, context) -> list[str]:
    """The answer to the question of each record."""
    scores = []
    for tokens, segments, lengths, *_ in batched(windows, pad, args.test_batch_size, shuffle=False):
        scores += list(net(*(field.as_in_context(context) for field in (tokens, segments, lengths))).asnumpy())
    read = [[] for _ in records]
    for window, places in zip(windows, scores, strict=True):
        read[window.question].append((window, places))
    none_above = args.null_score_diff_threshold if args.version == "2.0" else None
    limits = {"candidates": args.n_best_size, "longest": args.max_answer_length, "none_above": none_above}
    return [squad.answer(record[3], parts, **limits) for record, parts in zip(records, read, strict=True)]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="folder of the published files (default: downloaded)")
    parser.add_argument("--version", choices=("1.1", "2.0"), default="1.1", help="of SQuAD (default: %(default)s)")
    parser.add_argument("--bert_model", default="bert_12_768_12", help="shapes (default: %(default)s)")
    parser.add_argument(
        "--checkpoint", help="a BERT's folder of config.json, vocab.txt and model.safetensors, or its name"
    )
    parser.add_argument("--pretrained_bert_parameters", help="a .params file for --bert_model")
    parser.add_argument("--vocab", help="vocab.txt of --bert_model, where there is no --checkpoint")
    parser.add_argument(
        "--output_dir", type=Path, default=ROOT / "checkpoints" / "bert" / "squad", help="of the result"
    )
    parser.add_argument("--optimizer", default="bertadam", help="(default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=3, help="passes over the data (default: %(default)s)")
    parser.add_argument("--batch_size", type=int, default=32, help="windows in a batch (default: %(default)s)")
    parser.add_argument("--test_batch_size", type=int, default=24, help="of evaluation (default: %(default)s)")
    parser.add_argument("--lr", type=float, default=5e-5, help="highest learning rate (default: %(default)s)")
    parser.add_argument("--warmup_ratio", type=float, default=0.1, help="part of the steps (default: %(default)s)")
    parser.add_argument("--dropout", type=float, default=0.1, help="of --bert_model (default: %(default)s)")
    parser.add_argument("--max_seq_length", type=int, default=384, help="tokens of a window (default: %(default)s)")
    parser.add_argument("--doc_stride", type=int, default=128, help="tokens between windows (default: %(default)s)")
    parser.add_argument("--max_query_length", type=int, default=64, help="of questions (default: %(default)s)")
    parser.add_argument("--n_best_size", type=int, default=20, help="starts and ends looked at (default: %(default)s)")
    parser.add_argument("--max_answer_length", type=int, default=30, help="tokens (default: %(default)s)")
    parser.add_argument(
        "--null_score_diff_threshold",
        type=float,
        default=0.0,
        help="2.0: by how much no answer has to score higher than the best one (default: %(default)s)",
    )
    add_dtype_argument(parser)
    parser.add_argument("--samples", type=int, help="use only the first so many questions of each part")
    parser.add_argument("--gpu", type=int, help="train on this GPU (default: CPU)")
    add_run_arguments(parser, run="")
    args = parser.parse_args(argv)
    args.run = args.run or f"{args.checkpoint or args.bert_model}_squad_{args.version}".lower().replace("-", "_")
    if not (args.checkpoint or args.vocab):
        parser.error("give --checkpoint, or --vocab with --bert_model")
    return args


if __name__ == "__main__":
    main()
