"""Embeddings and output layers for large vocabularies, with less width for rarer words.

Words are sorted by frequency and cut into clusters; cluster i has the width embed_size / div_val ** i (Baevski and
Auli, 2019; Grave et al., 2017).  The projected ones are those of a single cluster.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from gluon import HybridBlock, nn

from ..base import InvalidArgument

__all__ = ["AdaptiveEmbedding", "AdaptiveLogSoftmaxWithLoss", "ProjectedEmbedding", "ProjectedLogSoftmaxWithLoss"]


class _Cluster(NamedTuple):
    """The words low .. high - 1; `label` is its number in names of parameters."""

    label: str
    low: int
    high: int
    width: int


class _Embedding(HybridBlock):
    """Words (batch, length) to (batch, length, units), times sqrt(units)."""

    def __init__(
        self,
        clusters,
        units,
        project_same_dim=True,
        embedding_initializer=None,
        projection_initializer=None,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._clusters = clusters
        self._units = units
        with self.name_scope():
            for label, low, high, width in clusters:
                _parameter(self, f"embedding{label}_weight", (high - low, width), embedding_initializer)
                if units != width or project_same_dim:
                    _parameter(self, f"projection{label}_weight", (units, width), projection_initializer)

    def hybrid_forward(self, F, words, **weights):
        total = None
        for label, low, high, width in self._clusters:
            inside = F.clip(words - low, a_min=0, a_max=high - low - 1)
            x = F.Embedding(inside, weights[f"embedding{label}_weight"], input_dim=high - low, output_dim=width)
            if len(self._clusters) > 1:
                counts = F.cast((words >= low) * (words < high), dtype="float32")
                x = F.broadcast_mul(x, F.expand_dims(counts, axis=-1))
            projection = weights.get(f"projection{label}_weight")
            if projection is not None:
                x = F.FullyConnected(x, projection, no_bias=True, flatten=False, num_hidden=self._units)
            total = x if total is None else total + x
        return total * self._units**0.5


class AdaptiveEmbedding(_Embedding):
    """cutoffs: where clusters end, rising.  project_same_dim: also clusters of width `units` are projected.

    >>> net = gluonnlp.model.AdaptiveEmbedding(vocab_size=10, embed_size=4, units=6, cutoffs=[5], div_val=2)
    >>> net.initialize()
    >>> net(nd.array([[0, 7]])).shape
    (1, 2, 6)
    """

    def __init__(self, vocab_size, embed_size, units, cutoffs, div_val=1, **kwargs):
        super().__init__(_clusters(vocab_size, embed_size, cutoffs, div_val), units, **kwargs)


class ProjectedEmbedding(_Embedding):
    """An embedding of width embed_size, projected to `units`; project_same_dim: also where they are equal.

    >>> net = gluonnlp.model.ProjectedEmbedding(vocab_size=10, embed_size=4, units=6)
    >>> net.initialize()
    >>> net(nd.array([[0, 7]])).shape
    (1, 2, 6)
    """

    def __init__(self, vocab_size, embed_size, units, **kwargs):
        super().__init__([_Cluster("", 0, vocab_size, embed_size)], units, **kwargs)


class _LogSoftmax(HybridBlock):
    """Hidden states (batch, length, units) and words (batch, length) to the negative log-likelihoods of the words.

    Clusters but the first have a score beside the words of the first one, and probabilities within.  tie_embeddings,
    tie_projections: which parameters are found in `params`, those of the embedding.
    """

    def __init__(
        self,
        clusters,
        units,
        use_bias=True,
        project_same_dim=True,
        projection_initializer=None,
        embedding_initializer=None,
        tie_embeddings=False,
        tie_projections=None,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        tie_projections = tie_projections or [False] * len(clusters)
        if len(tie_projections) != len(clusters):
            raise ValueError(f"tie_projections says it for {len(tie_projections)} of {len(clusters)} clusters")
        if params is None and (tie_embeddings or any(tie_projections)):
            raise InvalidArgument("parameters can only be tied to those given as params")
        self._names = []
        self._clusters = clusters
        with self.name_scope():
            for (label, low, high, width), tied in zip(clusters, tie_projections, strict=True):
                embedding = f"{'' if tie_embeddings else 'out'}embedding{label}_weight"
                projection = f"{'' if tied else 'out'}projection{label}_weight"
                _parameter(self, embedding, (high - low, width), embedding_initializer)
                if units != width or project_same_dim:
                    _parameter(self, projection, (units, width), projection_initializer)
                if use_bias:
                    _parameter(self, f"outembedding{label}_bias", (high - low,), "zeros")
                self._names.append((projection, embedding, f"outembedding{label}_bias"))
            if len(clusters) > 1:
                self.cluster = nn.Dense(
                    len(clusters) - 1,
                    in_units=clusters[0].width,
                    flatten=False,
                    weight_initializer=embedding_initializer,
                )

    def hybrid_forward(self, F, hidden, words, **weights):
        total = shares = None
        for i, (cluster, names) in enumerate(zip(self._clusters, self._names, strict=True)):
            projection, embedding, bias = (weights.get(name) for name in names)
            x = hidden
            if projection is not None:
                x = F.FullyConnected(x, F.transpose(projection), no_bias=True, flatten=False, num_hidden=cluster.width)
            size = cluster.high - cluster.low
            given = [] if bias is None else [bias]
            scores = F.FullyConnected(x, embedding, *given, no_bias=bias is None, flatten=False, num_hidden=size)
            if i == 0:
                if len(self._clusters) > 1:
                    scores = F.concat(scores, self.cluster(x), dim=-1)
                found = F.log_softmax(scores, axis=-1)
                shares = F.slice_axis(found, axis=-1, begin=size, end=None) if len(self._clusters) > 1 else None
                total = F.pick(found, F.clip(words, a_min=0, a_max=size - 1), axis=-1)
                continue
            inside = F.clip(words - cluster.low, a_min=0, a_max=size - 1)
            share = F.reshape(F.slice_axis(shares, axis=-1, begin=i - 1, end=i), shape=(0, 0))
            found = F.pick(F.log_softmax(scores, axis=-1), inside, axis=-1) + share
            total = F.where(words >= cluster.low, found, total)
        return -total


class AdaptiveLogSoftmaxWithLoss(_LogSoftmax):
    """cutoffs: where clusters end, rising; the other arguments as AdaptiveEmbedding has them.

    >>> loss = gluonnlp.model.AdaptiveLogSoftmaxWithLoss(vocab_size=10, embed_size=4, units=4, cutoffs=[4], div_val=2)
    >>> loss.initialize()
    >>> every = nd.concat(*[loss(nd.ones((1, 1, 4)), nd.full((1, 1), word)) for word in range(10)], dim=1)
    >>> round(float(nd.exp(-every).sum().asscalar()), 4)  # the probabilities of frequent and rare words add up to 1
    1.0
    """

    def __init__(self, vocab_size, embed_size, units, cutoffs, div_val=1, **kwargs):
        super().__init__(_clusters(vocab_size, embed_size, cutoffs, div_val), units, **kwargs)


class ProjectedLogSoftmaxWithLoss(_LogSoftmax):
    """The output layer of a ProjectedEmbedding.

    >>> loss = gluonnlp.model.ProjectedLogSoftmaxWithLoss(vocab_size=3, embed_size=2, units=4)
    >>> loss.initialize()
    >>> hidden, words = nd.ones((1, 2, 4)), nd.array([[0, 2]])
    >>> loss(hidden, words).shape, loss.collect_params(".*projection.*").keys()
    ((1, 2), dict_keys(['projectedlogsoftmaxwithloss0_outprojection_weight']))
    """

    def __init__(self, vocab_size, embed_size, units, tie_projections=False, **kwargs):
        clusters = [_Cluster("", 0, vocab_size, embed_size)]
        super().__init__(clusters, units, tie_projections=[bool(tie_projections)], **kwargs)


def _clusters(vocab_size, embed_size, cutoffs, div_val):
    edges = [0, *cutoffs, vocab_size]
    if not cutoffs or any(low >= high for low, high in itertools.pairwise(edges)):
        raise ValueError(f"cutoffs rise from above 0 to below vocab_size, {vocab_size}, got {cutoffs}")
    if div_val == 1:
        return [_Cluster("0", 0, vocab_size, embed_size)]
    pairs = itertools.pairwise(edges)
    return [_Cluster(str(i), low, high, embed_size // div_val**i) for i, (low, high) in enumerate(pairs)]


def _parameter(block, name, shape, init):
    setattr(block, name, block.params.get(name, shape=shape, init=init))
