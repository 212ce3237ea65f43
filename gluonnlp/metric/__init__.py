"""Metrics for text."""

from core.documentation.classes import complete as _complete

from . import bleu
from .bleu import compute_bleu
from .length_normalized_loss import LengthNormalizedLoss
from .masked_accuracy import MaskedAccuracy

__all__ = ["MaskedAccuracy", "LengthNormalizedLoss", "compute_bleu"]

_complete(globals())
