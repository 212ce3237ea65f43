"""Trains LeNet on the 1,797 handwritten digits (8x8) that scikit-learn carries, in well under two minutes.

Writes build/logs/quickstart/lenet_digits.log, .json and .png (curves, and predictions with the wrong ones marked), saves the
parameters, loads them in a new process and compares the predictions. Fails below 98 % of the test digits.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np

import core as mx
from core import extras
from gluon import Trainer, nn
from gluon.data import ArrayDataset, DataLoader
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.common.classify import test, train_epoch
from scripts.common.flags import Parser
from scripts.common.lenet import lenet
from scripts.common.run import Run, add_run_arguments

TEST_SIZE = 360


def main(argv: list[str] | None = None) -> None:
    args = parse_args(argv)
    pictures, labels, checksum = digits()
    if args.predict:
        print(json.dumps(predict(load(args.predict), pictures[-TEST_SIZE:]).tolist()))
        return

    run = Run("quickstart", args, data={"scikit-learn digits": checksum})
    train_batches = DataLoader(
        ArrayDataset(pictures[:-TEST_SIZE], labels[:-TEST_SIZE]), args.batch_size, shuffle=True, last_batch="discard"
    )
    test_batches = DataLoader(ArrayDataset(pictures[-TEST_SIZE:], labels[-TEST_SIZE:]), TEST_SIZE)
    net = network()
    net.initialize(mx.init.Xavier(magnitude=2.24))
    schedule = mx.lr_scheduler.CosineScheduler(args.epochs * len(train_batches), base_lr=args.lr, final_lr=0)
    trainer = Trainer(net.collect_params(), "sgd", {"momentum": 0.9, "wd": 1e-4, "lr_scheduler": schedule})
    loss = SoftmaxCrossEntropyLoss()

    for epoch in run.epochs(args.epochs, net, trainer):
        metrics = train_epoch(net, run.progress(train_batches, f"epoch {epoch}"), trainer, loss, mx.cpu())
        metrics["test_accuracy"] = test(net, test_batches, mx.cpu())
        run.epoch_done(epoch, metrics, samples=len(pictures) - TEST_SIZE)
    accuracy = run.finish("test_accuracy")["test_accuracy"]

    parameters = run.folder / "lenet_digits.params"
    net.save_parameters(str(parameters))
    predicted = predict(net, pictures[-TEST_SIZE:])
    if predict_elsewhere(parameters) != predicted.tolist():
        raise SystemExit("the saved parameters gave other predictions in a new process")
    run.record.say("a new process with the saved parameters made the same predictions")
    plot(run.record, pictures[-TEST_SIZE:], labels[-TEST_SIZE:], predicted)
    if accuracy < 0.98:
        raise SystemExit(f"only {accuracy:.2%} of the test digits are right, 98 % are expected")


def digits() -> tuple[np.ndarray, np.ndarray, str]:
    """Pictures (1797, 1, 8, 8) in [0, 1], labels, and the SHA-256 of both; shuffled once and for all."""
    raw = extras.load("sklearn.datasets", "the quickstart").load_digits()
    checksum = hashlib.sha256(raw.images.tobytes() + raw.target.tobytes()).hexdigest()
    order = np.random.RandomState(0).permutation(len(raw.target))
    pictures = (raw.images[order, None] / 16).astype(np.float32)
    return pictures, raw.target[order].astype(np.float32), checksum


def network():
    return lenet(nn, kernel=3, padding=1)


def load(parameters: Path):
    net = network()
    net.load_parameters(str(parameters))
    return net


def predict(net, pictures: np.ndarray) -> np.ndarray:
    """Probabilities of the classes, (pictures, 10)."""
    return mx.nd.softmax(net(mx.nd.array(pictures))).asnumpy()


def predict_elsewhere(parameters: Path) -> list:
    """The probabilities that a new process computes from the saved parameters."""
    command = [sys.executable, __file__, "--predict", str(parameters)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def plot(record, pictures: np.ndarray, labels: np.ndarray, probabilities: np.ndarray) -> None:
    """Curves of loss and accuracy, and a grid of test digits: the wrong ones first, in red, with the right label."""
    extras.load("matplotlib", "the plot").use("Agg")
    pyplot = extras.load("matplotlib.pyplot", "the plot")
    rows = record.facts["epochs"]
    epochs = [row["epoch"] for row in rows]
    figure = pyplot.figure(figsize=(12, 6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(2, 3))
    upper, lower = left.subplots(2, 1, sharex=True)
    upper.semilogy(epochs, [row["loss"] for row in rows])
    upper.set_ylabel("training loss")
    for name in ("train_accuracy", "test_accuracy"):
        lower.plot(epochs, [100 * row[name] for row in rows], label=name.replace("_", " "))
    lower.set(xlabel="epoch", ylabel="accuracy (%)", ylim=(90, 100.2))
    lower.legend()

    predicted = probabilities.argmax(axis=1)
    wrong_first = np.argsort(predicted == labels, kind="stable")
    right.suptitle(f"{(predicted == labels).mean():.2%} of {len(labels)} test digits are right")
    for axis, index in zip(right.subplots(6, 10).flat, wrong_first):
        wrong = predicted[index] != labels[index]
        axis.imshow(pictures[index, 0], cmap="gray_r")
        axis.set_title(
            f"{predicted[index]}, is {labels[index]:.0f}" if wrong else f"{predicted[index]}",
            fontsize=8, color="red" if wrong else "black",
        )  # fmt: skip
        axis.set_axis_off()
    figure.savefig(record.base.with_suffix(".png"), dpi=100, metadata={"Software": None})
    pyplot.close(figure)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    parser.add_argument("--batch-size", type=int, default=32, help="pictures in a batch (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the data (default: %(default)s)")
    parser.add_argument("--lr", type=float, default=0.05, help="highest learning rate (default: %(default)s)")
    parser.add_argument("--predict", type=Path, metavar="FILE", help="only print the probabilities for the test digits")
    add_run_arguments(parser, run="lenet_digits")
    parser.set_defaults(log_dir=ROOT / "build" / "logs")  # git ignores it: the logs that README quotes stay as they are
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
