"""Counts how many pictures a pretrained network gets right (top-1 and top-5).

    python scripts/image_classification/validate.py --model cifar_resnet20_v1 \\
        --data-dir ../shared/data/cifar10 --pretrained ../shared/weights/cifar_resnet20_v1_structural.params

The data set follows from the files in `--data-dir`: those of CIFAR-10 (binary, or records), `val.rec`, a list of
pictures (`*.lst`, as im2rec writes it), or ImageNet's folders (`val/WNID/*.JPEG`). Networks named `cifar_...` see the
pictures as they are, others a crop from the middle after resizing the short side, both normalised as in training.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from math import ceil
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from gluon import nn
from gluon.data import DataLoader
from gluon.data.vision import transforms
from gluoncv.model_zoo import get_model
from scripts.common.deployment import add_deployment_arguments, instead_of_test, tested_network
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.pictures import data_set
from scripts.common.program import program
from scripts.common.recipe import add_squeeze_argument, squeeze_option
from scripts.common.record import LOGS, Record

IMAGENET = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
CIFAR = transforms.Normalize([0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010])


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    device = _context(args)
    options = {"pretrained": args.pretrained or True, "ctx": device, **squeeze_option(args)}
    net = tested_network(args, lambda suffix: get_model(args.model + suffix, **options), device)
    shape = (args.batch_size, 3, *[32 if args.model.lower().startswith("cifar") else args.input_size] * 2)
    figures = instead_of_test(args, net, loader(args), shape, device, args.model)
    if figures:
        return figures
    top1, top5, count = mx.metric.Accuracy(), mx.metric.TopKAccuracy(5), 0
    for label, output in answers(net, args):
        top1.update(label, output)
        top5.update(label, output)
        count += len(label)

    found = {"top1": top1.get()[1], "top5": top5.get()[1]}
    right = {name: round(value * count) for name, value in found.items()}
    print(f"{args.model}: {right['top1']} of {count} right, {right['top5']} among the first five")
    if args.run:
        files = [p for p in (args.data_dir, Path(args.pretrained or "")) if p.is_file()]
        record = Record("image_classification", args.run, data=checksums(files), folder=args.log_dir)
        record.begin()
        record.say(f"{args.model}: {right['top1']} of {count} right, {right['top5']} among the first five")
        record.put(
            arguments={"model": args.model}, epochs=[], final={k: right[k] for k in right}, published=args.published
        )
    return found | {"right": right["top1"], "count": count}


def answers(net, args: argparse.Namespace) -> Iterator[tuple[mx.nd.NDArray, mx.nd.NDArray]]:
    """The labels (B,) and what the network gives (B, classes), batch by batch; `net` is changed as `args` ask."""
    if args.relu6:
        clip_activations(net.features)
    net.cast(args.dtype)
    net.hybridize(static_alloc=True, static_shape=True)
    context = _context(args)
    for data, label in loader(args):
        yield label.reshape((-1,)).as_in_context(context), net(data.as_in_context(context).astype(args.dtype))


def loader(args: argparse.Namespace) -> DataLoader:
    """Batches of inputs and labels."""
    pictures = data_set(args.data_dir)
    samples = args.samples or args.batch_size * args.num_batches
    if samples:
        pictures = pictures.take(samples)
    return DataLoader(pictures.transform_first(preprocessing(args)), args.batch_size, num_workers=args.num_data_workers)


def preprocessing(args: argparse.Namespace) -> transforms.Compose:
    """From a picture of bytes to what the network was trained on."""
    if args.model.lower().startswith("cifar"):
        steps = [transforms.ToTensor(), IMAGENET if args.imagenet_statistics else CIFAR]
    else:
        resize = ceil(args.input_size / args.crop_ratio)
        steps = [
            transforms.Resize(resize, keep_ratio=True),
            transforms.CenterCrop(args.input_size),
            transforms.ToTensor(),
            IMAGENET,
        ]
    if args.turned:
        steps.append(_Turned())
    return transforms.Compose(steps)


def _context(args):
    return mx.gpu(0) if args.num_gpus else mx.cpu()


class _Turned(nn.Block):
    """The picture turned by 180 degrees, for weights converted from a framework that pads at the other end."""

    def forward(self, x):
        return x[:, ::-1, ::-1]


def clip_activations(features) -> None:
    """Puts ReLU6 in place of ReLU, which MobileNet v1 was published with elsewhere."""
    from gluoncv.nn import ReLU6

    for key, child in features._children.items():
        if isinstance(child, nn.Activation):
            features._children[key] = ReLU6()


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    parser.add_argument("--data-dir", "--rec-dir", type=Path, required=True, help="folder with the pictures")
    parser.add_argument("--model", required=True, help="name in the model zoo")
    parser.add_argument(
        "--pretrained", "--params-file", help="file, folder or URL of weights (default: the published ones)"
    )
    add_squeeze_argument(parser)
    parser.add_argument("--batch-size", type=int, default=32, help="pictures in a batch (default: %(default)s)")
    parser.add_argument("--input-size", type=int, default=224, help="sides of the crop (default: %(default)s)")
    parser.add_argument("--crop-ratio", type=float, default=0.875, help="crop over short side (default: %(default)s)")
    parser.add_argument("--dtype", default="float32", help="type to compute in (default: %(default)s)")
    parser.add_argument("--imagenet-statistics", action="store_true", help="normalise CIFAR-10 as ImageNet")
    parser.add_argument("--turned", action="store_true", help="turn the pictures by 180 degrees")
    parser.add_argument("--relu6", action="store_true", help="put ReLU6 in place of ReLU")
    parser.add_argument("--num-gpus", type=int, choices=(0, 1), default=0, help="use the first GPU")
    parser.add_argument("-j", "--num-data-workers", type=int, default=0, help="loading processes (default: 0)")
    parser.add_argument("--samples", type=int, help="use only the first so many pictures")
    parser.add_argument("--num-batches", type=int, default=0, help="use only the first so many batches")
    add_deployment_arguments(parser)
    parser.add_argument("--run", help="name of the run's log files (default: no log)")
    parser.add_argument("--published", default="", help="what others counted, for the log")
    parser.add_argument("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
