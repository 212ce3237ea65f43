"""Sequences that are joined for BERT: tokens, segments and masks, worked out by hand."""

import pytest

from gluonnlp.data.bert.glue import concat_sequences, truncate_seqs_equal


def test_joined_sequences_with_separators():
    tokens, segments, mask = concat_sequences([["a", "b"], ["c"]], [["<s>"], ["<e>", "<e>"]])
    assert tokens == ["a", "b", "<s>", "c", "<e>", "<e>"]
    assert segments == [0, 0, 0, 1, 1, 1]
    assert mask == [0, 0, 1, 0, 1, 1]


def test_separators_without_sequence_and_masks_of_their_own():
    tokens, segments, mask = concat_sequences(
        [["a", "b"]], [["<s>"], ["<e>"]], seq_mask=[[1, 0]], separator_mask=[[0], [1]]
    )
    assert (tokens, segments, mask) == (["a", "b", "<s>", "<e>"], [0, 0, 0, 1], [1, 0, 0, 1])
    assert concat_sequences([["a"], ["b"]], [[], ["<e>"]], 5, 7) == (["a", "b", "<e>"], [0, 1, 1], [5, 5, 7])
    with pytest.raises(ValueError, match="no sequences"):
        concat_sequences([], [])


@pytest.mark.parametrize(
    ("lengths", "limit", "kept"),
    [
        ((4, 4), 5, [3, 2]),
        ((1, 6, 6), 8, [1, 4, 3]),
        ((2, 9), 5, [2, 3]),
        ((3, 3), 6, [3, 3]),
        ((5, 5, 5), 8, [3, 3, 2]),
    ],
)
def test_the_longest_are_cut_to_one_length(lengths, limit, kept):
    found = truncate_seqs_equal([list(range(n)) for n in lengths], limit)
    assert [len(s) for s in found] == kept
    assert all(s == list(range(len(s))) for s in found)
