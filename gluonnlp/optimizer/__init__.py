"""Optimizers for text."""

from core.documentation.classes import complete as _complete

from .bert_adam import BERTAdam

__all__ = ["BERTAdam"]

_complete(globals())
