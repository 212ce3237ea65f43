"""Losses for text."""

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
