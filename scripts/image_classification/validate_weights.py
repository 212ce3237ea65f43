r"""Every set of published weights in a folder, on the pictures that MXNet judged it on, beside what MXNet found.

    python scripts/image_classification/validate_weights.py --weights-dir ../shared/weights --data-dir ../shared/data

Beside NAME.params stands NAME.expected.npz: `pred` and `label` of each picture, the `logits` of the first ones, and
`top5` where there are many classes. The table goes to `logs/image_classification/published_weights.log`.

With --eight-bits a row tells, too, how many are right by the network in eight bits, as `quantize_net_v2` makes it for a
program that says no more, and by a recipe: with biases that make up for rounded weights, and MobileNets with their first
layers, their mean and their classifier on floats. Ranges and means are those of other pictures: CIFAR's training part, and
for networks of ImageNet's classes photographs of COCO:

    python scripts/image_classification/validate_weights.py --weights-dir ../shared/weights --data-dir ../shared/data \
        --eight-bits 160 --run published_weights_eight_bits
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from core.files.numpy_files import read_npz
from gluon.contrib.quantization import quantize_net_v2
from gluon.data import DataLoader
from gluon.data.vision import ImageListDataset
from gluoncv.model_zoo import CIFARBasicBlockV1, CIFARResNetV1, get_model
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.pictures import data_set
from scripts.common.program import program
from scripts.common.record import LOGS, Record
from scripts.common.spread import show
from scripts.image_classification import validate


class Weights(NamedTuple):
    """Published weights: the network's name in the zoo, or its blocks a stage, and how its pictures are made."""

    file: str
    network: str | list[int]
    options: tuple[str, ...] = ()
    on_floats: tuple[str, ...] = ()  # parts of the names of layers that the recipe for eight bits leaves there


# Half of the noise that corrected biases leave in the scores comes from the input and the first three convolutions (0.25 and
# 0.5, measured on photographs of COCO). GluonCV's own mobilenet1.0_int8 has its mean and its classifier on floats.
MOBILENET = ("conv0_fwd", "conv1_fwd", "conv2_fwd", "pool0", "dense0")
MOBILENET_V2 = ("features_conv0_fwd", "linearbottleneck0_", "pool0", "output_pred")
TURNED = ("--turned", "--input-size")
PUBLISHED = (
    *(Weights(name, name) for name in "cifar_resnet20_v1 cifar_resnet20_v2 cifar_resnet56_v1 cifar_resnet56_v2".split()),
    Weights("cifar_resnet20_v1_akamaster", [4, 3, 3], ("--imagenet-statistics",)),
    Weights("cifar_resnet56_v1_akamaster", [10, 9, 9], ("--imagenet-statistics",)),
    Weights("mobilenetv2_1.0_coral", "mobilenetv2_1.0", (*TURNED, "224"), MOBILENET_V2),
    *(
        Weights(f"mobilenet{width}_coral", f"mobilenet{width}", (*TURNED, size, *relu6), MOBILENET)
        for width, size in (("0.75", "192"), ("0.5", "160"), ("0.25", "128"))
        for relu6 in (("--relu6",), ())
    ),
)  # fmt: skip


@program
def main(argv: list[str] | None = None) -> list[dict]:
    args = parse_args(argv)
    chosen = [weights for weights in PUBLISHED if not args.only or args.only in weights.file]
    files = [args.weights_dir / f"{weights.file}.params" for weights in chosen]
    record = Record("image_classification", args.run, data=checksums(files), folder=args.log_dir)
    record.begin()
    rows = []
    for weights, file in zip(chosen, files, strict=True):
        rows.append(compare(weights, file, args))
        record.say(
            ", ".join(
                f"{name} {show(value) if isinstance(value, float) else value}" for name, value in rows[-1].items()
            )
        )
        record.put(title="published weights, and what MXNet 1.9.1 makes of them", rows=rows)
    return rows


