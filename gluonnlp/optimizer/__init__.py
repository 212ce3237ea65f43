"""Optimizers for text."""

from .bert_adam import BERTAdam

__all__ = ["BERTAdam"]
