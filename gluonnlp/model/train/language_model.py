"""Language models in the form that training wants.

AWDRNN and StandardRNN also give the activations that AR and TAR penalise: called with word numbers (length, batch) and
states, they give scores (length, batch, words), new states, and two lists, outputs of the recurrent layers before
and after dropout.  BigRNN scores a sample of the words.
"""

from __future__ import annotations

import functools

from core import autograd, nd
from core.initializer import Uniform
from gluon import Block, HybridBlock, nn, rnn
from gluon.contrib.nn import SparseEmbedding
from gluon.contrib.rnn import LSTMPCell
from gluon.parameter import ParameterDict

from ...base import InvalidArgument
from ...utils.parallel import Parallelizable
from ..parameter import apply_weight_drop
from ..sampled_block import ISDense, SparseISDense

__all__ = ["AWDRNN", "BigRNN", "ParallelBigRNN", "StandardRNN"]

LAYERS = {
    "rnn_relu": lambda *args, **kwargs: rnn.RNN(*args, activation="relu", **kwargs),
    "rnn_tanh": lambda *args, **kwargs: rnn.RNN(*args, activation="tanh", **kwargs),
    "lstm": rnn.LSTM,
    "gru": rnn.GRU,
}


class _RNNLanguageModel(HybridBlock):
    """Embedding, recurrent layers, and a decoder that may share the embedding's weight."""

    def __init__(self, mode, vocab_size, embed_size, hidden_size, num_layers, dropout, tie_weights, **kwargs):
        super().__init__(**kwargs)
        if mode not in LAYERS:
            raise ValueError(f"mode is one of {', '.join(LAYERS)}, got {mode!r}")
        self._mode = mode
        self._vocab_size = vocab_size
        self._embed_size = embed_size
        self._hidden_size = hidden_size
        self._num_layers = num_layers
        self._dropout = dropout
        self._tie_weights = tie_weights
        with self.name_scope():
            self.embedding = self._embedding()
            self.encoder = self._encoder()
            self.decoder = nn.HybridSequential()
            with self.decoder.name_scope():
                shared = self.embedding[0].params if tie_weights else None
                if shared is not None and kwargs.get("params") is not None:
                    # The bias is not the embedding's, but another network has it that gives its parameters.
                    shared = ParameterDict(shared.prefix)
                    shared.update(kwargs["params"])
                self.decoder.add(nn.Dense(vocab_size, flatten=False, params=shared))

    def begin_state(self, *args, **kwargs):
        """Initial states, as those of the recurrent layers."""
        return self.encoder.begin_state(*args, **kwargs)

    def state_info(self, *args, **kwargs):
        """Shapes and layouts of the states, as those of the recurrent layers."""
        return self.encoder.state_info(*args, **kwargs)

    def __call__(self, inputs, begin_state=None):
        return super().__call__(inputs, begin_state)

    def hybrid_forward(self, F, inputs, begin_state=None):
        return self.run(F, inputs, begin_state)

    def run(self, F, inputs, begin_state=None):
        """Scores, new states, and the outputs of the layers before and after dropout."""
        if not begin_state:
            zeros = {"batch_size": inputs.shape[1], "ctx": inputs.context} if F is nd else {"func": F.zeros}
            begin_state = self.begin_state(**zeros)
        return self._read(F, inputs, begin_state)


