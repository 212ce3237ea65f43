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
    first, and states; gives the probabilities of the targets (length,), the two histories, one-hot words (window, vocab_size) and
    states (window, units), and new states.  window: how many words back the cache goes; theta: how much similarity
    counts; lambdas: the cache's share of the mixture.
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
        start = 0
        if next_word_history is not None:
            start = len(next_word_history)
            words = nd.concat(next_word_history, words, dim=0)
        history = now if cache_history is None else nd.concat(cache_history, now, dim=0)
        mixed = []
        for i in range(len(now)):
            p, end = probabilities[i], start + i
            # The cache counts once the window has filled up, and passed on by one.
            if end > self._window:
                window = slice(end - self._window, end)
                similarity = nd.softmax(self._theta * nd.dot(history[window], now[i]))
                p = self._lambdas * nd.dot(similarity, words[window]) + (1 - self._lambdas) * p
            mixed.append(p)
        found = nd.pick(nd.stack(*mixed), target)
        return found, words[-self._window :], history[-self._window :], states
