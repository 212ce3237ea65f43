"""Beam search against an exhaustive search, sampling against the probabilities."""

import itertools

import numpy as np
import pytest

import gluonnlp as nlp
from core import nd, random
from gluonnlp.model.sequence_sampler import _choose_states, _expand_to_beam_size

WORDS, END = 4, 0
TABLE = np.log(np.random.RandomState(0).dirichlet(np.ones(WORDS), WORDS)).astype("float32")


def decoder(step_input, states):
    """The log-probability of the next word depends on the last; states count the words of a sequence."""
    return nd.take(nd.array(TABLE), step_input), states + 1


def all_sequences(first, length, alpha, K):
    """Every sequence that ends, or has `length` words, with its score."""
    scores = {}
    for words in itertools.product(range(WORDS), repeat=length):
        words = words[: words.index(END) + 1] if END in words else words
        log_prob = sum(TABLE[a, b] for a, b in itertools.pairwise((first, *words)))
        scores[(first, *words)] = log_prob * ((K + 1) / (K + len(words))) ** alpha
    return sorted(scores.items(), key=lambda item: -item[1])


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("hybrid", [False, True])
def test_a_wide_beam_finds_the_best_sequences(alpha, hybrid):
    length, beams = 3, 30
    settings = {"scorer": nlp.model.BeamSearchScorer(alpha=alpha, K=5), "max_length": length}
    if hybrid:
        sampler = nlp.model.HybridBeamSearchSampler(2, beams, decoder, END, vocab_size=WORDS, **settings)
    else:
        sampler = nlp.model.BeamSearchSampler(beams, decoder, END, **settings)
    samples, scores, lengths = (x.asnumpy() for x in sampler(nd.array([1, 3]), nd.zeros((2, 1))))
    for i, first in enumerate((1, 3)):
        best = all_sequences(first, length, alpha, 5)[:beams]
        np.testing.assert_allclose(scores[i], [score for _, score in best], rtol=1e-4)
        for row, valid, (words, _) in zip(samples[i], lengths[i], best):
            wanted = words if words[-1] == END else (*words, END)
            assert tuple(row[:valid]) == wanted and (row[valid:] == -1).all()


def test_all_beams_may_end_early():
    certain = nd.array(np.where(np.eye(3)[[1, 2, 0]] == 1, 0, -1e4))
    sampler = nlp.model.BeamSearchSampler(1, lambda x, s: (nd.take(certain, x), s), eos_id=2, max_length=9)
    samples, _, lengths = sampler(nd.array([0]), nd.zeros((1, 1)))
    assert samples.asnumpy().tolist() == [[[0, 1, 2]]] and lengths.asscalar() == 3


def test_words_are_drawn_by_their_probability():
    random.seed(0)
    draws = 4000
    for temperature in (1.0, 0.5):
        sampler = nlp.model.SequenceSampler(draws, decoder, END, max_length=1, temperature=temperature)
        samples, scores, _ = (x.asnumpy()[0] for x in sampler(nd.array([2]), nd.zeros((1, 1))))
        wanted = np.exp(TABLE[2] / temperature)
        wanted /= wanted.sum()
        drawn = np.bincount(samples[:, 1], minlength=WORDS) / draws
        assert (abs(drawn - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / draws) + 1e-9).all()
        np.testing.assert_allclose(scores, TABLE[2][samples[:, 1]], rtol=1e-4)


def test_states_of_any_structure_are_repeated():
    states = [nd.array([[1], [2]]), (nd.array([3, 4]), None), {"a": nd.array([[5, 6]])}]
    info = [None, (None, None), {"a": {"__layout__": "TN"}}]
    expanded = _expand_to_beam_size(states, 2, 2, info)
    assert expanded[0].asnumpy().ravel().tolist() == [1, 1, 2, 2]
    assert expanded[1][0].asnumpy().tolist() == [3, 3, 4, 4] and expanded[1][1] is None
    assert expanded[2]["a"].asnumpy().tolist() == [[5, 5, 6, 6]]
    with pytest.raises(ValueError, match="batch size 3"):
        _expand_to_beam_size(states, 2, 3)


@pytest.mark.parametrize(("beam_size", "eos_id"), [(0, 0), (1, -1)])
def test_settings_are_checked(beam_size, eos_id):
    with pytest.raises(ValueError, match=r"must be|is the index"):
        nlp.model.BeamSearchSampler(beam_size, decoder, eos_id)


def test_states_of_other_types_are_not_implemented():
    for change in (lambda s: _expand_to_beam_size(s, 2, 2), lambda s: _choose_states(nd, s, None, nd.array([0]))):
        with pytest.raises(NotImplementedError, match="not str"):
            change("a")
