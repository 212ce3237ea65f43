"""The Transformer (Vaswani et al., 2017): encoder, decoder, and their layers.

Layers of several heads run on the fused attention operator unless their weights are asked for.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from core import autograd, nd
from gluon import HybridBlock, nn

from ..utils.parallel import Parallelizable
from .attention_cell import cache_arrays, check_heads, make_attention_cell
from .block import GELU, stacked
from .seq2seq_encoder_decoder import Seq2SeqDecoder, Seq2SeqEncoder, Seq2SeqOneStepDecoder

__all__ = [
    "ParallelTransformer",
    "PositionwiseFFN",
    "TransformerDecoder",
    "TransformerDecoderCell",
    "TransformerEncoder",
    "TransformerEncoderCell",
    "TransformerOneStepDecoder",
    "get_transformer_encoder_decoder",
]


class _Transformer(HybridBlock):
    """Positions added to what comes in, and `num_layers` cells of the class `_cell`, which get the other settings.

    scale_embed: inputs times sqrt(units) before positions are added; norm_inputs: layer normalization after.
    """

    def __init__(
        self,
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
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        check_heads(units, num_heads)
        self._units = units
        self._max_length = max_length
        self._scale_embed = scale_embed
        self._output_attention = output_attention
        with self.name_scope():
            self.dropout_layer = nn.Dropout(dropout)
            self.layer_norm = nn.LayerNorm(in_channels=units) if norm_inputs else None
            self.position_weight = self.params.get_constant(
                "const", _position_encoding_init(max_length, units).astype(np.float32)
            )
            cell = partial(
                self._cell,
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
            )
            self.transformer_cells = stacked(num_layers, cell)

    def _embed(self, F, inputs, steps, position_weight):
        return self._placed(F, inputs, F.expand_dims(self._positions(F, steps, position_weight), axis=0))

    def _positions(self, F, steps, position_weight):
        return F.Embedding(steps, position_weight, input_dim=self._max_length, output_dim=self._units)

    def _placed(self, F, inputs, positions):
        if self._scale_embed:
            inputs = inputs * self._units**0.5
        x = self.dropout_layer(F.broadcast_add(inputs, positions))
        return x if self.layer_norm is None else self.layer_norm(x)

    @property
    def _fuses(self):
        return all(cell._fuses for cell in self.transformer_cells)


class AttentionLayer(HybridBlock):
    """What has `dropout_layer` and `attention_cell`, and behind them a position-wise network, each with residual and
    layer normalization."""

    def _add_network(self, units, projection, use_residual, layer_norm_eps, network, initializers):
        """Add what stands behind the attention. projection: settings of the dense layer that follows it; network: those
        of PositionwiseFFN that are not for the other layers too."""
        self._use_residual = use_residual
        self.proj = nn.Dense(units, flatten=False, prefix="proj_", **projection, **initializers)
        self.ffn = PositionwiseFFN(
            units=units, use_residual=use_residual, layer_norm_eps=layer_norm_eps, **network, **initializers
        )
        self.layer_norm = nn.LayerNorm(in_channels=units, epsilon=layer_norm_eps)

    def _network(self, read, inputs):
        """Outputs, from the inputs and what attention has read for them."""
        outputs = self.dropout_layer(self.proj(read))
        if self._use_residual:
            outputs = outputs + inputs
        return self.ffn(self.layer_norm(outputs))


class TransformerEncoderCell(AttentionLayer):
    """Self-attention and a position-wise network, each with residual and layer normalization.

    Called with inputs (batch, length, units) and mask (batch, length, length) or None; gives outputs and a list
    of attention weights, empty without output_attention.  key_length (batch,), how many keys count for
    every query, stands in place of a mask where the attention is of several heads and its weights are not asked for.
    attention_cell: one of "multi_head", "scaled_luong", "scaled_dot", "dot", "cosine", "mlp" and "normed_mlp", or a
    cell.

    >>> net = gluonnlp.model.TransformerEncoderCell(units=4, hidden_size=8, num_heads=2)
    >>> net.initialize()
    >>> output, weights = net(nd.ones((1, 3, 4)))
    >>> output.shape
    (1, 3, 4)
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
        self._output_attention = output_attention
        options = {"weight_initializer": weight_initializer, "bias_initializer": bias_initializer}
        with self.name_scope():
            self.dropout_layer = nn.Dropout(dropout)
            self.attention_cell = make_attention_cell(
                attention_cell, units, scaled, num_heads, attention_use_bias, dropout
            )
            projection = {"in_units": units, "use_bias": attention_proj_use_bias}
            network = {"hidden_size": hidden_size, "dropout": dropout, "activation": activation}
            self._add_network(units, projection, use_residual, layer_norm_eps, network, options)

    @property
    def _fuses(self):
        return not self._output_attention and getattr(self.attention_cell, "fuses", False)

    def __call__(self, inputs, mask=None, key_length=None):
        return super().__call__(inputs, mask, key_length)

    def hybrid_forward(self, F, inputs, mask=None, key_length=None):
        weights = []
        if mask is None and self._fuses:
            read = self.attention_cell.attend(F, inputs, inputs, key_length)
        else:
            read, *weights = self.attention_cell(inputs, inputs, inputs, mask)
        return self._network(read, inputs), weights if self._output_attention else []


