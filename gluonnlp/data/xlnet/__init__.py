"""Preparing SQuAD for XLNet."""

from . import squad
from .squad import *

__all__ = squad.__all__
