"""Classifiers of one's own pictures: a network of the zoo with a new last layer, and a folder of pictures."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from html import escape
from math import ceil
from pathlib import Path
from typing import Any

from core import nd
from core.base import MXNetError
from core.context import Context
from core.image import imread
from core.initializer import Normal
from gluon import nn
from gluon.block import Block
from gluon.data import DataLoader, Dataset
from gluon.data.vision import ImageFolderDataset, transforms
from gluon.finetune import Classifier, Evaluation, Recipe, held_out
from gluon.finetune.report import fit_and_report
from gluoncv.model_zoo.cards import INTERPOLATIONS, Preprocessing, task_of
from gluoncv.model_zoo.differences import replace_child
from gluoncv.model_zoo.model_zoo import get_model

__all__ = ["PictureClassifier", "new_last_layer", "picture_folders", "train_classifier"]

# Longer side of a picture in a report, in pixels
SHOWN = 224


def train_classifier(
    data: str | os.PathLike,
    model: str = "mobilenetv2_1.0",
    folder: str | os.PathLike | None = None,
    *,
    pretrained: Any = True,
    recipe: Recipe | None = None,
    size: int | None = None,
    validation: float = 0.2,
    context: Context | list[Context] | None = None,
    say: Callable[[str], None] = lambda line: None,
    bar: bool = False,
) -> tuple[PictureClassifier, Evaluation]:
    """A classifier of the pictures in a folder, and how it does on those that were held out.

    data: `CLASS/NAME.jpg`, of which the part `validation` is held out, or such folders in `train` and `val`.
    model: a classifier of the zoo; pretrained: its weights, as `get_model` takes them, or False for random ones.
    folder: where to write the classifier (`PictureClassifier.load`), report.html, report.json and checkpoints; None:
    nowhere. size: sides of the input in pixels, by default those that the network was trained with. say, bar: as in
    `Classifier.fit`. MXNetError for folders without pictures, of one class, or of other classes in `val`.

    >>> net, result = train_classifier("flowers", "resnet18_v1b", "out")  # doctest: +SKIP
    >>> net.predict(["rose.jpg"])[0][0]                                   # doctest: +SKIP
    ('rose', 0.98)
    """
    recipe = recipe or Recipe()
    classes, train, held = picture_folders(data, validation, recipe.seed)
    classifier = PictureClassifier.of_zoo(model, classes, pretrained, size, context)
    return classifier, fit_and_report(classifier, train, held, recipe, model, data, folder, say, bar)


class PictureClassifier(Classifier):
    """A network for pictures; a sample is (file, or picture (height, width, 3) of bytes; number of its class).

    preprocessing: how pictures become inputs. In training they are cropped, mirrored and coloured at random, too.
    """

    kind = "pictures"

    def __init__(self, net, classes: Sequence[str], preprocessing: Preprocessing, head=None, context=None):
        super().__init__(net, classes, head, context)
        self.preprocessing = preprocessing

    @classmethod
    def of_zoo(cls, model: str, classes: Sequence[str], pretrained: Any = True, size: int | None = None, context=None):
        """A classifier of the zoo with a new last layer for `classes`, on which it is to be trained.

        MXNetError for networks that do not classify pictures.
        """
        task = task_of(model.lower())
        if task != "classification":
            raise MXNetError(f"{model} is a network for {task}, not one that classifies pictures")
        net = get_model(model, pretrained=pretrained)
        known = net.card.preprocessing
        if not pretrained:
            net.initialize()
        size = size or known.size
        if size != known.size or not known.resize:
            known = replace(known, size=size, resize=ceil(size / 0.875))
        net(nd.zeros((1, 3, size, size)))  # layers learn how many inputs they have
        found = cls(net, classes, known, context=context)
        new = new_last_layer(net, len(found.classes))
        found.head, found.origin = new if pretrained else None, net.card.origin
        net.collect_params().reset_ctx(found.context)
        net.hybridize()
        return found

    @classmethod
    def restored(cls, net, classes, folder, context=None, **settings):
        settings = {key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()}
        return cls(net, classes, Preprocessing(**settings), context=context)

    def settings(self):
        return asdict(self.preprocessing)

    def loader(self, samples, batch_size, train):
        prepared = _Pictures(samples, self._varied() if train else self.preprocessing.transform())
        return DataLoader(prepared, batch_size, shuffle=train)

    def shown(self, thing):
        from PIL import Image

        pixels = imread(os.fspath(thing)) if isinstance(thing, (str, os.PathLike)) else thing
        picture = Image.fromarray(pixels if not hasattr(pixels, "asnumpy") else pixels.asnumpy())
        picture.thumbnail((SHOWN, SHOWN))
        file = io.BytesIO()
        picture.convert("RGB").save(file, "JPEG", quality=85)
        name = escape(os.path.basename(thing) if isinstance(thing, (str, os.PathLike)) else "picture")
        code = base64.b64encode(file.getvalue()).decode()
        return f'<img alt="{name}" title="{name}" src="data:image/jpeg;base64,{code}">'

    def _varied(self):
        p = self.preprocessing
        return transforms.Compose([
            transforms.RandomResizedCrop(p.size, scale=(0.4, 1.0), interpolation=INTERPOLATIONS[p.interpolation]),
            transforms.RandomFlipLeftRight(), transforms.RandomColorJitter(0.2, 0.2, 0.2),
            transforms.ToTensor(), transforms.Normalize(p.mean, p.deviation),
        ])  # fmt: skip


class _Pictures(Dataset):
    """Samples, read and transformed."""

    def __init__(self, samples, transform):
        self._samples, self._transform = samples, transform

    def __len__(self):
        return len(self._samples)

    def __getitem__(self, index):
        picture, label = self._samples[index]
        if isinstance(picture, (str, os.PathLike)):
            picture = imread(os.fspath(picture))
        return self._transform(picture), float(label)


def picture_folders(data: str | os.PathLike, part: float = 0.2, seed: int = 0) -> tuple[list[str], list, list]:
    """(classes, samples to train on, samples to validate on) of a folder; arguments as those of `train_classifier`.

    MXNetError for folders without pictures, of one class, or of other classes in `val`.
    """
    data = Path(data).expanduser()
    if not data.is_dir():
        raise MXNetError(f"there is no folder {data}")
    if not (data / "train").is_dir():
        found = _folder(data)
        return found.synsets, *held_out(found.items, part, seed)
    train = _folder(data / "train")
    if not (data / "val").is_dir():
        return train.synsets, *held_out(train.items, part, seed)
    val = _folder(data / "val")
    if val.synsets != train.synsets:
        other = sorted({*val.synsets} ^ {*train.synsets})
        raise MXNetError(f"{data}: train and val have other classes, {', '.join(other)}")
    return train.synsets, train.items, val.items


def _folder(path):
    found = ImageFolderDataset(str(path))
    if not found.items:
        raise MXNetError(f"{path} has no pictures; they are expected as {path}/CLASS/NAME.jpg, .jpeg, .png or .npy")
    if len(found.synsets) < 2:
        raise MXNetError(f"{path} has the class {found.synsets[0]} only; each class has a folder of its own there")
    return found


def new_last_layer(net: Block, classes: int) -> Block:
    """Puts a new layer in place of the last one that gives scores, for so many classes, and gives it.

    MXNetError for networks whose last layer with parameters is no Dense and no Conv2D.
    """
    parent, name, old = _last(net)
    if isinstance(old, nn.Dense):
        inputs = old.weight.shape[1]
        new = nn.Dense(classes, flatten=old._flatten, in_units=inputs, weight_initializer=Normal(0.01))
    elif isinstance(old, nn.Conv2D):
        fixed = {ours: old._kwargs[theirs] for ours, theirs in
                 (("kernel_size", "kernel"), ("strides", "stride"), ("padding", "pad"))}  # fmt: skip
        new = nn.Conv2D(classes, **fixed, in_channels=old.weight.shape[1], weight_initializer=Normal(0.01))
    else:
        raise MXNetError(f"the last layer with parameters is a {type(old).__name__}: a Dense or a Conv2D is wanted")
    new.initialize()
    replace_child(parent, name, new)
    if hasattr(net, "_clear_cached_op"):
        net._clear_cached_op()
    return new


def _last(block):
    """(its parent, its name there, the block) of the last block with parameters of its own."""
    for name, child in reversed(block._children.items()):
        found = _last(child)
        if found:
            return found
        if child._reg_params:
            return block, name, child
    return None
