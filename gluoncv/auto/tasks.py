"""Settings that are searched for the user's pictures: some of them are tried, and the best estimator is kept."""

from __future__ import annotations

import logging
import time
from typing import Any, ClassVar

from core.base import MXNetError
from core.extras import load
from core.files.safetensors import read_safetensors
from gluoncv.auto.data import ImageClassificationDataset, ObjectDetectionDataset, hold_out
from gluoncv.auto.estimators import (
    BaseEstimator,
    CenterNetEstimator,
    FasterRCNNEstimator,
    ImageClassificationEstimator,
    SSDEstimator,
    YOLOv3Estimator,
)
from gluoncv.auto.space import Space

__all__ = ["ImageClassification", "ImagePrediction", "ObjectDetection"]

# What the search itself is told, besides the settings of the estimator.
SEARCH: dict[str, Any] = {
    "num_trials": 1, "search_strategy": "halving", "time_limits": None, "max_reward": None, "grace_period": 1,
    "reduction_factor": 3, "seed": 0,
}  # fmt: skip
# search_strategy -> (whether settings follow what was good before, whether bad trials end early)
STRATEGIES = {
    "random": (False, None),
    "halving": (False, "SuccessiveHalvingPruner"),
    "hyperband": (False, "HyperbandPruner"),
    "bayesopt": (True, None),
    "bayesopt_hyperband": (True, "HyperbandPruner"),
}


