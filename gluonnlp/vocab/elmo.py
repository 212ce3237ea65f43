"""Words as fixed-length rows of character numbers, for ELMo."""

from __future__ import annotations

__all__ = ["ELMoCharVocab"]


class ELMoCharVocab:
    """Maps a word to 50 character numbers (Peters et al., 2018).

    A row is: begin of word, the UTF-8 bytes of the word (at most 48), end of word, padding.  The
    sentence boundary tokens are words of one character of their own.

    >>> len(gluonnlp.vocab.ELMoCharVocab()["word"])
    50
    """

    max_word_length = 50
    max_word_chars = 48
    # 0 to 255 are the bytes of the word
    bos_id = 256
    eos_id = 257
    bow_id = 258
    eow_id = 259
    pad_id = 260

    def __init__(self, bos_token="<bos>", eos_token="<eos>"):
        self._boundaries = {bos_token: [self.bos_id], eos_token: [self.eos_id]}

    def __getitem__(self, tokens):
        """50 numbers for a token, or a list of such rows for a list or tuple of tokens."""
        if isinstance(tokens, (list, tuple)):
            return [self._row(token) for token in tokens]
        return self._row(tokens)

    def __call__(self, tokens):
        return self[tokens]

    def __len__(self):
        return 262

    def _row(self, token):
        inner = self._boundaries.get(token) or list(bytes(token, "utf8", "ignore")[: self.max_word_chars])
        row = [self.bow_id, *inner, self.eow_id]
        return row + [self.pad_id] * (self.max_word_length - len(row))
