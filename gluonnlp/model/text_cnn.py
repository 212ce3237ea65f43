"""Classification of sentences by convolutions (Kim, 2014)."""

from __future__ import annotations

from gluon import HybridBlock, nn

from .convolutional_encoder import ConvolutionalEncoder

__all__ = ["TextCNN"]

MODES = ("rand", "static", "non-static", "multichannel")


class TextCNN(HybridBlock):
    """Scores (batch, output_size) of texts given as word numbers (length, batch).

    model_mode: "rand", "static" and "non-static" have one embedding, and differ in how it is filled and
    whether it learns; "multichannel" has a second one beside it, `embedding_extend`.  dropout: rate
    before the last layer.

    >>> net = gluonnlp.model.TextCNN(embed_size=4, vocab_size=10, model_mode="rand")
    >>> net.initialize()
    >>> net(nd.zeros((7, 2))).shape
    (2, 1)
    """

    def __init__(
        self,
        dropout=0.5,
        embed_size=300,
        vocab_size=100,
        output_size=1,
        model_mode="multichannel",
        num_filters=(100, 100, 100),
        ngram_filter_sizes=(3, 4, 5),
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        if model_mode not in MODES:
            raise ValueError(f"model_mode is one of {', '.join(MODES)}, got {model_mode!r}")
        channels = 2 if model_mode == "multichannel" else 1
        with self.name_scope():
            self.embedding = nn.Embedding(vocab_size, embed_size)
            self.embedding_extend = nn.Embedding(vocab_size, embed_size) if channels == 2 else None
            self.encoder = ConvolutionalEncoder(
                embed_size=channels * embed_size,
                num_filters=num_filters,
                ngram_filter_sizes=ngram_filter_sizes,
                conv_layer_activation="relu",
                num_highway=None,
            )
            self.output = nn.HybridSequential()
            with self.output.name_scope():
                self.output.add(nn.Dropout(dropout))
                self.output.add(nn.Dense(output_size, flatten=False))

    def hybrid_forward(self, F, data):
        embedded = self.embedding(data)
        if self.embedding_extend is not None:
            embedded = F.concat(embedded, self.embedding_extend(data), dim=2)
        return self.output(self.encoder(embedded))
