"""Two networks against each other: one draws digits, the other tells them from real ones (Goodfellow et al., 2014).

    python examples/gan.py --data-dir ../shared/data/mnist --output digits.png

Larger ones are in scripts/gan.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import core as mx
from core import autograd, nd
from gluon import Trainer, nn
from gluon.data.vision import MNIST
from gluon.loss import SigmoidBinaryCrossEntropyLoss

NOISE = 64


def main(argv: list[str] | None = None) -> nd.NDArray:
    """Gives drawn digits (64, 784), between 0 and 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data-dir", required=True, help="folder of MNIST's files")
    add("--steps", type=int, default=2000, help="of each network (default: %(default)s)")
    add("--batch-size", type=int, default=64, help="digits (default: %(default)s)")
    add("--output", type=Path, default=Path("digits.png"), help="picture of 64 digits (default: %(default)s)")
    args = parser.parse_args(argv)
    mx.random.seed(0)
    np.random.seed(0)
    real = MNIST(args.data_dir, train=True)._data.reshape((-1, 784)).asnumpy()
    draw, tell = nn.HybridSequential(), nn.HybridSequential()
    draw.add(nn.Dense(128), nn.LeakyReLU(0.2), nn.Dense(256), nn.LeakyReLU(0.2), nn.Dense(784, activation="sigmoid"))
    tell.add(nn.Dense(256), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Dense(1))
    trainers = []
    for net in (draw, tell):
        net.initialize(mx.init.Xavier(magnitude=2.24))
        net.hybridize()
        trainers.append(Trainer(net.collect_params(), "adam", {"learning_rate": 5e-4, "beta1": 0.5}))
    loss, size = SigmoidBinaryCrossEntropyLoss(), args.batch_size
    ones, zeros = nd.ones((size, 1)), nd.zeros((size, 1))
    for step in range(1, args.steps + 1):
        shown = nd.array(real[np.random.randint(len(real), size=size)]) / 255
        drawn = draw(nd.random.normal(shape=(size, NOISE)))
        with autograd.record():
            judged = loss(tell(shown), ones * 0.9) + loss(tell(drawn.detach()), zeros)
        judged.backward()
        trainers[1].step(size)
        with autograd.record():
            fooled = loss(tell(draw(nd.random.normal(shape=(size, NOISE)))), ones)
        fooled.backward()
        trainers[0].step(size)
        if step % 200 == 0:
            losses = (float(part.mean().asscalar()) for part in (judged, fooled))
            print("step {}: telling {:.3f}, drawing {:.3f}".format(step, *losses))
    digits = draw(nd.random.normal(shape=(64, NOISE)))
    save(digits, args.output)
    return digits


def save(digits: nd.NDArray, path: Path) -> None:
    """Writes 64 digits as one picture, eight in a row."""
    from PIL import Image

    rows = (digits.asnumpy().reshape(8, 8, 28, 28).transpose(0, 2, 1, 3).reshape(224, 224) * 255).astype("uint8")
    Image.fromarray(rows).save(path)


if __name__ == "__main__":
    main()
