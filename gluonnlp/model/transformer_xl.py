"""Transformer-XL (Dai et al., 2019): segments of a text, with the states of the segment before as memory.

Attention knows how far a key is from the query, rather than where it stands.
"""

from __future__ import annotations

import numpy as np

from core import nd
from gluon import Block, HybridBlock, nn

from .adaptive import (
    AdaptiveEmbedding,
    AdaptiveLogSoftmaxWithLoss,
    ProjectedEmbedding,
    ProjectedLogSoftmaxWithLoss,
)
from .attention_cell import AttentionCell, _masked_softmax, add_projections
from .block import stacked
from .transformer import AttentionLayer

__all__ = [
    "PositionalEmbedding",
    "PositionalEmbeddingMultiHeadAttentionCell",
    "TransformerXL",
    "TransformerXLCell",
]


class WithMemory(Block):
    """A network `_net` whose layers remember what they read: states (batch, mem_length, units) of each layer."""

    def begin_mems(self, batch_size, mem_len, context):
        """A memory of `mem_len` zeros for each layer."""
        shape = (batch_size, mem_len, self._net._units)
        return [nd.zeros(shape, ctx=context) for _ in range(len(self._net.transformer_cells))]

    def _places(self, step_input, mems):
        """Length of the memory, and how far the query behind all keys is from each of them.

        Distances fall from length + memory to -length + 1.
        """
        length = step_input.shape[1]
        past = 0 if mems is None else mems[0].shape[1]
        return past, nd.arange(length + past, -length, step=-1, ctx=step_input.context)

    def _remember(self, mems, hidden):
        if mems is None:
            return None
        return [nd.concat(m, h, dim=1)[:, -m.shape[1] :].detach() for m, h in zip(mems, hidden, strict=True)]


class TransformerXL(WithMemory):
    """Words (batch, length), targets (batch, length) and memory as `begin_mems` gives it, or None.

    Gives the negative log-likelihoods of the targets (batch, length), the new memory, and the last hidden states
    (batch, length, units).  A word sees as many before it, itself included, as the memory is long; without memory,
    all.  embed_cutoffs, embed_div_val, project_same_dim: of an AdaptiveEmbedding.  tie_input_output_projections: for
    each cluster.  clamp_len: distances beyond it count as equal.

    >>> net = gluonnlp.model.TransformerXL(vocab_size=10, embed_size=8, embed_cutoffs=[4], embed_div_val=1, num_layers=2, units=8, hidden_size=16, num_heads=2)
    >>> net.initialize()
    >>> words, following = nd.array([[1, 2, 3]]), nd.array([[2, 3, 4]])
    >>> loss, memory, hidden = net(words, following, net.begin_mems(1, 4, mx.cpu()))
    >>> loss.shape, [m.shape for m in memory], hidden.shape
    ((1, 3), [(1, 4, 8), (1, 4, 8)], (1, 3, 8))
    """

    def __init__(self, *args, prefix=None, params=None, **kwargs):
        super().__init__(prefix=prefix, params=params)
        with self.name_scope():
            self._net = _TransformerXL(*args, **kwargs)

    def __call__(self, step_input, target, mems=None):
        return super().__call__(step_input, target, mems)

    def forward(self, step_input, target, mems=None):
        past, places = self._places(step_input, mems)
        length = step_input.shape[1]
        ahead = np.arange(length + past) - np.arange(length)[:, None]  # of a key behind the oldest that memory has
        seen = (ahead > 0) & (ahead <= past) if past else ahead <= 0
        mask = nd.array(np.broadcast_to(seen, (step_input.shape[0], *seen.shape)), ctx=step_input.context)
        loss, hidden, last = self._net(step_input, target, mask, places, mems)
        return loss, self._remember(mems, hidden), last


