"""Sequences out of a decoder: beam search (Wu et al., 2016) and random sampling.

A decoder is called with the last words, shape (batch * beams,), and states, and gives the scores of
all next words, shape (batch * beams, words), and new states.  States are arrays, or lists, tuples
and dictionaries of them, with the batch on axis 0 unless `decoder.state_info()` says otherwise.
"""

from __future__ import annotations

from core import nd
from gluon import HybridBlock

from .._constants import LARGE_NEGATIVE_FLOAT
from ..base import InvalidArgument

__all__ = ["BeamSearchScorer", "BeamSearchSampler", "HybridBeamSearchSampler", "SequenceSampler"]


class BeamSearchScorer(HybridBlock):
    """Log-probability over the length penalty ((K + length) / (K + 1)) ** alpha.

    Called with the decoder's outputs (batch, beams, words), the scores of the beams (batch, beams) and
    the step, counted from 1, of shape (1,); gives the scores of all continuations.
    from_logits: outputs are log-probabilities already.

    >>> net = gluonnlp.model.BeamSearchScorer(alpha=0)
    >>> net.initialize()
    >>> net(nd.array([[0.5, 0.5]]), nd.array([-1]), nd.array([1]))
    [[-0.5 -0.5]]
    <NDArray 1x2 @cpu(0)>
    """

    def __init__(self, alpha=1.0, K=5.0, from_logits=True, **kwargs):
        super().__init__(**kwargs)
        self._alpha = alpha
        self._K = K
        self._from_logits = from_logits

    def hybrid_forward(self, F, outputs, scores, step):
        if not self._from_logits:
            outputs = F.log_softmax(outputs)
        # At the first step there is no length to undo.
        before = self._penalty(step - 1) * (step != 1) + (step == 1)
        total = F.broadcast_add(outputs, F.expand_dims(F.broadcast_mul(scores, before), axis=-1))
        return F.broadcast_div(total, self._penalty(step))

    def _penalty(self, length):
        return (self._K + length) ** self._alpha / (self._K + 1) ** self._alpha


class BeamSearchSampler:
    """The `beam_size` best sequences of at most `max_length` words (and the two at the ends).

    Called with the first words (batch,) and states.  Gives samples (batch, beams, length), int32, -1
    behind their end; scores (batch, beams), best first; and valid lengths (batch, beams), int32.

    >>> def decoder(step, states):
    ...     return nd.log_softmax(nd.array([[0.0, 2.0, 1.0]] * step.shape[0])), states
    >>> sampler = gluonnlp.model.BeamSearchSampler(2, decoder, eos_id=1, max_length=3)
    >>> words, scores, lengths = sampler(nd.array([0]), nd.zeros((1, 1)))
    >>> words[0, 0], lengths[0]
    (
    [ 0  1 -1]
    <NDArray 3 @cpu(0)>,
    [2 3]
    <NDArray 2 @cpu(0)>)
    """

    def __init__(self, beam_size, decoder, eos_id, scorer=None, max_length=100):
        _check(beam_size, eos_id)
        self._beam_size = beam_size
        self._decoder = decoder
        self._eos_id = eos_id
        self._scorer = scorer or BeamSearchScorer(alpha=1.0, K=5)
        self._max_length = max_length

    def __call__(self, inputs, states):
        batch_size, ctx = inputs.shape[0], inputs.context
        beams = _Beams(nd, batch_size, self._beam_size, self._eos_id, self._scorer, ctx=ctx)
        info = _state_info(self._decoder, batch_size)
        states = _expand_to_beam_size(states, self._beam_size, batch_size, info)
        step_input = _expand_to_beam_size(inputs, self._beam_size, batch_size).astype("int32")
        samples = step_input.reshape((batch_size, self._beam_size, 1))
        for i in range(self._max_length):
            outputs, states = self._decoder(step_input, states)
            words, chosen = beams.advance(outputs, nd.array([i + 1], ctx=ctx), outputs.shape[-1])
            samples = nd.concat(_choose_rows(nd, samples, chosen, self._beam_size), words.expand_dims(2), dim=2)
            states = _choose_states(nd, states, info, chosen)
            step_input = nd.relu(words).reshape((-1,))
            if beams.alive.sum().asscalar() == 0:
                return samples, beams.scores, beams.lengths
        samples = nd.concat(samples, beams.last_words().expand_dims(2), dim=2)
        return samples, beams.scores, beams.lengths + beams.alive


