"""Fine-tunes a BERT to find answers in paragraphs (SQuAD 1.1 or 2.0).

    python scripts/bert/finetune_squad.py --data-dir squad --checkpoint all-minilm-l6-v2 --version 1.1

--data-dir holds the published files train-v1.1.json and dev-v1.1.json (or those of 2.0); without it they are
downloaded. The network of the last epoch is kept in --output_dir as net.params, its answers to the dev part as
predictions.json. --only_predict answers with the network in --output_dir, or in --model_parameters, and trains nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core.files.atomic import write_bytes
from gluon.data import DataLoader
from gluon.loss import SoftmaxCrossEntropyLoss
from gluonnlp.data import batchify
from scripts.bert import squad
from scripts.bert.deployment import INPUTS, add_deployment_arguments, calibrate, check_deployment_arguments
from scripts.bert.pretrained import add_bert_arguments, pretrained, settle_bert_arguments
from scripts.bert.tuning import add_tuning_arguments, train, trainer
from scripts.common import parallel
from scripts.common.deployment import deployed
from scripts.common.devices import context_of
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.precision import use_dtype
from scripts.common.program import program
from scripts.common.run import Run

MODELS = ("bert_12_768_12", "bert_24_1024_16")


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    context = context_of(args)
    use_dtype(args.dtype)
    files = sorted(args.data_dir.glob(f"*-v{args.version}.json")) if args.data_dir else []
    root = str(args.data_dir) if args.data_dir else None
    tested = args.only_predict or args.only_calibration
    run = None if tested else Run("bert", args, data=checksums(files))
    parts = ("dev",) if tested else ("train", "dev")
    records = {part: list(nlp.data.SQuAD(part, args.version, root))[: args.samples] for part in parts}
    if args.debug:
        records = {part: records["dev"][: 1000 if part == "train" else 3] for part in parts}
    bert = pretrained(args, context, pooler=False)
    tokenizer = bert._replace(lower=bert.lower and args.lower).tokenizer()
    windows = {
        part: [window for number, record in enumerate(some) for window in cut(number, record, tokenizer, part, args)]
        for part, some in records.items()
    }
    net = nlp.model.BERTForQA(bert.bert)
    net.span_classifier.initialize(mx.init.Normal(0.02), ctx=context)
    if args.deploy:
        net = deployed(args.model_prefix, INPUTS, context)
    elif tested or args.model_parameters:
        net.load_parameters(str(args.model_parameters or args.output_dir / "net.params"), ctx=context)
    if args.hybridize:
        net.hybridize(static_alloc=True)
    pad = tokenizer.vocab[tokenizer.vocab.padding_token]

    def quality() -> dict[str, float]:
        """How good the answers to the dev part are, which are kept."""
        answers = answered(net, records["dev"], windows["dev"], pad, args, context)
        found = {record[1]: text for record, text in zip(records["dev"], answers, strict=True)}
        args.output_dir.mkdir(parents=True, exist_ok=True)
        text = json.dumps(found, ensure_ascii=False, indent=1)
        parallel.on_first(write_bytes, args.output_dir / "predictions.json", text.encode())
        return squad.quality(answers, [record[4] for record in records["dev"]])

    if args.only_calibration:
        batches = batched(windows["dev"], pad, args.test_batch_size, shuffle=False, round_to=args.max_seq_length)
        inputs = (fields[:3] for fields in batches)
        prefix = calibrate(args, net, inputs, args.test_batch_size, context, f"squad{args.version}")
        return {"model_prefix": str(prefix)}
    if args.only_predict:
        reached = quality()
        print("  ".join(f"{name} {value:.6g}" for name, value in reached.items()))
        return reached
    learner = trainer(args, net, len(windows["train"]))
    loss_function = SoftmaxCrossEntropyLoss()

    def loss_of(batch):
        """The mean of the losses of start and end."""
        *inputs, start, end = (field.as_in_context(context) for field in batch)
        scores = net(*inputs)
        return (loss_function(scores[:, :, 0], start) + loss_function(scores[:, :, 1], end)).mean() / 2

    for epoch in run.epochs(args.epochs, net, learner):
        batches = run.progress(
            batched(windows["train"], pad, args.batch_size, shuffle=True, round_to=args.round_to or 8), f"epoch {epoch}"
        )
        metrics = train(run, net, batches, loss_of, learner)
        metrics |= quality()
        run.epoch_done(epoch, metrics, samples=len(windows["train"]))
        parallel.on_first(net.save_parameters, str(args.output_dir / "net.params"))
    return run.finish("exact_match", "f1")


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


def batched(windows: list[squad.Window], pad: int, batch_size: int, *, shuffle: bool, round_to: int = 8) -> DataLoader:
    """Batches of tokens, segments, lengths, and places of first and last tokens; similar lengths are together.

    Lengths are filled up to multiples of `round_to`.
    """
    together = batchify.Tuple(
        batchify.Pad(pad_val=pad, dtype="int32", round_to=round_to),
        batchify.Pad(pad_val=0, dtype="int32", round_to=round_to),
        *(batchify.Stack("float32") for _ in range(3)),
    )
    samples = [(w.tokens, w.segments, len(w.tokens), w.start, w.end) for w in windows]
    if shuffle:
        lengths = [len(w.tokens) for w in windows]
        sampler = nlp.data.SortedBucketSampler(lengths, batch_size, mult=20, shuffle=True)
        return DataLoader(samples, batch_sampler=parallel.shared(sampler), batchify_fn=together)
    return DataLoader(samples, batch_size=batch_size, batchify_fn=together)


def answered(net, records: list, windows: list[squad.Window], pad: int, args: argparse.Namespace, context) -> list[str]:
    """The answer to the question of each record."""
    scores = []
    for tokens, segments, lengths, *_ in batched(
        windows, pad, args.test_batch_size, shuffle=False, round_to=args.round_to or 8
    ):
        scores += list(net(*(field.as_in_context(context) for field in (tokens, segments, lengths))).asnumpy())
    read = [[] for _ in records]
    for window, places in zip(windows, scores, strict=True):
        read[window.question].append((window, places))
    none_above = args.null_score_diff_threshold if args.version == "2.0" else None
    limits = {"candidates": args.n_best_size, "longest": args.max_answer_length, "none_above": none_above}
    return [squad.answer(record[3], parts, **limits) for record, parts in zip(records, read, strict=True)]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_question_arguments(parser)
    parser.add_argument("--uncased", dest="lower", action="store_false", help="texts keep their case, as in GluonNLP")
    parser.add_argument("--gpu", type=int, nargs="?", const=0, metavar="K", help="compute on GPU K (default: the CPU)")
    add_bert_arguments(parser, MODELS)
    add_deployment_arguments(parser, batches=10)
    add_tuning_arguments(parser, "bert/squad", lr=5e-5, seed=0, gpu=False)
    args = parser.parse_args(argv)
    settle_bert_arguments(parser, args, f"squad_{args.version}")
    check_deployment_arguments(parser, args)
    check_question_arguments(parser, args)
    return args


def add_question_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds which questions are answered, and how; `check_question_arguments` looks at the values."""
    parser.add_argument("--data-dir", type=Path, help="folder of the published files (default: downloaded)")
    parser.add_argument("--version", choices=("1.1", "2.0"), default="1.1", help="of SQuAD (default: %(default)s)")
    parser.add_argument("--version_2", dest="version", action="store_const", const="2.0", help="--version 2.0")
    parser.add_argument("--only_predict", action="store_true", help="answer the dev part, train nothing")
    parser.add_argument("--model_parameters", type=Path, help="a .params file of the whole network to begin with")
    parser.add_argument(
        "--test_batch_size", "--dev_batch_size", type=int, default=24, help="of evaluation (default: %(default)s)"
    )
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
    parser.add_argument("--sentencepiece", type=Path, help="model of the pieces that texts are cut into")
    parser.add_argument("--debug", action="store_true", help="train on 1,000 questions of the dev part, answer three")


def check_question_arguments(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Ends the program where no room is left for a paragraph."""
    if args.max_seq_length <= args.max_query_length + 3:
        parser.error(
            f"--max_seq_length {args.max_seq_length} leaves no room behind --max_query_length {args.max_query_length}"
        )


if __name__ == "__main__":
    main()