class CellsWithMemory(HybridBlock):
    """The network of a WithMemory: a TransformerXLCell for each layer, with dropout before the first and after the last."""

    def _add_cells(self, num_layers, num_heads, attention, units, dropout, **settings):
        """Add dropout and cells. attention, settings: those of attention cells and of cells, beyond the others."""
        self._units = units
        self.dropout_layer = nn.Dropout(dropout)

        def cell(prefix):
            read = PositionalEmbeddingMultiHeadAttentionCell(units // num_heads, num_heads, **attention)
            return TransformerXLCell(read, units=units, dropout=dropout, prefix=prefix, **settings)

        self.transformer_cells = stacked(num_layers, cell)

    def _read(self, x, positions, mems, *masks):
        """The last states, and a list of what each layer was given."""
        hidden = []
        for i, cell in enumerate(self.transformer_cells):
            hidden.append(x)
            x, _ = cell(x, positions, None if mems is None else mems[i], *masks)
        return self.dropout_layer(x), hidden


class _TransformerXL(CellsWithMemory):
    def __init__(
        self,
        vocab_size,
        embed_size,
        embed_cutoffs=None,
        embed_div_val=None,
        num_layers=2,
        units=128,
        hidden_size=2048,
        num_heads=4,
        scaled=True,
        dropout=0.0,
        attention_dropout=0.0,
        use_residual=True,
        clamp_len=None,
        project_same_dim=True,
        tie_input_output_embeddings=False,
        tie_input_output_projections=None,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._clamp_len = clamp_len
        ties = tie_input_output_projections
        sizes = {"vocab_size": vocab_size, "embed_size": embed_size, "units": units}
        sizes["project_same_dim"] = project_same_dim
        with self.name_scope():
            if embed_cutoffs is not None and embed_div_val != 1:
                sizes |= {"cutoffs": embed_cutoffs, "div_val": embed_div_val}
                self.embedding = AdaptiveEmbedding(**sizes)
                loss = AdaptiveLogSoftmaxWithLoss
            else:
                self.embedding = ProjectedEmbedding(**sizes)
                loss, ties = ProjectedLogSoftmaxWithLoss, bool(ties and ties[0])
            self.crit = loss(
                **sizes,
                tie_embeddings=tie_input_output_embeddings,
                tie_projections=ties,
                params=self.embedding.collect_params(),
            )
            self.pos_emb = PositionalEmbedding(embed_size)
            self._add_cells(
                num_layers,
                num_heads,
                {"dropout": attention_dropout, "scaled": scaled},
                units=units,
                hidden_size=hidden_size,
                dropout=dropout,
                use_residual=use_residual,
                weight_initializer=weight_initializer,
                bias_initializer=bias_initializer,
            )

    def hybrid_forward(self, F, step_input, target, mask, places, mems=None):
        if self._clamp_len is not None and self._clamp_len >= 0:
            places = F.clip(places, a_min=0, a_max=self._clamp_len)
        x, positions = self.dropout_layer(self.embedding(step_input)), self.dropout_layer(self.pos_emb(places))
        x, hidden = self._read(x, positions, mems, mask)
        return self.crit(x, target), hidden, x


class TransformerXLCell(AttentionLayer):
    """Attention to memory and inputs, and a position-wise network, each with residual and layer normalization.

    Called with inputs (batch, length, units), embeddings of distances (positions, units), memory (batch, mem_length,
    units) or None, mask (batch, length, keys) or None, and segments as `attention_cell` takes them, or None; gives
    outputs and a list of attention weights, empty without output_attention.

    >>> attention = gluonnlp.model.PositionalEmbeddingMultiHeadAttentionCell(d_head=2, num_heads=2)
    >>> cell = gluonnlp.model.TransformerXLCell(attention, units=4, hidden_size=8, output_attention=True)
    >>> cell.initialize()
    >>> outputs, weights = cell(nd.ones((1, 3, 4)), nd.ones((8, 4)), nd.ones((1, 2, 4)))
    >>> outputs.shape, weights[0].shape  # 3 words attend to 2 of the memory and 3 of their own
    ((1, 3, 4), (1, 2, 3, 5))
    """

    def __init__(
        self,
        attention_cell,
        units=128,
        hidden_size=512,
        activation="relu",
        dropout=0.0,
        use_residual=True,
        output_attention=False,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._output_attention = output_attention
        options = {"weight_initializer": weight_initializer, "bias_initializer": bias_initializer}
        with self.name_scope():
            self.dropout_layer = nn.Dropout(dropout)
            self.attention_cell = attention_cell
            network = {"hidden_size": hidden_size, "dropout": dropout, "ffn1_dropout": True, "activation": activation}
            self._add_network(units, {"use_bias": False}, use_residual, 1e-12, network, options)

    def __call__(self, inputs, pos_emb, mem_value=None, mask=None, segments=None):
        return super().__call__(inputs, pos_emb, mem_value, mask, segments)

    def hybrid_forward(self, F, inputs, pos_emb, mem_value=None, mask=None, segments=None):
        keys = inputs if mem_value is None else F.concat(mem_value, inputs, dim=1)
        read, weights = self.attention_cell(inputs, keys, keys, pos_emb, mask, segments)
        return self._network(read, inputs), [weights] if self._output_attention else []


class PositionalEmbeddingMultiHeadAttentionCell(AttentionCell):
    """Attention of several heads whose scores are those of contents and of distances, each with a bias to the query.

    Called with query (batch, queries, width), key and value (batch, keys, width), embeddings of the distances keys ..
    -queries + 1 (keys + queries, width), mask (batch, queries, keys) or None, and segments or None; gives what was read
    (batch, queries, num_heads * d_head) and weights (batch, num_heads, queries, keys).
    use_segments: scores also depend on whether query and key are of different segments, segments (batch, queries,
    keys), 1 where they are (Yang et al., 2019).

    >>> cell = gluonnlp.model.PositionalEmbeddingMultiHeadAttentionCell(d_head=2, num_heads=2)
    >>> cell.initialize()
    >>> query, keys, distances = nd.ones((1, 3, 4)), nd.ones((1, 5, 4)), nd.ones((8, 4))
    >>> read, weights = cell(query, keys, keys, distances, None, None)
    >>> read.shape, weights.shape, float(weights[0, 0, 0].sum().asscalar())
    ((1, 3, 4), (1, 2, 3, 5), 1.0)
    """

    def __init__(
        self,
        d_head,
        num_heads,
        dropout=0.0,
        scaled=True,
        use_segments=False,
        weight_initializer=None,
        embedding_initializer=None,
        bias_initializer="zeros",
        dtype="float32",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._num_heads = num_heads
        self._scale = d_head**-0.5 if scaled else 1.0
        self._dtype = dtype
        with self.name_scope():
            widths = dict.fromkeys(("query", "key", "value", "emb"), d_head * num_heads)
            add_projections(self, widths, use_bias=False, weight_initializer=weight_initializer)
            for name in ("query_key_bias", "query_emb_bias", *["query_seg_bias"] * use_segments):
                setattr(self, name, self.params.get(name, shape=(num_heads, d_head), init=bias_initializer))
            if use_segments:
                shape = (2, num_heads, d_head)
                self.seg_emb = self.params.get("seg_emb", shape=shape, init=embedding_initializer)
            self._dropout_layer = nn.Dropout(dropout)

    def __call__(self, query, key, value, emb, mask=None, segments=None):
        return HybridBlock.__call__(self, query, key, value, emb, mask, segments)

    def hybrid_forward(
        self,
        F,
        query,
        key,
        value,
        emb,
        mask=None,
        segments=None,
        query_key_bias=None,
        query_emb_bias=None,
        query_seg_bias=None,
        seg_emb=None,
    ):
        query, key, value = (
            F.reshape(projection(x), shape=(0, 0, self._num_heads, -1))
            for projection, x in ((self.proj_query, query), (self.proj_key, key), (self.proj_value, value))
        )

        def biased(bias):
            return _by_head(F, F.broadcast_add(query, F.reshape(bias, shape=(1, 1, 0, 0), reverse=True)))

        key, value = _by_head(F, key), _by_head(F, value)
        # The embeddings of distances serve all samples: one matrix for each head.
        emb = F.transpose(F.reshape(self.proj_emb(emb), shape=(0, self._num_heads, -1)), axes=(1, 0, 2))
        emb = F.broadcast_like(F.expand_dims(emb, axis=0), key, lhs_axes=(0,), rhs_axes=(0,))
        of_content = _scores(F, biased(query_key_bias), key)
        of_distance = _shift(F, _scores(F, biased(query_emb_bias), emb))
        scores = of_content + F.slice_like(of_distance, of_content, axes=(3,))
        if segments is not None:
            table = F.expand_dims(F.transpose(seg_emb, axes=(1, 0, 2)), axis=0)
            table = F.broadcast_like(table, key, lhs_axes=(0,), rhs_axes=(0,))
            same, other = F.split(_scores(F, biased(query_seg_bias), table), num_outputs=2, axis=3)
            scores = F.broadcast_add(scores, same)
            segments = F.expand_dims(F.cast(segments, dtype=self._dtype), axis=1)
            scores = scores + F.broadcast_mul(other - same, segments)
        scores = scores * self._scale
        if mask is not None:
            mask = F.broadcast_axis(F.expand_dims(mask, axis=1), axis=1, size=self._num_heads)
        weights = _masked_softmax(F, scores, mask, self._dtype)
        weights = self._dropout_layer(weights)
        flat = (F.reshape(x, shape=(-1, 0, 0), reverse=True) for x in (weights, value))
        read = F.reshape(F.batch_dot(*flat), shape=(-1, self._num_heads, 0, 0), reverse=True)
        return F.reshape(F.transpose(read, axes=(0, 2, 1, 3)), shape=(0, 0, -1)), weights


class PositionalEmbedding(HybridBlock):
    """Sine and cosine of positions (length,) at falling frequencies: (length, embed_size).

    Angles are float32 whatever the network is cast to: in half precision far positions would fall together.

    >>> net = gluonnlp.model.PositionalEmbedding(4)
    >>> net.initialize()
    >>> net(nd.arange(3)).shape
    (3, 4)
    """

    def __init__(self, embed_size, **kwargs):
        super().__init__(**kwargs)
        self._dtype = "float32"
        frequencies = 1 / 10000 ** (np.arange(0, embed_size, 2) / embed_size)
        with self.name_scope():
            self.inv_freq = self.params.get_constant("inv_freq", frequencies.reshape(1, -1).astype("float32"))

    def cast(self, dtype):
        self._dtype = dtype

    def hybrid_forward(self, F, places, inv_freq):
        angles = F.dot(F.reshape(places, shape=(-1, 1)), inv_freq)
        return F.cast(F.concat(F.sin(angles), F.cos(angles), dim=-1), dtype=self._dtype)


def _by_head(F, x):
    return F.transpose(x, axes=(0, 2, 1, 3))


def _scores(F, query, key):
    """(batch, heads, queries, keys)."""
    return F.linalg.gemm2(query, key, transpose_b=True)


def _shift(F, x):
    """x[i, queries - i + j] at [i, j], for x (batch, heads, queries, places): from distances to keys.

    Without its first `queries` elements the matrix, read with rows shorter by one, is what is wanted (Dai et al.,
    2019).
    """
    flat = F.reshape(x, shape=(-1, 0, 0), reverse=True)
    turned = F.reshape_like(flat, F.swapaxes(flat, 1, 2))
    rest = F.slice_axis(turned, axis=1, begin=1, end=None)
    shifted = F.reshape_like(rest, F.swapaxes(rest, 1, 2))
    return F.reshape_like(shifted, x, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2)
