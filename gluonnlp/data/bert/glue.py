"""Cutting several texts to one length and joining them."""

from __future__ import annotations

import itertools

__all__ = ["truncate_seqs_equal", "concat_sequences"]


def truncate_seqs_equal(sequences, max_len):
    """Cuts the longest of several sequences so that together they have at most `max_len` items.

    Short ones stay whole; those that are cut end up equally long, the first ones by one longer
    when it does not come out even.

    >>> gluonnlp.data.truncate_seqs_equal([[1, 2, 3], [4, 5, 6]], 4)
    [[1, 2], [4, 5]]
    """
    if sum(map(len, sequences)) <= max_len:
        return sequences
    keep, left, to_cut = [len(s) for s in sequences], max_len, list(range(len(sequences)))
    while keep[shortest := min(to_cut, key=keep.__getitem__)] <= left // len(to_cut):
        left -= keep[shortest]
        to_cut.remove(shortest)
    share, more = divmod(left, len(to_cut))
    for place, i in enumerate(to_cut):
        keep[i] = share + (place < more)
    return [s[:n] for s, n in zip(sequences, keep, strict=True)]


def concat_sequences(seqs, separators, seq_mask=0, separator_mask=1):
    """Joins sequences, each followed by its separator (a list of tokens).

    Gives the tokens, the segment (number of the sequence) of each, and a mask.  The masks may be one
    number for all, or a list for each sequence or separator.

    >>> gluonnlp.data.concat_sequences([["a"], ["b"]], [["[SEP]"], ["[SEP]"]])[0]
    ['a', '[SEP]', 'b', '[SEP]']
    """
    if not seqs:
        raise ValueError("There are no sequences to join.")
    if isinstance(seq_mask, int):
        seq_mask = [[seq_mask] * len(s) for s in seqs]
    if isinstance(separator_mask, int):
        separator_mask = [[separator_mask] * len(s) for s in separators]
    tokens, segments, mask = [], [], []
    parts = itertools.zip_longest(seqs, separators, seq_mask, separator_mask, fillvalue=[])
    for segment, (sequence, separator, mask_of_sequence, mask_of_separator) in enumerate(parts):
        tokens += [*sequence, *separator]
        segments += [segment] * (len(sequence) + len(separator))
        mask += [*mask_of_sequence, *mask_of_separator]
    return tokens, segments, mask
