"""GPT-2 (Radford et al., 2019)."""

from __future__ import annotations

from core.initializer import Normal
from gluon import HybridBlock, nn

from ..vocab import Vocab
from .attention_cell import DotProductAttentionCell, check_heads, fused_attention
from .block import GELU

__all__ = ["GPT2FFNLayer", "GPT2Model", "GPT2SelfAttentionLayer"]


class GPT2Model(HybridBlock):
    """Words (batch, length) to scores of the next words (batch, length, vocab_size), and states to go on with.

    states: keys and values (batch, num_heads, past, width) of each layer, as the call before gave them, or None.
    hidden_size: of the position-wise networks, by default 4 * units.  ValueError where past and length exceed
    max_length.
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
        if states is not None:
            positions = F.broadcast_add(positions, F.cast(_length(F, states[0]), dtype="int32"))
        if hasattr(data, "context"):
            length = data.shape[1] + (0 if states is None else states[0].shape[2])
            if length > self._max_length:
                raise ValueError(f"this network reads texts of at most {self._max_length} words, got {length}")
        x = F.broadcast_add(self._embed(data), F.expand_dims(self._pos_embed(positions), axis=0))
        new_states = []
        layers = zip(self._attn_ln, self._self_attention_layers, self._ffn_ln, self._ffn_layers, strict=True)
        for i, (attention_norm, attention, ffn_norm, ffn) in enumerate(layers):
            read, after = attention(attention_norm(x), None if states is None else states[2 * i : 2 * i + 2])
            x = x + read
            x = x + ffn(ffn_norm(x))
            new_states += after
        return self._logits_proj(self._final_ln(x)), new_states

    def state_info(self, *args, **kwargs):
        """Nothing: the batch is on axis 0 of all states."""
        return None


class GPT2SelfAttentionLayer(HybridBlock):
    """Attention of several heads to what came before: x (batch, length, units) and states, keys and values, or None.

    Gives outputs (batch, length, units) and [keys, values] (batch, num_heads, past + length, width).
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
        self._num_heads = num_heads
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
        if states is None:
            read = fused_attention(F, query, key, value, causal=True, dropout=self._dropout)
        else:
            key, value = F.concat(states[0], key, dim=2), F.concat(states[1], value, dim=2)
            if hasattr(x, "context") and x.shape[1] == 1:  # the last word reads all keys
                read = fused_attention(F, query, key, value, dropout=self._dropout)
            else:
                read = self._read(F, query, key, value, _length(F, states[0]))
        read = F.reshape(F.transpose(read, axes=(0, 2, 1, 3)), shape=(0, 0, -1))
        return self._out_proj(read), [key, value]

    def _read(self, F, query, key, value, past):
        """Query i reads the keys 0 .. past + i, which the fused operator does only where there is no past."""
        rows = F.broadcast_add(F.contrib.arange_like(query, axis=2), past)
        columns = F.contrib.arange_like(key, axis=2)
        earlier = F.broadcast_lesser_equal(F.reshape(columns, shape=(1, -1)), F.reshape(rows, shape=(-1, 1)))
        query, key, value = (F.reshape(t, shape=(-1, 0, 0), reverse=True) for t in (query, key, value))
        ones = F.ones_like(F.slice_axis(query, axis=2, begin=0, end=1))
        mask = F.broadcast_mul(ones, F.expand_dims(earlier, axis=0))
        read, _ = self._base_attn_cell(query, key, value, mask)
        return F.reshape(read, shape=(-1, self._num_heads, 0, 0), reverse=True)


class GPT2FFNLayer(HybridBlock):
    """Two dense layers on each position (batch, length, units), with GELU by its tanh formula between them."""

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
