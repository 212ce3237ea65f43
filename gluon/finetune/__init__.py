"""Fine-tuning of classifiers on samples of one's own: recipe, loop, evaluation, report, export.

The loop is `gluon.contrib.estimator.Estimator`; `gluoncv.finetune` makes classifiers of pictures,
`gluonnlp.finetune` of texts.
"""

from gluon.finetune.classifier import Classifier, Evaluation, held_out
from gluon.finetune.decay import decay_weights_only
from gluon.finetune.handlers import History, Inputs, WeightAverage
from gluon.finetune.recipe import Recipe

__all__ = [
    "Classifier", "Evaluation", "History", "Inputs", "Recipe", "WeightAverage", "decay_weights_only", "held_out",
]  # fmt: skip
