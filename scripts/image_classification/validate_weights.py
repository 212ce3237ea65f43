r"""Every set of published weights in a folder, on the pictures that MXNet judged it on, beside what MXNet found.

    python scripts/image_classification/validate_weights.py --weights-dir ../shared/weights --data-dir ../shared/data

Beside NAME.params stands NAME.expected.npz: `pred` and `label` of each picture, the `logits` of the first ones, and
`top5` where there are many classes. The table goes to `logs/image_classification/published_weights.log`.

With --eight-bits a row tells, too, how many are right by the network on codes of eight bits, whose ranges are found on the
first pictures, as `quantize_net_v2` does it for a program that is not told more:

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
from gluoncv.model_zoo import CIFARBasicBlockV1, CIFARResNetV1, get_model
from scripts.common.environment import checksums
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.record import LOGS, Record
from scripts.common.spread import show
from scripts.image_classification import validate


class Weights(NamedTuple):
    """Published weights: the network's name in the zoo, or its blocks a stage, and how its pictures are made."""

    file: str
    network: str | list[int]
    options: tuple[str, ...] = ()


TURNED = ("--turned", "--input-size")
PUBLISHED = (
    *(Weights(name, name) for name in "cifar_resnet20_v1 cifar_resnet20_v2 cifar_resnet56_v1 cifar_resnet56_v2".split()),
    Weights("cifar_resnet20_v1_akamaster", [4, 3, 3], ("--imagenet-statistics",)),
    Weights("cifar_resnet56_v1_akamaster", [10, 9, 9], ("--imagenet-statistics",)),
    Weights("mobilenetv2_1.0_coral", "mobilenetv2_1.0", (*TURNED, "224")),
    *(
        Weights(f"mobilenet{width}_coral", f"mobilenet{width}", (*TURNED, size, *relu6))
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
        right = int((answers(on_codes(net, how, args.calib_mode, args.eight_bits), how)[1].argmax(1) == label).sum())
        row |= {"right, eight bits": right, "points lost": 100 * (row["right"] - right) / count}
    return row


def answers(net, how: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """The class of each picture, and what the network gives for it."""
    labels, outputs = zip(*validate.answers(net, how), strict=True)
    logits = np.concatenate([output.asnumpy() for output in outputs])
    return np.concatenate([part.asnumpy() for part in labels]).astype(int), logits


def on_codes(net, how: argparse.Namespace, mode: str, pictures: int):
    """The network on codes of eight bits, with ranges of so many pictures."""
    how.relu6 = False  # they are in their places by now
    batches = (data for data, _ in validate.loader(how))
    return quantize_net_v2(net, calib_mode=mode, calib_data=batches, num_calib_examples=pictures)


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
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with cifar10 and imagenet_samples")
    parser.add_argument("--only", help="only weights whose name holds this")
    parser.add_argument(
        "--eight-bits", type=int, metavar="N", help="also on codes, with ranges of the first N pictures"
    )
    parser.add_argument(
        "--calib-mode", choices=("naive", "entropy"), default="naive", help="ranges (default: %(default)s)"
    )
    parser.add_argument("--samples", type=int, help="use only the first so many pictures")
    parser.add_argument("--run", default="published_weights", help="name of the log files (default: %(default)s)")
    parser.add_argument("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