class TransformerEncoder(_Transformer, Seq2SeqEncoder):
    """Sequences (batch, length, units) read by `num_layers` layers of self-attention.

    Called with inputs, states and valid_length (batch,), of which the last two may be None.  states is
    a mask (batch, length, length) or a list that ends with one or is empty.  Gives outputs, 0 behind the valid lengths,
    or a list of those of all layers (output_all_encodings), and a list of lists of attention weights
    (output_attention).

    >>> net = gluonnlp.model.TransformerEncoder(units=4, hidden_size=8, num_layers=1, num_heads=2, max_length=8)
    >>> net.initialize()
    >>> output, more = net(nd.ones((1, 3, 4)))
    >>> output.shape
    (1, 3, 4)
    """

    _cell = TransformerEncoderCell

    def __init__(self, *, output_all_encodings=False, **kwargs):
        super().__init__(**kwargs)
        self._output_all_encodings = output_all_encodings

    def __call__(self, inputs, states=None, valid_length=None):
        return super().__call__(inputs, states, valid_length)

    def hybrid_forward(self, F, inputs, states=None, valid_length=None, position_weight=None):
        steps = F.contrib.arange_like(inputs, axis=1)
        mask = (states[-1] if states else None) if isinstance(states, (list, tuple)) else states
        fused = mask is None and self._fuses
        if valid_length is not None and not fused:
            counts = _counts(F, steps, valid_length)
            readable = F.broadcast_mul(F.expand_dims(counts, axis=1), F.expand_dims(F.ones_like(counts), axis=2))
            mask = readable if mask is None else readable * mask
        x = self._embed(F, inputs, steps, position_weight)
        encodings, attention = [], []
        for cell in self.transformer_cells:
            x, weights = cell(x, None, valid_length) if fused else cell(x, mask)
            encodings.append(x)
            if self._output_attention:
                attention.append(weights)
        if not self._output_all_encodings:
            encodings = [x]
        if valid_length is not None:
            encodings = [_masked(F, e, valid_length) for e in encodings]
        return encodings if self._output_all_encodings else encodings[0], attention