class StandardRNN(_RNNLanguageModel):
    """Recurrent layers with dropout between them (Zaremba, Sutskever and Vinyals, 2014).

    mode: "rnn_relu", "rnn_tanh", "lstm" or "gru".  tie_weights: the decoder's weight is the embedding's, for
    which hidden_size is embed_size.
    """

    def __init__(self, mode, vocab_size, embed_size, hidden_size, num_layers, dropout=0.5, tie_weights=False, **kwargs):
        if tie_weights and embed_size != hidden_size:
            raise InvalidArgument(
                f"tied weights need embed_size and hidden_size to be equal, got {embed_size} and {hidden_size}"
            )
        super().__init__(mode, vocab_size, embed_size, hidden_size, num_layers, dropout, tie_weights, **kwargs)

    def _embedding(self):
        embedding = nn.HybridSequential()
        with embedding.name_scope():
            embedding.add(nn.Embedding(self._vocab_size, self._embed_size, weight_initializer=Uniform(0.1)))
            if self._dropout:
                embedding.add(nn.Dropout(self._dropout))
        return embedding

    def _encoder(self):
        return recurrent_layer(self._mode, self._num_layers, self._embed_size, self._hidden_size, self._dropout)

    def _read(self, F, inputs, begin_state):
        encoded, state = self.encoder(self.embedding(inputs), begin_state)
        dropped = _drop_steps_alike(F, encoded, self._dropout)
        return self.decoder(dropped), state, [encoded], []


class AWDRNN(_RNNLanguageModel):
    """Recurrent layers with dropout of their recurrent weights (Merity, Keskar and Socher, 2017).

    Rates: weight_drop of hidden-to-hidden weights, drop_e of words in the embedding, drop_i of what goes in,
    drop_h between layers, dropout of what comes out.  States are a list of those of each layer.
    """

    def __init__(
        self,
        mode,
        vocab_size,
        embed_size=400,
        hidden_size=1150,
        num_layers=3,
        tie_weights=True,
        dropout=0.4,
        weight_drop=0.5,
        drop_h=0.2,
        drop_i=0.65,
        drop_e=0.1,
        **kwargs,
    ):
        self._weight_drop = weight_drop
        self._drop_h = drop_h
        self._drop_i = drop_i
        self._drop_e = drop_e
        super().__init__(mode, vocab_size, embed_size, hidden_size, num_layers, dropout, tie_weights, **kwargs)

    def _embedding(self):
        embedding = nn.HybridSequential()
        with embedding.name_scope():
            words = nn.Embedding(self._vocab_size, self._embed_size, weight_initializer=Uniform(0.1))
            apply_weight_drop(words, "weight", self._drop_e, axes=(1,))
            embedding.add(words)
            if self._drop_i:
                embedding.add(nn.Dropout(self._drop_i, axes=(0,)))
        return embedding

    def _encoder(self):
        encoder = nn.HybridSequential()
        with encoder.name_scope():
            width = self._embed_size
            for i in range(self._num_layers):
                last = i == self._num_layers - 1
                units = self._embed_size if last and self._tie_weights else self._hidden_size
                encoder.add(recurrent_layer(self._mode, 1, width, units, 0, self._weight_drop))
                width = units
        return encoder

    def begin_state(self, *args, **kwargs):
        """A list of the initial states of each layer."""
        return [layer.begin_state(*args, **kwargs) for layer in self.encoder]

    def state_info(self, *args, **kwargs):
        """A list of the shapes and layouts of the states of each layer."""
        return [layer.state_info(*args, **kwargs) for layer in self.encoder]

    def _read(self, F, inputs, begin_state):
        encoded = self.embedding(inputs)
        states, raw, dropped = [], [], []
        for i, (layer, state) in enumerate(zip(self.encoder, begin_state, strict=True)):
            encoded, state = layer(encoded, state)
            states.append(state)
            raw.append(encoded)
            last = i == self._num_layers - 1
            encoded = _drop_steps_alike(F, encoded, self._dropout if last else self._drop_h)
            if last or self._drop_h:
                dropped.append(encoded)
        return self.decoder(encoded), states, raw, dropped


