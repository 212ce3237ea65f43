"""A language model with a cache of what it read lately (Grave, Joulin and Usunier, 2017)."""

from __future__ import annotations

from core import nd
from gluon import Block

__all__ = ["CacheCell", "get_cache_model"]


def get_cache_model(name, dataset_name="wikitext-2", window=2000, theta=0.6, lambdas=0.2, ctx=None, **kwargs):
    """A CacheCell on the published language model `name` (see `gluonnlp.model.get_model`)."""
    from .. import get_model  # not above: the models know this package

    lm_model, vocab = get_model(name, dataset_name=dataset_name, pretrained=True, ctx=ctx, **kwargs)
    return CacheCell(lm_model, len(vocab), window, theta, lambdas)


class CacheCell(Block):
    """The model's probabilities, mixed with those of the words that followed similar states.

    Called with inputs and target (length, 1), what the last call gave for next_word_history and cache_history, None at
    first, and states; gives the probabilities of the targets (length,), the two histories, one-hot words (window,
    vocab_size) and states (window, units), and new states.  window: how many words back the cache goes; theta: how much
    similarity counts; lambdas: the cache's share of the mixture.
    """

    def __init__(self, lm_model, vocab_size, window, theta, lambdas, **kwargs):
        super().__init__(**kwargs)
        self._vocab_size = vocab_size
        self._window = window
        self._theta = theta
        self._lambdas = lambdas
        with self.name_scope():
            self.lm_model = lm_model

    def save_parameters(self, filename, deduplicate=False):
        """Writes the language model's parameters: the cache has none."""
        self.lm_model.save_parameters(filename, deduplicate=deduplicate)

    def load_parameters(self, filename, ctx=None, **kwargs):
        """Reads the language model's parameters."""
        self.lm_model.load_parameters(filename, ctx=ctx, **kwargs)

    def begin_state(self, *args, **kwargs):
        """Initial states of the language model."""
        return self.lm_model.begin_state(*args, **kwargs)

    def __call__(self, inputs, target, next_word_history, cache_history, begin_state=None):
        return super().__call__(inputs, target, next_word_history, cache_history, begin_state)

    def forward(self, inputs, target, next_word_history, cache_history, begin_state=None):
        scores, states, encoded, _ = self.lm_model.run(nd, inputs, begin_state)
        probabilities = nd.softmax(scores.reshape((-1, self._vocab_size)))
        now = encoded[-1].reshape((-3, -2))
        target = target.reshape((-1,))
        words = nd.one_hot(target, self._vocab_size)
        start = 0 if next_word_history is None else len(next_word_history)
        if start:
            words = nd.concat(next_word_history, words, dim=0)
        history = now if cache_history is None else nd.concat(cache_history, now, dim=0)
        found = nd.pick(probabilities, target)
        # The cache counts once the window has filled up, and passed on by one.
        first = max(0, self._window + 1 - start)
        if first < len(now):
            cached = self._cached(now[first:], history, words, target[first:], start + first)
            mixed = self._lambdas * cached + (1 - self._lambdas) * found[first:]
            found = nd.concat(found[:first], mixed, dim=0) if first else mixed
        return found, words[-self._window :], history[-self._window :], states

    def _cached(self, now, history, words, target, start):
        """The cache's probabilities of the targets (n,), of which the first is at `start` of the histories."""
        place = nd.arange(len(history), ctx=now.context).reshape((1, -1))
        end = nd.arange(start, start + len(now), ctx=now.context).reshape((-1, 1))
        seen = nd.broadcast_lesser(place, end) * nd.broadcast_greater_equal(place, end - self._window)
        scores = self._theta * nd.dot(now, history, transpose_b=True)
        similarity = nd.softmax(nd.where(seen, scores, nd.full(scores.shape, -1e30, ctx=now.context)))
        return (similarity * nd.take(words, target, axis=1).T).sum(axis=1)
