"""Fine-tunes an XLNet (Yang et al., 2019) on a task of sentences or pairs of sentences (GLUE and its relatives).

    python scripts/language_model/run_glue.py --task_name SST --data-dir ../shared/data/sst \\
        --sentencepiece spiece.model --model_name xlnet_cased_l12_h768_a12

Begins with the published weights of --model_name, or with --random_weights, then in a smaller shape if told so. The
model of the epoch that does best on the dev part is kept in --output_dir; --only_inference tests it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from scripts.bert.finetune_classifier import add_task_arguments, check_task_arguments, execute
from scripts.bert.tuning import add_tuning_arguments
from scripts.common.devices import add_count_argument
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.language_model.xlnet_classifier import XLNetTextClassifier, named_xlnet, published_pieces, vocabulary

MODELS = ("xlnet_cased_l24_h1024_a16", "xlnet_cased_l12_h768_a12")
SHAPE = ("num_layers", "units", "hidden_size", "num_heads")


@program
def main(argv: list[str] | None = None) -> dict:
    return execute(parse_args(argv), "language_model", XLNetTextClassifier, start)


def start(args: argparse.Namespace, labels: list[str], context) -> XLNetTextClassifier:
    """The classifier before training."""
    args.sentencepiece = args.sentencepiece or published_pieces(args.dataset)
    settings = {"model_name": args.model_name, "dropout": args.dropout, "attention_dropout": args.attention_dropout}
    if args.random_weights:
        vocab = vocabulary(args.sentencepiece)
        settings |= {name: getattr(args, name) for name in SHAPE if getattr(args, name)}
        xlnet = named_xlnet(vocab, **settings)
        xlnet.initialize(mx.init.Normal(0.02), ctx=context)
    else:
        rates = {name: settings[name] for name in ("dropout", "attention_dropout")}
        xlnet, vocab, _ = nlp.model.get_model(
            args.model_name, args.dataset, pretrained=True, ctx=context, use_decoder=False, **rates
        )
    classifier = XLNetTextClassifier(xlnet, vocab, settings, args.sentencepiece, labels=labels, max_len=args.max_len)
    for head in (classifier.net.classifier, classifier.net.pooler):
        head.initialize(mx.init.Normal(0.02), ctx=context)
    if args.model_parameters:
        classifier.net.load_parameters(args.model_parameters, ctx=context)
    if args.hybridize:
        classifier.net.hybridize(static_alloc=True)
    return classifier


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_task_arguments(parser, "MRPC")
    add = parser.add_argument
    add("--model_name", choices=MODELS, default=MODELS[0], help="shapes and weights (default: %(default)s)")
    add("--dataset", default="126gb", help="whose published weights are downloaded (default: %(default)s)")
    add("--sentencepiece", type=Path, help="the model of XLNet's pieces, spiece.model (default: the published one)")
    add("--random_weights", action="store_true", help="begin with random weights")
    for name in SHAPE:
        add(f"--{name}", type=int, help="with --random_weights: in place of that of --model_name")
    add("--dropout", type=float, default=0.1, help="(default: %(default)s)")
    add("--attention_dropout", type=float, default=0.1, help="(default: %(default)s)")
    add_count_argument(parser, "--gpu", "--num-gpus")
    add_tuning_arguments(parser, "language_model/xlnet", lr=3e-5, optimizer="adam", warmup=0.0, gpu=False)
    parser.set_defaults(batch_size=128, wd=0.0, log_interval=10)
    args = parser.parse_args(argv)
    args.run = args.run or f"{args.model_name}_{args.task_name}".lower().replace("-", "_")
    check_task_arguments(parser, args)
    return args


if __name__ == "__main__":
    main()
