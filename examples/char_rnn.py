"""An LSTM that learns a text character by character, and then writes one.

python examples/char_rnn.py --text ../shared/data/tinyshakespeare/input.txt
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import core as mx
from core import autograd, nd
from gluon import Block, Trainer, nn, rnn
from gluon.loss import SoftmaxCrossEntropyLoss
from gluon.utils import clip_global_norm


class CharacterModel(Block):
    """Scores (length, batch, characters) of the next character, and states."""

    def __init__(self, characters: int, units: int):
        super().__init__()
        self.embedding = nn.Embedding(characters, 32)
        self.lstm = rnn.LSTM(units, num_layers=2)
        self.scores = nn.Dense(characters, flatten=False)

    def forward(self, x, states):
        y, states = self.lstm(self.embedding(x), states)
        return self.scores(y), states


def main(argv: list[str] | None = None) -> tuple[list[float], str]:
    """Gives the loss of each step, and what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--text", type=Path, required=True, help="what is read")
    add("--steps", type=int, default=300, help="of training (default: %(default)s)")
    add("--units", type=int, default=128, help="of a layer (default: %(default)s)")
    add("--length", type=int, default=50, help="characters that gradients go back (default: %(default)s)")
    add("--batch-size", type=int, default=32, help="texts side by side (default: %(default)s)")
    add("--write", type=int, default=200, help="characters that are written (default: %(default)s)")
    args = parser.parse_args(argv)
    mx.random.seed(0)
    np.random.seed(0)
    text = args.text.read_text(encoding="utf-8")
    characters = sorted(set(text))
    numbers = np.array([characters.index(c) for c in text[: args.length * args.batch_size * (args.steps + 1) + 1]])
    net = CharacterModel(len(characters), args.units)
    net.initialize(mx.init.Xavier())
    trainer, loss = Trainer(net.collect_params(), "adam", {"learning_rate": 5e-3}), SoftmaxCrossEntropyLoss()
    states, found = net.lstm.begin_state(args.batch_size), []
    columns = numbers[: len(numbers) // args.batch_size * args.batch_size].reshape(args.batch_size, -1).T
    for begin in range(0, len(columns) - args.length - 1, args.length):
        x, y = (nd.array(columns[begin + shift : begin + shift + args.length]) for shift in (0, 1))
        states = [state.detach() for state in states]
        with autograd.record():
            scores, states = net(x, states)
            losses = loss(scores.reshape((-3, -1)), y.reshape((-1,))).mean()
        losses.backward()
        clip_global_norm([p.grad() for p in net.collect_params().values()], 1.0)
        trainer.step(1)
        found.append(float(losses.asscalar()))
        if len(found) % 50 == 0:
            print(f"step {len(found)}: loss {found[-1]:.4f}")
        if len(found) == args.steps:
            break
    written = write(net, characters, text[0], args.write)
    print(written)
    return found, written


def write(net: CharacterModel, characters: list[str], first: str, count: int, temperature: float = 0.8) -> str:
    """`count` characters after the first, each drawn by its probability."""
    states, written = net.lstm.begin_state(1), first
    for _ in range(count):
        scores, states = net(nd.array([[characters.index(written[-1])]]), states)
        chosen = nd.random.multinomial(nd.softmax(scores[0, 0] / temperature))
        written += characters[int(chosen.asscalar())]
    return written


if __name__ == "__main__":
    main()
