"""Dependency parsing with deep biaffine attention (Dozat and Manning, 2017)."""

from __future__ import annotations

import numpy as np

from core import autograd, nd
from core.initializer import Constant, Zero
from gluon import Block, loss, nn, rnn
from gluon.contrib.rnn import VariationalDropoutCell

from ..data.parser import arc_argmax, rel_argmax
from .parameter import apply_weight_drop

__all__ = ["BiaffineParser"]


class BiaffineParser(Block):
    """Heads and relations of words, from words and tags (length, batch) given as NumPy arrays, the root first.

    In training, called with arc_targets and rel_targets (length, batch) too, it gives the shares of right heads, right
    relations and both, and the loss.  In prediction it gives a list of (heads, relations) for each sentence, without
    the root; with the targets the three shares and that list, where relations count for the predicted heads.

    vocab: has ROOT, UNK, words_in_train, rel_size, and tables of vectors by get_word_embs(word_dims), get_tag_embs(
    tag_dims) and, where has_pret_embs(), get_pret_embs().  dropout_dim: rate for whole words in the tables.  debug:
    weights are random rather than orthonormal.

    >>> class Tables:
    ...     rel_size, words_in_train, ROOT, UNK = 4, 6, 3, 1
    ...     def get_word_embs(self, width): return onp.ones((6, width), "float32")
    ...     def get_tag_embs(self, width): return onp.ones((5, width), "float32")
    ...     def has_pret_embs(self): return False
    >>> parser = gluonnlp.model.BiaffineParser(Tables(), word_dims=4, tag_dims=3, dropout_dim=0, lstm_layers=1, lstm_hiddens=5, dropout_lstm_input=0, dropout_lstm_hidden=0, mlp_arc_size=4, mlp_rel_size=4, dropout_mlp=0, debug=True)
    >>> words, tags = onp.array([[3], [4], [5]]), onp.array([[1], [2], [3]])  # the root and two words
    >>> heads, relations = parser(words, tags)[0]
    >>> len(heads), int((heads == 0).sum())  # each word has a head, and one of them the root
    (2, 1)
    """

    def __init__(
        self,
        vocab,
        word_dims,
        tag_dims,
        dropout_dim,
        lstm_layers,
        lstm_hiddens,
        dropout_lstm_input,
        dropout_lstm_hidden,
        mlp_arc_size,
        mlp_rel_size,
        dropout_mlp,
        debug=False,
    ):
        super().__init__()
        self._vocab = vocab
        self._dropout_lstm_input = dropout_lstm_input
        self._dropout_mlp = dropout_mlp
        self._mlp_arc_size = mlp_arc_size
        self.word_embs = _table(vocab.get_word_embs(word_dims), dropout_dim)
        self.pret_word_embs = None
        if vocab.has_pret_embs():
            self.pret_word_embs = _table(vocab.get_pret_embs(), dropout_dim)
            self.pret_word_embs.collect_params().setattr("grad_req", "null")
        self.tag_embs = _table(vocab.get_tag_embs(tag_dims), dropout_dim)
        self.f_lstm, self.b_lstm = nn.Sequential(), nn.Sequential()
        for i in range(lstm_layers):
            width = 2 * lstm_hiddens if i else word_dims + tag_dims
            for layers in (self.f_lstm, self.b_lstm):
                cell = _lstm(width, lstm_hiddens, debug)
                layers.add(VariationalDropoutCell(cell, drop_states=dropout_lstm_hidden))
        mlp_size, ones = mlp_arc_size + mlp_rel_size, mlp_rel_size + 1
        start = Constant(_orthonormal(mlp_size, 2 * lstm_hiddens, debug))
        for name in ("mlp_dep", "mlp_head"):
            weight = self.params.get(name + "_W", shape=(mlp_size, 2 * lstm_hiddens), init=start)
            setattr(self, name + "_W", weight)
            setattr(self, name + "_b", self.params.get(name + "_b", shape=(mlp_size,), init=Zero()))
        self.arc_W = self.params.get("arc_W", shape=(mlp_arc_size, mlp_arc_size + 1), init=Zero())
        self.rel_W = self.params.get("rel_W", shape=(vocab.rel_size * ones, ones), init=Zero())
        self._loss = loss.SoftmaxCrossEntropyLoss(batch_axis=0)
        self.initialize()

    def __call__(self, word_inputs, tag_inputs, arc_targets=None, rel_targets=None):
        return super().__call__(word_inputs, tag_inputs, arc_targets, rel_targets)

    def forward(self, word_inputs, tag_inputs, arc_targets=None, rel_targets=None):
        training = autograd.is_training()
        counts = (word_inputs > self._vocab.ROOT).T.astype("float32")
        arcs, rels = self._scores(word_inputs, tag_inputs)
        found = arcs.argmax(axis=2)
        heads = nd.array(arc_targets.T) if training else found
        # (batch, dependents, relations) of the heads that count.
        of_heads = nd.pick(rels, heads.expand_dims(2).broadcast_axes(2, self._vocab.rel_size), axis=3)
        if arc_targets is not None:
            right_arcs = (found.asnumpy() == arc_targets.T) * counts
            right_rels = (of_heads.argmax(axis=2).asnumpy() == rel_targets.T) * counts
            shares = [right.sum() / counts.sum() for right in (right_arcs, right_rels, right_arcs * right_rels)]
        if training:
            losses = self._cross_entropy(arcs, arc_targets, counts) + self._cross_entropy(of_heads, rel_targets, counts)
            return (*shares, losses)
        arcs, rels = nd.softmax(arcs, axis=2).asnumpy(), nd.softmax(rels, axis=2).asnumpy().transpose(0, 1, 3, 2)
        parses = [_parse(*sentence) for sentence in zip(counts, arcs, rels, strict=True)]
        return parses if arc_targets is None else (*shares, parses)

    def save_parameters(self, filename, deduplicate=False):
        """Writes all parameters but the pretrained table, which the vocabulary has; no two of them are one.

        `deduplicate`, as in `Block.save_parameters`, thus finds nothing to leave out.
        """
        parameters = self._collect_params_with_prefix().items()
        nd.save(filename, {name: p.data() for name, p in parameters if not name.startswith("pret_word_embs.")})

    def save(self, save_path):
        """As `save_parameters`."""
        self.save_parameters(save_path)

    def load(self, load_path):
        """Reads what `save` wrote."""
        self.load_parameters(load_path, allow_missing=True)

    def _scores(self, word_inputs, tag_inputs):
        """Scores of heads (batch, dependents, heads) and of relations (batch, dependents, relations, heads)."""
        known = np.where(word_inputs < self._vocab.words_in_train, word_inputs, self._vocab.UNK)
        words = self.word_embs(nd.array(known))
        if self.pret_word_embs is not None:
            words = words + self.pret_word_embs(nd.array(word_inputs))
        x = nd.concat(words, self.tag_embs(nd.array(tag_inputs)), dim=2)
        for forwards, backwards in zip(self.f_lstm, self.b_lstm, strict=True):
            x = _drop(x, self._dropout_lstm_input)
            x = nd.concat(_unroll(forwards, x), _unroll(backwards, x.flip(axis=0)).flip(axis=0), dim=2)
        x = _drop(x, self._dropout_mlp)
        parts = []
        for weight, bias in ((self.mlp_dep_W, self.mlp_dep_b), (self.mlp_head_W, self.mlp_head_b)):
            y = nd.LeakyReLU(nd.dot(x, weight.data(), transpose_b=True) + bias.data(), slope=0.1)
            y = _drop(y, self._dropout_mlp).transpose((1, 0, 2))
            parts.append((y[:, :, : self._mlp_arc_size], y[:, :, self._mlp_arc_size :]))
        (dep_arc, dep_rel), (head_arc, head_rel) = parts
        arcs = nd.batch_dot(nd.dot(_one(dep_arc), self.arc_W.data(), transpose_b=True), head_arc, transpose_b=True)
        batch, length, width = _one(dep_rel).shape
        of_dep = nd.dot(_one(dep_rel), self.rel_W.data(), transpose_b=True).reshape((batch, -1, width))
        rels = nd.batch_dot(of_dep, _one(head_rel), transpose_b=True)
        return arcs, rels.reshape((batch, length, self._vocab.rel_size, length))

    def _cross_entropy(self, scores, targets, counts):
        """The mean over the words that count, of shape (1,)."""
        losses = self._loss(scores.reshape((-3, 0)), nd.array(targets.T.reshape(-1)))
        return nd.sum(losses * nd.array(counts.reshape(-1))) / float(counts.sum())


