"""`gluon predict`: what is in pictures, or in texts."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from gluon_cli.answer import Answer
from gluon_cli.classifiers import is_classifier, load
from gluon_cli.zoo import vision_network


def add(command) -> None:
    """Enters the command."""
    predict = command(
        "predict", help="name what is in pictures or texts",
        description="The likeliest classes of pictures, by a network of the zoo, or of pictures or texts by a trained one.",
    )  # fmt: skip
    predict.add_argument("name", help="name of a network, or a folder that `gluon train` wrote")
    predict.add_argument("things", nargs="+", metavar="PICTURE", help="files; for a classifier of texts: the texts")
    predict.add_argument("--weights", help="a file, folder or name of weights (default: the published ones)")
    predict.add_argument("--top", type=int, default=5, help="so many classes of each (default: %(default)s)")
    predict.set_defaults(run=run)


def run(args: Namespace) -> Answer:
    """The likeliest classes of each picture or text."""
    if args.top < 1:
        raise ValueError(f"--top is at least 1, got {args.top}")
    if is_classifier(args.name):
        classifier = load(args.name)
        if classifier.kind == "pictures":
            _check(args.things)
        found = classifier.predict(args.things, args.top)
    else:
        _check(args.things)
        found = _by_zoo(args)
    value = [
        {"input": thing, "classes": [{"name": name, "probability": p} for name, p in row]}
        for thing, row in zip(args.things, found, strict=True)
    ]
    lines = []
    for thing, row in zip(args.things, found, strict=True):
        lines += [thing, *(f"  {p:6.1%}  {name}" for name, p in row)]
    return Answer(value, "\n".join(lines))


def _by_zoo(args):
    from core import nd
    from core.base import MXNetError
    from gluoncv.model_zoo import cards, get_model

    name = vision_network(args.name)
    if cards.task_of(name) != "classification":
        raise MXNetError(f"{name} is a network for {cards.task_of(name)}: predict names classes only")
    net = get_model(name, pretrained=args.weights or True)
    net.hybridize()
    names, found = getattr(net, "classes", None), []
    for path in args.things:
        probabilities = nd.softmax(net(net.preprocess(path)))[0].asnumpy()
        best = probabilities.argsort()[::-1][: args.top]
        found.append([(names[k] if names else f"class {k}", float(probabilities[k])) for k in best])
    return found


def _check(paths):
    for path in paths:
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no file {path}")
