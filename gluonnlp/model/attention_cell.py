"""Attention: what a query reads from a memory of keys and values.

Cells are called with query (batch, queries, width), key (batch, keys, width), value (batch, keys,
width), by default the key, and mask (batch, queries, keys), 1 where a key may be read.  They give what
was read (batch, queries, width of value) and the weights (batch, queries, keys); with several heads
the weights are (batch, heads, queries, keys).

Weights of plain dot products without a mask are computed when a program looks at them: what is read comes from the
operator that keeps none, in memory that grows with the length alone.
"""

from __future__ import annotations

from core import nd
from core.autograd import state
from core.dtypes import dtype_name
from core.initializer import Constant
from core.ndarray.lazy import lazy
from gluon import HybridBlock, nn

from ..base import InvalidArgument
from .block import L2Normalization

__all__ = ["AttentionCell", "DotProductAttentionCell", "MLPAttentionCell", "MultiHeadAttentionCell"]


class AttentionCell(HybridBlock):
    """A weighted sum of values; derived classes say how query and key make the weights.

    >>> issubclass(gluonnlp.model.DotProductAttentionCell, gluonnlp.model.AttentionCell)
    True
    """

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._dtype = "float32"

    def cast(self, dtype):
        self._dtype = dtype
        super().cast(dtype)

    def __call__(self, query, key, value=None, mask=None):
        return super().__call__(query, key, key if value is None else value, mask)

    def forward(self, *args):
        out = super().forward(*args)
        if type(self).hybrid_forward is not AttentionCell.hybrid_forward or len(out) == 2:
            return out
        read, *heads = out
        return read, lazy(lambda: self._weights_of(nd, *heads), read.context)

    def hybrid_forward(self, F, query, key, value, mask=None):
        exported = state.tracer is not None and state.tracer.whole  # a file gives what the class says, weights and all
        if mask is None and F is nd and not exported and self._leaves_weights(key, value):
            heads = self._heads(F, query, key, value)
            return self._joined(F, fused_attention(F, *heads, scale=self._scale)), *heads[:2]
        weights = self._weights(F, query, key, mask)
        return self._read(F, weights, value), weights

    def _leaves_weights(self, key, value):
        """Whether the fused operator computes what is read: `forward` makes weights of query and key heads then, for
        those who look at them."""
        return False

    def _weights(self, F, query, key, mask):
        """Weights (batch, queries, keys) of non-negative numbers, 0 where the mask is."""
        raise NotImplementedError

    def _read(self, F, weights, value):
        return F.batch_dot(weights, value)


