"""`gluon train`: a classifier of one's own pictures or texts, and what the training programs train."""

from __future__ import annotations

import sys
from argparse import Namespace

from gluon_cli import programs
from gluon_cli.answer import Answer
from gluon_cli.zoo import vision_network

# Settings of gluon.finetune.Recipe: name -> (type, help)
SETTINGS = {
    "epochs": (int, "passes over the samples, at most"),
    "patience": (int, "end after so many epochs without a better accuracy; 0: never"),
    "batch-size": (int, "samples of a step"),
    "optimizer": (str, "by name"),
    "rate": (float, "highest learning rate"),
    "body-rate": (float, "rate of what was trained before, as a part of --rate; 0: only the new layer learns"),
    "weight-decay": (float, "of weights"),
    "warmup": (float, "part of the steps in which the rate rises"),
    "ema": (float, "decay of the moving average of the weights; 0: none"),
    "seed": (int, "of everything random"),
}


def add(command) -> None:
    """Enters the command."""
    train = command(
        "train", help="train a network on your data",
        description="Trains a network on data of your own. `gluon train TASK --help` explains the flags of a task.",
    )  # fmt: skip
    tasks = train.add_subparsers(dest="task", metavar="TASK", required=True)
    _add_classify(tasks)
    programs.add(tasks)


def _add_classify(tasks) -> None:
    train = tasks.add_parser(
        "classify", help="a classifier of pictures in folders, or of texts in a table",
        description="Trains a classifier of your own pictures or texts; `gluon predict` uses it.",
    )  # fmt: skip
    programs.add_shared_arguments(train)
    source = train.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", metavar="FOLDER", help="pictures: FOLDER/CLASS/NAME.jpg, or so in train and val")
    source.add_argument("--csv", metavar="FILE", help="texts: a .csv or .tsv file with names of columns")
    train.add_argument("--text", metavar="COLUMN", help="the column of texts, with --csv")
    train.add_argument("--label", metavar="COLUMN", help="the column of labels, with --csv")
    train.add_argument("--model", help="a network (default: mobilenetv2_1.0 for pictures, textcnn for texts)")
    train.add_argument("--weights", help="where it starts: a file, folder or name, or none (default: published ones)")
    train.add_argument("--size", type=int, help="sides of pictures (default: those of the network)")
    train.add_argument("--max-length", type=int, default=128, help="words or pieces of a text (default: %(default)s)")
    train.add_argument("--validation", type=float, default=0.2, help="part that is held out (default: %(default)s)")
    train.add_argument("--folder", default="trained", help="for what comes of it (default: %(default)s)")
    train.add_argument("--class-weights", help="balanced, or a number for each class, between commas")
    train.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), default="float32", help="precision")
    for name, (kind, help) in SETTINGS.items():
        train.add_argument(f"--{name}", type=kind, help=help)
    train.add_argument("--train-norm", action="store_true", help="batch normalisations take statistics of each batch")
    train.add_argument("--quiet", action="store_true", help="no progress")
    train.set_defaults(run=run)


def run(args: Namespace) -> Answer:
    """Trains; the answer says how good it is and where everything lies."""
    from gluon.finetune import Recipe

    given = {name.replace("-", "_"): getattr(args, name.replace("-", "_")) for name in SETTINGS}
    given = {name: value for name, value in given.items() if value is not None}
    if args.train_norm:
        given["freeze_norm"] = False
    if args.class_weights:
        given["class_weights"] = (
            args.class_weights
            if args.class_weights == "balanced"
            else [float(w) for w in args.class_weights.split(",")]
        )
    settings = {
        "pretrained": {None: True, "none": False}.get(args.weights, args.weights), "validation": args.validation,
        "say": (lambda line: None) if args.quiet else (lambda line: print(line, file=sys.stderr)), "bar": not args.quiet,
    }  # fmt: skip
    if args.data:
        from gluoncv.finetune import train_classifier

        _refuse(args, "text", "label")
        settings |= {"recipe": Recipe(**given, dtype=args.dtype), "size": args.size}
        classifier, result = train_classifier(
            args.data, vision_network(args.model or "mobilenetv2_1.0"), args.folder, **settings
        )
    else:
        from gluonnlp.finetune import default_recipe, train_classifier

        if not (args.text and args.label):
            raise ValueError("--csv goes with --text COLUMN and --label COLUMN")
        _refuse(args, "size")
        model = args.model or "textcnn"
        recipe = default_recipe(model, **given, dtype=args.dtype)
        settings |= {"recipe": recipe, "max_length": args.max_length}
        classifier, result = train_classifier(args.csv, args.text, args.label, model, args.folder, **settings)
    value = {
        "folder": args.folder, "report": f"{args.folder}/report.html", "weights": classifier.origin,
        "epochs": len(classifier.history), **result.facts(),
    }  # fmt: skip
    text = (
        f"{result.accuracy:.1%} of {len(result.labels)} validation samples right\n"
        f"report: {value['report']}\nuse it: gluon predict {args.folder} ..."
    )
    return Answer(value, text)


def _refuse(args, *names):
    for name in names:
        if getattr(args, name) is not None:
            raise ValueError(f"--{name} has no meaning with {'--data' if args.data else '--csv'}")
