"""The networks in the form that training wants, and a language model that remembers."""

from . import cache, embedding, language_model
from .cache import CacheCell, get_cache_model
from .embedding import CSREmbeddingModel, EmbeddingModel, FasttextEmbeddingModel
from .language_model import AWDRNN, BigRNN, ParallelBigRNN, StandardRNN

__all__ = [*cache.__all__, *embedding.__all__, *language_model.__all__]