def _parse(counts, arcs, rels):
    """The best tree of one sentence, from probabilities of heads (words, heads) and
    relations (words, heads, relations).
    """
    counts = counts.copy()
    counts[0] = 1
    length = int(counts.sum())
    heads = arc_argmax(arcs, length, counts)
    relations = rel_argmax(rels[np.arange(len(heads)), heads], length)
    return heads[1:length], relations[1:length]


def _unroll(cell, x):
    outputs, _ = cell.unroll(x.shape[0], x, layout="TNC", merge_outputs=True)
    cell.reset()
    return outputs


def _drop(x, rate):
    """Dropout with one mask for all steps (length, batch, units)."""
    return nd.Dropout(x, p=rate, axes=(0,))


def _one(x):
    """x with a last column of 1, which makes a bias part of the matrix."""
    return nd.concat(x, nd.ones_like(nd.slice_axis(x, axis=2, begin=0, end=1)), dim=2)


def _table(vectors, rate):
    table = nn.Embedding(*vectors.shape, weight_initializer=Constant(vectors))
    apply_weight_drop(table, "weight", rate, axes=(1,))
    return table


def _lstm(width, units, debug):
    """A cell whose gates begin alike and orthonormal, the forget gate open by 1 less than
    the others (Saxe et al., 2014).
    """
    weight = _orthonormal(units, units + width, debug)
    bias = np.zeros(4 * units, "float32")
    bias[units : 2 * units] = -1
    return rnn.LSTMCell(
        units,
        input_size=width,
        h2h_weight_initializer=Constant(np.tile(weight[:, :units], (4, 1))),
        i2h_weight_initializer=Constant(np.tile(weight[:, units:], (4, 1))),
        h2h_bias_initializer=Constant(bias),
    )


def _orthonormal(rows, columns, debug):
    """A float32 matrix whose rows (or columns, where they are fewer) are orthonormal; random with `debug`."""
    matrix = nd.random.normal(shape=(columns, rows)).asnumpy() / np.sqrt(rows)
    if debug:
        return matrix.T
    return np.linalg.qr(matrix)[0].T if columns >= rows else np.linalg.qr(matrix.T)[0]
