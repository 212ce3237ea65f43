"""Whether a sentence is positive, by convolutions over its words (Kim, 2014), as a symbol and a Module.

    python examples/cnn_text_classification.py --data ../shared/data/mr/rt-polarity.all

A line of the file is a label, a blank and a sentence. A tenth of the sentences is held out. textCNN with Gluon, word
vectors and folds is scripts/sentiment_analysis/sentiment_analysis_cnn.py.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import core as mx

WIDTHS = (3, 4, 5)


def main(argv: list[str] | None = None) -> float:
    """Gives the accuracy on held-out sentences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", type=Path, required=True, help="labels and sentences")
    add("--samples", type=int, help="use only so many, at random")
    add("--epochs", type=int, default=5, help="passes over the data (default: %(default)s)")
    add("--units", type=int, default=64, help="of word vectors and of each width (default: %(default)s)")
    args = parser.parse_args(argv)
    mx.random.seed(0)
    lines = args.data.read_text(encoding="latin1").strip().split("\n")
    order = np.random.RandomState(0).permutation(len(lines))[: args.samples]
    labels, texts = zip(*(lines[i].split(" ", 1) for i in order), strict=True)
    x, count = numbers([text.split() for text in texts])
    y, held = np.array(labels, np.float32), len(labels) // 10
    train = mx.io.NDArrayIter(x[held:], y[held:], 50, shuffle=True)
    test = mx.io.NDArrayIter(x[:held], y[:held], 50)
    module = mx.mod.Module(network(x.shape[1], count, args.units), context=mx.cpu())
    module.fit(
        train, num_epoch=args.epochs, initializer=mx.init.Xavier(), optimizer="adam",
        optimizer_params={"learning_rate": 1e-3}, eval_metric="acc",
    )  # fmt: skip
    ((_, accuracy),) = module.score(test, "acc")
    print(f"{held} held-out sentences: accuracy {accuracy:.4f}")
    return accuracy


def numbers(texts: list[list[str]], longest: int = 40) -> tuple[np.ndarray, int]:
    """Words by their numbers (texts, longest), 0 behind the last one and for rare ones, and how many there are."""
    frequent = [word for word, n in Counter(word for text in texts for word in text).items() if n > 1]
    number = {word: i for i, word in enumerate(frequent, 1)}
    rows = np.zeros((len(texts), longest), np.float32)
    for row, text in zip(rows, texts, strict=True):
        row[: len(text)] = [number.get(word, 0) for word in text[:longest]]
    return rows, len(frequent) + 1


def network(length: int, words: int, units: int) -> mx.sym.Symbol:
    """The highest of what each filter finds in a sentence, then a class."""
    vectors = mx.sym.Embedding(mx.sym.var("data"), input_dim=words, output_dim=units, name="embed")
    maps = mx.sym.expand_dims(vectors, axis=1)
    found = []
    for width in WIDTHS:
        filtered = mx.sym.Convolution(maps, kernel=(width, units), num_filter=units, name=f"width{width}")
        pooled = mx.sym.Pooling(mx.sym.relu(filtered), kernel=(length - width + 1, 1), pool_type="max")
        found.append(mx.sym.flatten(pooled))
    dropped = mx.sym.Dropout(mx.sym.concat(*found, dim=1), p=0.5)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(dropped, num_hidden=2, name="scores"), name="softmax")


if __name__ == "__main__":
    main()
