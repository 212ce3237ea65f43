"""What is known of a network and its weights: task, origin, licence, digest, and how its pictures are prepared."""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from core import nd
from core.base import MXNetError
from core.image import imread
from gluon.block import Block
from gluon.data.vision import transforms
from gluoncv.model_zoo.preparation import Frames, Persons, Resized, preparation_of

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CIFAR = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
INTERPOLATIONS = {"nearest": 0, "bilinear": 1, "bicubic": 2}
# what names of networks look like -> the task
TASKS = (
    (r"(simple|mobile|alpha)_pose", "pose"),
    (r"mask_rcnn|custom_mask_rcnn", "instance segmentation"),
    (r"ssd_|yolo3_|faster_rcnn|custom_faster_rcnn|doublehead_rcnn|center_net", "detection"),
    (r"(fcn|deeplab|psp|icnet|fastscnn|danet)_|hrnet_.*_s$", "segmentation"),
    (
        r".*_(kinetics[47]00|ucf101|hmdb51|sthsthv2)(_int8)?$|(i3d|slowfast|resnet\d+_v1b)_.*custom$|resnet\d+_v1b_custom",
        "action",
    ),
    (r"monodepth2", "depth"),
    (r"siamrpn", "tracking"),
)


@dataclass(frozen=True)
class Preprocessing:
    """How a picture becomes an input: its shorter side is brought to `resize` pixels (0: it stays as it is), the middle
    `size` (0: all of it) is cut out, and each channel, RGB of 0 to 1, is reduced by `mean` and divided by `deviation`.
    smoothed: a picture that becomes smaller is resized as Pillow does, every pixel of it counting, and as torchvision's
    and timm's networks are used to; otherwise as MXNet and OpenCV do, from the nearest pixels alone.

    >>> Preprocessing(2, 2)(np.zeros((4, 6, 3), "uint8")).shape
    (1, 3, 2, 2)
    """

    size: int
    resize: int
    interpolation: str = "bilinear"
    mean: tuple[float, ...] = IMAGENET[0]
    deviation: tuple[float, ...] = IMAGENET[1]
    smoothed: bool = False

    def __call__(self, picture):
        """(1, 3, height, width) of a file, or of a picture (height, width, 3) of bytes, as NDArray or NumPy array."""
        if isinstance(picture, (str, os.PathLike)):
            picture = imread(os.fspath(picture))
        picture = nd.array(picture, dtype="uint8") if isinstance(picture, np.ndarray) else picture
        if picture.ndim != 3 or picture.shape[2] != 3:
            raise MXNetError(f"a picture has the shape (height, width, 3), got {picture.shape}")
        return self.transform()(picture).expand_dims(0)

    def __str__(self):
        how = f"{self.interpolation}, smoothed" if self.smoothed else self.interpolation
        steps = [f"shorter side {self.resize} ({how})"] * bool(self.resize) + [f"middle {self.size}"] * bool(self.size)
        mean, deviation = (", ".join(f"{v:g}" for v in part) for part in (self.mean, self.deviation))
        return "; ".join([*steps, f"RGB / 255 less ({mean}) over ({deviation})"])

    def transform(self):
        """The same for one picture of a data set: (height, width, 3) of bytes to (3, height, width)."""
        steps = []
        if self.resize and self.smoothed:
            steps.append(Smoothed(self.resize, self.interpolation))
        elif self.resize:
            code = INTERPOLATIONS[self.interpolation]
            steps.append(transforms.Resize(self.resize, keep_ratio=True, interpolation=code))
        if self.size:
            steps.append(transforms.CenterCrop(self.size))
        return transforms.Compose([*steps, transforms.ToTensor(), transforms.Normalize(self.mean, self.deviation)])


