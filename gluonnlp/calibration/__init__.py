"""Ranges of a network's values, for quantization to 8-bit integers."""

from .collector import BertLayerCollector

__all__ = ["BertLayerCollector"]
