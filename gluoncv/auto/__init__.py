"""Networks that are chosen and trained for the user's own pictures, on interfaces like those of scikit-learn.

    from gluoncv.auto import ImageClassification, ImageClassificationDataset

    train, _, test = ImageClassificationDataset.from_folders("pictures")
    found = ImageClassification({"lr": Real(1e-3, 1e-1, log=True), "num_trials": 8, "epochs": 9}).fit(train)
    found.evaluate(test)
    found.save("found.safetensors")

An estimator (`estimators`) trains one network; a task (`tasks`) searches the settings of one, with optuna, which the
extra `auto` installs. The names are those of GluonCV 0.10. Where that gives data frames, lists of dictionaries are
given, which `pandas.DataFrame` takes.
"""

from gluoncv.auto.data import ImageClassificationDataset, ObjectDetectionDataset
from gluoncv.auto.estimators import (
    CenterNetEstimator,
    FasterRCNNEstimator,
    ImageClassificationEstimator,
    SSDEstimator,
    YOLOv3Estimator,
)
from gluoncv.auto.space import Categorical, Int, Real
from gluoncv.auto.tasks import ImageClassification, ImagePrediction, ObjectDetection

__all__ = [
    "Categorical", "CenterNetEstimator", "FasterRCNNEstimator", "ImageClassification", "ImageClassificationDataset",
    "ImageClassificationEstimator", "ImagePrediction", "Int", "ObjectDetection", "ObjectDetectionDataset", "Real",
    "SSDEstimator", "YOLOv3Estimator",
]  # fmt: skip
