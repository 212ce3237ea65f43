"""The binary model files of fastText (https://github.com/facebookresearch/fastText), with word and n-gram vectors."""

from __future__ import annotations

import os
import struct
import warnings
from typing import NamedTuple

import numpy as np

from core.files.reader import DamagedFile

__all__ = ["FastTextBinary", "read_fasttext_binary"]

MAGIC = 793712314


class FastTextBinary(NamedTuple):
    """What a model file holds: rows of `values` are the words', then those of `buckets` n-gram hashes."""

    words: list[str]
    buckets: int
    shortest_ngram: int
    longest_ngram: int
    values: np.ndarray


def read_fasttext_binary(path) -> FastTextBinary:
    """The words and vectors (float32) of a `.bin` file, of this format's first version or later ones.

    DamagedFile for quantized or damaged files; nothing is allocated for vectors that the file is too short for.
    """
    with open(path, "rb") as file:
        try:
            return _read(file, path)
        except (struct.error, UnicodeDecodeError) as error:
            raise DamagedFile(f"{path} ends early, at byte {file.tell()}.") from error


def _read(file, path) -> FastTextBinary:
    first, _ = _unpack(file, "2i")
    tagged = first == MAGIC
    if tagged:
        # dim ws epoch minCount neg wordNgrams loss model bucket minn maxn lrUpdateRate t
        _, _, _, _, _, _, _, _, buckets, shortest, longest, _, _ = _unpack(file, "12id")
    else:
        # The first version had no tag: the two numbers read were dim and ws.
        _, _, _, _, _, _, buckets, shortest, longest, _, _ = _unpack(file, "10id")
    words = _read_words(file, path, tagged)
    if tagged and _unpack(file, "?")[0]:
        raise DamagedFile(f"{path} is a quantized model, which has no vectors to read.")
    rows, width = _unpack(file, "2q")
    if rows != buckets + len(words) or width < 1:
        raise DamagedFile(
            f"{path}: {rows} vectors of width {width} for {len(words)} words and {buckets} n-gram buckets."
        )
    if rows * width * 4 > os.path.getsize(path) - file.tell():
        raise DamagedFile(f"{path} is too short for its {rows} vectors of width {width}.")
    values = np.fromfile(file, "<f4", rows * width).reshape(rows, width)
    return FastTextBinary(words, buckets, shortest, longest, values)


def _read_words(file, path, tagged) -> list[str]:
    size, expected, labels = _unpack(file, "3i")
    _unpack(file, "q")  # tokens in the training text
    pruned = _unpack(file, "q")[0] if tagged else 0
    if labels > 0:
        warnings.warn(f"{path} is a classifier: its {labels} labels are left out.", stacklevel=4)
    words = []
    for _ in range(size):
        word = bytearray()
        while (char := file.read(1)) != b"\0":
            if not char:
                raise DamagedFile(f"{path} ends within its dictionary.")
            word += char
        _, is_label = _unpack(file, "qb")
        if not is_label:
            words.append(word.decode("utf8", errors="replace"))
    if len(words) != expected:
        raise DamagedFile(f"{path} announces {expected} words, but has {len(words)}.")
    for _ in range(pruned):
        _unpack(file, "2i")
    return words


def _unpack(file, layout):
    layout = "<" + layout
    return struct.unpack(layout, file.read(struct.calcsize(layout)))
