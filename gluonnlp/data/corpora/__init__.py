"""Corpora for language models and word embeddings."""

from .google_billion_word import GBWStream
from .large_text_compression_benchmark import Enwik8, Fil9, Text8
from .wikitext import WikiText2, WikiText2Raw, WikiText103, WikiText103Raw

__all__ = ["GBWStream", "Text8", "Fil9", "Enwik8", "WikiText2", "WikiText103", "WikiText2Raw", "WikiText103Raw"]
