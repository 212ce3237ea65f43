"""Preparing SQuAD for XLNet."""

from . import squad
from .squad import convert_index, lcs_match

__all__ = squad.__all__
