"""Functions from words to the indices of their subwords."""

from __future__ import annotations

from ..base import InvalidArgument
from ..registry import Registry

__all__ = [
    "SubwordFunction",
    "ByteSubwords",
    "NGramHashes",
    "register_subword_function",
    "create_subword_function",
    "list_subword_functions",
]


class SubwordFunction:
    """Maps a list of words to a list of lists of subword indices; `len` is the number of subwords.

    >>> issubclass(gluonnlp.vocab.ByteSubwords, gluonnlp.vocab.SubwordFunction)
    True
    """

    def __call__(self, words):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError

    def indices_to_subwords(self, subwordindices):
        """The subwords of the given indices; RuntimeError where the map cannot be turned round."""
        raise NotImplementedError

    def subwords_to_indices(self, subwords):
        """The indices of the given subwords."""
        raise NotImplementedError


_functions = Registry("subword function", SubwordFunction)


def register_subword_function(subword_cls):
    """Decorator: makes a SubwordFunction known to `create_subword_function`.

    >>> @gluonnlp.vocab.register_subword_function
    ... class Syllables(gluonnlp.vocab.SubwordFunction):
    ...     def __call__(self, words):
    ...         return [[len(part) for part in word.split("-")] for word in words]
    >>> gluonnlp.vocab.create_subword_function("Syllables")(["lan-guage"])
    [[3, 5]]
    """
    return _functions.register(subword_cls)


def create_subword_function(subword_function_name, **kwargs):
    """A subword function by its class name, in any case.

    >>> type(gluonnlp.vocab.create_subword_function("ByteSubwords")).__name__
    'ByteSubwords'
    """
    return _functions.create(subword_function_name, **kwargs)


def list_subword_functions():
    """The names of all subword functions, lower case.

    >>> sorted(gluonnlp.vocab.list_subword_functions())
    ['bytesubwords', 'ngramhashes']
    """
    return list(_functions)


@register_subword_function
class ByteSubwords(SubwordFunction):
    """The subwords of a word are the bytes of its encoding.

    >>> gluonnlp.vocab.ByteSubwords()(["ab"])
    [[97, 98]]
    """

    def __init__(self, encoding="utf-8"):
        self.encoding = encoding

    def __call__(self, words):
        return [list(word.encode(self.encoding)) for word in words]

    def __len__(self):
        return 256

    def __repr__(self):
        return f"ByteSubwords(encoding={self.encoding})"

    def indices_to_subwords(self, subwordindices):
        return subwordindices

    def subwords_to_indices(self, subwords):
        return subwords


@register_subword_function
class NGramHashes(SubwordFunction):
    """Hashes of the character n-grams of `<word>`, modulo `num_subwords`, as in fastText (Bojanowski et al., 2017).

    Words in `special_tokens` have no subwords.

    >>> len(gluonnlp.vocab.NGramHashes(num_subwords=100)(["word"])[0])
    10
    """

    def __init__(self, num_subwords, ngrams=(3, 4, 5, 6), special_tokens=None):
        if isinstance(special_tokens, str):
            raise InvalidArgument(f"special_tokens is a set of tokens, not the string {special_tokens!r}.")
        self.num_subwords = num_subwords
        self.ngrams = ngrams
        self.special_tokens = set() if special_tokens is None else special_tokens

    def __call__(self, words):
        return [self._hashes(word) for word in words]

    def __len__(self):
        return self.num_subwords

    def __repr__(self):
        return f"NGramHashes(num_subwords={self.num_subwords}, ngrams={self.ngrams})"

    def indices_to_subwords(self, subwordindices):
        raise RuntimeError("The n-gram hash cannot be turned round.")

    def subwords_to_indices(self, subwords):
        return [self.fasttext_hash_asbytes(s) % self.num_subwords for s in subwords]

    @staticmethod
    def fasttext_hash_asbytes(ngram, encoding="utf-8"):
        """fastText's 32-bit FNV-1a hash of an n-gram; bytes count as signed, as its C++ code has it."""
        return _fnv1a(ngram.encode(encoding))

    def _hashes(self, word):
        if word in self.special_tokens:
            return []
        chars = [c.encode("utf8") for c in f"<{word}>"]
        longest, hashes = max(self.ngrams), []
        for begin in range(len(chars)):
            for n in range(1, min(longest, len(chars) - begin) + 1):
                # "<" alone says nothing of the word; the last character alone is kept, as upstream does.
                if n in self.ngrams and not (n == 1 and begin == 0):
                    hashes.append(_fnv1a(b"".join(chars[begin : begin + n])) % self.num_subwords)
        return hashes


def _fnv1a(data: bytes) -> int:
    h = 2166136261
    for byte in data:
        signed = byte - 256 if byte > 127 else byte
        h = ((h ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return h
