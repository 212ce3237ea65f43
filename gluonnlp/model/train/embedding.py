"""Embeddings that are being trained, of tokens and of the n-grams in them."""

from __future__ import annotations

import warnings

import numpy as np

from core import nd
from gluon import Block, HybridBlock

from ...embedding.fasttext_binary import read_fasttext_binary
from ...vocab.subwords import create_subword_function

__all__ = ["CSREmbeddingModel", "EmbeddingModel", "FasttextEmbeddingModel"]


class EmbeddingModel(Block):
    """`token in model` says whether a token has a vector, `model[token]` (width,) or
    `model[tokens]` (n, width) gives it.
    """

    def __contains__(self, token):
        raise NotImplementedError(f"{type(self).__name__} does not say which tokens it knows")

    def __getitem__(self, tokens):
        raise NotImplementedError(f"{type(self).__name__} does not say what its vectors are")


class CSREmbeddingModel(EmbeddingModel, HybridBlock):
    """A vector (output_dim,) for each token of `token_to_idx`.

    Called with a CSR array (rows, tokens) of how much each token counts; gives (rows, output_dim).  sparse_grad: the
    weight's gradient is row-sparse.  KeyError for a token without a vector.
    """

    def __init__(self, token_to_idx, output_dim, weight_initializer=None, sparse_grad=True, dtype="float32", **kwargs):
        super().__init__(**kwargs)
        self._token_to_idx = token_to_idx
        self._dtype = dtype
        self.weight = self.params.get(
            "weight",
            shape=(self._rows(), output_dim),
            init=weight_initializer,
            dtype=dtype,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def hybrid_forward(self, F, words, weight):
        return F.sparse.dot(words, weight)

    def __repr__(self):
        rows, width = self.weight.shape
        return f"{type(self).__name__}({rows} -> {width}, {self._dtype})"

    def __contains__(self, token):
        return bool(self._indices([token])[0])

    def __getitem__(self, tokens):
        wanted = [tokens] if isinstance(tokens, str) else tokens
        found = self._indices(wanted)
        for token, indices in zip(wanted, found, strict=True):
            if not indices:
                raise KeyError(token)
        # Each vector is the mean of its rows.
        counts = [len(indices) for indices in found]
        columns = np.concatenate([np.asarray(indices, "int64") for indices in found])
        rows = np.repeat(np.arange(len(found)), counts)
        values = np.repeat(1 / np.asarray(counts), counts)
        shape, ctx = (len(found), self.weight.shape[0]), self.weight.list_ctx()[0]
        vectors = self(nd.sparse.csr_matrix((values, (rows, columns)), shape=shape, dtype=self._dtype, ctx=ctx))
        return vectors[0] if isinstance(tokens, str) else vectors

    def _rows(self):
        return len(self._token_to_idx)

    def _indices(self, tokens):
        """The rows of each token, none where it has no vector."""
        return [[self._token_to_idx[token]] if token in self._token_to_idx else [] for token in tokens]


class FasttextEmbeddingModel(CSREmbeddingModel):
    """The mean of a token's vector, where it has one, and those of its n-grams (Bojanowski et al., 2017).

    The weight has the tokens of `token_to_idx` first, then the subwords of `subword_function`.
    """

    def __init__(self, token_to_idx, subword_function, output_dim, *args, **kwargs):
        self._subword_function = subword_function
        super().__init__(token_to_idx, output_dim, *args, **kwargs)

    @classmethod
    def load_fasttext_format(cls, path, ctx=None, **kwargs):
        """The model in a `.bin` file of fastText; ValueError for a quantized or damaged one."""
        file = read_fasttext_binary(path)
        token_to_idx = {token: i for i, token in enumerate(file.words)}
        if lost := len(file.words) - len(token_to_idx):
            warnings.warn(f"{path} has {lost} tokens twice, maybe for bytes that are no UTF-8", stacklevel=2)
        # Rows of tokens that were lost stay in their places, under names that no text has.
        token_to_idx |= {("lost", i): -1 for i in range(lost)}
        ngrams = list(range(file.shortest_ngram, file.longest_ngram + 1))
        subwords = create_subword_function(
            "NGramHashes", num_subwords=file.buckets, ngrams=ngrams, special_tokens={"</s>"}
        )
        net = cls(token_to_idx, subwords, file.values.shape[1], **kwargs)
        net.initialize(ctx=ctx)
        net.weight.set_data(nd.array(file.values))
        return net

    def _rows(self):
        return len(self._token_to_idx) + len(self._subword_function)

    def _indices(self, tokens):
        first = len(self._token_to_idx)
        of_ngrams = ([first + int(i) for i in subwords] for subwords in self._subword_function(tokens))
        return [own + ngrams for own, ngrams in zip(super()._indices(tokens), of_ngrams, strict=True)]