class MLPAttentionCell(AttentionCell):
    """Scores v . act(W query + U key + b) (Bahdanau, Cho and Bengio, 2015).

    units: width of the layer between.  normalized: v is g v / |v| with a learned g, as in weight
    normalization.  dropout: rate for the weights.

    >>> net = gluonnlp.model.MLPAttentionCell(6)
    >>> net.initialize()
    >>> context, weights = net(nd.ones((1, 2, 4)), nd.ones((1, 3, 4)), nd.ones((1, 3, 5)))
    >>> context.shape
    (1, 2, 5)
    """

    def __init__(
        self,
        units,
        act=None,
        normalized=False,
        dropout=0.0,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        options = {"flatten": False, "weight_initializer": weight_initializer}
        with self.name_scope():
            self._act = nn.Activation("tanh") if act is None else act
            self._dropout_layer = nn.Dropout(dropout)
            self._query_mid_layer = nn.Dense(units, bias_initializer=bias_initializer, prefix="query_", **options)
            self._key_mid_layer = nn.Dense(units, use_bias=False, prefix="key_", **options)
            if normalized:
                self._attention_score = _NormalizedScore(units, weight_initializer, prefix="score_")
            else:
                self._attention_score = nn.Dense(1, in_units=units, use_bias=False, prefix="score_", **options)

    def _weights(self, F, query, key, mask):
        query = F.expand_dims(self._query_mid_layer(query), axis=2)
        key = F.expand_dims(self._key_mid_layer(key), axis=1)
        scores = self._attention_score(self._act(F.broadcast_add(query, key)))
        scores = F.reshape(scores, shape=(0, 0, 0))
        return self._dropout_layer(_masked_softmax(F, scores, mask, self._dtype))


class DotProductAttentionCell(AttentionCell):
    """Scores query . key (Luong, Pham and Manning, 2015; Vaswani et al., 2017).

    units: width that query and key are projected to first, None for no projection; luong_style: the
    query alone is.  scaled: over the square root of the width.  normalized: of vectors of length 1.

    >>> net = gluonnlp.model.DotProductAttentionCell()
    >>> net.initialize()
    >>> context, weights = net(nd.ones((1, 2, 4)), nd.ones((1, 3, 4)), nd.ones((1, 3, 5)))
    >>> context.shape
    (1, 2, 5)
    """

    def __init__(
        self,
        units=None,
        luong_style=False,
        scaled=True,
        normalized=False,
        use_bias=True,
        dropout=0.0,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        if luong_style and units is None:
            raise InvalidArgument("luong_style projects the query, and needs units, the width of the key")
        self._units = units
        self._scaled = scaled
        options = {
            "flatten": False,
            "use_bias": use_bias,
            "weight_initializer": weight_initializer,
            "bias_initializer": bias_initializer,
        }
        with self.name_scope():
            self._dropout_layer = nn.Dropout(dropout)
            self._proj_query = None if units is None else nn.Dense(units, prefix="query_", **options)
            self._proj_key = None if units is None or luong_style else nn.Dense(units, prefix="key_", **options)
            self._l2_norm = L2Normalization(axis=-1) if normalized else None

    @property
    def _scale(self):
        """Of scores, for the fused operator; None is 1 / sqrt(width)."""
        return None if self._scaled else 1.0

    def _leaves_weights(self, key, value):
        fits = (self._units or key.shape[-1]) == value.shape[-1]
        return fits and type(self) is DotProductAttentionCell and _draws_nothing(self._dropout_layer)

    def _heads(self, F, query, key, value):
        """Projected query, key and value as one head (batch, 1, length, width)."""
        projected = self._projected(query, key)
        if state.tracer is None:  # the caller may write to what is its own before somebody looks at the weights
            projected = [x.copy() if x is given else x for x, given in zip(projected, (query, key), strict=True)]
        return [F.expand_dims(x, axis=1) for x in (*projected, value)]

    def _joined(self, F, read):
        return F.reshape(read, shape=(0, -3, 0))

    def _weights_of(self, F, query, key):
        return self._joined(F, _dot_product_weights(F, query, key, self._scale))

    def _projected(self, query, key):
        if self._proj_query is not None:
            query = self._proj_query(query)
        if self._proj_key is not None:
            key = self._proj_key(key)
        return (query, key) if self._l2_norm is None else (self._l2_norm(query), self._l2_norm(key))

    def _weights(self, F, query, key, mask):
        query, key = self._projected(query, key)
        if self._scaled:
            query = F.contrib.div_sqrt_dim(query)
        scores = F.batch_dot(query, key, transpose_b=True)
        return self._dropout_layer(_masked_softmax(F, scores, mask, self._dtype))


class MultiHeadAttentionCell(AttentionCell):
    """`base_cell` on `num_heads` parts of the projected query, key and value (Vaswani et al., 2017).

    query_units, key_units, value_units: widths of the projections over all heads, multiples of num_heads.

    >>> net = gluonnlp.model.MultiHeadAttentionCell(gluonnlp.model.DotProductAttentionCell(), 4, 4, 4, num_heads=2)
    >>> net.initialize()
    >>> context, weights = net(nd.ones((1, 2, 4)), nd.ones((1, 3, 4)), nd.ones((1, 3, 4)))
    >>> context.shape
    (1, 2, 4)
    """

    def __init__(
        self,
        base_cell,
        query_units,
        key_units,
        value_units,
        num_heads,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        widths = {"query": query_units, "key": key_units, "value": value_units}
        for name, units in widths.items():
            check_heads(units, num_heads, f"{name}_units")
        self._num_heads = num_heads
        self._base_cell = base_cell
        with self.name_scope():
            options = {"weight_initializer": weight_initializer, "bias_initializer": bias_initializer}
            add_projections(self, widths, use_bias=use_bias, **options)

    @property
    def fuses(self):
        """Whether `attend` can stand for a call: with scores of plain dot products."""
        base = self._base_cell
        return type(base) is DotProductAttentionCell and base._units is None and base._l2_norm is None

    def attend(self, F, query, memory, length=None, causal=False):
        """What is read from `memory` (batch, keys, width), as a call gives it, by the operator that keeps no weights.

        length: (batch,), how many keys count, or None for all.  causal: query i reads the keys 0 .. i.
        """
        heads, dropout = self._heads(F, query, memory, memory), self._base_cell._dropout_layer._rate
        return self._joined(F, fused_attention(F, *heads, length, causal, self._scale, dropout))

    def step(self, F, query, caches):
        """What one step (batch, 1, width) reads of itself and those before it, as a causal `attend` gives it last.

        caches: of keys and values, and how many steps they hold (`cache_arrays`); this one is written behind them.
        """
        return self._joined(F, cached_attention(F, *self._heads(F, query, query, query), caches, self._scale))

    @property
    def _scale(self):
        """Of scores, for the fused operator; None is 1 / sqrt(width)."""
        return self._base_cell._scale

    def _leaves_weights(self, key, value):
        fits = self.proj_key._units == self.proj_value._units and self.fuses
        return fits and type(self) is MultiHeadAttentionCell and _draws_nothing(self._base_cell._dropout_layer)

    def _weights_of(self, F, query, key):
        return _dot_product_weights(F, query, key, self._scale)

    def _heads(self, F, query, key, value):
        """Projected query, key and value (batch, heads, length, width)."""
        projected = [self.proj_query(query), self.proj_key(key), self.proj_value(value)]
        return [F.transpose(F.reshape(x, shape=(0, 0, self._num_heads, -1)), axes=(0, 2, 1, 3)) for x in projected]

    def _joined(self, F, read):
        return F.reshape(F.transpose(read, axes=(0, 2, 1, 3)), shape=(0, 0, -1))

    def _weights(self, F, query, key, mask):
        if mask is not None:
            mask = F.broadcast_axis(F.expand_dims(mask, axis=1), axis=1, size=self._num_heads)
            mask = F.reshape(mask, shape=(-1, 0, 0), reverse=True)
        query, key = self._split(F, self.proj_query(query)), self._split(F, self.proj_key(key))
        weights = self._base_cell._weights(F, query, key, mask)
        return F.reshape(weights, shape=(-1, self._num_heads, 0, 0), reverse=True)

    def _read(self, F, weights, value):
        weights = F.reshape(weights, shape=(-1, 0, 0), reverse=True)
        read = self._base_cell._read(F, weights, self._split(F, self.proj_value(value)))
        read = F.transpose(F.reshape(read, shape=(-1, self._num_heads, 0, 0), reverse=True), axes=(0, 2, 1, 3))
        return F.reshape(read, shape=(0, 0, -1))

    def _split(self, F, x):
        """(batch, length, heads * width) as (batch * heads, length, width)."""
        x = F.transpose(F.reshape(x, shape=(0, 0, self._num_heads, -1)), axes=(0, 2, 1, 3))
        return F.reshape(x, shape=(-1, 0, 0), reverse=True)


def add_projections(block, widths, **options):
    """Dense layers proj_query and so on of the block, by name and width."""
    for name, units in widths.items():
        setattr(block, "proj_" + name, nn.Dense(units, flatten=False, prefix=name + "_", **options))


def check_heads(units, num_heads, name="units"):
    """InvalidArgument unless `units` numbers divide into `num_heads` heads."""
    if units % num_heads:
        raise InvalidArgument(f"{name} must be a multiple of num_heads, {num_heads}, got {units}")


def fused_attention(F, query, key, value, length=None, causal=False, scale=None, dropout=0.0):
    """What queries (batch, heads, queries, width) read, by the operator that keeps no weights (Dao et al., 2022).

    length: (batch,), how many keys count, or None for all.  causal: query i reads the keys 0 .. i.  scale: of the
    scores, by default 1 / sqrt(width).  dropout: rate for the weights, in training.
    """
    counts = [] if length is None else [F.cast(length, dtype="int32")]
    return F._dropout_attention(query, key, value, *counts, scale=scale, causal=causal, p=dropout)


def _draws_nothing(dropout):
    """Whether a call now uses all weights."""
    return not (dropout._rate and state.training)


def _dot_product_weights(F, query, key, scale):
    """Weights (batch, heads, queries, keys) of queries and keys (batch, heads, length, width), as the fused operator
    reads with them.
    """
    query = F.contrib.div_sqrt_dim(query) if scale is None else query * scale
    heads = query.shape[1]
    query, key = (F.reshape(x, shape=(-3, -2)) for x in (query, key))
    weights = F.softmax(F.batch_dot(query, key, transpose_b=True), axis=-1)
    return F.reshape(weights, shape=(-4, -1, heads, -2))


def cache_arrays(batch_size, num_heads, capacity, width, layers, ctx=None, dtype="float32"):
    """Empty caches of a decoder: keys and values (batch, num_heads, capacity, width) of each layer, and how many steps
    they hold (batch,), int32.

    They are written in place: a plan is made once for all steps, and no step copies the ones before it.
    """
    if capacity < 1:
        raise InvalidArgument(f"capacity must be at least 1, got {capacity}")
    shape = (batch_size, num_heads, capacity, width)
    held = [nd.zeros(shape, ctx=ctx, dtype=dtype) for _ in range(2 * layers)]
    return [*held, nd.zeros((batch_size,), ctx=ctx, dtype="int32")]


def cached_attention(F, query, key, value, caches, scale=None):
    """What one query a sample (batch, heads, 1, width) reads of all steps so far: those in the caches and its own, with
    this key and value, which are written behind them.

    caches: keys and values (batch, heads, capacity, width), and how many steps they hold (batch,).
    """
    keys, values, counts = caches
    keys, values = F._cache_write(keys, key, counts), F._cache_write(values, value, counts)
    return fused_attention(F, query, keys, values, counts + 1, scale=scale)


# What the names of attention cells stand for: class and settings.
_ATTENTION = {
    "scaled_luong": (DotProductAttentionCell, {"scaled": True, "luong_style": True}),
    "scaled_dot": (DotProductAttentionCell, {"scaled": True}),
    "dot": (DotProductAttentionCell, {"scaled": False}),
    "cosine": (DotProductAttentionCell, {"scaled": False, "normalized": True}),
    "mlp": (MLPAttentionCell, {"normalized": False}),
    "normed_mlp": (MLPAttentionCell, {"normalized": True}),
}


def make_attention_cell(cell, units=None, scaled=True, num_heads=None, use_bias=False, dropout=0.0):
    """The attention cell that `cell` names; a cell is given back as it is."""
    if not isinstance(cell, str):
        return cell
    if cell == "multi_head":
        base = DotProductAttentionCell(scaled=scaled, dropout=dropout)
        return MultiHeadAttentionCell(base, units, units, units, num_heads, use_bias=use_bias)
    if cell not in _ATTENTION:
        known = ", ".join(["multi_head", *_ATTENTION])
        raise NotImplementedError(f"an attention cell is one of {known}, got {cell!r}")
    class_, settings = _ATTENTION[cell]
    if class_ is DotProductAttentionCell:
        settings = {**settings, "use_bias": use_bias}
    return class_(units=units, dropout=dropout, **settings)


def _apply_mask(F, att_score, mask, dtype):
    """Scores that are as low as `dtype` allows where the mask is 0."""
    least = -1e4 if dtype_name(dtype) == "float16" else -1e18
    return F.where(mask, att_score, least * F.ones_like(att_score))


def _masked_softmax(F, att_score, mask, dtype):
    """Weights that add up to 1 along the last axis, 0 where the mask is; a row without any is all 0."""
    if mask is None:
        return F.softmax(att_score, axis=-1)
    weights = F.softmax(_apply_mask(F, att_score, mask, dtype), axis=-1)
    return F.where(mask, weights, F.zeros_like(weights))


# Programs of GluonNLP take it under this name.
_get_attention_cell = make_attention_cell


class _NormalizedScore(HybridBlock):
    """x . g v / |v|."""

    def __init__(self, in_units, weight_initializer=None, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        with self.name_scope():
            self.g = self.params.get("g", shape=(1,), init=Constant(1 / in_units**0.5))
            self.v = self.params.get("v", shape=(1, in_units), init=weight_initializer)

    def hybrid_forward(self, F, x, g, v):
        weight = F.broadcast_mul(F.expand_dims(g, axis=1), F.broadcast_div(v, F.norm(v, axis=1, keepdims=True)))
        return F.FullyConnected(x, weight, no_bias=True, num_hidden=1, flatten=False)
