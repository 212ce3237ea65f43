"""A network and its classes: learns from samples, is evaluated, says what it sees, is saved and exported."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import core as mx
from core import html, nd
from core.base import MXNetError
from core.contrib import amp
from core.files.atomic import write_bytes
from core.files.text import read_json
from core.metric import Accuracy, Loss
from gluon.block import SymbolBlock
from gluon.contrib.estimator import CheckpointHandler, EarlyStoppingHandler, Estimator
from gluon.data import DataLoader
from gluon.finetune.handlers import AccuracyThenLoss, History, Inputs, WeightAverage
from gluon.finetune.recipe import Recipe
from gluon.loss import SoftmaxCrossEntropyLoss

FILE = "classifier.json"


@dataclass(frozen=True)
class Evaluation:
    """How a classifier did on samples: their true classes (n,) and the probabilities of all classes (n, classes)."""

    classes: tuple[str, ...]
    labels: np.ndarray
    probabilities: np.ndarray

    def _repr_html_(self) -> str:
        rows = [
            (name, int((self.labels == k).sum()), f"{(self.predicted[self.labels == k] == k).mean():.1%}")
            for k, name in enumerate(self.classes)
            if (self.labels == k).any()
        ]
        head = f"<b>{self.accuracy:.1%} of {len(self.labels)} samples right</b>, cross entropy {self.loss:.4g}"
        return head + html.table(rows, ("class", "samples", "right"))

    @property
    def accuracy(self) -> float:
        """The part of samples whose likeliest class is the true one."""
        return float((self.predicted == self.labels).mean())

    @property
    def loss(self) -> float:
        """The mean cross entropy, in nats."""
        return float(-np.log(np.maximum(self.of_truth, 1e-12)).mean())

    @property
    def predicted(self) -> np.ndarray:
        """The likeliest class of each sample (n,)."""
        return self.probabilities.argmax(1)

    @property
    def of_truth(self) -> np.ndarray:
        """The probability of each sample's true class (n,)."""
        return self.probabilities[np.arange(len(self.labels)), self.labels]

    @property
    def confusion(self) -> np.ndarray:
        """Numbers of samples (classes, classes): of each true class, a row, how many were taken for which."""
        counts = np.zeros((len(self.classes),) * 2, "int64")
        np.add.at(counts, (self.labels, self.predicted), 1)
        return counts

    def mistakes(self, most: int = 24) -> list[int]:
        """Numbers of the samples taken for another class, the least probable truth first."""
        wrong = np.flatnonzero(self.predicted != self.labels)
        return wrong[np.argsort(self.of_truth[wrong], kind="stable")][:most].tolist()

    def facts(self) -> dict:
        """What a report says of it, for JSON: accuracy, loss, and of each class precision, recall, F1 and count."""
        confusion, each = self.confusion, {}
        for k, name in enumerate(self.classes):
            right, said, true = int(confusion[k, k]), int(confusion[:, k].sum()), int(confusion[k].sum())
            each[name] = {
                "precision": right / said if said else 0.0,
                "recall": right / true if true else 0.0,
                "f1": 2 * right / (said + true) if said + true else 0.0,
                "samples": true,
            }
        return {
            "accuracy": self.accuracy, "loss": self.loss, "samples": len(self.labels), "classes": each,
            "confusion": confusion.tolist(),
        }  # fmt: skip


