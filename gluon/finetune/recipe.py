"""How a network is fine-tuned: the settings, and the trainer that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.base import MXNetError
from core.lr_scheduler import CosineScheduler
from gluon.finetune.decay import decay_weights_only
from gluon.nn import BatchNorm
from gluon.trainer import Trainer

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Recipe:
    """How a classifier learns.

    epochs: passes over the samples, at most. patience: it ends after so many epochs in which the accuracy on the
    validation samples was not better than ever before; 0: never before `epochs`. batch_size: samples of a step.
    optimizer, rate, weight_decay: of the trainer; the rate rises for the first `warmup` of all steps and then falls to
    zero along half a cosine; only weights decay. body_rate: the rate of what was trained before, as a part of `rate`;
    0: it stays as it is and the new layer alone learns. freeze_norm: batch normalisations of what was trained before
    keep their statistics, for those of a few samples are worse. class_weights:
    "balanced", so that rare classes count as much as frequent ones, one number for each class, or None. ema: decay of
    the moving average of the weights, with which the network is validated and kept; 0: none. dtype: "bfloat16" and
    "float16" train in mixed precision, which stays on for the process (`amp.init`). seed: of everything random.
    MXNetError for settings out of range.

    >>> Recipe(epochs=3, class_weights="balanced").weights_of([0, 0, 0, 1], 2).tolist()
    [0.6666666865348816, 2.0]
    """

    epochs: int = 15
    patience: int = 5
    batch_size: int = 32
    optimizer: str = "adamw"
    rate: float = 1e-3
    body_rate: float = 0.1
    freeze_norm: bool = True
    weight_decay: float = 0.01
    warmup: float = 0.1
    class_weights: str | Sequence[float] | None = None
    ema: float = 0.9
    dtype: str = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise MXNetError(f"{name} is at least 1, got {getattr(self, name)}")
        if self.patience < 0:
            raise MXNetError(f"patience is 0, for never, or a number of epochs, got {self.patience}")
        if not self.rate > 0:
            raise MXNetError(f"rate is above 0, got {self.rate}")
        for name in ("body_rate", "weight_decay"):
            if not getattr(self, name) >= 0:
                raise MXNetError(f"{name} is at least 0, got {getattr(self, name)}")
        for name in ("ema", "warmup"):
            if not 0 <= getattr(self, name) < 1:
                raise MXNetError(f"{name} is at least 0 and less than 1, got {getattr(self, name)}")
        if self.dtype not in DTYPES:
            raise MXNetError(f"dtype is one of {', '.join(DTYPES)}, got {self.dtype!r}")
        if isinstance(self.class_weights, str) and self.class_weights != "balanced":
            raise MXNetError(
                f'class_weights is "balanced", one number for each class, or None; got {self.class_weights!r}'
            )

    @property
    def frozen(self) -> bool:
        """Whether the new layer alone learns."""
        return self.body_rate == 0

    def weights_of(self, labels: Sequence[int], classes: int) -> np.ndarray | None:
        """The weight of each class (classes,), float32; None where all count alike. labels: of all samples."""
        if self.class_weights is None:
            return None
        if self.class_weights == "balanced":
            counts = np.bincount(np.asarray(labels, "int64"), minlength=classes)
            return (len(labels) / (classes * np.maximum(counts, 1))).astype("float32")
        weights = np.asarray(self.class_weights, "float32")
        if weights.shape != (classes,) or not (weights >= 0).all():
            raise MXNetError(f"class_weights has a number of at least 0 for each of {classes} classes, got {weights}")
        return weights

    def trainer(self, net, head, steps: int) -> Trainer:
        """The trainer of a network for so many steps in all; head: the block whose parameters learn at the full rate."""
        new = set() if head is None else {id(p) for p in head.collect_params().values()}
        decay_weights_only(net)
        for parameter in net.collect_params().values():
            if head is not None and id(parameter) not in new:
                parameter.lr_mult = self.body_rate
                if self.frozen:
                    parameter.grad_req = "null"
        if head is not None and self.freeze_norm:
            net.apply(_keep_statistics)
        rises = int(self.warmup * steps)
        schedule = CosineScheduler(steps, base_lr=self.rate, final_lr=0, warmup_steps=rises)
        settings = {"learning_rate": self.rate, "wd": self.weight_decay, "lr_scheduler": schedule}
        return Trainer(net.collect_params(), self.optimizer, settings)


def _keep_statistics(block) -> None:
    if isinstance(block, BatchNorm):
        block._kwargs["use_global_stats"] = True
    if hasattr(block, "_clear_cached_op"):
        block._clear_cached_op()
