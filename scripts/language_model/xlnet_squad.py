"""Questions about paragraphs as XLNet reads and answers them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import gluonnlp as nlp
from gluon.data import DataLoader
from gluonnlp.data import batchify
from scripts.bert import squad
from scripts.common import parallel

SEGMENT_OF_PADDING = 3


class Pieces:
    """A sentencepiece tokenizer with the vocabulary of its pieces; `lower`: texts are read in lower case."""

    def __init__(self, path: str, vocab: nlp.Vocab, lower: bool = False):
        self.vocab, self._lower = vocab, lower
        self._tokenize = nlp.data.SentencepieceTokenizer(path)

    def __call__(self, text: str) -> list[str]:
        return self._tokenize(text.lower() if self._lower else text)


def layout(vocab, query: list[str], part: list[str]) -> squad.Layout:
    """paragraph <sep> question <sep> <cls>."""
    tokens = [*part, "<sep>", *query, "<sep>", "<cls>"]
    segments = [0] * (len(part) + 1) + [1] * (len(query) + 1) + [2]
    return squad.Layout(tokens, segments, 0, len(tokens) - 1)


def batches(
    windows: list[squad.Window], pad: int, batch_size: int, *, shuffle: bool, round_to: int, workers: int = 0
) -> DataLoader:
    """Batches of tokens, segments, lengths, masks of 1 where no answer may be, first and last places, and whether there
    is no answer; similar lengths are together.
    """
    together = batchify.Tuple(
        batchify.Pad(pad_val=pad, dtype="int32", round_to=round_to),
        batchify.Pad(pad_val=SEGMENT_OF_PADDING, dtype="int32", round_to=round_to),
        batchify.Stack("float32"),
        batchify.Pad(pad_val=1, dtype="float32", round_to=round_to),
        *(batchify.Stack("float32") for _ in range(3)),
    )
    samples = [
        (w.tokens, w.segments, len(w.tokens), closed(w), w.start, w.end, float(w.start == len(w.tokens) - 1))
        for w in windows
    ]
    if shuffle:
        sampler = nlp.data.SortedBucketSampler([len(w.tokens) for w in windows], batch_size, mult=20, shuffle=True)
        return DataLoader(samples, batch_sampler=parallel.shared(sampler), batchify_fn=together, num_workers=workers)
    return DataLoader(samples, batch_size=batch_size, batchify_fn=together, num_workers=workers)


def closed(window: squad.Window) -> list[float]:
    """1 for places that no answer begins or ends at, but for that of <cls>, which stands for no answer."""
    return [float(span is None) for span in window.spans[:-1]] + [0.0]


def answer(
    paragraph: str,
    read: Iterable[tuple[squad.Window, tuple]],
    *,
    candidates: int,
    longest: int,
    none_above: float | None,
) -> str:
    """The best answer to a question, from its windows and what XLNetForQA finds in them.

    That is the log-probabilities and places of beginnings (n,), those of ends (m * n,), the ends of each beginning n
    apart, and the score that there is no answer. candidates: how many of both are combined. longest: tokens of an
    answer. none_above: "" where that score is above it in all windows; None: there always is an answer.
    """
    best, text, none = -np.inf, "", np.inf
    for window, (starts, start_places, ends, end_places, impossible) in read:
        none = min(none, float(impossible))
        count = len(starts)
        for n in range(min(count, candidates)):
            for m in range(min(len(ends) // count, candidates)):
                i, j = int(start_places[n]), int(end_places[m * count + n])
                if not i <= j < min(i + longest, len(window.tokens)) or not window.starts[i]:
                    continue
                score = starts[n] + ends[m * count + n]
                if window.spans[j] is not None and score > best:
                    best, text = score, paragraph[window.spans[i][0] : window.spans[j][1]]
    return "" if none_above is not None and none > none_above else text
