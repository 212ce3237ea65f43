"""BLEU against a direct computation, and the tokenizers of mteval on what they are meant for."""

import math

import pytest

from gluonnlp.metric import compute_bleu
from gluonnlp.metric.bleu import _tokenize_mteval_13a, _tokenize_mteval_v14_intl


def test_a_score_worked_out_by_hand():
    """the cat sat on the mat / the cat is on the mat: precisions 5/6, 3/5, 1/4, 0/3."""
    reference, translation = ["the cat is on the mat".split()], ["the cat sat on the mat".split()]
    bleu, precisions, penalty, *lengths = compute_bleu([reference], translation)
    assert (bleu, penalty, lengths) == (0, math.exp(0), [6, 6])
    assert precisions == pytest.approx([5 / 6, 3 / 5, 1 / 4, 0])
    smooth = compute_bleu([reference], translation, smooth=True)
    assert smooth[0] == pytest.approx((6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25)


def test_clipping_and_the_closest_reference():
    """Papineni et al. (2002), section 2.1: "the" occurs twice in a reference, so 2 of 7 count."""
    references = [["the cat is on the mat".split()], ["there is a cat on the mat".split()]]
    _, precisions, _, reference_length, _ = compute_bleu(references, ["the the the the the the the".split()])
    assert precisions[0] == pytest.approx(2 / 7) and reference_length == 7


def test_short_translations_are_penalized():
    *_, penalty, reference, translation = compute_bleu([["a b c d e f".split()]], ["a b c d".split()])
    assert penalty == pytest.approx(math.exp(1 - 6 / 4)) and (reference, translation) == (6, 4)
    assert compute_bleu([["a b".split()]], [[]])[0] == 0


def test_preparations():
    assert compute_bleu([["ab cd ef gh".split()]], ["a@@ b c@@ d ef gh".split()], bpe=True)[0] == 1
    assert compute_bleu([["A b c d".split()]], ["a B c d".split()], lower_case=True)[0] == 1
    assert compute_bleu([["a-b c".split()]], ["a-b c".split()], split_compound_word=True, max_n=2)[3] == 4
    assert compute_bleu([["Hello, world now!"]], ["Hello , world now !"], tokenized=False)[0] == 1


def test_tokenizers_of_mteval():
    assert _tokenize_mteval_13a("3.5%, &quot;U.S.&quot;") == '3.5 % , " U . S . "'
    assert _tokenize_mteval_v14_intl("1,000.50 – ok").split() == ["1,000.50", "–", "ok"]


def test_errors():
    with pytest.raises(ValueError, match="1 references for 2"):
        compute_bleu([[["a"]]], [["a"], ["b"]])
    with pytest.raises(TypeError, match="lists of tokens"):
        compute_bleu([["a b"]], ["a b"])
