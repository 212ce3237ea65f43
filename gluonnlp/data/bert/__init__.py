"""Preparing GLUE and SQuAD for BERT."""

from . import glue, squad
from .glue import *
from .squad import *

__all__ = glue.__all__ + squad.__all__
