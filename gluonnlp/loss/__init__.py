"""Losses for text."""

from core.documentation.classes import complete as _complete

from .activation_regularizer import ActivationRegularizationLoss, TemporalActivationRegularizationLoss
from .label_smoothing import LabelSmoothing
from .loss import MaskedSoftmaxCELoss, MaskedSoftmaxCrossEntropyLoss

__all__ = [
    "ActivationRegularizationLoss",
    "TemporalActivationRegularizationLoss",
    "MaskedSoftmaxCrossEntropyLoss",
    "MaskedSoftmaxCELoss",
    "LabelSmoothing",
]

_complete(globals())
