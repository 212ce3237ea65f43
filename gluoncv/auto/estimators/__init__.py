"""What trains one network on the user's pictures, and predicts with it."""

from gluoncv.auto.estimators.base import BaseEstimator
from gluoncv.auto.estimators.image_classification import ImageClassificationEstimator
from gluoncv.auto.estimators.ssd import SSDEstimator

__all__ = ["BaseEstimator", "ImageClassificationEstimator", "SSDEstimator"]
