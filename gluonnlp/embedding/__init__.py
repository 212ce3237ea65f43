"""Word vectors: tables of pre-trained embeddings, their files, and their evaluation."""

from core.documentation.classes import complete as _complete

from . import evaluation
from .token_embedding import FastText, GloVe, TokenEmbedding, Word2Vec, create, list_sources, register

__all__ = ["register", "create", "list_sources", "TokenEmbedding", "GloVe", "FastText", "Word2Vec", "evaluation"]

_complete(globals())
