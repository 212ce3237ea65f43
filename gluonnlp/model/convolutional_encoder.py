"""Convolutions over the words of a text, or the characters of a word, and the maximum over time."""

from __future__ import annotations

from gluon import HybridBlock, nn
from gluon.contrib.nn import HybridConcurrent

from .highway import Highway

__all__ = ["ConvolutionalEncoder"]


class ConvolutionalEncoder(HybridBlock):
    """Texts of any length as vectors of one width (Kim, 2014; Kim et al., 2016).

    Called with inputs (length, batch, embed_size) and mask (length, batch), 1 for what counts; gives
    (batch, output_size), or the number of all filters where output_size is None.
    num_filters, ngram_filter_sizes: how many filters of what width.  num_highway: highway layers behind
    the maximum, None for none.

    >>> net = gluonnlp.model.ConvolutionalEncoder(embed_size=4, num_filters=(3, 3), ngram_filter_sizes=(1, 2), num_highway=None)
    >>> net.initialize()
    >>> net(nd.ones((7, 2, 4))).shape
    (2, 6)
    """

    def __init__(
        self,
        embed_size=15,
        num_filters=(25, 50, 75, 100, 125, 150),
        ngram_filter_sizes=(1, 2, 3, 4, 5, 6),
        conv_layer_activation="tanh",
        num_highway=1,
        highway_layer_activation="relu",
        highway_bias=None,
        output_size=None,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        if len(num_filters) != len(ngram_filter_sizes):
            raise ValueError(
                f"num_filters and ngram_filter_sizes must be equally many, got {num_filters} and {ngram_filter_sizes}"
            )
        width = sum(num_filters)
        with self.name_scope():
            self._convs = HybridConcurrent(axis=1)
            with self._convs.name_scope():
                for filters, size in zip(num_filters, ngram_filter_sizes, strict=True):
                    conv = nn.HybridSequential()
                    conv.add(nn.Conv1D(filters, size, in_channels=embed_size))
                    conv.add(nn.HybridLambda(_maximum_over_time))
                    if conv_layer_activation is not None:
                        conv.add(nn.Activation(conv_layer_activation))
                    self._convs.add(conv)
            self._highways = None
            if num_highway:
                self._highways = Highway(width, num_highway, highway_layer_activation, highway_bias)
            self._projection = None if output_size is None else nn.Dense(output_size, in_units=width)

    def __call__(self, inputs, mask=None):
        return super().__call__(inputs, mask)

    def hybrid_forward(self, F, inputs, mask=None):
        if mask is not None:
            inputs = F.broadcast_mul(inputs, F.expand_dims(mask, axis=-1))
        output = self._convs(F.transpose(inputs, axes=(1, 2, 0)))
        if self._highways is not None:
            output = self._highways(output)
        return output if self._projection is None else self._projection(output)


def _maximum_over_time(F, x):
    return F.max(x, axis=2)
