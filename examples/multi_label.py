"""Several labels for one picture: which digit it shows, whether that is odd, and whether it is above four.

    python examples/multi_label.py --data-dir ../shared/data/mnist

Each label has an output of its own in one network, and a sigmoid; a picture may have any number of them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import core as mx
from core import autograd, nd
from gluon import Trainer, nn
from gluon.data import DataLoader
from gluon.data.vision import MNIST, transforms
from gluon.loss import SigmoidBinaryCrossEntropyLoss

LABELS = [*map(str, range(10)), "odd", "above four"]


def labels_of(digits: nd.NDArray) -> nd.NDArray:
    """1 for each label that a digit (B,) has, (B, 12)."""
    digits = digits.astype("float32")
    return nd.concat(nd.one_hot(digits, 10), (digits % 2).expand_dims(1), (digits > 4).expand_dims(1), dim=1)


def main(argv: list[str] | None = None) -> list[float]:
    """Gives the share of test pictures that each label is right for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", required=True, help="folder of MNIST's files")
    parser.add_argument("--samples", type=int, help="use only the first so many pictures of each part")
    parser.add_argument("--epochs", type=int, default=3, help="passes over the data (default: %(default)s)")
    args = parser.parse_args(argv)
    mx.random.seed(0)
    train, test = (
        MNIST(args.data_dir, train=part).take(args.samples).transform_first(transforms.ToTensor())
        for part in (True, False)
    )
    net = nn.HybridSequential()
    net.add(nn.Dense(128, activation="relu"), nn.Dense(len(LABELS)))
    net.initialize(mx.init.Xavier())
    trainer, loss = Trainer(net.collect_params(), "adam", {"learning_rate": 2e-3}), SigmoidBinaryCrossEntropyLoss()
    for epoch in range(args.epochs):
        total = 0.0
        for pictures, digits in DataLoader(train, 100, shuffle=True):
            with autograd.record():
                losses = loss(net(pictures), labels_of(digits))
            losses.backward()
            trainer.step(len(digits))
            total += float(losses.sum().asscalar())
        print(f"epoch {epoch + 1}: loss {total / len(train):.4f}")
    right = sum(
        ((net(pictures) > 0) == labels_of(digits)).sum(axis=0).asnumpy() for pictures, digits in DataLoader(test, 500)
    )
    shares = (right / len(test)).tolist()
    print("\n".join(f"{name}: {share:.4f}" for name, share in zip(LABELS, shares, strict=True)))
    return shares


if __name__ == "__main__":
    main()