class Smoothed(Block):
    """Brings the shorter side of a picture (height, width, 3) of bytes to `size` pixels by Pillow's resampling."""

    def __init__(self, size: int, interpolation: str):
        super().__init__()
        self._size, self._interpolation = size, interpolation

    def forward(self, picture):
        from PIL import Image

        height, width = picture.shape[:2]
        size = self._size
        longer = int(size * max(height, width) / min(height, width))  # as torchvision and MXNet cut it
        size = (size, longer) if width <= height else (longer, size)
        method = Image.Resampling[self._interpolation.upper()]
        pixels = picture.asnumpy() if hasattr(picture, "asnumpy") else picture
        return nd.array(np.asarray(Image.fromarray(pixels).resize(size, method)), dtype="uint8")


@dataclass(frozen=True)
class Card:
    """What is known of a network; `print(net.card)` prints it. digest: of the file of weights, with its kind."""

    name: str
    task: str
    origin: str = "random numbers"
    licence: str = "-"
    digest: str = "-"
    file: str = "-"
    preprocessing: Preprocessing | Persons | Frames | Resized | None = None
    classes: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self):
        some = ", ".join(self.classes[:3]) + (", ..." if len(self.classes) > 3 else "")
        lines = {
            "task": self.task, "weights": self.origin, "licence": self.licence, "digest": self.digest, "file": self.file,
            "input": self.preprocessing or "-", "classes": f"{len(self.classes)}: {some}" if self.classes else "-",
        }  # fmt: skip
        return "\n".join([self.name, *(f"  {key}: {value}" for key, value in lines.items())])


def task_of(name: str) -> str:
    """The task of a network of the zoo: "classification", "detection", "segmentation", "pose", "action", ..."""
    return next((task for pattern, task in TASKS if re.match(pattern, name)), "classification")


def preprocessing_of(name: str) -> Preprocessing | Persons | Frames | Resized | None:
    """How GluonCV makes the inputs of a network; None for trackers, which compare two positions of two pictures."""
    task = task_of(name)
    if name.startswith("cifar_"):
        return Preprocessing(32, 32, mean=CIFAR[0], deviation=CIFAR[1])
    if task == "classification":
        size = 299 if re.match("inceptionv3|xception", name) else 331 if name.startswith("nasnet_6") else 224
        return Preprocessing(size, ceil(size / 0.875))
    if task == "segmentation":
        return Preprocessing(0, 0)
    sizes = re.search(r"ssd_(300|512)|(yolo3)|(center_net)|(rcnn)", name)
    if sizes:
        return Preprocessing(
            0, next(size for group, size in zip(sizes.groups(), (int(sizes[1] or 0), 416, 512, 800)) if group)
        )
    return preparation_of(name, task)


def smoothed(name: str):
    """The same as networks of PyTorch's libraries are used to it."""
    found = preprocessing_of(name)
    return replace(found, smoothed=bool(found.resize)) if isinstance(found, Preprocessing) else found


def card(name: str, classes=(), **facts) -> Card:
    """The card of a network of the zoo; facts: what is known of its weights."""
    classes = classes if isinstance(classes, (list, tuple)) else ()
    found = Card(name, task_of(name), preprocessing=preprocessing_of(name), classes=tuple(classes))
    return replace(found, **{key: value for key, value in facts.items() if value is not None})


def of_segments(card: Card, net) -> Card:
    """The card of a network that may take several parts of a video at once."""
    if not isinstance(card.preprocessing, Frames):
        return card
    return replace(card, preprocessing=replace(card.preprocessing, segments=getattr(net, "num_segments", 1)))


def chosen(names, task: str | None = None, filter: str | None = None) -> list[str]:
    """Those of the names that are for a task and match a pattern such as "resnet*", sorted; MXNetError for other tasks."""
    tasks = sorted({task for _, task in TASKS} | {"classification"})
    if task is not None and task not in tasks:
        raise MXNetError(f"there is no task {task!r}; there are {', '.join(tasks)}")
    return sorted(
        name for name in names
        if (task is None or task_of(name) == task) and (filter is None or fnmatch.fnmatch(name, filter))
    )  # fmt: skip
