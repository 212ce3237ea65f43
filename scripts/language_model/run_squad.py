"""Fine-tunes an XLNet (Yang et al., 2019) to answer questions about paragraphs (SQuAD).

    python scripts/language_model/run_squad.py --model xlnet_cased_l12_h768_a12 --batch_size 48 --lr 3e-5 \\
        --training_steps 8000 --version_2 --gpu 8

The answers to the dev part are kept as --output_dir/predictions.json, the parameters after each epoch as
model_xlnet_squad_EPOCH.params.
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
from scripts.bert import squad
from scripts.bert.finetune_squad import add_question_arguments, check_question_arguments
from scripts.bert.tuning import add_tuning_arguments, train, trainer
from scripts.common import parallel
from scripts.common.devices import add_count_argument, contexts, spread
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.precision import use_dtype
from scripts.common.program import program
from scripts.common.run import Run
from scripts.language_model import xlnet_squad
from scripts.language_model.xlnet_classifier import named_xlnet, published_pieces, vocabulary

MODELS = ("xlnet_cased_l12_h768_a12", "xlnet_cased_l24_h1024_a16")
SHAPE = ("num_layers", "units", "hidden_size", "num_heads")


@program
def main(argv: list[str] | None = None) -> dict:
    args = parse_args(argv)
    devices = contexts(args)
    use_dtype(args.dtype)
    files = sorted(args.data_dir.glob(f"*-v{args.version}.json")) if args.data_dir else []
    root = str(args.data_dir) if args.data_dir else None
    run = None if args.only_predict else Run("language_model", args, data=checksums(files))
    parts = ("dev",) if args.only_predict else ("train", "dev")
    records = {part: list(nlp.data.SQuAD(part, args.version, root))[: args.samples] for part in parts}
    if args.debug:
        records = {part: records["dev"][: 1000 if part == "train" else 3] for part in parts}
    args.sentencepiece = args.sentencepiece or published_pieces(args.dataset)
    xlnet, vocab = body(args, devices)
    pieces = xlnet_squad.Pieces(str(args.sentencepiece), vocab, args.uncased)
    windows = {
        part: [
            window
            for number, record in enumerate(some)
            for window in squad.windows(
                number, record, pieces, longest=args.max_seq_length, stride=args.doc_stride,
                question=args.max_query_length, training=part == "train", layout=xlnet_squad.layout,
            )
        ]
        for part, some in records.items()
    }  # fmt: skip
    net, asked = heads(args, xlnet, devices)

    def quality() -> dict[str, float]:
        """How good the answers to the dev part are, which are kept."""
        answers = answered(asked, records["dev"], windows["dev"], vocab["<pad>"], args, devices[0])
        found = {record[1]: text for record, text in zip(records["dev"], answers, strict=True)}
        args.output_dir.mkdir(parents=True, exist_ok=True)
        text = json.dumps(found, ensure_ascii=False, indent=1)
        parallel.on_first(write_bytes, args.output_dir / "predictions.json", text.encode())
        return squad.quality(answers, [record[4] for record in records["dev"]])

    if args.only_predict:
        reached = quality()
        print("  ".join(f"{name} {value:.6g}" for name, value in reached.items()))
        return reached
    decay_by_layer(xlnet, args.layerwise_decay)
    learner = trainer(args, net, len(windows["train"]))

    def loss_of(batch):
        """Each device's share in the mean of the losses, of places and of whether a window has an answer."""
        losses = []
        for tokens, segments, lengths, mask, start, end, none in zip(
            *(spread(field, devices) for field in batch), strict=True
        ):
            _, both = net(tokens, segments, lengths, [start, end], mask, none)
            losses.append(both.sum() / batch[0].shape[0])
        return losses

    for epoch in run.epochs(args.epochs, net, learner):
        loader = xlnet_squad.batches(
            windows["train"], vocab["<pad>"], args.batch_size, shuffle=True,
            round_to=args.round_to or 8, workers=args.num_workers,
        )  # fmt: skip
        metrics = train(run, net, run.progress(loader, f"epoch {epoch}"), loss_of, learner)
        metrics |= quality()
        run.epoch_done(epoch, metrics, samples=len(windows["train"]))
        parallel.on_first(net.save_parameters, str(args.output_dir / f"model_xlnet_squad_{epoch}.params"))
    return run.finish("exact_match", "f1")


