"""The layers of the Transformer's encoder (Vaswani et al., 2017)."""

from __future__ import annotations

import numpy as np

from gluon import HybridBlock, nn

from .attention_cell import DotProductAttentionCell, MLPAttentionCell, MultiHeadAttentionCell
from .block import GELU

__all__ = ["PositionwiseFFN", "TransformerEncoder", "TransformerEncoderCell"]


class TransformerEncoder(HybridBlock):
    """Sequences (batch, length, units) read by `num_layers` layers of self-attention.

    Called with inputs, states and valid_length (batch,), of which the last two may be None.  states is
    a mask (batch, length, length) or a list that ends with one.  Gives outputs, or a list of those of
    all layers (output_all_encodings), and a list of lists of attention weights (output_attention).
    scale_embed: inputs times sqrt(units) before positions are added; norm_inputs: layer normalization after.
    """

    def __init__(
        self,
        *,
        attention_cell="multi_head",
        num_layers=2,
        units=512,
        hidden_size=2048,
        max_length=50,
        num_heads=4,
        scaled=True,
        scale_embed=True,
        norm_inputs=True,
        dropout=0.0,
        use_residual=True,
        output_attention=False,
        output_all_encodings=False,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        if units % num_heads:
            raise AssertionError(f"units must be a multiple of num_heads, {num_heads}, got {units}")
        self._units = units
        self._max_length = max_length
        self._scale_embed = scale_embed
        self._output_attention = output_attention
        self._output_all_encodings = output_all_encodings
        with self.name_scope():
            self.dropout_layer = nn.Dropout(dropout)
            self.layer_norm = nn.LayerNorm(in_channels=units) if norm_inputs else None
            self.position_weight = self.params.get_constant(
                "const", _position_encoding_init(max_length, units).astype(np.float32)
            )
            self.transformer_cells = nn.HybridSequential()
            for i in range(num_layers):
                cell = TransformerEncoderCell(
                    attention_cell=attention_cell,
                    units=units,
                    hidden_size=hidden_size,
                    num_heads=num_heads,
                    dropout=dropout,
                    use_residual=use_residual,
                    scaled=scaled,
                    output_attention=output_attention,
                    weight_initializer=weight_initializer,
                    bias_initializer=bias_initializer,
                    prefix=f"transformer{i}_",
                )
                self.transformer_cells.add(cell)

    def __call__(self, inputs, states=None, valid_length=None):
        return super().__call__(inputs, states, valid_length)

    def hybrid_forward(self, F, inputs, states=None, valid_length=None, position_weight=None):
        steps = F.contrib.arange_like(inputs, axis=1)
        mask = states[-1] if isinstance(states, (list, tuple)) else states
        counts = None
        if valid_length is not None:
            counts = F.broadcast_lesser(F.reshape(steps, shape=(1, -1)), F.reshape(valid_length, shape=(-1, 1)))
            readable = F.broadcast_mul(F.expand_dims(counts, axis=1), F.expand_dims(F.ones_like(counts), axis=2))
            mask = readable if mask is None else readable * mask
        if self._scale_embed:
            inputs = inputs * self._units**0.5
        positions = F.Embedding(steps, position_weight, input_dim=self._max_length, output_dim=self._units)
        x = self.dropout_layer(F.broadcast_add(inputs, F.expand_dims(positions, axis=0)))
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        encodings, attention = [], []
        for cell in self.transformer_cells:
            x, weights = cell(x, mask)
            encodings.append(x)
            if self._output_attention:
                attention.append(weights)
        if counts is not None:
            encodings = [F.broadcast_mul(e, F.expand_dims(counts, axis=2)) for e in encodings]
        return encodings if self._output_all_encodings else encodings[-1], attention


class TransformerEncoderCell(HybridBlock):
    """Self-attention and a position-wise network, each with residual and layer normalization.

    Called with inputs (batch, length, units) and mask (batch, length, length); gives outputs and a list
    of attention weights, empty without output_attention.  attention_cell: one of
    "multi_head", "scaled_luong", "scaled_dot", "dot", "cosine", "mlp" and "normed_mlp", or a cell.
    """

    def __init__(
        self,
        *,
        attention_cell="multi_head",
        units=128,
        hidden_size=512,
        num_heads=4,
        attention_use_bias=False,
        attention_proj_use_bias=False,
        scaled=True,
        dropout=0.0,
        use_residual=True,
        output_attention=False,
        activation="relu",
        layer_norm_eps=1e-5,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._use_residual = use_residual
        self._output_attention = output_attention
        options = {"weight_initializer": weight_initializer, "bias_initializer": bias_initializer}
        with self.name_scope():
            self.dropout_layer = nn.Dropout(dropout)
            self.attention_cell = _attention(attention_cell, units, scaled, num_heads, attention_use_bias, dropout)
            self.proj = nn.Dense(
                units, in_units=units, use_bias=attention_proj_use_bias, flatten=False, prefix="proj_", **options
            )
            self.ffn = PositionwiseFFN(
                units=units,
                hidden_size=hidden_size,
                dropout=dropout,
                use_residual=use_residual,
                activation=activation,
                layer_norm_eps=layer_norm_eps,
                **options,
            )
            self.layer_norm = nn.LayerNorm(in_channels=units, epsilon=layer_norm_eps)

    def __call__(self, inputs, mask=None):
        return super().__call__(inputs, mask)

    def hybrid_forward(self, F, inputs, mask=None):
        read, weights = self.attention_cell(inputs, inputs, inputs, mask)
        outputs = self.dropout_layer(self.proj(read))
        if self._use_residual:
            outputs = outputs + inputs
        return self.ffn(self.layer_norm(outputs)), [weights] if self._output_attention else []


class PositionwiseFFN(HybridBlock):
    """Two dense layers on each position, residual, and layer normalization: (..., units) to the same.

    activation: a name that `gluon.nn.Activation` knows, "gelu", "approx_gelu", or None.  ffn1_dropout:
    whether there is dropout between the dense layers too.
    """

    def __init__(
        self,
        *,
        units=512,
        hidden_size=2048,
        dropout=0.0,
        use_residual=True,
        ffn1_dropout=False,
        activation="relu",
        layer_norm_eps=1e-5,
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._use_residual = use_residual
        self._ffn1_dropout = ffn1_dropout
        options = {
            "flatten": False,
            "weight_initializer": weight_initializer,
            "bias_initializer": bias_initializer,
        }
        with self.name_scope():
            self.ffn_1 = nn.Dense(hidden_size, in_units=units, prefix="ffn_1_", **options)
            self.activation = _activation(activation)
            self.ffn_2 = nn.Dense(units, in_units=hidden_size, prefix="ffn_2_", **options)
            self.dropout_layer = nn.Dropout(dropout)
            self.layer_norm = nn.LayerNorm(in_channels=units, epsilon=layer_norm_eps)

    def hybrid_forward(self, F, inputs):
        outputs = self.ffn_1(inputs)
        if self.activation is not None:
            outputs = self.activation(outputs)
        if self._ffn1_dropout:
            outputs = self.dropout_layer(outputs)
        outputs = self.dropout_layer(self.ffn_2(outputs))
        if self._use_residual:
            outputs = outputs + inputs
        return self.layer_norm(outputs)


# What the names of attention cells stand for: class and settings.
_ATTENTION = {
    "scaled_luong": (DotProductAttentionCell, {"scaled": True, "luong_style": True}),
    "scaled_dot": (DotProductAttentionCell, {"scaled": True}),
    "dot": (DotProductAttentionCell, {"scaled": False}),
    "cosine": (DotProductAttentionCell, {"scaled": False, "normalized": True}),
    "mlp": (MLPAttentionCell, {"normalized": False}),
    "normed_mlp": (MLPAttentionCell, {"normalized": True}),
}


def _attention(cell, units, scaled, num_heads, use_bias, dropout):
    """The attention cell that `cell` names; a cell is given back as it is."""
    if not isinstance(cell, str):
        return cell
    if cell == "multi_head":
        base = DotProductAttentionCell(scaled=scaled, dropout=dropout)
        return MultiHeadAttentionCell(base, units, units, units, num_heads, use_bias=use_bias)
    if cell not in _ATTENTION:
        known = ", ".join(["multi_head", *_ATTENTION])
        raise ValueError(f"an attention cell is one of {known}, got {cell!r}")
    class_, settings = _ATTENTION[cell]
    if class_ is DotProductAttentionCell:
        settings = {**settings, "use_bias": use_bias}
    return class_(units=units, dropout=dropout, **settings)


def _activation(activation):
    """The layer that `activation` names; a layer and None are given back as they are."""
    if activation == "gelu":
        return GELU()
    if activation == "approx_gelu":
        return GELU(approximate=True)
    return nn.Activation(activation) if isinstance(activation, str) else activation


def _position_encoding_init(max_length, dim):
    """Sine (even columns) and cosine (odd) of positions at falling frequencies, float64 (max_length, dim)."""
    column = np.arange(dim)
    angle = np.arange(max_length)[:, None] / np.power(10000, 2 * column / dim)
    angle[:, 0::2] = np.sin(angle[:, 0::2])
    angle[:, 1::2] = np.cos(angle[:, 1::2])
    return angle
