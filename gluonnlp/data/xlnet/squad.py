"""Aligning a text with tokens that do not spell it character by character."""

from __future__ import annotations

import unicodedata

import numpy as np

from ...base import InvalidArgument

__all__ = ["convert_index", "lcs_match"]


def convert_index(index_map, pos, M=None, is_start=True):
    """`index_map[pos]`, or where that is None a place between its neighbours that are known.

    is_start: whether the beginning of a span is looked for (then the earliest place) or its end (the
    latest).  M: the number of positions, for positions behind the last known one.  ValueError when
    nothing is known.

    >>> gluonnlp.data.convert_index([3, None, 5], 0), gluonnlp.data.convert_index([3, None, 5], 1)
    (3, 4)
    """
    if index_map[pos] is not None:
        return index_map[pos]
    before = next((index_map[i] for i in range(pos, -1, -1) if index_map[i] is not None), None)
    after = next((index_map[i] for i in range(pos, len(index_map)) if index_map[i] is not None), None)
    if before is None and after is None:
        raise InvalidArgument("convert_index: no position of index_map is known.")
    if before is None:
        if after < 1:
            return after
        return 0 if is_start else after - 1
    if after is None:
        if M is None or before >= M - 1:
            return before
        return before + 1 if is_start else M - 1
    if after > before + 1:
        return before + 1 if is_start else after - 1
    return after if is_start else before


def lcs_match(max_dist, seq1, seq2, max_seq_length=1024, lower=False):
    """The table of the longest common subsequence of characters, for positions at most `max_dist` apart.

    Gives f, float32 of shape (max(len(seq1), max_seq_length), max(len(seq2), max_seq_length)), with
    the length for the two beginnings up to (i, j), and g, {(i, j): step}: 0 to (i - 1, j), 1 to
    (i, j - 1), 2 for a match, to both.

    >>> lengths, steps = gluonnlp.data.lcs_match(2, "abc", "adc", max_seq_length=3)
    >>> lengths
    array([[1., 1., 0.],
           [1., 1., 1.],
           [1., 1., 2.]], dtype=float32)
    """
    f = np.zeros((max(len(seq1), max_seq_length), max(len(seq2), max_seq_length)), dtype="float32")
    g = {}
    for i, token in enumerate(seq1):
        plain = _plain(token, lower)
        for j in range(max(0, i - max_dist), min(len(seq2), i + max_dist)):
            if i > 0:
                g[i, j], f[i, j] = 0, f[i - 1, j]
            if j > 0 and f[i, j - 1] > f[i, j]:
                g[i, j], f[i, j] = 1, f[i, j - 1]
            matched = (f[i - 1, j - 1] if i > 0 and j > 0 else 0) + 1
            if plain == seq2[j] and matched > f[i, j]:
                g[i, j], f[i, j] = 2, matched
    return f, g


def _plain(text, lower):
    """What XLNet's tokenizer makes of a text: plain quotation marks, no accents."""
    text = unicodedata.normalize("NFKD", text.replace("``", '"').replace("''", '"'))
    text = "".join(c for c in text if not unicodedata.combining(c))
    return text.lower() if lower else text