def body(args: argparse.Namespace, devices: list[mx.Context]) -> tuple:
    """The XLNet without decoder, and its vocabulary."""
    rates = {"dropout": args.dropout, "attention_dropout": args.attention_dropout}
    if args.random_weights:
        vocab = vocabulary(args.sentencepiece)
        shape = {name: getattr(args, name) for name in SHAPE if getattr(args, name)}
        xlnet = named_xlnet(vocab, model_name=args.model, **shape, **rates)
        xlnet.initialize(mx.init.Normal(0.02), ctx=devices)
    else:
        own = args.model_parameters is None and args.pretrained_xlnet_parameters is None
        xlnet, vocab, *_ = nlp.model.get_model(
            args.model, args.dataset, pretrained=own, ctx=devices, use_decoder=False, **rates
        )
        if not own:
            xlnet.initialize(mx.init.Normal(0.02), ctx=devices)
    if args.pretrained_xlnet_parameters:
        xlnet.load_parameters(args.pretrained_xlnet_parameters, ctx=devices, ignore_extra=True)
    return xlnet, vocab


def heads(args: argparse.Namespace, xlnet, devices: list[mx.Context]) -> tuple:
    """The network that learns, and the one that answers, with the same parameters."""
    sizes = {"start_top_n": args.start_top_n, "end_top_n": args.end_top_n, "units": xlnet._net._units}
    net = nlp.model.XLNetForQA(xlnet, **sizes)
    for head in (net.start_logits, net.end_logits, net.answer_class):
        head.initialize(mx.init.Normal(0.02), ctx=devices)
    if args.model_parameters:
        net.load_parameters(str(args.model_parameters), ctx=devices)
    if args.hybridize:
        xlnet.hybridize(static_alloc=True)
    return net, nlp.model.XLNetForQA(xlnet, is_eval=True, params=net.collect_params(), **sizes)


def decay_by_layer(xlnet, factor: float) -> None:
    """Rates of layers further from the end are less, by `factor` each; 0 or less: all are the same."""
    if factor <= 0:
        return
    layers = list(xlnet._net.transformer_cells)
    for depth, layer in enumerate(reversed(layers)):
        layer.collect_params().setattr("lr_mult", factor**depth)


def answered(net, records: list, windows: list[squad.Window], pad: int, args: argparse.Namespace, context) -> list[str]:
    """The answer to the question of each record."""
    read = [[] for _ in records]
    loader = xlnet_squad.batches(windows, pad, args.test_batch_size, shuffle=False, round_to=args.round_to or 8)
    found = []
    for batch in loader:
        tokens, segments, lengths, mask = (field.as_in_context(context) for field in batch[:4])
        outputs = net(tokens, segments, lengths, None, mask)
        found += zip(*(output.asnumpy() for output in outputs), strict=True)
    for window, places in zip(windows, found, strict=True):
        read[window.question].append((window, places))
    none_above = args.null_score_diff_threshold if args.version == "2.0" else None
    limits = {"candidates": args.n_best_size, "longest": args.max_answer_length, "none_above": none_above}
    return [xlnet_squad.answer(record[3], parts, **limits) for record, parts in zip(records, read, strict=True)]


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_question_arguments(parser)
    add = parser.add_argument
    add("--model", choices=MODELS, default=MODELS[0], help="shapes and weights (default: %(default)s)")
    add("--dataset", default="126gb", help="whose published weights are downloaded (default: %(default)s)")
    add("--pretrained_xlnet_parameters", help="a .params file of the network without heads")
    add("--random_weights", action="store_true", help="begin with random weights; needs --sentencepiece")
    for name in SHAPE:
        add(f"--{name}", type=int, help="with --random_weights: in place of that of --model")
    add("--uncased", action="store_true", help="texts are read in lower case")
    add("--dropout", type=float, default=0.1, help="(default: %(default)s)")
    add("--attention_dropout", type=float, default=0.1, help="(default: %(default)s)")
    add("--layerwise_decay", type=float, default=0.75, help="factor of rates, layer by layer (default: %(default)s)")
    add("--start_top_n", type=int, default=5, help="beginnings that are looked at (default: %(default)s)")
    add("--end_top_n", type=int, default=5, help="ends of each (default: %(default)s)")
    add("--round_to", type=int, help="lengths of batches are multiples of this (default: 8)")
    add("--num_workers", type=int, default=0, help="loading processes (default: %(default)s)")
    add_count_argument(parser, "--gpu", "--num-gpus")
    add_tuning_arguments(parser, "language_model/xlnet_squad", lr=3e-5, seed=3, warmup=0.0, gpu=False)
    parser.set_defaults(max_seq_length=512, n_best_size=5, max_answer_length=64, log_interval=10)
    args = parser.parse_args(argv)
    args.run = args.run or f"{args.model}_squad_{args.version}"
    check_question_arguments(parser, args)
    if args.random_weights and not args.sentencepiece:
        parser.error("--random_weights needs --sentencepiece, the model of the pieces")
    if args.pretrained_xlnet_parameters and args.model_parameters:
        parser.error("give --pretrained_xlnet_parameters or --model_parameters, not both")
    return args


if __name__ == "__main__":
    main()
