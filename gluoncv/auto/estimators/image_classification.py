"""Classes of pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from core import image, initializer, nd
from gluon import data as gluon_data
from gluon.data import DataLoader
from gluon.data.vision import transforms
from gluon.loss import SoftmaxCrossEntropyLoss
from gluoncv.auto.data import ImageClassificationDataset, is_path
from gluoncv.auto.estimators.base import TRAIN, VALID, BaseEstimator
from gluoncv.data.transforms.presets.common import MEAN, STD
from gluoncv.model_zoo import get_model

__all__ = ["ImageClassificationEstimator"]


class ImageClassificationEstimator(BaseEstimator):
    """A classification network of the zoo for classes of the user's.

        found = ImageClassificationEstimator({"model": "resnet18_v1b", "use_pretrained": False, "epochs": 5})
        found.fit(train)["valid_acc"]
        found.predict("a.jpg")  # [{"class": "cat", "score": 0.98, "id": 0, "image": "a.jpg"}]

    Settings, besides those of training and validation that all estimators have (`base.TRAIN`, `base.VALID`): model, a
    name in the zoo; use_pretrained, the published weights, or what `get_model` takes as `pretrained`. Layers whose shapes
    depend on the classes begin anew then, and learn `output_lr_mult` times as fast as lr says, the others
    `transfer_lr_mult` times. input_size, crop_ratio: sides of the inputs, and their share of the picture in tests.
    label_smoothing: 0.1 of each label is spread over all classes. no_wd: biases and normalisation do not decay.
    """

    Dataset = ImageClassificationDataset
    FIGURE = "valid_acc"
    DEFAULTS: ClassVar = {
        "img_cls": {"model": "resnet50_v1", "use_pretrained": True},
        "train": {
            **TRAIN, "input_size": 224, "crop_ratio": 0.875, "label_smoothing": False, "no_wd": False,
            "transfer_lr_mult": 0.01, "output_lr_mult": 0.1,
        },
        "valid": VALID,
    }  # fmt: skip

    def evaluate(self, val_data: gluon_data.Dataset) -> tuple[float, float]:
        """(share of pictures whose class is the likeliest, share of those among the five likeliest)"""
        self._check_fitted()
        first = five = 0
        for data, label in self._test_batches(val_data):
            order = np.argsort(-self.net(data.as_in_context(self._devices[0])).asnumpy(), axis=1)[:, :5]
            right = order == label.asnumpy().astype(int).reshape(-1, 1)
            first, five = first + right[:, 0].sum(), five + right.any(axis=1).sum()
        return float(first / len(val_data)), float(five / len(val_data))

    def predict(self, x) -> list[dict[str, Any]]:
        """The likeliest class of each picture: "class", "score" (its probability), "id", and for a path "image".

        x: the path of a picture, a picture (H, W, 3) as uint8, or a list of either; or a data set with labels.
        """
        shares = self.predict_proba(x)
        best = shares.argmax(axis=1)
        rows = [
            {"class": self.classes[k], "score": float(row[k]), "id": int(k)}
            for row, k in zip(shares, best, strict=True)
        ]
        for row, source in zip(rows, _listed(x), strict=True):
            if is_path(source):
                row["image"] = str(source)
        return rows

    def predict_proba(self, x) -> np.ndarray:
        """Probabilities (N, classes) of pictures, see `predict`."""
        self._check_fitted()
        prepare, device = self._test_transform(), self._devices[0]
        size = self._settings["valid"]["batch_size"]
        inputs = [prepare(_picture(source)) for source in _listed(x)]
        parts = [nd.stack(*inputs[at : at + size]).as_in_context(device) for at in range(0, len(inputs), size)]
        return np.concatenate([nd.softmax(self.net(part)).asnumpy() for part in parts])

    # ------------------------------------------------------------------ the parts of training

    def _figure(self, measured):
        return measured[0]

    def _network(self, restored):
        model, train = self._settings["img_cls"], self._settings["train"]
        given = False if restored else model["use_pretrained"]
        net = get_model(model["model"], classes=len(self.classes))
        net.initialize(initializer.MSRAPrelu(), ctx=self._devices)
        size = train["input_size"]
        net(nd.zeros((1, 3, size, size), ctx=self._devices[0]))
        parameters = net._collect_params_with_prefix()
        if given:
            other = get_model(model["model"], pretrained=given)._collect_params_with_prefix()
            for name, parameter in parameters.items():
                same = parameter.shape == other[name].shape
                parameter.lr_mult = train["transfer_lr_mult" if same else "output_lr_mult"]
                if same:
                    parameter.set_data(other[name].data())
        if train["no_wd"]:
            for parameter in net.collect_params(".*beta|.*gamma|.*bias").values():
                parameter.wd_mult = 0.0
        net.hybridize()
        return net

    def _train_batches(self, data):
        train = self._settings["train"]
        steps = transforms.Compose([
            transforms.RandomResizedCrop(train["input_size"]),
            transforms.RandomFlipLeftRight(),
            transforms.RandomColorJitter(brightness=0.4, contrast=0.4, saturation=0.4),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ])  # fmt: skip
        last = "discard" if len(data) >= train["batch_size"] else "keep"
        return DataLoader(
            data.transform_first(steps), train["batch_size"], shuffle=True, last_batch=last,
            num_workers=train["num_workers"],
        )  # fmt: skip

    def _losses(self, parts: Sequence[Sequence[nd.NDArray]]) -> list[nd.NDArray]:
        smooth = self._settings["train"]["label_smoothing"]
        loss = SoftmaxCrossEntropyLoss(sparse_label=not smooth)
        count = sum(len(data) for data, _ in parts)
        return [loss(self.net(data), self._shares(label) if smooth else label).sum() / count for data, label in parts]

    def _shares(self, label: nd.NDArray) -> nd.NDArray:
        classes = len(self.classes)
        return nd.one_hot(label, classes, on_value=0.9 + 0.1 / classes, off_value=0.1 / classes)

    def _test_batches(self, data) -> DataLoader:
        valid = self._settings["valid"]
        return DataLoader(
            data.transform_first(self._test_transform()), valid["batch_size"], num_workers=valid["num_workers"]
        )

    def _test_transform(self):
        train = self._settings["train"]
        size = train["input_size"]
        return transforms.Compose([
            transforms.Resize(math.ceil(size / train["crop_ratio"]), keep_ratio=True),
            transforms.CenterCrop(size),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ])  # fmt: skip


def _listed(x) -> list:
    return [x] if is_path(x) or isinstance(x, (nd.NDArray, np.ndarray)) else list(x)


def _picture(source) -> nd.NDArray:
    """The picture in a file, of a sample of a data set, or as it is."""
    if is_path(source):
        return image.imread(str(source), 1)
    picture = source[0] if isinstance(source, tuple) else source
    return picture if isinstance(picture, nd.NDArray) else nd.array(picture, dtype="uint8")
