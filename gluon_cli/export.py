"""`gluon export`: a network as files for other programs."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

from gluon_cli.answer import Answer
from gluon_cli.classifiers import is_classifier
from gluon_cli.zoo import vision_network


def add(command) -> None:
    """Enters the command."""
    export = command(
        "export", help="write a network for other programs",
        description="Writes a network as NAME-symbol.json and NAME-0000.params, or as an ONNX file.",
    )  # fmt: skip
    export.add_argument("name", help="name of a network, or a folder that `gluon train` wrote")
    export.add_argument("--onnx", action="store_true", help="as an ONNX file, NAME.onnx")
    export.add_argument("--output", metavar="PREFIX", help="path without the ending (default: the name)")
    export.add_argument("--weights", help="a file, folder or name of weights (default: the published ones)")
    export.add_argument("--size", type=int, help="sides of pictures (default: those of the network)")
    export.set_defaults(run=run)


def run(args: Namespace) -> Answer:
    """Writes the files; the answer has their paths."""
    prefix = args.output or Path(args.name).name
    folder = Path(prefix).parent
    folder.mkdir(parents=True, exist_ok=True)
    net, shapes, types = _trained(args) if is_classifier(args.name) else _of_zoo(args)
    if args.onnx:
        from core.contrib.onnx import export_model

        with TemporaryDirectory() as parts:
            files = [str(export_model(*net.export(f"{parts}/net"), shapes, types, f"{prefix}.onnx", dynamic=True))]
    else:
        files = list(net.export(prefix))
    return Answer({"files": files}, "\n".join(files))


def _of_zoo(args):
    from core import nd
    from core.base import MXNetError
    from gluoncv.model_zoo import get_model

    net = get_model(vision_network(args.name), pretrained=args.weights or True)
    prepared = net.card.preprocessing
    size = args.size or (prepared.size or prepared.resize if prepared else 0)
    if not size:
        raise MXNetError(f"{args.name}, a network for {net.card.task}, needs --size")
    net.hybridize()
    net(nd.zeros((1, 3, size, size)))
    return net, [(1, 3, size, size)], ["float32"]


def _trained(args):
    from gluon_cli.classifiers import load

    classifier = load(args.name)
    if classifier.kind == "pictures":
        size = args.size or classifier.preprocessing.size
        inputs = [((1, 3, size, size), "float32")]
    else:
        length = ((1, 16), "int32")
        inputs = (
            [length]
            if classifier.reader.kind == "words"
            else [length, *[length] * classifier.reader.segments, ((1,), "float32")]
        )
    from core import nd

    classifier.net(*(nd.ones(shape, dtype=dtype) for shape, dtype in inputs))
    return classifier.net, [shape for shape, _ in inputs], [dtype for _, dtype in inputs]
