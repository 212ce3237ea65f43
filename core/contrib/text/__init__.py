"""Vocabularies and published word vectors. New programs: `gluonnlp`."""

from core.contrib.text import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]