class HybridBeamSearchSampler(HybridBlock):
    """A BeamSearchSampler for a fixed `batch_size` that can be hybridized.

    vocab_size: the number of words, unless the decoder has it as `_vocab_size`.  Samples always have
    the length max_length + 2.  When all sequences end early, after n steps, their words stand rotated
    by n positions behind the first one, and unused positions are 0: results have always looked so.

    >>> def decoder(step, states):
    ...     return nd.log_softmax(nd.array([[0.0, 2.0, 1.0]] * step.shape[0])), states
    >>> sampler = gluonnlp.model.HybridBeamSearchSampler(1, 2, decoder, eos_id=1, max_length=3, vocab_size=3)
    >>> words, scores, lengths = sampler(nd.array([0]), nd.zeros((1, 1)))
    >>> words.shape  # (batch, beams, max_length + 2)
    (1, 2, 5)
    >>> lengths
    [[2 3]]
    <NDArray 1x2 @cpu(0)>
    """

    def __init__(
        self,
        batch_size,
        beam_size,
        decoder,
        eos_id,
        scorer=None,
        max_length=100,
        vocab_size=None,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix, params)
        _check(beam_size, eos_id)
        known = getattr(decoder, "_vocab_size", None)
        if vocab_size is None and known is None:
            raise InvalidArgument("HybridBeamSearchSampler needs vocab_size, or a decoder with _vocab_size.")
        if None not in (vocab_size, known) and vocab_size != known:
            raise InvalidArgument(f"vocab_size={vocab_size}, but the decoder has {known} words.")
        self._vocab_size = vocab_size or known
        self._batch_size = batch_size
        self._beam_size = beam_size
        self._decoder = decoder
        self._eos_id = eos_id
        self._scorer = scorer or BeamSearchScorer(alpha=1.0, K=5)
        self._max_length = max_length

    def hybrid_forward(self, F, inputs, states):
        batch_size, beam_size = self._batch_size, self._beam_size
        beams = _Beams(F, batch_size, beam_size, self._eos_id, self._scorer)
        info = _state_info(self._decoder, batch_size)
        states = _expand_to_beam_size(states, beam_size, batch_size, info)
        step_input = first = _expand_to_beam_size(inputs, beam_size, batch_size).astype("int32")
        samples = []
        steps = F.zeros((1,), dtype="int32")
        for i in range(self._max_length):
            # While a beam is alive the steps count; what follows adds nothing but -1.
            steps = steps + F.max(beams.alive).reshape((1,))
            outputs, states = self._decoder(step_input, states)
            words, chosen = beams.advance(outputs, F.full((1,), i + 1), self._vocab_size)
            samples = [_choose_rows(F, s, chosen, beam_size) for s in samples] + [words.expand_dims(2)]
            states = _choose_states(F, states, info, chosen)
            step_input = F.relu(words).reshape((-1,))
        rotated = self._rotate(F, F.concat(*samples, dim=2), steps)
        last_words = beams.last_words()
        first = first.reshape((batch_size, beam_size, 1))
        samples = F.concat(first, rotated, last_words.expand_dims(2), dim=2)
        return samples, beams.scores, beams.lengths + beams.alive

    def _rotate(self, F, words, steps):
        """Place j gets what a buffer of zeros, with the words of `steps` steps at its end,
        has at (steps + j) mod length.
        """
        length = self._max_length
        place = F.broadcast_mod(
            F.broadcast_add(F.arange(length, dtype="int32"), steps), F.full((1,), length, dtype="int32")
        )
        word = F.broadcast_sub(place, length - steps)
        used = (word >= 0).reshape((1, 1, length))
        return F.broadcast_mul(F.take(words, F.relu(word), axis=2), used)


