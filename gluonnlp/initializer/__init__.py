"""Initializers for text."""

from .initializer import HighwayBias, TruncNorm

__all__ = ["HighwayBias", "TruncNorm"]