class TransformerDecoderCell(HybridBlock):
    """Self-attention, attention to a memory, and a position-wise network, each with residual and layer normalization.

    Called with inputs (batch, length, units), mem_value (batch, mem_length, units), mask (batch, length, length) and
    mem_mask (batch, length, mem_length), either None for all; gives outputs and a list of the two attention
    weights, empty without output_attention.  mem_length (batch,) stands in place of the masks where the attention is of
    several heads and its weights are not asked for: inputs then read no later inputs, and so much of the memory.

    >>> cell = gluonnlp.model.TransformerDecoderCell(units=4, hidden_size=8, num_heads=2, output_attention=True)
    >>> cell.initialize()
    >>> outputs, (own, to_source) = cell(nd.ones((1, 3, 4)), nd.ones((1, 5, 4)))
    >>> outputs.shape, own.shape, to_source.shape
    ((1, 3, 4), (1, 2, 3, 3), (1, 2, 3, 5))
    """

    def __init__(
        self,
        attention_cell="multi_head",
        units=128,
        hidden_size=512,
        num_heads=4,
        scaled=True,
        dropout=0.0,
        use_residual=True,
        output_attention=False,
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
            self.attention_cell_in = make_attention_cell(attention_cell, units, scaled, num_heads, False, dropout)
            self.attention_cell_inter = make_attention_cell(attention_cell, units, scaled, num_heads, False, dropout)
            projection = {"in_units": units, "use_bias": False, "flatten": False, **options}
            self.proj_in = nn.Dense(units, prefix="proj_in_", **projection)
            self.proj_inter = nn.Dense(units, prefix="proj_inter_", **projection)
            self.ffn = PositionwiseFFN(
                units=units, hidden_size=hidden_size, dropout=dropout, use_residual=use_residual, **options
            )
            self.layer_norm_in = nn.LayerNorm(in_channels=units)
            self.layer_norm_inter = nn.LayerNorm(in_channels=units)

    @property
    def _fuses(self):
        cells = (self.attention_cell_in, self.attention_cell_inter)
        return not self._output_attention and all(getattr(cell, "fuses", False) for cell in cells)

    def __call__(self, inputs, mem_value, mask=None, mem_mask=None, mem_length=None):
        return super().__call__(inputs, mem_value, mask, mem_mask, mem_length)

    def hybrid_forward(self, F, inputs, mem_value, mask=None, mem_mask=None, mem_length=None):
        weights = []
        if mem_length is not None:
            read = self.attention_cell_in.attend(F, inputs, inputs, causal=True)
        else:
            read, *weights = self.attention_cell_in(inputs, inputs, inputs, mask)
        outputs = self._add(self.proj_in(read), inputs, self.layer_norm_in)
        if mem_length is not None:
            return self._recall(F, outputs, mem_value, mem_length), []
        read, between = self.attention_cell_inter(outputs, mem_value, mem_value, mem_mask)
        weights.append(between)
        outputs = self._add(self.proj_inter(read), outputs, self.layer_norm_inter)
        return self.ffn(outputs), weights if self._output_attention else []

    def step(self, F, inputs, caches, mem_value, mem_length):
        """Outputs for one step (batch, 1, units) behind those whose keys and values are in the caches."""
        read = self.attention_cell_in.step(F, inputs, caches)
        return self._recall(F, self._add(self.proj_in(read), inputs, self.layer_norm_in), mem_value, mem_length)

    def _recall(self, F, outputs, mem_value, mem_length):
        read = self.attention_cell_inter.attend(F, outputs, mem_value, mem_length)
        return self.ffn(self._add(self.proj_inter(read), outputs, self.layer_norm_inter))

    def _add(self, outputs, inputs, layer_norm):
        outputs = self.dropout_layer(outputs)
        return layer_norm(outputs + inputs if self._use_residual else outputs)


class TransformerDecoder(_Transformer, Seq2SeqDecoder):
    """Whole sequences (batch, length, units) decoded at once, as training does.

    Called with inputs, states as `init_state_from_encoder` gives them, and valid_length (batch,) or None; gives
    outputs, 0 behind the valid lengths, the states, and a list of lists of attention weights (output_attention).

    >>> encoder, decoder, one_step = gluonnlp.model.get_transformer_encoder_decoder(num_layers=1, units=8, hidden_size=16, num_heads=2)
    >>> isinstance(decoder, gluonnlp.model.TransformerDecoder)
    True
    """

    _cell = TransformerDecoderCell

    def __init__(self, attention_cell="multi_head", num_layers=2, units=128, *args, **kwargs):
        super().__init__(attention_cell, num_layers, units, *args, **kwargs)

    def init_state_from_encoder(self, encoder_outputs, encoder_valid_length=None):
        """[encoder_outputs, mask (batch, mem_length) of what counts of them or None]."""
        if encoder_valid_length is None:
            return [encoder_outputs, None]
        steps = nd.contrib.arange_like(encoder_outputs, axis=1).astype(encoder_valid_length.dtype)
        return [encoder_outputs, nd.broadcast_lesser(steps.reshape((1, -1)), encoder_valid_length.reshape((-1, 1)))]

    def __call__(self, inputs, states, valid_length=None):
        return super().__call__(inputs, states, valid_length)

    def hybrid_forward(self, F, inputs, states, valid_length=None, position_weight=None):
        mem_value, mem_mask = states
        steps = F.contrib.arange_like(inputs, axis=1)
        if self._fuses:
            # Padded inputs are read by inputs behind them alone, which are padding too.
            masks = [None, None, self._memory_length(F, mem_value, mem_mask)]
        else:
            masks = [self._own_mask(F, inputs, steps, valid_length), None]
            if mem_mask is not None:
                counts = F.cast(F.expand_dims(mem_mask, axis=1), dtype="float32")
                masks[1] = F.broadcast_mul(counts, _ones(F, inputs))
        x = self._embed(F, inputs, steps, position_weight)
        attention = []
        for cell in self.transformer_cells:
            x, weights = cell(x, mem_value, *masks)
            if self._output_attention:
                attention.append(weights)
        return x if valid_length is None else _masked(F, x, valid_length), states, attention

    def _memory_length(self, F, mem_value, mem_mask):
        counts = F.ones_like(F.slice_axis(mem_value, axis=2, begin=0, end=1)) if mem_mask is None else mem_mask
        return F.sum(counts, axis=0, exclude=True)

    def _own_mask(self, F, inputs, steps, valid_length):
        """(batch, length, length): whether a query before the valid length has a key that is not behind it."""
        row, column = F.reshape(steps, shape=(1, -1)), F.reshape(steps, shape=(-1, 1))
        earlier = F.cast(F.expand_dims(F.broadcast_lesser_equal(row, column), axis=0), dtype="float32")
        queries = _ones(F, inputs)
        if valid_length is not None:
            queries = F.expand_dims(_counts(F, steps, valid_length), axis=2)
        return F.broadcast_mul(queries, earlier)


class TransformerOneStepDecoder(TransformerDecoder, Seq2SeqOneStepDecoder):
    """A TransformerDecoder for one position after the other.

    Called with step_input (batch, units) and states; gives step_output (batch, units), states that begin with all
    inputs so far (batch, steps, units), and a list of lists of attention weights of all steps so far
    (output_attention). Each step reads all inputs again; with a `capacity` the states are caches, and it reads its own.

    >>> encoder, decoder, one_step = gluonnlp.model.get_transformer_encoder_decoder(num_layers=1, units=8, hidden_size=16, num_heads=2)
    >>> isinstance(one_step, gluonnlp.model.TransformerOneStepDecoder)
    True
    """

    def init_state_from_encoder(self, encoder_outputs, encoder_valid_length=None, capacity=None):
        """[encoder_outputs, mask (batch, mem_length) of what counts of them or None], and in front of them, with a
        capacity, keys and values (batch, num_heads, capacity, width) of each layer, which steps are written to in
        place, and how many steps they hold (batch,). ValueError where attention is not of several heads, or its
        weights are asked for.
        """
        states = super().init_state_from_encoder(encoder_outputs, encoder_valid_length)
        if capacity is None:
            return states
        if not self._fuses:
            raise ValueError("a decoder with a capacity needs attention of several heads without output_attention")
        if capacity > self._max_length:
            raise ValueError(f"this decoder knows {self._max_length} positions, got capacity={capacity}")
        heads, batch = self.transformer_cells[0].attention_cell_in._num_heads, encoder_outputs.shape[0]
        place, dtype = encoder_outputs.context, encoder_outputs.dtype
        layers = len(self.transformer_cells)
        return [*cache_arrays(batch, heads, capacity, self._units // heads, layers, place, dtype), *states]

    def __call__(self, step_input, states):
        return super(TransformerDecoder, self).__call__(step_input, states)

    def forward(self, step_input, states):
        *before, mem_value, mem_mask = states
        if len(before) > 1:
            return super().forward(step_input, states)
        inputs = nd.concat(*before, nd.expand_dims(step_input, axis=1), dim=1)
        return super().forward(inputs, [mem_value, mem_mask])

    def hybrid_forward(self, F, inputs, states, position_weight=None):
        if len(states) > 2:
            return self._step(F, inputs, states, position_weight)
        outputs, states, attention = super().hybrid_forward(F, inputs, states, position_weight=position_weight)
        last = F.reshape(F.slice_axis(outputs, axis=1, begin=-1, end=None), shape=(0, -1))
        return last, [inputs, *states], attention

    def _step(self, F, inputs, states, position_weight):
        *held, counts, mem_value, mem_mask = states
        length = self._memory_length(F, mem_value, mem_mask)
        positions = F.expand_dims(self._positions(F, counts, position_weight), axis=1)
        x = self._placed(F, F.expand_dims(inputs, axis=1), positions)
        for i, cell in enumerate(self.transformer_cells):
            x = cell.step(F, x, (*held[2 * i : 2 * i + 2], counts), mem_value, length)
        return F.reshape(x, shape=(0, -1)), [*held, counts + 1, mem_value, mem_mask], []


def get_transformer_encoder_decoder(
    num_layers=2,
    num_heads=8,
    scaled=True,
    units=512,
    hidden_size=2048,
    dropout=0.0,
    use_residual=True,
    max_src_length=50,
    max_tgt_length=50,
    weight_initializer=None,
    bias_initializer="zeros",
    prefix="transformer_",
    params=None,
):
    """An encoder, a decoder, and a one-step decoder that has the decoder's parameters.

    >>> encoder, decoder, one_step = gluonnlp.model.get_transformer_encoder_decoder(num_layers=1, units=8, hidden_size=16, num_heads=2)
    >>> type(encoder).__name__, type(decoder).__name__
    ('TransformerEncoder', 'TransformerDecoder')
    """
    settings = {
        "num_layers": num_layers,
        "num_heads": num_heads,
        "scaled": scaled,
        "units": units,
        "hidden_size": hidden_size,
        "dropout": dropout,
        "use_residual": use_residual,
        "weight_initializer": weight_initializer,
        "bias_initializer": bias_initializer,
    }
    encoder = TransformerEncoder(max_length=max_src_length, prefix=prefix + "enc_", params=params, **settings)
    settings |= {"max_length": max_tgt_length, "prefix": prefix + "dec_"}
    decoder = TransformerDecoder(params=params, **settings)
    one_step_decoder = TransformerOneStepDecoder(params=decoder.collect_params(), **settings)
    return encoder, decoder, one_step_decoder


class PositionwiseFFN(HybridBlock):
    """Two dense layers on each position, residual, and layer normalization: (..., units) to the same.

    activation: a name that `gluon.nn.Activation` knows, "gelu", "approx_gelu", or None.  ffn1_dropout:
    whether there is dropout between the dense layers too.

    >>> net = gluonnlp.model.PositionwiseFFN(units=4, hidden_size=8)
    >>> net.initialize()
    >>> net(nd.ones((1, 3, 4))).shape
    (1, 3, 4)
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


class ParallelTransformer(Parallelizable):
    """Forward and backward passes of an NMTModel for `gluonnlp.utils.Parallel`.

    Its inputs are (sources, targets, their valid lengths) and the size of the batch on all devices; it gives the loss,
    over that size and over rescale_loss. label_smoothing: block that smooths the labels; loss_function: a masked loss.

    >>> vocab = gluonnlp.Vocab(gluonnlp.data.count_tokens("ein Hund".split()))
    >>> parts = gluonnlp.model.get_transformer_encoder_decoder(num_layers=1, units=8, hidden_size=16, num_heads=2)
    >>> net = gluonnlp.model.NMTModel(vocab, vocab, *parts, embed_size=8)
    >>> net.initialize()
    >>> smoothing = gluonnlp.loss.LabelSmoothing(epsilon=0.1, units=len(vocab))
    >>> step = gluonnlp.model.ParallelTransformer(net, smoothing, gluonnlp.loss.MaskedSoftmaxCELoss(sparse_label=False), rescale_loss=1)
    >>> batch = nd.array([[4, 5, 3]]), nd.array([[2, 4, 3]]), nd.array([3]), nd.array([3])
    >>> loss = step.forward_backward((batch, 1))
    >>> loss.shape, bool(net.tgt_proj.weight.grad().norm() > 0)
    ((1,), True)
    """

    def __init__(self, model, label_smoothing, loss_function, rescale_loss):
        self._model = model
        self._label_smoothing = label_smoothing
        self._loss = loss_function
        self._rescale_loss = rescale_loss

    def forward_backward(self, x):
        (source, target, source_length, target_length), batch_size = x
        with autograd.record():
            scores, _ = self._model(source, target[:, :-1], source_length, target_length - 1)
            losses = self._loss(scores, self._label_smoothing(target[:, 1:]), target_length - 1)
            # The loss is the mean over steps, padded ones included: their number makes a sum of it.
            loss = losses.sum() * (target.shape[1] - 1) / batch_size / self._rescale_loss
        loss.backward()
        return loss


# Settings of the network that was trained on WMT 2014, and of its training (epsilon, of the smoothed labels).
transformer_en_de_hparams = {
    "num_units": 512,
    "hidden_size": 2048,
    "dropout": 0.1,
    "epsilon": 0.1,
    "num_layers": 6,
    "num_heads": 8,
    "scaled": True,
    "share_embed": True,
    "embed_size": 512,
    "tie_weights": True,
    "embed_initializer": None,
}


def _activation(activation):
    """The layer that `activation` names; a layer and None are given back as they are."""
    if activation == "gelu":
        return GELU()
    if activation == "approx_gelu":
        return GELU(approximate=True)
    return nn.Activation(activation) if isinstance(activation, str) else activation


def _masked(F, x, valid_length):
    return F.SequenceMask(x, sequence_length=valid_length, use_sequence_length=True, axis=1)


def _counts(F, steps, valid_length):
    """(batch, length), float32: 1 for the steps before the valid length."""
    steps, valid_length = (F.cast(x, dtype="float32") for x in (steps, valid_length))
    return F.broadcast_lesser(F.reshape(steps, shape=(1, -1)), F.reshape(valid_length, shape=(-1, 1)))


def _ones(F, x):
    """(batch, length, 1) of 1, float32, for x (batch, length, units)."""
    return F.cast(F.ones_like(F.slice_axis(x, axis=2, begin=0, end=1)), dtype="float32")


def _position_encoding_init(max_length, dim):
    """Sine (even columns) and cosine (odd) of positions at falling frequencies, float64 (max_length, dim)."""
    column = np.arange(dim)
    angle = np.arange(max_length)[:, None] / np.power(10000, 2 * column / dim)
    angle[:, 0::2] = np.sin(angle[:, 0::2])
    angle[:, 1::2] = np.cos(angle[:, 1::2])
    return angle