class Task:
    """Tries `num_trials` settings of an estimator, and keeps the estimator that is best on the validation part.

    config: "estimator", a name in `ESTIMATORS` or a class, by default the first of them; settings of the estimator, a
    value or a `Space` of values each; and those of the search: num_trials;
    search_strategy, "halving" (a trial that is not among the best `reduction_factor`-th after `grace_period` epochs, and
    after every `reduction_factor` times as many, ends), "hyperband", "random" (all trials last as long), "bayesopt" and
    "bayesopt_hyperband" (settings are drawn near those that were good before); time_limits in seconds; max_reward, a
    figure that is good enough; seed. Searching takes optuna, which the extra `auto` installs. logger: as of estimators.
    """

    ESTIMATORS: ClassVar[dict[str, type[BaseEstimator]]]

    def __init__(self, config: dict[str, Any] | None = None, logger: logging.Logger | None = None):
        config = dict(config or {})
        chosen = config.pop("estimator", next(iter(self.ESTIMATORS)))
        if not isinstance(chosen, type) and chosen not in self.ESTIMATORS:
            raise ValueError(f"estimator is one of {', '.join(self.ESTIMATORS)}, given {chosen!r}")
        self._estimator = chosen if isinstance(chosen, type) else self.ESTIMATORS[chosen]
        self._search = {name: config.pop(name, default) for name, default in SEARCH.items()}
        if self._search["search_strategy"] not in STRATEGIES:
            raise ValueError(
                f"search_strategy is one of {', '.join(STRATEGIES)}, given {self._search['search_strategy']!r}"
            )
        if self._search["num_trials"] < 1:
            raise ValueError(f"num_trials is 1 or more, given {self._search['num_trials']}")
        self._spaces = {name: value for name, value in config.items() if isinstance(value, Space)}
        self._fixed = {name: value for name, value in config.items() if name not in self._spaces}
        # Whatever is misspelt is told before anything is trained.
        self._estimator({**self._fixed, **dict.fromkeys(self._spaces)})
        self._logger = logger
        self._summary: dict[str, Any] = {}
        self._history: list[dict[str, Any]] = []

    def fit(self, train_data, val_data=None, train_size=0.9, random_state=None, time_limit=None) -> BaseEstimator:
        """The best estimator; arguments as those of `BaseEstimator.fit`, time_limit for all trials together.

        MXNetError when no trial came to an end of an epoch.
        """
        if val_data is None:
            train_data, val_data = hold_out(train_data, train_size, random_state)
        limit = self._search["time_limits"] if time_limit is None else time_limit
        self._history, best = [], []
        begin = time.perf_counter()

        def train(settings, reporter=None) -> float:
            estimator = self._estimator({**self._fixed, **settings}, self._logger, reporter)
            left = None if limit is None else limit - (time.perf_counter() - begin)
            result = estimator.fit(train_data, val_data, time_limit=left)
            self._history.append({"settings": settings, **result})
            value = result[estimator.FIGURE]
            if not best or value > best[1]:
                best[:] = [estimator, value, settings]
            return value

        if self._spaces:
            self._optimize(train, limit)
        else:
            train({})
        if not best:
            raise MXNetError("no trial was trained to its end; give more time, or more trials")
        self._summary = {
            self._estimator.FIGURE: best[1], "best_config": {**self._fixed, **best[2]},
            "trials": len(self._history), "total_time": time.perf_counter() - begin,
        }  # fmt: skip
        best[0].reporter = None
        return best[0]

    def fit_summary(self) -> dict[str, Any]:
        """Of the last `fit`: the best figure, its settings, how many trials came to their end, and the seconds."""
        return dict(self._summary)

    def fit_history(self) -> list[dict[str, Any]]:
        """Of the last `fit`: the settings and the results of each trial that came to its end, or was ended early."""
        return list(self._history)

    @classmethod
    def load(cls, filename) -> BaseEstimator:
        """The estimator that was saved in a file; MXNetError for one of another task, or for something else."""
        saved = read_safetensors(filename)[1].get("estimator")
        known = {estimator.__name__: estimator for estimator in cls.ESTIMATORS.values()}
        return known.get(saved, next(iter(known.values()))).load(filename)

    def _optimize(self, train, limit) -> None:
        """Has optuna draw settings, and end trials early."""
        optuna = load("optuna", "searching settings")
        guided, pruner = STRATEGIES[self._search["search_strategy"]]
        early = {
            "SuccessiveHalvingPruner": lambda: optuna.pruners.SuccessiveHalvingPruner(
                min_resource=self._search["grace_period"], reduction_factor=self._search["reduction_factor"]
            ),
            "HyperbandPruner": lambda: optuna.pruners.HyperbandPruner(
                min_resource=self._search["grace_period"], reduction_factor=self._search["reduction_factor"]
            ),
            None: optuna.pruners.NopPruner,
        }[pruner]()
        seed, enough = self._search["seed"], self._search["max_reward"]
        sampler = optuna.samplers.TPESampler(seed=seed) if guided else optuna.samplers.RandomSampler(seed=seed)

        def objective(trial):
            settings = {name: space.suggest(name, trial) for name, space in self._spaces.items()}

            def report(epoch, value):
                trial.report(value, epoch)
                if trial.should_prune():
                    self._history.append(
                        {"settings": settings, "pruned": True, "epochs": epoch, self._estimator.FIGURE: value}
                    )
                    raise optuna.TrialPruned

            return train(settings, report)

        def stop(study, trial):
            if enough is not None and trial.value is not None and trial.value >= enough:
                study.stop()

        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            study = optuna.create_study(direction="maximize", sampler=sampler, pruner=early)
            study.optimize(objective, n_trials=self._search["num_trials"], timeout=limit, callbacks=[stop])
        finally:
            optuna.logging.set_verbosity(before)


class ImageClassification(Task):
    """Searches settings of `ImageClassificationEstimator`."""

    Dataset = ImageClassificationDataset
    ESTIMATORS: ClassVar = {"img_cls": ImageClassificationEstimator}


ImagePrediction = ImageClassification


class ObjectDetection(Task):
    """Searches settings of a detector: `SSDEstimator`, or that of the setting "estimator".

    ObjectDetection({"estimator": "yolo3", "lr": Real(1e-4, 1e-2, log=True), "num_trials": 8}).fit(train)
    """

    Dataset = ObjectDetectionDataset
    ESTIMATORS: ClassVar = {
        "ssd": SSDEstimator, "yolo3": YOLOv3Estimator, "center_net": CenterNetEstimator,
        "faster_rcnn": FasterRCNNEstimator,
    }  # fmt: skip