class SequenceSampler:
    """Draws `beam_size` sequences of at most `max_length` words (and the two at the ends),
    each word by its probability.

    temperature: divides the scores; below 1 likely words become likelier.  top_k: draws among k words only.
    Called as, and gives what, BeamSearchSampler does; scores are log-probabilities.

    >>> def decoder(step, states):
    ...     return nd.array([[0.0, 100.0, 0.0]] * step.shape[0]), states
    >>> sampler = gluonnlp.model.SequenceSampler(2, decoder, eos_id=1, max_length=3)
    >>> words, scores, lengths = sampler(nd.array([0]), nd.zeros((1, 1)))
    >>> words[0]
    [[0 1]
     [0 1]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, beam_size, decoder, eos_id, max_length=100, temperature=1.0, top_k=None):
        _check(beam_size, eos_id)
        self._beam_size = beam_size
        self._decoder = decoder
        self._eos_id = eos_id
        self._max_length = max_length
        self._temperature = temperature
        self._top_k = top_k

    def __call__(self, inputs, states):
        shape, ctx = (inputs.shape[0], self._beam_size), inputs.context
        states = _expand_to_beam_size(states, self._beam_size, shape[0], _state_info(self._decoder, shape[0]))
        step_input = _expand_to_beam_size(inputs, self._beam_size, shape[0])
        samples = step_input.reshape((*shape, 1)).astype("int32")
        alive = nd.ones(shape, ctx=ctx, dtype="int32")
        lengths, scores = alive, nd.zeros(shape, ctx=ctx)
        for _ in range(self._max_length):
            outputs, states = self._decoder(step_input, states)
            words, log_probs = self._draw(outputs.reshape((*shape, -1)))
            words = nd.where(alive, words, -nd.ones_like(words))
            scores = scores + log_probs * alive.astype("float32")
            lengths = lengths + alive
            samples = nd.concat(samples, words.expand_dims(2), dim=2)
            alive = alive * (words != self._eos_id)
            step_input = nd.relu(words).reshape((-1,))
            if alive.sum().asscalar() == 0:
                return samples, scores, lengths
        last = nd.where(
            alive, nd.full(shape, self._eos_id, ctx=ctx, dtype="int32"), nd.full(shape, -1, ctx=ctx, dtype="int32")
        )
        return nd.concat(samples, last.expand_dims(2), dim=2), scores, lengths + alive

    def _draw(self, outputs):
        """A word for each beam, and its log-probability."""
        if self._top_k:
            # Compares places in the order of scores, not ranks, with k: models are used with it as it is.
            order = outputs.argsort(is_ascend=False, dtype="int32")
            outputs = nd.where(order < self._top_k, outputs, nd.full(outputs.shape, -99999, ctx=outputs.context))
        words = nd.sample_multinomial(nd.softmax(outputs / self._temperature, axis=2), dtype="int32")
        return words, nd.pick(nd.log_softmax(outputs, axis=2), words, axis=2)


class _Beams:
    """The state of a search: scores, valid lengths and which beams go on, each of shape (batch, beams)."""

    def __init__(self, F, batch_size, beam_size, eos_id, scorer, **where):
        self.F, self._beam_size, self._eos_id, self._scorer = F, beam_size, eos_id, scorer
        shape = (batch_size, beam_size)
        self.alive = F.ones(shape, dtype="int32", **where)
        self.lengths = F.ones(shape, dtype="int32", **where)
        # All beams begin equal: only the first may go on at the first step.
        first = F.zeros((batch_size, 1), **where)
        others = [F.full((batch_size, beam_size - 1), LARGE_NEGATIVE_FLOAT, **where)] if beam_size > 1 else []
        self.scores = F.concat(first, *others, dim=1) if others else first
        self._offset = F.arange(0, batch_size * beam_size, beam_size, dtype="int32", **where).reshape((-1, 1))

    def advance(self, outputs, step, vocab_size):
        """Keeps the best of all continuations and of the beams that ended.

        Gives the new word of each beam (batch, beams), -1 for those that ended, and the beam it comes
        from (batch * beams,), counted through the batch.
        """
        F, beam_size = self.F, self._beam_size
        candidates = self._scorer(outputs.reshape(shape=(-4, -1, beam_size, 0)), self.scores, step)
        alive = F.expand_dims(self.alive, axis=2).astype("float32")
        candidates = F.broadcast_add(F.broadcast_mul(candidates, alive), (1 - alive) * LARGE_NEGATIVE_FLOAT)
        ended = F.where(self.alive, F.ones_like(self.scores) * LARGE_NEGATIVE_FLOAT, self.scores)
        everything = F.concat(candidates.reshape(shape=(0, -1)), ended, dim=1)
        self.scores, chosen = F.topk(everything, axis=1, k=beam_size, ret_typ="both", dtype="int32")
        has_ended = chosen >= beam_size * vocab_size
        word = F.where(has_ended, -F.ones_like(chosen), chosen % vocab_size)
        beam = F.where(has_ended, chosen - beam_size * vocab_size, (chosen - chosen % vocab_size) / vocab_size)
        beam = F.broadcast_add(beam, self._offset).reshape((-1,))
        self.lengths = _choose_rows(F, self.lengths, beam, beam_size) + 1 - has_ended
        self.alive = _choose_rows(F, self.alive, beam, beam_size) * (word != self._eos_id)
        return word, beam

    def last_words(self):
        """The end-of-sequence word for beams that did not end, -1 for the others."""
        return self.alive * (self._eos_id + 1) - 1


def _check(beam_size, eos_id):
    if beam_size < 1:
        raise InvalidArgument(f"beam_size must be larger than 0, not {beam_size}.")
    if eos_id < 0:
        raise InvalidArgument(f"eos_id is the index of a word, 0 or more, not {eos_id}.")


def _state_info(decoder, batch_size):
    return decoder.state_info(batch_size) if hasattr(decoder, "state_info") else None


def _choose_rows(F, array, rows, beam_size):
    """Of an array (batch, beams, ...) the rows with the given numbers, counted through the batch."""
    flat = F.take(array.reshape(shape=(-3, -2)), rows)
    return flat.reshape(shape=(-4, -1, beam_size, -2))


def _expand_to_beam_size(data, beam_size, batch_size, state_info=None):
    """States with each sample repeated for its beams; ValueError when a batch axis has another length."""

    def expand(array, axis):
        if array is None:
            return None
        if isinstance(array, nd.NDArray) and array.shape[axis] != batch_size:
            raise InvalidArgument(
                f"States of shape {array.shape} do not have the batch size {batch_size} on axis {axis}."
            )
        _check_state(array)
        return array.repeat(repeats=beam_size, axis=axis)

    return _map_states(expand, data, state_info)


def _choose_states(F, states, state_info, indices):
    """States of the beams with the given numbers."""

    def choose(array, axis):
        _check_state(array)
        return F.take(array, indices, axis=axis)

    return _map_states(choose, states, state_info)


def _check_state(array):
    if not hasattr(array, "reshape"):
        raise NotImplementedError(f"States are arrays, lists, tuples and dictionaries, not {type(array).__name__}.")


def _map_states(function, states, info):
    """`function(array, batch axis)` for every array within the states."""
    if isinstance(states, (list, tuple)):
        infos = info or [None] * len(states)
        return type(states)([_map_states(function, s, i) for s, i in zip(states, infos, strict=True)])
    if isinstance(states, dict):
        return {key: _map_states(function, s, info[key] if info else None) for key, s in states.items()}
    return function(states, info["__layout__"].find("N") if info else 0)
