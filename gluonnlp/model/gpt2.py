"""GPT-2 (Radford et al., 2019)."""

from __future__ import annotations

from core.initializer import Normal
from gluon import HybridBlock, nn

from ..vocab import Vocab
from .attention_cell import DotProductAttentionCell, cache_arrays, cached_attention, check_heads, fused_attention
from .block import GELU

__all__ = ["GPT2FFNLayer", "GPT2Model", "GPT2SelfAttentionLayer"]


class GPT2Model(HybridBlock):
    """Words (batch, length) to scores of the next words (batch, length, vocab_size), and states to go on with.

    states: keys and values (batch, num_heads, past, width) of each layer, as the call before gave them, or None; or
    caches of a fixed capacity (`begin_cache`), which are written in place.  hidden_size: of the position-wise networks, by default 4 * units.  ValueError where past and length exceed
    max_length.

    >>> net = gluonnlp.model.GPT2Model(units=4, vocab_size=10, max_length=8, num_layers=1, num_heads=2, dropout=0)
    >>> net.initialize()
    >>> output, states = net(nd.zeros((1, 3)))
    >>> output.shape
    (1, 3, 10)
    """

    def __init__(
        self,
        units,
        vocab_size,
        max_length,
        num_layers,
        num_heads,
        dropout=0.0,
        hidden_size=None,
        layer_norm_eps=1e-5,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._max_length = max_length
        with self.name_scope():
            self._pos_embed = nn.Embedding(max_length, units, weight_initializer=Normal(0.01), prefix="pos_embed_")
            self._embed = nn.Embedding(vocab_size, units, weight_initializer=Normal(0.02), prefix="embed_")
            self._logits_proj = nn.Dense(
                vocab_size, in_units=units, use_bias=False, flatten=False, params=self._embed.params
            )
            layers = {"_self_attention_layers": [], "_ffn_layers": [], "_attn_ln": [], "_ffn_ln": []}
            norm = {"in_channels": units, "epsilon": layer_norm_eps}
            for i in range(num_layers):
                attention = GPT2SelfAttentionLayer(units, num_heads, dropout=dropout, prefix=f"self_attn{i}_")
                layers["_self_attention_layers"].append(attention)
                layers["_ffn_layers"].append(GPT2FFNLayer(units, hidden_size or 4 * units, prefix=f"ffn{i}_"))
                layers["_attn_ln"].append(nn.LayerNorm(prefix=f"attn_ln{i}_", **norm))
                layers["_ffn_ln"].append(nn.LayerNorm(prefix=f"ffn_ln{i}_", **norm))
            for name, blocks in layers.items():
                stack = nn.HybridSequential()
                stack.add(*blocks)
                setattr(self, name, stack)
            self._final_ln = nn.LayerNorm(prefix=f"final_ln{num_layers - 1}_", **norm)

    def __call__(self, data, states=None):
        return super().__call__(data, states)

    def hybrid_forward(self, F, data, states=None):
        positions = F.cast(F.contrib.arange_like(data, axis=1), dtype="int32")
        if _is_cache(states):
            *held, counts = states
            positions = F.broadcast_add(F.expand_dims(positions, axis=0), F.expand_dims(counts, axis=1))
            x = self._embed(data) + self._pos_embed(positions)
            steps = F.sum(F.ones_like(positions), axis=1)
            states = [(*held[i : i + 2], counts) for i in range(0, len(held), 2)]
            x, _ = self._layers(x, states)
            return self._logits_proj(self._final_ln(x)), [*held, counts + steps]
        if states is not None:
            positions = F.broadcast_add(positions, F.cast(_length(F, states[0]), dtype="int32"))
        if hasattr(data, "context"):
            length = data.shape[1] + (0 if states is None else states[0].shape[2])
            if length > self._max_length:
                raise ValueError(f"this network reads texts of at most {self._max_length} words, got {length}")
        x = F.broadcast_add(self._embed(data), F.expand_dims(self._pos_embed(positions), axis=0))
        given = (
            [None] * len(self._ffn_layers) if states is None else [states[i : i + 2] for i in range(0, len(states), 2)]
        )
        x, after = self._layers(x, given)
        return self._logits_proj(self._final_ln(x)), after

    def _layers(self, x, states):
        """x behind all layers, each with its states, and their keys and values."""
        after = []
        layers = zip(self._attn_ln, self._self_attention_layers, self._ffn_ln, self._ffn_layers, states, strict=True)
        for attention_norm, attention, ffn_norm, ffn, own in layers:
            read, made = attention(attention_norm(x), own)
            x = x + read
            x = x + ffn(ffn_norm(x))
            after += made
        return x, after

    def begin_cache(self, batch_size, capacity=None, ctx=None, dtype="float32"):
        """States of fixed memory for texts of at most `capacity` words, by default max_length: keys and values
        (batch_size, num_heads, capacity, width) of each layer, and how many words they hold (batch_size,).

        A call writes its words behind those that are held, row by row, and gives the same arrays with new counts.
        IndexError on a CPU where they have no place.

        >>> import gluonnlp as nlp
        >>> from core import nd
        >>> net = nlp.model.GPT2Model(units=8, vocab_size=20, max_length=16, num_layers=1, num_heads=2)
        >>> net.initialize()
        >>> states = net.begin_cache(batch_size=1, capacity=12)
        >>> scores, states = net(nd.array([[3, 4, 5]]), states)
        >>> scores, states = net(nd.array([[6]]), states)
        >>> scores.shape, states[-1].asscalar()
        ((1, 1, 20), 4)
        """
        capacity = self._max_length if capacity is None else capacity
        if capacity > self._max_length:
            raise ValueError(f"this network reads texts of at most {self._max_length} words, got capacity={capacity}")
        attention = self._self_attention_layers[0]
        width = attention._units // attention._num_heads
        layers = len(self._self_attention_layers)
        return cache_arrays(batch_size, attention._num_heads, capacity, width, layers, ctx, dtype)

    def state_info(self, *args, **kwargs):
        """Nothing: the batch is on axis 0 of all states."""
        return None


class GPT2SelfAttentionLayer(HybridBlock):
    """Attention of several heads to what came before: x (batch, length, units) and states, keys and values, or None, or
    caches of both with their counts.

    Gives outputs (batch, length, units) and [keys, values] (batch, num_heads, past + length, width), or the caches.

    >>> net = gluonnlp.model.GPT2SelfAttentionLayer(units=4, num_heads=2)
    >>> net.initialize()
    >>> output, states = net(nd.ones((1, 3, 4)), None)
    >>> output.shape
    (1, 3, 4)
    """

    def __init__(
        self,
        units,
        num_heads,
        dropout=0.0,
        weight_initializer=Normal(0.02),  # noqa: B008 (an initializer has no state)
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        check_heads(units, num_heads)
        self._units, self._num_heads = units, num_heads
        self._dropout = dropout
        options = {
            "in_units": units,
            "flatten": False,
            "weight_initializer": weight_initializer,
            "bias_initializer": bias_initializer,
        }
        with self.name_scope():
            self._multi_head_qkv_proj = nn.Dense(3 * units, prefix="qkv_proj_", **options)
            self._base_attn_cell = DotProductAttentionCell(dropout=dropout, prefix="attn_")
            self._out_proj = nn.Dense(units, prefix="out_proj_", **options)

    def __call__(self, x, states=None):
        return super().__call__(x, states)

    def hybrid_forward(self, F, x, states=None):
        heads = F.reshape(self._multi_head_qkv_proj(x), shape=(0, 0, 3, self._num_heads, -1))
        heads = F.transpose(heads, axes=(2, 0, 3, 1, 4))
        query, key, value = (F.squeeze(F.slice_axis(heads, axis=0, begin=i, end=i + 1), axis=0) for i in range(3))
        last = hasattr(x, "context") and x.shape[1] == 1  # the last word reads all keys
        if states is None:
            read = fused_attention(F, query, key, value, causal=True, dropout=self._dropout)
        elif _is_cache(states) and last:
            read = cached_attention(F, query, key, value, states)
            key, value = states[:2]
        elif _is_cache(states):
            keys, values = (F._cache_write(*pair, states[2]) for pair in zip(states, (key, value)))
            read = self._read(F, query, keys, values, states[2])
            key, value = states[:2]
        else:
            key, value = F.concat(states[0], key, dim=2), F.concat(states[1], value, dim=2)
            if last:
                read = fused_attention(F, query, key, value, dropout=self._dropout)
            else:
                read = self._read(F, query, key, value, _length(F, states[0]))
        read = F.reshape(F.transpose(read, axes=(0, 2, 1, 3)), shape=(0, 0, -1))
        return self._out_proj(read), [key, value]

    def _read(self, F, query, key, value, past):
        """Query i reads the keys 0 .. past + i, which the fused operator does only where there is no past.

        past: of shape (1,), or (batch,).
        """
        steps = F.cast(F.contrib.arange_like(query, axis=2), dtype="int32")
        rows = F.broadcast_add(F.reshape(F.cast(past, dtype="int32"), shape=(-1, 1)), F.reshape(steps, shape=(1, -1)))
        columns = F.cast(F.contrib.arange_like(key, axis=2), dtype="int32")
        earlier = F.broadcast_lesser_equal(F.reshape(columns, shape=(1, 1, -1)), F.expand_dims(rows, axis=2))
        ones = F.cast(F.ones_like(F.slice_axis(query, axis=3, begin=0, end=1)), dtype="int32")
        mask = F.broadcast_mul(ones, F.expand_dims(F.cast(earlier, dtype="int32"), axis=1))
        query, key, value, mask = (F.reshape(t, shape=(-1, 0, 0), reverse=True) for t in (query, key, value, mask))
        read, _ = self._base_attn_cell(query, key, value, mask)
        return F.reshape(read, shape=(-1, self._num_heads, 0, 0), reverse=True)


class GPT2FFNLayer(HybridBlock):
    """Two dense layers on each position (batch, length, units), with GELU by its tanh formula between them.

    >>> net = gluonnlp.model.GPT2FFNLayer(units=4, hidden_size=8)
    >>> net.initialize()
    >>> net(nd.ones((1, 3, 4))).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        units,
        hidden_size,
        weight_initializer=Normal(0.02),  # noqa: B008 (an initializer has no state)
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        options = {
            "flatten": False,
            "weight_initializer": weight_initializer,
            "bias_initializer": bias_initializer,
        }
        with self.name_scope():
            self._hidden_map = nn.Dense(hidden_size, in_units=units, **options)
            self._out_map = nn.Dense(units, in_units=hidden_size, **options)
            self._act = GELU(approximate=True)

    def hybrid_forward(self, F, data):
        return self._out_map(self._act(self._hidden_map(data)))


def _is_cache(states):
    """Whether states are caches of a fixed capacity, behind which are their counts."""
    return states is not None and len(states) % 2 == 1


def _length(F, x):
    """How many steps the states (batch, heads, steps, width) have, of shape (1,)."""
    return F.slice_axis(F.contrib.arange_like(x, axis=2), axis=0, begin=-1, end=None) + 1


_COMMON = {"max_length": 1024, "dropout": 0.0}

# The networks that have names: class and settings.
CONFIGURATIONS = {
    "gpt2_117m": (GPT2Model, {**_COMMON, "units": 768, "num_heads": 12, "num_layers": 12}),
    "gpt2_345m": (GPT2Model, {**_COMMON, "units": 1024, "num_heads": 16, "num_layers": 24}),
}
VOCABULARIES = {"vocab": ""}
VOCABULARY_CLASSES = dict.fromkeys(CONFIGURATIONS, Vocab)
PRETRAINED = True
FREE = set()


def build(name, vocab, settings):
    """The network called `name` for the words of `vocab`."""
    return CONFIGURATIONS[name][0](vocab_size=len(vocab), **settings)
