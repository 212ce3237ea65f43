"""Functions that make one batch of many samples."""

from core.documentation.classes import complete as _complete

from .batchify import Dict, List, NamedTuple, Pad, Stack, Tuple
from .embedding import EmbeddingCenterContextBatchify
from .language_model import CorpusBatchify, CorpusBPTTBatchify, StreamBPTTBatchify

__all__ = [
    "Stack",
    "Pad",
    "Tuple",
    "List",
    "NamedTuple",
    "Dict",
    "CorpusBatchify",
    "CorpusBPTTBatchify",
    "StreamBPTTBatchify",
    "EmbeddingCenterContextBatchify",
]

_complete(globals())