class ProjectedRNN(Block):
    """An embedding with dropout, and LSTM layers with projected states and dropout; derived classes add the decoder."""

    def __init__(self, embedding, embed_size, hidden_size, num_layers, projection_size, dropouts, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            # Parameters are called alike, whichever class of layer has them: weights of one network serve the other.
            layers = nn.HybridSequential if issubclass(embedding.func, HybridBlock) else nn.Sequential
            self.embedding = layers(prefix="embedding0_")
            with self.embedding.name_scope():
                self.embedding.add(embedding(prefix="embedding0_"))
                if dropouts[0]:
                    self.embedding.add(nn.Dropout(dropouts[0]))
            self.encoder = rnn.HybridSequentialRNNCell()
            with self.encoder.name_scope():
                for i in range(num_layers):
                    width = projection_size if i else embed_size
                    self.encoder.add(LSTMPCell(hidden_size, projection_size, input_size=width))
                    if dropouts[1]:
                        self.encoder.add(rnn.DropoutCell(dropouts[1]))

    def begin_state(self, **kwargs):
        """Initial states: projected state and cell of each layer."""
        return self.encoder.begin_state(**kwargs)

    def encode(self, inputs, begin_state):
        """Outputs (length, batch, projection_size) and new states for words (length, batch)."""
        length = inputs.shape[0]
        return self.encoder.unroll(length, self.embedding(inputs), begin_state, layout="TNC", merge_outputs=True)


class BigRNN(ProjectedRNN):
    """LSTM layers with projected states, for large vocabularies (Jozefowicz et al., 2016), with sampled output.

    Called with inputs and label (length, batch), states, and sampled_values as ISDense takes them; gives scores
    (length, batch, 1 + num_sampled), new states, and labels (length, batch) for the softmax cross-entropy.
    sparse_weight: embedding and decoder have row-sparse weights; sparse_grad: row-sparse gradients.
    """

    def __init__(
        self,
        vocab_size,
        embed_size,
        hidden_size,
        num_layers,
        projection_size,
        num_sampled,
        embed_dropout=0.0,
        encode_dropout=0.0,
        sparse_weight=True,
        sparse_grad=True,
        **kwargs,
    ):
        if sparse_weight and not sparse_grad:
            raise InvalidArgument("sparse weights have sparse gradients: sparse_weight=True needs sparse_grad=True")

        if sparse_weight:
            embedding = functools.partial(SparseEmbedding, vocab_size, embed_size)
        else:
            embedding = functools.partial(nn.Embedding, vocab_size, embed_size, sparse_grad=sparse_grad)
        dropouts = embed_dropout, encode_dropout
        super().__init__(embedding, embed_size, hidden_size, num_layers, projection_size, dropouts, **kwargs)
        with self.name_scope():
            if sparse_weight:
                decoder = SparseISDense
            else:
                decoder = functools.partial(ISDense, sparse_grad=sparse_grad)
            self.decoder = decoder(vocab_size, num_sampled, projection_size, prefix="decoder0_")

    def forward(self, inputs, label, begin_state, sampled_values):
        encoded, states = self.encode(inputs, begin_state)
        scores, labels = self.decoder(encoded, sampled_values, label)
        return scores.reshape((*inputs.shape, -1)), states, labels.reshape(inputs.shape)


class ParallelBigRNN(Parallelizable):
    """Forward and backward passes of a BigRNN for `gluonnlp.utils.Parallel`.

    Its inputs are words, labels, a mask (length, batch) of what counts, sampled values and states; it gives new
    states and the losses, already divided by batch_size.
    """

    def __init__(self, model, loss_fn, batch_size):
        self._model = model
        self._loss = loss_fn
        self._batch_size = batch_size

    def forward_backward(self, x):
        inputs, label, mask, sampled, states = x
        with autograd.record():
            scores, states, labels = self._model(inputs, label, states, sampled)
            loss = self._loss(scores.reshape((-3, -1)), labels.reshape((-1,))) * mask.reshape((-1,))
            loss = loss / self._batch_size
            loss.backward()
        return states, loss


def recurrent_layer(mode, num_layers, input_size, hidden_size, dropout, weight_dropout=0):
    """Layers of the kind `mode` with dropout between them and of their recurrent weights."""
    layer = LAYERS[mode](hidden_size, num_layers, dropout=dropout, input_size=input_size)
    apply_weight_drop(layer, ".*h2h_weight", weight_dropout)
    return layer


def _drop_steps_alike(F, x, rate):
    """Dropout with one mask for all steps of a sequence."""
    return F.Dropout(x, p=rate, axes=(0,)) if rate else x
