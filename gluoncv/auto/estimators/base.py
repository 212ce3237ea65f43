"""What estimators have in common: settings, the loop over epochs, the best parameters, files."""

from __future__ import annotations

import json
import logging
import math
import os
import random as python_random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from core import autograd, context, nd, random
from core.base import MXNetError
from core.files.safetensors import read_safetensors, write_safetensors
from core.name import NameManager
from gluon import Trainer
from gluon.data import DataLoader, Dataset
from gluoncv.auto.config import merged
from gluoncv.auto.data import hold_out
from gluoncv.utils import LRScheduler, LRSequential

__all__ = ["TRAIN", "VALID", "BaseEstimator"]

# Settings that all estimators have; more of them, and other values, are those of each.
TRAIN: dict[str, Any] = {
    "gpus": (), "batch_size": 16, "epochs": 10, "lr": 0.01, "lr_mode": "step", "lr_decay": 0.1, "lr_decay_epoch": (),
    "warmup_epochs": 0, "warmup_lr": 0.0, "momentum": 0.9, "wd": 1e-4, "num_workers": 0, "early_stop_patience": -1,
    "early_stop_max_value": math.inf, "seed": 0,
}  # fmt: skip
VALID: dict[str, Any] = {"batch_size": 16, "num_workers": 0}


