"""Random classes for sampled losses."""

from __future__ import annotations

import numpy as np

from core import nd
from gluon import HybridBlock

__all__ = ["UnigramCandidateSampler"]


class UnigramCandidateSampler(HybridBlock):
    """Draws classes with probabilities proportional to `weights` (NDArray of shape (classes,)).

    Called with an array, gives an array of its shape with drawn classes, of type `dtype`.  Uses the
    alias method (Walker, 1977): two random numbers per draw, whatever the number of classes.
    ValueError when `dtype` cannot hold all class numbers.

    >>> sampler = gluonnlp.data.UnigramCandidateSampler(nd.array([0, 3, 1]))
    >>> sampler.initialize()
    >>> drawn = sampler(nd.zeros((2, 500)))
    >>> drawn.shape, sorted(set(drawn.asnumpy().ravel().tolist())), 0.7 < float((drawn == 1).mean().asscalar()) < 0.8
    ((2, 500), [1.0, 2.0], True)
    """

    def __init__(self, weights, dtype="float32"):
        super().__init__()
        self._dtype = dtype
        self.N = weights.size
        exact = {"float16": 2**11, "float32": 2**24}.get(np.dtype(dtype).name)
        if exact is not None and exact < self.N:
            raise ValueError(f"{dtype} holds class numbers up to {exact}, but there are {self.N} classes.")
        prob, alias = _alias_table((weights * self.N / weights.sum()).asnumpy().tolist())
        self.prob = self.params.get_constant("prob", nd.array(prob, dtype="float64"))
        self.alias = self.params.get_constant("alias", nd.array(alias, dtype="float64"))

    def __repr__(self):
        return f"{type(self).__name__}({self.N}, {self._dtype})"

    def hybrid_forward(self, F, candidates_like, prob, alias):
        flat = candidates_like.reshape((-1,)).astype("float64")
        column = F.random.uniform_like(flat, low=0, high=self.N).floor()
        stay = F.gather_nd(prob, column.reshape((1, -1)))
        other = F.gather_nd(alias, column.reshape((1, -1)))
        hit = F.random.uniform_like(flat) < stay
        drawn = column * hit + other * (1 - hit)
        return drawn.reshape_like(candidates_like).astype(self._dtype)


def _alias_table(prob):
    """Columns of height 1 made of probabilities (times their number): own share and owner of the rest."""
    alias = list(range(len(prob)))
    low = [i for i, p in enumerate(prob) if p < 1.0]
    high = [i for i, p in enumerate(prob) if p >= 1.0]
    while low and high:
        small, large = low.pop(), high.pop()
        alias[small] = large
        prob[large] -= 1.0 - prob[small]
        (low if prob[large] < 1.0 else high).append(large)
    for i in low + high:  # rounding leaves columns of almost 1
        prob[i], alias[i] = 1, i
    return prob, alias
