"""Tokenization for BERT: words, punctuation and accents first, then word pieces (Devlin et al., 2019)."""

from __future__ import annotations

import functools
import os
import unicodedata

import numpy as np

from core.files.text import read_json, reading

from ..base import InvalidArgument

__all__ = ["BERTBasicTokenizer", "BERTTokenizer", "BERTSPTokenizer", "BERTSentenceTransform"]


class BERTBasicTokenizer:
    """Text to words: control characters and accents go, punctuation and Chinese characters stand alone.

    lower: lower-cases the text.  strip_accents: removes accents, in GluonNLP also where case is kept.

    >>> gluonnlp.data.BERTBasicTokenizer()("Hello, World")
    ['hello', ',', 'world']
    """

    def __init__(self, lower=True, strip_accents=True):
        self.lower = lower
        self.strip_accents = strip_accents

    def __call__(self, sample):
        return self.tokenize(sample)

    def tokenize(self, text):
        """The words of a text."""
        text = text.translate(_CLEAN)
        if self.lower:
            text = text.lower()
        if self.strip_accents and not text.isascii():
            text = unicodedata.normalize("NFD", text)
        return text.translate(_SEPARATE if self.strip_accents else _SET_APART).split()

    def _is_control(self, char):
        return _is_control(char)

    def _is_punctuation(self, char):
        return _is_punctuation(char)

    def _is_whitespace(self, char):
        return _is_whitespace(char)


