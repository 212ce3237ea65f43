"""Decoders with caches of a fixed capacity against the same decoders that read everything again."""

import numpy as np
import pytest

import core as mx
import gluonnlp as nlp
from core import nd
from gluonnlp.model.sequence_sampler import BeamSearchSampler

WORDS = 30


def gpt2():
    net = nlp.model.GPT2Model(units=16, vocab_size=WORDS, max_length=24, num_layers=2, num_heads=4)
    net.initialize(mx.init.Normal(0.3))
    return net


def words(batch, length):
    return nd.array(np.random.default_rng(length).integers(0, WORDS, (batch, length)))


@pytest.mark.parametrize("hybrid", [False, True])
def test_gpt2_reads_from_its_cache_what_it_reads_of_the_whole_text(hybrid):
    net = gpt2()
    text = words(2, 12)
    whole, _ = net(text)
    net.hybridize(hybrid)
    states = net.begin_cache(2, 14)
    arrays, found = states[:-1], []
    for begin, end in ((0, 4), (4, 5), (5, 6), (6, 9), (9, 11), (11, 12)):
        scores, states = net(text[:, begin:end], states)
        found.append(scores.asnumpy())
    np.testing.assert_allclose(np.concatenate(found, axis=1), whole.asnumpy(), rtol=1e-4, atol=1e-5)
    assert all(x is y for x, y in zip(states, arrays)) and states[-1].asnumpy().tolist() == [12, 12]
    if hybrid:  # words one at a time, and several
        assert len({id(plan) for plan in net._compiled._plans.values()}) == 2
    with pytest.raises(IndexError, match="14 steps that holds 12 has no place for 3 more"):
        net(text[:, :3], states)


def test_rows_of_a_cache_may_hold_different_numbers_of_words():
    net, text = gpt2(), words(2, 9)
    states = net.begin_cache(2, 12)
    _, states = net(text[:, :5], states)
    states[-1][:] = nd.array([5, 2], dtype="int32")  # the second text has two words so far
    scores, _ = net(text[:, 5:6], states)
    np.testing.assert_allclose(scores[0].asnumpy(), net(text[:1, :6])[0][0, 5:].asnumpy(), rtol=1e-4, atol=1e-5)
    second = nd.concat(text[1:, :2], text[1:, 5:6], dim=1)
    np.testing.assert_allclose(scores[1].asnumpy(), net(second)[0][0, 2:].asnumpy(), rtol=1e-4, atol=1e-5)


def test_a_beam_search_chooses_rows_of_caches():
    net = gpt2()
    net.hybridize()
    found = []
    for states in (net(words(2, 4))[1], net(words(2, 4), net.begin_cache(2, 20))[1]):

        def step(word, states):
            scores, states = net(word.expand_dims(1), states)
            return nd.log_softmax(scores[:, 0]), states

        sampler = BeamSearchSampler(3, step, eos_id=WORDS, max_length=6)
        found.append([x.asnumpy() for x in sampler(nd.array([5, 6]), states)])
    for growing, fixed in zip(*found, strict=True):
        np.testing.assert_allclose(growing, fixed, rtol=1e-4, atol=1e-4)


def test_capacities_beyond_what_a_network_knows():
    with pytest.raises(ValueError, match="at most 24 words, got capacity=25"):
        gpt2().begin_cache(1, 25)
    with pytest.raises(ValueError, match="capacity must be at least 1, got 0"):
        gpt2().begin_cache(1, 0)
    with pytest.raises(ValueError, match="10 positions, got capacity=11"):
        one_step().init_state_from_encoder(nd.ones((1, 3, 16)), capacity=11)
    with pytest.raises(ValueError, match="several heads"):
        one_step(output_attention=True).init_state_from_encoder(nd.ones((1, 3, 16)), capacity=5)


def one_step(**settings):
    net = nlp.model.TransformerOneStepDecoder(
        num_layers=2, units=16, hidden_size=32, num_heads=4, max_length=10, **settings
    )
    net.initialize(mx.init.Normal(0.3))
    return net


@pytest.mark.parametrize("lengths", [None, [7, 4, 2]])
@pytest.mark.parametrize("hybrid", [False, True])
def test_the_one_step_decoder(hybrid, lengths):
    net, rng = one_step(), np.random.default_rng(0)
    net.hybridize(hybrid)
    memory, inputs = nd.array(rng.normal(size=(3, 7, 16))), nd.array(rng.normal(size=(3, 8, 16)))
    lengths = None if lengths is None else nd.array(lengths)
    growing = net.init_state_from_encoder(memory, lengths)
    fixed = net.init_state_from_encoder(memory, lengths, capacity=8)
    for i in range(8):
        wanted, growing, _ = net(inputs[:, i], growing)
        found, fixed, _ = net(inputs[:, i], fixed)
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-5)
    assert fixed[4].asnumpy().tolist() == [8, 8, 8]
    with pytest.raises(IndexError, match="has no place"):
        net(inputs[:, 0], fixed)