def compare(weights: Weights, file: Path, args: argparse.Namespace) -> dict:
    """A row of the table: how many pictures are right, here and with MXNet, and how far apart the stored logits are."""
    options = ["--model", weights.file, "--data-dir", str(args.data_dir / _folder(weights)), *weights.options]
    if args.samples:
        options += ["--samples", str(args.samples)]
    how, net = validate.parse_args(options), network(weights, file)
    label, logits = answers(net, how)
    expected = answers_of_mxnet(file.with_name(f"{weights.file}.expected.npz"), "--relu6" in weights.options)
    count, predicted = len(label), logits.argmax(1)
    stored = min(count, len(expected["logits"]))
    five = np.argsort(-logits, axis=1)[:, :5]
    row = {
        "weights": weights.file + (" with ReLU6" if "--relu6" in weights.options else ""),
        "pictures": count,
        "right": int((predicted == label).sum()),
        "right, MXNet": int((expected["pred"] == expected["label"])[:count].sum()),
        "answered otherwise": int((predicted != expected["pred"][:count]).sum()),
        "among five": int((five == label[:, None]).any(1).sum()),
        "among five, MXNet": int((expected["top5"] == expected["label"][:, None])[:count].any(1).sum())
        if "top5" in expected
        else "-",
        "logits apart": float(np.abs(logits[:stored] - expected["logits"][:stored]).max()),
        "of logits up to": float(np.abs(expected["logits"][:stored]).max()),
    }
    if args.eight_bits:
        batches = calibration(how, args)
        row["calibrated on"] = sum(len(batch) for batch in batches)
        recipes = {
            "eight bits": {},
            "by the recipe": {"correct_biases": True, "exclude_layers_match": weights.on_floats},
        }
        for column, recipe in recipes.items():
            quantized = quantize_net_v2(net, calib_mode=args.calib_mode, calib_data=batches, **recipe)
            right = int((answers(quantized, how)[1].argmax(1) == label).sum())
            row |= {f"right, {column}": right, f"points lost, {column}": 100 * (row["right"] - right) / count}
    return row


def answers(net, how: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """The class of each picture, and what the network gives for it."""
    labels, outputs = zip(*validate.answers(net, how), strict=True)
    logits = np.concatenate([output.asnumpy() for output in outputs])
    return np.concatenate([part.asnumpy() for part in labels]).astype(int), logits


def calibration(how: argparse.Namespace, args: argparse.Namespace) -> list[mx.nd.NDArray]:
    """Batches of other pictures than those that are judged."""
    how.relu6 = False  # they are in their places by now
    if how.data_dir.name == "cifar10":
        pictures = data_set(how.data_dir, "train")
    else:
        folder = args.data_dir / "tiny_coco" / "train2017"
        pictures = ImageListDataset(folder, [[0, path.name] for path in sorted(folder.glob("*.jpg"))])
    pictures = pictures.take(args.eight_bits).transform_first(validate.preprocessing(how))
    return [data for data, _ in DataLoader(pictures, how.batch_size)]


def network(weights: Weights, file: Path):
    """The network with its weights."""
    if isinstance(weights.network, str):
        return get_model(weights.network, pretrained=file)
    net = CIFARResNetV1(CIFARBasicBlockV1, weights.network, [16, 16, 32, 64])
    net.load_parameters(str(file), ctx=mx.cpu())
    return net


def answers_of_mxnet(path: Path, relu6: bool) -> dict[str, np.ndarray]:
    """What the file holds, of the network with ReLU6 on request."""
    stored = read_npz(path)
    return {name: stored[f"{name}_relu6" if relu6 and f"{name}_relu6" in stored else name] for name in stored}


def _folder(weights: Weights) -> str:
    return "cifar10" if weights.file.startswith("cifar") else "imagenet_samples"


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    parser.add_argument("--weights-dir", type=Path, required=True, help="folder of the weights and of MXNet's answers")
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with cifar10, imagenet_samples, tiny_coco")
    parser.add_argument("--only", help="only weights whose name holds this")
    parser.add_argument("--eight-bits", type=int, metavar="N", help="also on codes, with ranges of N other pictures")
    parser.add_argument(
        "--calib-mode", choices=("naive", "entropy"), default="naive", help="ranges (default: %(default)s)"
    )
    parser.add_argument("--samples", type=int, help="use only the first so many pictures")
    parser.add_argument("--run", default="published_weights", help="name of the log files (default: %(default)s)")
    parser.add_argument("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
