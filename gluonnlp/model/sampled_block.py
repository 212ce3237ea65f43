"""Output layers for large vocabularies that score the right word and a sample of the others in training.

Called with x (..., in_unit), sampled_values and label, as many as rows of x.  sampled_values are three
arrays: sampled words (num_sampled,), how often a sample has each (num_sampled,), and how often it has
the labels, as many.  They give scores (rows, 1 + num_sampled), of the right word first, less the logarithms of these
expectations, and labels for the loss.
"""

from __future__ import annotations

from core import nd
from gluon import Block, HybridBlock

__all__ = ["ISDense", "NCEDense", "SparseISDense", "SparseNCEDense"]


class _Sampled(Block):
    """What the layers have in common; sparse_label: labels are class numbers, else distributions."""

    _sparse_label: bool

    def __init__(
        self,
        num_classes,
        num_sampled,
        in_unit,
        remove_accidental_hits=True,
        dtype="float32",
        weight_initializer=None,
        bias_initializer="zeros",
        prefix=None,
        params=None,
        **stypes,
    ):
        super().__init__(prefix=prefix, params=params)
        self._num_classes = num_classes
        self._num_sampled = num_sampled
        self._in_unit = in_unit
        self._remove_accidental_hits = remove_accidental_hits
        with self.name_scope():
            shape = (num_classes, in_unit)
            self.weight = self.params.get("weight", shape=shape, init=weight_initializer, dtype=dtype, **stypes)
            self.bias = self.params.get("bias", shape=(num_classes,), init=bias_initializer, dtype=dtype)

    def __repr__(self):
        return f"{type(self).__name__}({self._in_unit} -> {self._num_classes}, {self._about()})"

    def _about(self):
        return f"with {self._num_sampled} samples"

    def _score(self, F, x, sampled_values, label, weight, bias, sparse_grad):
        sampled, expected_sampled, expected_true = sampled_values
        label = F.reshape(label, shape=(-1,))
        x = F.reshape(x, shape=(-1, self._in_unit))
        ids = F.concat(F.cast(sampled, dtype="int32"), F.cast(label, dtype="int32"), dim=0)
        rows = F.Embedding(ids, weight, input_dim=self._num_classes, output_dim=self._in_unit, sparse_grad=sparse_grad)
        biases = F.take(bias, ids)
        n = self._num_sampled
        of_true = F.sum(F.slice_axis(rows, axis=0, begin=n, end=None) * x, axis=1)
        of_true = of_true + F.slice_axis(biases, axis=0, begin=n, end=None)
        of_sampled = F.FullyConnected(
            x, F.slice_axis(rows, axis=0, begin=0, end=n), F.slice_axis(biases, axis=0, begin=0, end=n), num_hidden=n
        )
        if self._remove_accidental_hits:
            words = F.slice_axis(ids, axis=0, begin=0, end=n), F.slice_axis(ids, axis=0, begin=n, end=None)
            hits = F.broadcast_equal(F.reshape(words[1], shape=(-1, 1)), F.reshape(words[0], shape=(1, -1)))
            of_sampled = of_sampled + F.cast(hits, dtype="float32") * -1e37
        of_true = of_true - F.log(F.reshape(F.cast(expected_true, dtype="float32"), shape=(-1,)))
        of_true = F.reshape(of_true, shape=(-1, 1))
        often = F.log(F.reshape(F.cast(expected_sampled, dtype="float32"), shape=(1, -1)))
        of_sampled = F.broadcast_sub(of_sampled, often)
        scores = F.concat(of_true, of_sampled, dim=1)
        if self._sparse_label:
            return scores, F.zeros_like(label)
        return scores, F.concat(F.ones_like(of_true), F.zeros_like(of_sampled), dim=1)


class _Dense(_Sampled, HybridBlock):
    """A weight (num_classes, in_unit) that a `nn.Dense` can share; sparse_grad: its gradient is row-sparse."""

    def __init__(self, *args, sparse_grad=True, **kwargs):
        super().__init__(*args, grad_stype="row_sparse" if sparse_grad else "default", **kwargs)
        self._sparse_grad = sparse_grad

    def hybrid_forward(self, F, x, sampled_values, label, weight, bias):
        return self._score(F, x, sampled_values, label, weight, bias, self._sparse_grad)


class _Sparse(_Sampled):
    """A row-sparse weight (num_classes, in_unit) with row-sparse gradient,
    of which a call takes the rows that it needs.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, stype="row_sparse", grad_stype="row_sparse", **kwargs)

    def forward(self, x, sampled_values, label):
        words = nd.concat(sampled_values[0].astype("int32"), label.reshape((-1,)).astype("int32"), dim=0)
        weight, bias = self.weight.row_sparse_data(words), self.bias.data(words.context)
        return self._score(nd, x, sampled_values, label, weight, bias, sparse_grad=True)

    def _about(self):
        return f"num_sampled = {self._num_sampled}, remove_accidental_hits = {self._remove_accidental_hits}"


class ISDense(_Dense):
    """Scores and labels for the softmax cross-entropy over a sample (Jozefowicz et al., 2016).

    Labels are (rows,) of 0.

    >>> net = gluonnlp.model.ISDense(10, 3, 4)
    >>> len(net.collect_params())
    2
    """

    _sparse_label = True


class NCEDense(_Dense):
    """Scores and labels for noise contrastive estimation (Gutmann and Hyvarinen, 2010), whose loss is the sigmoid
    cross-entropy; labels are (rows, 1 + num_sampled).

    >>> net = gluonnlp.model.NCEDense(10, 3, 4)
    >>> len(net.collect_params())
    2
    """

    _sparse_label = False

    def __init__(self, num_classes, num_sampled, in_unit, remove_accidental_hits=False, *args, **kwargs):
        super().__init__(num_classes, num_sampled, in_unit, remove_accidental_hits, *args, **kwargs)


class SparseISDense(_Sparse):
    """Scores and labels for the softmax cross-entropy over a sample (Jozefowicz et al., 2016).

    Labels are (rows,) of 0.

    The weight is row-sparse: a step moves the rows of the classes that were drawn alone.

    >>> net = gluonnlp.model.SparseISDense(10, 3, 4)
    >>> len(net.collect_params())
    2
    """

    _sparse_label = True


class SparseNCEDense(_Sparse):
    """Scores and labels for noise contrastive estimation (Gutmann and Hyvarinen, 2010), whose loss is the sigmoid
    cross-entropy; labels are (rows, 1 + num_sampled).

    The weight is row-sparse: a step moves the rows of the classes that were drawn alone.

    >>> net = gluonnlp.model.SparseNCEDense(10, 3, 4)
    >>> len(net.collect_params())
    2
    """

    _sparse_label = False
