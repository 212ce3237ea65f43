"""Counting, cutting, splitting; files of lines, fields and arrays; SQuAD and parsing helpers."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gluonnlp as nlp
from gluon.data import SimpleDataset

D = nlp.data


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.integers(1, 7), st.integers(0, 6), st.booleans())
def test_slices_overlap_and_lose_only_the_tail(items, length, overlap, pad):
    sequence = list(range(items))
    if overlap >= length:
        with pytest.raises(ValueError, match="overlap"):
            D.slice_sequence(sequence, length, pad, overlap=overlap)
        return
    pieces = D.slice_sequence(sequence, length, pad, -1, overlap)
    assert all(len(piece) == length for piece in pieces)
    for before, after in itertools.pairwise(pieces):
        assert before[length - overlap :] == after[:overlap]
    covered = {i for piece in pieces for i in piece} - {-1}
    assert covered == set(range(items if pad and pieces else min(items, max(covered, default=-1) + 1)))


def test_rare_tokens_become_unknown():
    assert D.Counter({"a": 10, "b": 1, "c": 1}).discard(5, "<unk>") == {"a": 10, "<unk>": 2}
    assert D.count_tokens(["A", "a"], to_lower=True, counter=D.Counter({"a": 1})) == {"a": 3}


@pytest.mark.parametrize("stratify", [None, [i % 3 for i in range(50)]])
def test_split_is_a_partition(stratify):
    np.random.seed(0)
    train, valid = D.train_valid_split(SimpleDataset(list(range(50))), 0.2, stratify)
    assert sorted([*train, *valid]) == list(range(50))
    assert np.bincount([i % 3 for i in valid]).tolist() == [4, 4, 4] if stratify else len(valid) == 10


def test_concatenation_counts_from_both_ends():
    d = D.ConcatDataset([SimpleDataset([0, 1]), SimpleDataset([]), SimpleDataset([2])])
    assert [d[i] for i in range(len(d))] == [0, 1, 2] and d[-1] == 2
    with pytest.raises(IndexError):
        d[3]


def test_fields_of_several_files(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(f"h1\th2\n{name}1\t{name}2\n")
    files = [str(tmp_path / name) for name in "ab"]
    # The header is skipped once, not in each file.
    assert list(D.TSVDataset(files, num_discard_samples=1, field_indices=[1])) == [["a2"], ["h2"], ["b2"]]


def test_arrays_of_a_file(tmp_path):
    np.savez(tmp_path / "a.npz", y=np.array([1, 2]), x=np.array([[3, 4], [5, 6]]))
    d = D.NumpyDataset(str(tmp_path / "a.npz"))
    assert d.keys == ["x", "y"] and d[1][0].tolist() == [5, 6] and d.get_field("y").tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"\.npy or \.npz"):
        D.NumpyDataset(str(tmp_path / "a.txt"))


def test_answer_positions_survive_tokenization():
    """The tokens at the aligned positions spell the answer, for every question of a small SQuAD record."""
    paragraph, answer = "The quick brown fox jumps over the lazy dog.", "brown fox"
    record = (0, "id", "What?", paragraph, [answer], [paragraph.index(answer)], False)
    example = D.convert_squad_examples(record, is_training=True)
    start, end, tokens, _, _ = D.tokenize_and_align_positions(
        example.doc_tokens,
        example.start_position,
        example.end_position,
        lambda w: [w[i : i + 2] for i in range(0, len(w), 2)],
    )
    assert "".join(tokens[start : end + 1]) == answer.replace(" ", "")
    windows, places = D.get_doc_spans(tokens, 8, 4)
    for window, place in zip(windows, places):
        a, b = D.align_position2doc_spans([start, end], place)
        assert (a, b) == (-1, -1) or window[a : b + 1] == tokens[start : end + 1]
    best = [[D.check_is_max_context(places, i, p) for i in range(len(places))] for p in range(len(tokens))]
    assert all(sum(row) == 1 for row in best)


def test_longest_common_subsequence():
    f, g = D.lcs_match(10, "abcbdab", "bdcaba", 16)
    assert f[6, 5] == 4 and set(g.values()) == {0, 1, 2}  # Cormen et al., Introduction to Algorithms, figure 15.8


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), st.integers(0, 2**31 - 1))
def test_heads_form_a_tree(tokens, seed):
    """One token under the root, and every token reaches it."""
    probs = np.random.RandomState(seed).dirichlet(np.ones(tokens), tokens).astype("float32")
    heads = D.arc_argmax(probs.copy(), tokens, np.ones(tokens, "float32"))
    assert (heads[1:] == 0).sum() == 1
    for token in range(1, tokens):
        passed = set()
        while token:
            assert token not in passed
            passed.add(token)
            token = int(heads[token])
    relations = D.rel_argmax(probs[:, :4], tokens)
    assert (relations[1:] == 1).sum() == 1


def test_cycles_are_components():
    graph = D.Tarjan(np.array([0, 2, 1, 1, 3]), np.arange(1, 5))
    assert sorted(map(sorted, graph.SCCs)) == [[0], [1, 2], [3], [4]]


def test_length_clusters_reach_the_longest():
    lengths = {
        int(n): int(c) for n, c in zip(*np.unique(np.random.RandomState(0).randint(1, 60, 500), return_counts=True))
    }
    clusters = D.KMeans(8, lengths)
    assert clusters.splits == sorted(set(clusters.splits)) and clusters.splits[-1] == max(lengths)
    even = np.quantile(np.repeat(list(lengths), list(lengths.values())), np.arange(1, 9) / 8)
    padding = lambda splits: sum(c * (splits[np.searchsorted(splits, n)] - n) for n, c in lengths.items())  # noqa: E731
    assert padding(clusters.splits) <= padding(np.ceil(even))
    assert clusters.len2split_idx[clusters.splits[2]] == 2


def test_spans_of_questions_without_an_answer_end_before_the_first_token():
    words = nlp.data.bert.squad.tokenize_and_align_positions(["hello", "you"], -1, -1, list)
    assert words[:2] == (5, -1)  # GluonNLP 0.10