class BERTTokenizer:
    """Text to word pieces: the longest piece of `vocab` at the beginning of a word, then the longest `##` piece, ...

    Words that cannot be cut so, or have more than `max_input_chars_per_word` characters, are the
    unknown token.  lru_cache_size: how many words to remember (None: 2**16, enough for most texts).

    >>> vocab = gluonnlp.vocab.BERTVocab(gluonnlp.data.count_tokens(["un", "##want", "##ed", "hello", "world"]))
    >>> gluonnlp.data.BERTTokenizer(vocab)("unwanted world")
    ['un', '##want', '##ed', 'world']
    """

    _special_prefix = "##"

    def __init__(self, vocab, lower=True, max_input_chars_per_word=200, lru_cache_size=None, strip_accents=True):
        self.vocab = vocab
        self.max_input_chars_per_word = max_input_chars_per_word
        self.basic_tokenizer = BERTBasicTokenizer(lower, strip_accents)
        self._cache_size = lru_cache_size or 2**16
        self._pieces_of = functools.lru_cache(self._cache_size)(self._cut)

    @classmethod
    def from_file(cls, path, lower=True):
        """The tokenizer of a published BERT: `vocab.txt`, or `tokenizer.json`,
        which says itself whether it lower-cases.

        Its vocabulary is the attribute `vocab`.  Accents are kept where case is, unless the file says otherwise.
        """
        from ..vocab import BERTVocab

        limit, strip_accents = 100, None  # characters of a word, as in the original BERT
        path = os.path.expanduser(path)
        if path.endswith(".json"):
            content = read_json(path)
            with reading(path):
                normalizer = content.get("normalizer") or {}
                lower, strip_accents = normalizer.get("lowercase", lower), normalizer.get("strip_accents")
                limit = int(content["model"].get("max_input_chars_per_word", limit))
        strip_accents = lower if strip_accents is None else strip_accents
        return cls(BERTVocab.from_word_pieces(path), lower, limit, strip_accents=strip_accents)

    def __call__(self, sample):
        tokens, pieces_of = [], self._pieces_of
        for word in self.basic_tokenizer.tokenize(sample):
            tokens += pieces_of(word)
        return tokens

    def convert_tokens_to_ids(self, tokens):
        """The indices of tokens in the vocabulary."""
        return self.vocab.to_indices(tokens)

    @staticmethod
    def is_first_subword(token):
        """Whether a token begins a word."""
        return not token.startswith(BERTTokenizer._special_prefix)

    def _cut(self, word):
        if len(word) > self.max_input_chars_per_word:
            return (self.vocab.unknown_token,)
        pieces, begin, prefix, known = [], 0, "", self.vocab.token_to_idx
        while begin < len(word):
            for end in range(len(word), begin, -1):
                piece = prefix + word[begin:end]
                if piece in known:
                    break
            else:
                return (self.vocab.unknown_token,)
            pieces.append(piece)
            begin, prefix = end, self._special_prefix
        return tuple(pieces)

    def __getstate__(self):
        # The cache holds a bound method and cannot travel to a worker process.
        return {key: value for key, value in self.__dict__.items() if key != "_pieces_of"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._pieces_of = functools.lru_cache(self._cache_size)(self._cut)


class BERTSPTokenizer:
    """Text to the pieces of a sentencepiece model, word by word after `BERTBasicTokenizer`.

    path: the model file; `vocab` its BERTVocab.  num_best, alpha: as in SentencepieceTokenizer.
    """

    _special_prefix = "▁"

    def __init__(self, path, vocab, num_best=0, alpha=1.0, lower=True, max_input_chars_per_word=200):
        self.vocab = vocab
        self.max_input_chars_per_word = max_input_chars_per_word
        self.basic_tokenizer = BERTBasicTokenizer(lower)
        self._model = path, num_best, alpha
        self._sentencepiece = None

    def __call__(self, sample):
        if self._sentencepiece is None:
            # On first use: the model cannot be pickled, the tokenizer travels without it.
            from .transforms import SentencepieceTokenizer

            self._sentencepiece = SentencepieceTokenizer(*self._model)
        return [piece for word in self.basic_tokenizer.tokenize(sample) for piece in self._sentencepiece(word)]

    def convert_tokens_to_ids(self, tokens):
        """The indices of tokens in the vocabulary."""
        return self.vocab.to_indices(tokens)

    @staticmethod
    def is_first_subword(token):
        """Whether a token begins a word."""
        return token.startswith(BERTSPTokenizer._special_prefix)


class BERTSentenceTransform:
    """One text `(a,)` or two `(a, b)` to what BERT reads: token indices, their number, segment indices (int32).

    The tokens are [CLS] a [SEP], or [CLS] a [SEP] b [SEP], cut (the longer text first) to
    `max_seq_length` and, with `pad`, padded to it.  Vocabularies without [CLS] and [SEP] (RoBERTa)
    give their bos and eos tokens instead.  vocab: the tokenizer's own unless given.

    >>> vocab = gluonnlp.vocab.BERTVocab(gluonnlp.data.count_tokens(["un", "##want", "##ed", "hello", "world"]))
    >>> transform = gluonnlp.data.BERTSentenceTransform(gluonnlp.data.BERTTokenizer(vocab), 6, pair=True)
    >>> tokens, length, segments = transform(("hello", "world"))
    >>> int(length), segments.tolist()
    (5, [0, 0, 0, 1, 1, 0])
    """

    def __init__(self, tokenizer, max_seq_length, vocab=None, pad=True, pair=True):
        self._tokenizer = tokenizer
        self._max_seq_length = max_seq_length
        self._pad = pad
        self._pair = pair
        self._vocab = tokenizer.vocab if vocab is None else vocab
        self._cls_token = getattr(self._vocab, "cls_token", self._vocab.bos_token)
        self._sep_token = getattr(self._vocab, "sep_token", self._vocab.eos_token)

    def __call__(self, line):
        if self._pair and len(line) != 2:
            raise InvalidArgument(f"Two texts are expected (pair=True), not {len(line)}.")
        first = self._tokenizer(line[0])
        second = self._tokenizer(line[1]) if self._pair else []
        if second:
            first, second = _cut_pair(first, second, self._max_seq_length - 3)
        else:
            first = first[: self._max_seq_length - 2]
        tokens = [self._cls_token, *first, self._sep_token]
        segments = [0] * len(tokens)
        if second:
            tokens += [*second, self._sep_token]
            segments += [1] * (len(second) + 1)
        ids = self._vocab[tokens]
        valid_length = len(ids)
        if self._pad:
            missing = self._max_seq_length - valid_length
            ids += [self._vocab[self._vocab.padding_token]] * missing
            segments += [0] * missing
        return np.array(ids, "int32"), np.array(valid_length, "int32"), np.array(segments, "int32")


def _cut_pair(first, second, longest):
    """Drops tokens from the end of whichever list is longer (of equal ones: the second) until both fit."""
    a, b = len(first), len(second)
    while a + b > longest:
        if a > b:
            a -= 1
        elif b:
            b -= 1
        else:
            break
    return first[:a], second[:b]


def _is_control(char):
    return char not in "\t\n\r" and unicodedata.category(char) in ("Cc", "Cf")


def _is_whitespace(char):
    return char in " \t\n\r" or unicodedata.category(char) == "Zs"


def _is_punctuation(char):
    # All ASCII that is neither letter nor digit counts, such as "$", which Unicode calls a symbol.
    if char.isascii():
        return 33 <= ord(char) <= 126 and not char.isalnum()
    return unicodedata.category(char).startswith("P")


_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class _Translation(dict):
    """A table for str.translate that computes an entry when its character first occurs."""

    def __init__(self, function):
        super().__init__()
        self._function = function

    def __missing__(self, code):
        self[code] = result = self._function(chr(code))
        return result


def _clean(char):
    if char in "\0\ufffd" or _is_control(char):
        return ""
    if _is_whitespace(char):
        return " "
    if any(low <= ord(char) <= high for low, high in _CHINESE):
        return f" {char} "
    return char


def _set_apart(char):
    return f" {char} " if _is_punctuation(char) else char


def _separate(char):
    return "" if unicodedata.category(char) == "Mn" else _set_apart(char)


_CLEAN, _SEPARATE, _SET_APART = _Translation(_clean), _Translation(_separate), _Translation(_set_apart)
