"""What trains one network on the user's pictures, and predicts with it."""

from gluoncv.auto.estimators.base import BaseEstimator
from gluoncv.auto.estimators.center_net import CenterNetEstimator
from gluoncv.auto.estimators.faster_rcnn import FasterRCNNEstimator
from gluoncv.auto.estimators.image_classification import ImageClassificationEstimator
from gluoncv.auto.estimators.ssd import SSDEstimator
from gluoncv.auto.estimators.yolo import YOLOv3Estimator

__all__ = [
    "BaseEstimator", "CenterNetEstimator", "FasterRCNNEstimator", "ImageClassificationEstimator", "SSDEstimator",
    "YOLOv3Estimator",
]  # fmt: skip