class Classifier:
    """A network that gives scores (batch, classes), and how samples become its inputs.

    A sample is a pair (what is classified, number of its class). Subclasses say by `loader` how samples become
    batches `(*inputs, label)`, with which the network is called, and by `shown` how a report shows one.

    net: a HybridBlock. classes: their names, in the order of the scores. head: the block of it that is new, which
    learns at the full rate, the rest at the recipe's `body_rate`; None: all is new. context: a device or several.
    kind: the plural of what is classified; origin: where the weights were from before it learned.
    """

    kind = ""
    origin = "random numbers"

    def _repr_html_(self) -> str:
        names = [name for name, value in (self.history or [{}])[0].items() if isinstance(value, float)]
        drawn = html.curves({name: [float(row[name]) for row in self.history] for name in names})
        return f"<b>{type(self).__name__}</b> of {len(self.classes)} classes, {len(self.history)} epochs{drawn}"

    def __init__(self, net, classes: Sequence[str], head=None, context=None):
        self.net, self.classes, self.head = net, tuple(map(str, classes)), head
        self.context = context or mx.current_context()
        self.history: list[dict[str, float]] = []
        if len(set(self.classes)) < 2 or len(set(self.classes)) < len(self.classes):
            raise MXNetError(f"a classifier has two or more classes of different names, got {', '.join(self.classes)}")

    # ------------------------------------------------------------------ what a kind of sample is

    def loader(self, samples: Sequence[tuple[Any, int]], batch_size: int, train: bool) -> DataLoader:
        """Batches `(*inputs, label)` of samples; for training shuffled and augmented, otherwise in their order."""
        raise NotImplementedError

    def shown(self, thing: Any) -> str:
        """HTML for what is classified."""
        raise NotImplementedError

    def settings(self) -> dict:
        """What `restored` needs besides the network, for JSON."""
        return {}

    @classmethod
    def restored(cls, net, classes: Sequence[str], folder: Path, context=None, **settings) -> Classifier:
        """The classifier of a saved network and what `settings` gave."""
        raise NotImplementedError

    # ------------------------------------------------------------------ what it does

    def fit(
        self,
        train: Sequence[tuple[Any, int]],
        validation: Sequence[tuple[Any, int]],
        recipe: Recipe | None = None,
        folder: str | os.PathLike | None = None,
        say: Callable[[str], None] = lambda line: None,
        bar: bool = False,
    ) -> Evaluation:
        """Learns; afterwards the network is that of the epoch with the best accuracy on `validation`, of several the one with
        the least loss.

        folder: where checkpoints go while it learns, by default nowhere that stays. say: is called with a line for each
        epoch. bar: draws a bar of progress where there is a terminal. `history` has a row for each epoch. Gives how the
        network does on `validation`. MXNetError where either has no samples.
        """
        recipe = recipe or Recipe()
        for name, samples in (("train", train), ("validate", validation)):
            if not len(samples):
                raise MXNetError(f"there are no samples to {name} on")
        if recipe.dtype != "float32":
            amp.init(recipe.dtype)
        mx.random.seed(recipe.seed)
        np.random.seed(recipe.seed)
        batches = self.loader(train, recipe.batch_size, train=True)
        held = self.loader(validation, recipe.batch_size, train=False)
        trainer = recipe.trainer(self.net, self.head, recipe.epochs * len(batches))
        scaled = recipe.dtype == "float16"
        if scaled:
            amp.init_trainer(trainer)
        weights = recipe.weights_of([label for _, label in train], len(self.classes))
        estimator = Estimator(
            self.net, SoftmaxCrossEntropyLoss(), [Accuracy(), Loss()], trainer=trainer, context=self.context,
            batch_processor=Inputs(weights, not recipe.frozen, scaled),
        )  # fmt: skip
        estimator.logger.setLevel(logging.WARNING)
        monitor, history = estimator.val_metrics[0], History(len(batches), say, bar)
        best = AccuracyThenLoss(*estimator.val_metrics, count=len(validation))
        with tempfile.TemporaryDirectory() as temporary:
            checkpoints = os.fspath(folder or temporary)
            handlers = [
                CheckpointHandler(checkpoints, "model", best, save_best=True, mode="max", max_checkpoints=1),
                history,
            ]
            if recipe.ema:
                handlers.append(WeightAverage(recipe.ema))
            if recipe.patience:
                handlers.append(EarlyStoppingHandler(monitor, patience=recipe.patience, mode="max"))
            estimator.fit(batches, held, epochs=recipe.epochs, event_handlers=handlers)
            self.net.load_parameters(os.path.join(checkpoints, "model-best.params"), ctx=self.context)
        self.history = history.rows
        return self.evaluate(validation, recipe.batch_size)

    def evaluate(self, samples: Sequence[tuple[Any, int]], batch_size: int = 32) -> Evaluation:
        """How it does on samples."""
        labels = np.array([label for _, label in samples], "int64")
        return Evaluation(self.classes, labels, self.probabilities([thing for thing, _ in samples], batch_size))

    def probabilities(self, things: Sequence[Any], batch_size: int = 32) -> np.ndarray:
        """The probabilities of all classes (n, classes) for each of the things, float32."""
        if not len(things):
            raise MXNetError("there is nothing to classify")
        context = self.context[0] if isinstance(self.context, list) else self.context
        found = []
        for *inputs, _ in self.loader([(thing, 0) for thing in things], batch_size, train=False):
            scores = self.net(*(field.as_in_context(context) for field in inputs))
            found.append(nd.softmax(scores.astype("float32")).asnumpy())
        return np.concatenate(found)

    def predict(self, things: Sequence[Any], top: int = 5) -> list[list[tuple[str, float]]]:
        """The likeliest classes of each of the things, with their probabilities, best first."""
        rows = self.probabilities(things)
        return [[(self.classes[k], float(row[k])) for k in np.argsort(-row, kind="stable")[:top]] for row in rows]

    def save(self, folder: str | os.PathLike) -> None:
        """Writes classifier.json, and the network as model-symbol.json and model-0000.params, for `load`.

        `SymbolBlock.imports` reads the network, too. MXNetError before the network was ever called.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        symbol_file, params_file = self.net.export(str(folder / "model"))
        known = {name.partition(":")[2] for name in nd.load(params_file)}
        inputs = [name for name in mx.sym.load(symbol_file).list_inputs() if name not in known]
        facts = {"kind": self.kind, "classes": self.classes, "inputs": inputs, "settings": self.settings()}
        write_bytes(str(folder / FILE), json.dumps(facts, indent=1, ensure_ascii=False).encode())

    @classmethod
    def load(cls, folder: str | os.PathLike, context=None) -> Classifier:
        """What `save` wrote; MXNetError where a folder has no classifier, or one of another kind."""
        folder = Path(folder)
        if not (folder / FILE).is_file():
            raise MXNetError(f"{folder} has no {FILE}: it is no folder that Classifier.save wrote")
        facts = read_json(str(folder / FILE))
        if facts.get("kind") != cls.kind:
            raise MXNetError(f"{folder} has a classifier of {facts.get('kind')!r}, not of {cls.kind!r}")
        context = context or mx.current_context()
        files = (str(folder / name) for name in ("model-symbol.json", "model-0000.params"))
        net = SymbolBlock.imports(next(files), facts["inputs"], next(files), ctx=context)
        net.hybridize()
        return cls.restored(net, facts["classes"], folder, context, **facts["settings"])


def held_out(samples: Sequence[tuple[Any, int]], part: float, seed: int = 0) -> tuple[list, list]:
    """(samples to train on, samples to validate on): about `part` of each class, at least one, is held out.

    MXNetError for a class with a single sample, and for a part that is not between 0 and 1.
    """
    if not 0 < part < 1:
        raise MXNetError(f"the part of samples that is held out lies between 0 and 1, got {part}")
    order = np.random.RandomState(seed).permutation(len(samples))
    by_class: dict[int, list[int]] = {}
    for index in order.tolist():
        by_class.setdefault(samples[index][1], []).append(index)
    held: set[int] = set()
    for label, indices in by_class.items():
        if len(indices) < 2:
            raise MXNetError(f"class {label} has a single sample: there is none to hold out for validation")
        held.update(indices[: max(1, min(len(indices) - 1, round(part * len(indices))))])
    return [s for i, s in enumerate(samples) if i not in held], [s for i, s in enumerate(samples) if i in held]
