"""Counts how often words are near each other, for train_glove.py.

    python scripts/word_embeddings/cooccur.py --data ../shared/data/sherlockholmes/sherlockholmes.train.txt \\
        --output cooccurrences.npz --vocab vocab.txt

A pair that is d words apart in a sentence counts 1 / d, in both orders (Pennington, Socher and Manning, 2014). --output
holds the arrays row, col and data, --vocab a word and its frequency a line, by falling frequency.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core.files.atomic import write_bytes
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.word_embeddings import data

BLOCK = 1_000_000  # words that are counted at a time


@program
def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    words = data.sentences(args)
    vocab, counts = data.vocabulary(args, words)
    row, col, weight = pairs(data.numbered(words, vocab), len(vocab), args.window)
    file = io.BytesIO()
    np.savez(file, row=row, col=col, data=weight)
    write_bytes(args.output, file.getvalue())
    lines = (f"{word} {int(count)}\n" for word, count in zip(vocab.idx_to_token, counts, strict=True))
    write_bytes(args.vocab, "".join(lines).encode())
    print(f"{len(vocab)} words, {len(row)} pairs")
    return len(row)


def pairs(texts: list[np.ndarray], words: int, window: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and columns (int32) of the pairs that are at most `window` words apart, and their counts (float32)."""
    keys, sums = np.zeros(0, "int64"), np.zeros(0)
    text = np.concatenate([np.zeros(0, "int64"), *texts])
    sentence = np.repeat(np.arange(len(texts)), [len(numbers) for numbers in texts])
    for begin in range(0, len(text), BLOCK):
        # The words behind a block are seen from it.
        part, of = text[begin : begin + BLOCK + window], sentence[begin : begin + BLOCK + window]
        found, weights = [keys], [sums]
        for distance in range(1, window + 1):
            first = np.flatnonzero(of[:-distance] == of[distance:])
            first = first[first < BLOCK]
            a, b = part[first], part[first + distance]
            found += [a * words + b, b * words + a]
            weights += [np.full(2 * len(first), 1 / distance)]
        keys, inverse = np.unique(np.concatenate(found), return_inverse=True)
        sums = np.bincount(inverse, np.concatenate(weights), len(keys))
    return (keys // words).astype("int32"), (keys % words).astype("int32"), sums.astype("float32")


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    data.add_text_arguments(parser)
    parser.add_argument("--window", type=int, default=15, help="words to both sides (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("cooccurrences.npz"), help="(default: %(default)s)")
    parser.add_argument("--vocab", type=Path, default=Path("vocab.txt"), help="(default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
