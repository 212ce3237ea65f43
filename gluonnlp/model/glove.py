"""GloVe (Pennington, Socher and Manning, 2014)."""

from __future__ import annotations

from core import nd
from core.initializer import Uniform
from gluon import HybridBlock, nn

__all__ = ["GloVe"]


class GloVe(HybridBlock):
    """Losses (pairs,) of words row and col (pairs,) that were seen together `counts` (pairs,) times.

    token_to_idx: the words.  x_max: from how many times on pairs count fully; alpha: how fast rarer ones count less.
    A word's vector, `net[token]` or `net[tokens]`, is the sum of those as a word and as a context.

    >>> net = gluonnlp.model.GloVe(token_to_idx={"a": 0, "b": 1}, output_dim=3, x_max=100, alpha=0.75)
    >>> net.initialize()
    >>> net(nd.array([0]), nd.array([1]), nd.array([2])).shape
    (1,)
    """

    def __init__(
        self, token_to_idx, output_dim, x_max, alpha, weight_initializer=None, bias_initializer="zeros",
        sparse_grad=True, dtype="float32", **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        self._token_to_idx = token_to_idx
        self._x_max = x_max
        self._alpha = alpha
        if weight_initializer is None:
            weight_initializer = Uniform(0.5 / output_dim)
        options = {"sparse_grad": sparse_grad, "dtype": dtype}
        with self.name_scope():
            for name, width, init in (("embedding", output_dim, weight_initializer), ("bias", 1, bias_initializer)):
                for side in ("source", "context"):
                    table = nn.Embedding(len(token_to_idx), width, weight_initializer=init, **options)
                    setattr(self, f"{side}_{name}", table)

    def hybrid_forward(self, F, row, col, counts):
        found = F.sum(self.source_embedding(row) * self.context_embedding(col), axis=1)
        found = found + F.reshape(self.source_bias(row) + self.context_bias(col), shape=(-1,))
        weight = F.clip(counts / self._x_max, a_min=0, a_max=1) ** self._alpha
        return weight * F.square(found - F.log(counts))

    def __contains__(self, token):
        return token in self._token_to_idx

    def __getitem__(self, tokens):
        wanted = [tokens] if isinstance(tokens, str) else tokens
        rows = nd.array([self._token_to_idx[token] for token in wanted], ctx=self.source_embedding.weight.list_ctx()[0])
        vectors = self.source_embedding(rows) + self.context_embedding(rows)
        return vectors[0] if isinstance(tokens, str) else vectors
