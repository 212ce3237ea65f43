"""Vocabularies: tokens to numbers and back, words to characters and subwords."""

from core.documentation.classes import complete as _complete

from .bert import BERTVocab
from .elmo import ELMoCharVocab
from .subwords import (
    ByteSubwords,
    NGramHashes,
    SubwordFunction,
    create_subword_function,
    list_subword_functions,
    register_subword_function,
)
from .vocab import Vocab

__all__ = [
    "Vocab",
    "SubwordFunction",
    "ByteSubwords",
    "NGramHashes",
    "register_subword_function",
    "create_subword_function",
    "list_subword_functions",
    "ELMoCharVocab",
    "BERTVocab",
]

_complete(globals())