class BaseEstimator:
    """Trains a network, tests it, predicts with it, and is kept in a file.

    config: settings that are not those of `DEFAULTS`, in their groups or without (`gluoncv.auto.config.merged`). logger:
    what is told of each epoch, by default the logger of the class's name. reporter: called after each epoch as
    reporter(epoch=1, value=0.9); what it raises ends the training. `get_params`, `set_params` and copies by `clone` are
    those of scikit-learn.
    """

    DEFAULTS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    FIGURE: ClassVar[str]  # name of the figure that epochs are compared by
    OPTIMIZER: ClassVar[str] = "sgd"

    def __init__(self, config=None, logger: logging.Logger | None = None, reporter: Callable | None = None):
        self.config, self.logger, self.reporter = config, logger, reporter
        self._settings = merged(self.DEFAULTS, config)
        self.net: Any = None
        self.classes: list[str] = []
        self.epoch = 0  # the one whose parameters these are

    # ------------------------------------------------------------------ what each estimator defines

    def _network(self, restored: bool):
        """The network for `self.classes` on `self._devices`, shapes known; restored: its parameters will be replaced."""
        raise NotImplementedError

    def _train_batches(self, data: Dataset) -> DataLoader:
        """Batches to train on."""
        raise NotImplementedError

    def _losses(self, parts: Sequence[Sequence[nd.NDArray]]) -> list[nd.NDArray]:
        """The loss of each device, from its parts of a batch, so that their sum is the mean over the batch."""
        raise NotImplementedError

    def evaluate(self, val_data: Dataset) -> tuple:
        """What is measured on a data set."""
        raise NotImplementedError

    def _figure(self, measured: tuple) -> float:
        """What epochs are compared by, higher is better, of what `evaluate` gave."""
        raise NotImplementedError

    # ------------------------------------------------------------------ training

    def fit(self, train_data, val_data=None, train_size=0.9, random_state=None, time_limit=None) -> dict[str, Any]:
        """Trains on a data set with `classes`, whose samples are pictures with labels.

        val_data: what epochs are compared on; by default a part of the first, which keeps the share `train_size`.
        random_state: seed of that choice. time_limit: seconds, after which no further epoch begins. The parameters of the
        best epoch are kept; a second call goes on with them. Gives the best figure, the last loss, the best epoch, how
        many there were, and the seconds. ValueError for data without samples, or with other classes than before.
        """
        if val_data is None:
            train_data, val_data = hold_out(train_data, train_size, random_state)
        for name, data in (("train_data", train_data), ("val_data", val_data)):
            if not len(data):
                raise ValueError(f"{name} has no samples")
        begin, train = time.perf_counter(), self._settings["train"]
        if train["epochs"] < 1:
            raise ValueError(f"epochs is 1 or more, given {train['epochs']}")
        self._begin(list(train_data.classes))
        batches = self._train_batches(train_data)
        trainer = self._trainer(max(len(batches), 1))
        best, loss, value, epoch = {}, math.nan, -math.inf, 0
        for epoch in range(1, train["epochs"] + 1):
            loss = self._epoch(batches, trainer)
            now = self._figure(self.evaluate(val_data))
            self._log.info("epoch %d: loss %.4g, %s %.4g", epoch, loss, self.FIGURE, now)
            if not best or now > value:
                best, value, self.epoch = self._parameters(), now, epoch
            if self.reporter is not None:
                self.reporter(epoch=epoch, value=now)
            late = time_limit is not None and time.perf_counter() - begin >= time_limit
            stale = 0 <= train["early_stop_patience"] <= epoch - self.epoch
            if late or stale or value >= train["early_stop_max_value"]:
                break
        self._put(best)
        seconds = time.perf_counter() - begin
        return {
            self.FIGURE: value, "train_loss": loss, "best_epoch": self.epoch, "epochs": epoch, "time": seconds
        }  # fmt: skip

    def _begin(self, classes: list[str]) -> None:
        seed = self._settings["train"]["seed"]
        for source in (random, np.random, python_random):
            source.seed(seed)
        if self.net is None:
            self.classes = classes
            # Parameters draw in the order of their names, which count on from network to network.
            with NameManager():
                self.net = self._network(restored=False)
        elif classes != self.classes:
            raise ValueError(f"the network is trained for the classes {self.classes}, the data have {classes}")

    def _trainer(self, updates: int) -> Trainer:
        train = self._settings["train"]
        warmup = train["warmup_epochs"]
        schedule = LRSequential([
            LRScheduler("linear", train["warmup_lr"], train["lr"], nepochs=warmup, iters_per_epoch=updates),
            LRScheduler(
                train["lr_mode"], train["lr"], 0, nepochs=train["epochs"] - warmup, iters_per_epoch=updates,
                step_epoch=[epoch - warmup for epoch in train["lr_decay_epoch"]], step_factor=train["lr_decay"],
            ),
        ])  # fmt: skip
        settings = {"lr_scheduler": schedule, "wd": train["wd"]}
        settings |= {"momentum": train["momentum"]} if self.OPTIMIZER == "sgd" else {"learning_rate": train["lr"]}
        return Trainer(self._trained(), self.OPTIMIZER, settings)

    def _trained(self):
        """The parameters that are trained."""
        return self.net.collect_params()

    def _epoch(self, batches: DataLoader, trainer: Trainer) -> float:
        """Trains for an epoch, and gives its mean loss."""
        losses = []
        for batch in batches:
            with autograd.record():
                found = self._losses([part for part in zip(*map(self._spread, batch), strict=True)])
            autograd.backward(found)
            trainer.step(1)
            losses.append(sum(float(loss.asscalar()) for loss in found))
        return float(np.mean(losses))

    def _spread(self, part: nd.NDArray | Sequence[nd.NDArray]) -> list[nd.NDArray]:
        """The parts of an array for each device; or those of a list, where it holds them."""
        if isinstance(part, (list, tuple)):
            return [own.as_in_context(device) for own, device in zip(part, self._devices, strict=True)]
        devices = self._devices[: part.shape[0]]
        ends = np.linspace(0, part.shape[0], len(devices) + 1).astype(int)
        return [part[a:b].as_in_context(device) for a, b, device in zip(ends, ends[1:], devices, strict=False)]

    @property
    def _devices(self) -> list:
        return [context.gpu(number) for number in self._settings["train"]["gpus"]] or [context.cpu()]

    @property
    def _log(self) -> logging.Logger:
        return self.logger or logging.getLogger(type(self).__name__)

    # ------------------------------------------------------------------ parameters and files

    def save(self, filename: str | os.PathLike) -> None:
        """Writes settings, classes and parameters into a .safetensors file."""
        self._check_fitted()
        settings = {**self._settings, "train": {**self._settings["train"], "gpus": ()}}
        # JSON has no infinity.
        if settings["train"]["early_stop_max_value"] == math.inf:
            del settings["train"]["early_stop_max_value"]
        facts = {"settings": settings, "classes": self.classes, "epoch": self.epoch}
        write_safetensors(
            filename, self._parameters(), {"estimator": type(self).__name__, "facts": json.dumps(facts, default=str)}
        )

    @classmethod
    def load(cls, filename: str | os.PathLike, gpus: Sequence[int] = ()) -> BaseEstimator:
        """The estimator in a file that `save` wrote, its network on the GPUs of these numbers, or on the CPU.

        MXNetError for a file of another estimator, or of something else.
        """
        records, metadata = read_safetensors(filename)
        if metadata.get("estimator") != cls.__name__:
            raise MXNetError(f"{filename} holds no {cls.__name__} but {metadata.get('estimator', 'no estimator')}")
        try:
            facts = json.loads(metadata["facts"])
            found = cls(facts["settings"])
            found.classes, found.epoch = [str(name) for name in facts["classes"]], int(facts["epoch"])
        except (KeyError, TypeError, ValueError) as error:
            raise MXNetError(f"{filename} says too little of its {cls.__name__}: {error!r}") from error
        found._settings["train"]["gpus"] = tuple(gpus)
        found.net = found._network(restored=True)
        found._put({name: record.data for name, record in records.items()})
        return found

    def _parameters(self) -> dict[str, np.ndarray]:
        return {name: p.data(self._devices[0]).asnumpy() for name, p in self.net._collect_params_with_prefix().items()}

    def _put(self, parameters: Mapping[str, np.ndarray]) -> None:
        own = self.net._collect_params_with_prefix()
        differ = sorted(set(own) ^ set(parameters))
        if differ:
            raise MXNetError(
                f"the parameters are not those of the network of the settings: {differ[0]} is in one alone"
            )
        for name, value in parameters.items():
            own[name].set_data(nd.array(value, dtype=value.dtype))

    def _check_fitted(self) -> None:
        if self.net is None:
            raise MXNetError(f"this {type(self).__name__} has no network yet: call fit, or load one from a file")

    # ------------------------------------------------------------------ as scikit-learn has them

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor; deep: the settings too, as group__name."""
        given = {"config": self.config, "logger": self.logger, "reporter": self.reporter}
        settings = {f"{group}__{name}": value for group, own in self._settings.items() for name, value in own.items()}
        return given | settings if deep else given

    def set_params(self, **params) -> BaseEstimator:
        """Changes settings, as group__name, or arguments of the constructor; gives the estimator.

        ValueError for a name that `get_params` has not.
        """
        for name in ("config", "logger", "reporter"):
            if name in params:
                setattr(self, name, params.pop(name))
                if name == "config":
                    self._settings = merged(self.DEFAULTS, self.config)
        for key, value in params.items():
            group, _, name = key.partition("__")
            self._settings = merged(self._settings, {group: {name: value}} if name else {key: value})
        return self

    def __sklearn_clone__(self) -> BaseEstimator:
        other = type(self)(self.config, self.logger, self.reporter)
        other._settings = merged(self._settings, None)
        return other
