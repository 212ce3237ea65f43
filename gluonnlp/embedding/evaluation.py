"""How well vectors capture meaning: word similarity and word analogy (Levy and Goldberg, 2014)."""

from __future__ import annotations

from core import nd
from gluon import HybridBlock

from ..base import InvalidArgument
from ..registry import Registry

__all__ = [
    "register",
    "create",
    "list_evaluation_functions",
    "WordEmbeddingSimilarityFunction",
    "WordEmbeddingAnalogyFunction",
    "CosineSimilarity",
    "ThreeCosMul",
    "ThreeCosAdd",
    "WordEmbeddingSimilarity",
    "WordEmbeddingAnalogy",
]


class WordEmbeddingSimilarityFunction(HybridBlock):
    """Base of functions from two batches of vectors (n, dimensions) to n similarities."""


class WordEmbeddingAnalogyFunction(HybridBlock):
    """Base of functions from words a, b, c (indices, shape (n,)) to the k best d with a : b = c : d, shape (n, k)."""


_functions = {
    "similarity": Registry("similarity function", WordEmbeddingSimilarityFunction),
    "analogy": Registry("analogy function", WordEmbeddingAnalogyFunction),
}


def register(class_):
    """Decorator: files a similarity or analogy function under its class name."""
    for functions in _functions.values():
        if issubclass(class_, functions.base):
            return functions.register(class_)
    raise RuntimeError(f"{class_.__name__} is neither a similarity nor an analogy function.")


def create(kind, name, **kwargs):
    """An evaluation function by kind ('similarity' or 'analogy') and class name."""
    return _of_kind(kind).create(name, **kwargs)


def list_evaluation_functions(kind=None):
    """The names of one kind, or of all: {kind: [name, ...]}."""
    if kind is None:
        kind = tuple(_functions)
    if isinstance(kind, tuple):
        return {k: list(_of_kind(k)) for k in kind}
    return list(_of_kind(kind))


def _of_kind(kind):
    if kind not in _functions:
        raise KeyError(f"There is no kind {kind!r} of evaluation functions; there are: {', '.join(_functions)}.")
    return _functions[kind]


@register
class CosineSimilarity(WordEmbeddingSimilarityFunction):
    """The cosine of the angle between the rows of two batches; `eps` keeps zero vectors from dividing by zero."""

    def __init__(self, eps=1e-10, **kwargs):
        super().__init__(**kwargs)
        self.eps = eps

    def hybrid_forward(self, F, x, y):
        unit = [F.L2Normalization(v, eps=self.eps) for v in (x, y)]
        return F.sum(unit[0] * unit[1], axis=1)


class _Analogy(WordEmbeddingAnalogyFunction):
    """What 3CosMul and 3CosAdd share: the table, the exclusion of the question's words, the best k."""

    def __init__(self, idx_to_vec, k, exclude_question_words, **kwargs):
        super().__init__(**kwargs)
        self.k = k
        self._exclude_question_words = exclude_question_words
        self._vocab_size, self._embed_size = idx_to_vec.shape
        with self.name_scope():
            self.weight = self.params.get_constant("weight", idx_to_vec)

    def _vectors(self, F, words, weight):
        return F.Embedding(words, weight, input_dim=self._vocab_size, output_dim=self._embed_size)

    def _products(self, F, vectors, weight):
        return F.FullyConnected(vectors, weight, no_bias=True, num_hidden=self._vocab_size, flatten=False)

    def _best(self, F, score, question):
        if self._exclude_question_words:
            for words in question:
                score = score * F.one_hot(words, self._vocab_size, 0, 1)
        return F.topk(score, k=self.k)


@register
class ThreeCosMul(_Analogy):
    """cos(d, b) cos(d, c) / (cos(d, a) + eps) with cosines shifted to 0..1; gives the best k words."""

    def __init__(self, idx_to_vec, k=1, eps=1e-10, exclude_question_words=True, **kwargs):
        super().__init__(nd.L2Normalization(idx_to_vec, eps=eps), k, exclude_question_words, **kwargs)
        self.eps = eps

    def hybrid_forward(self, F, words1, words2, words3, weight):
        question = (words1, words2, words3)
        a, b, c = [(self._products(F, self._vectors(F, w, weight), weight) + 1) / 2 for w in question]
        return self._best(F, b * c / (a + self.eps), question)


@register
class ThreeCosAdd(_Analogy):
    """cos(d, c) - cos(d, a) + cos(d, b), or with normalize=False the product with c - a + b; gives the best k words."""

    def __init__(self, idx_to_vec, normalize=True, k=1, eps=1e-10, exclude_question_words=True, **kwargs):
        table = nd.L2Normalization(idx_to_vec, eps=eps) if normalize else idx_to_vec
        super().__init__(table, k, exclude_question_words, **kwargs)
        self.eps, self.normalize = eps, normalize

    def hybrid_forward(self, F, words1, words2, words3, weight):
        question = (words1, words2, words3)
        a, b, c = [self._vectors(F, w, weight) for w in question]
        return self._best(F, self._products(F, c - a + b, weight), question)


class WordEmbeddingSimilarity(HybridBlock):
    """Similarity of word pairs: indices words1, words2 of shape (n,) give n numbers."""

    def __init__(self, idx_to_vec, similarity_function="CosineSimilarity", eps=1e-10, **kwargs):
        super().__init__(**kwargs)
        self.eps = eps
        self._vocab_size, self._embed_size = idx_to_vec.shape
        with self.name_scope():
            self.weight = self.params.get_constant("weight", idx_to_vec)
            self.similarity = create("similarity", similarity_function, eps=eps)

    def hybrid_forward(self, F, words1, words2, weight):
        pair = [
            F.Embedding(w, weight, input_dim=self._vocab_size, output_dim=self._embed_size) for w in (words1, words2)
        ]
        return self.similarity(*pair)


class WordEmbeddingAnalogy(HybridBlock):
    """Answers to analogies: indices words1, words2, words3 of shape (n,) give the best k words, shape (n, k)."""

    def __init__(self, idx_to_vec, analogy_function="ThreeCosMul", k=1, exclude_question_words=True, **kwargs):
        super().__init__(**kwargs)
        if k < 1:
            raise InvalidArgument(f"k is the number of answers to give, 1 or more, not {k}.")
        self.k = k
        self.exclude_question_words = exclude_question_words
        with self.name_scope():
            self.analogy = create(
                "analogy", analogy_function, idx_to_vec=idx_to_vec, k=k, exclude_question_words=exclude_question_words
            )

    def hybrid_forward(self, F, words1, words2, words3):
        return self.analogy(words1, words2, words3)
