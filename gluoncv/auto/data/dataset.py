"""Pictures with labels or boxes, from folders and lists of the user's."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from core import image
from core.base import MXNetError
from gluon.data import Dataset
from gluoncv.data.pascal_voc.detection import CustomVOCDetection

__all__ = ["ImageClassificationDataset", "ObjectDetectionDataset", "Part"]

EXTENSIONS = (".jpg", ".jpeg", ".png")


class Part(Dataset):
    """The samples of a data set with the numbers `indices`, in this order; its classes."""

    def __init__(self, data: Dataset, indices: Iterable[int]):
        self._data, self._indices, self.classes = data, list(indices), list(data.classes)

    def __len__(self):
        return len(self._indices)

    def __getitem__(self, idx):
        return self._data[self._indices[idx]]

    def random_split(self, test_size=0.1, val_size=0.0, random_state=None) -> tuple[Part, Part, Part]:
        """(training, validation, test) parts with these shares of the samples; random_state: seed.

        ValueError for shares below 0, or that leave nothing for training.
        """
        return split(self, test_size, val_size, random_state)


def split(data, test_size=0.1, val_size=0.0, random_state=None) -> tuple[Part, Part, Part]:
    """See `Part.random_split`."""
    if min(test_size, val_size) < 0 or test_size + val_size >= 1:
        raise ValueError(f"test_size and val_size are shares with a sum below 1, given {test_size} and {val_size}")
    order = np.random.RandomState(random_state).permutation(len(data))
    tested, validated = (round(share * len(data)) for share in (test_size, val_size))
    ends = np.split(order, [tested, tested + validated])
    test, val, train = (Part(data, map(int, sorted(part))) for part in ends)
    return train, val, test


def hold_out(data, train_size, random_state=None) -> tuple[Part, Part]:
    """(the share `train_size` of the samples, the others). ValueError for a share that is not between 0 and 1."""
    if not 0 < train_size < 1:
        raise ValueError(f"train_size is a share between 0 and 1, given {train_size}; or pass val_data")
    train, _, held = split(data, 1 - train_size, random_state=random_state)
    return train, held


class ImageClassificationDataset(Dataset):
    """Pictures in files with classes: (uint8 (H, W, 3), class).

    images: paths. labels: numbers of classes. classes: their names. Or images alone, the file of a table: see `from_csv`
    for it and for root, image_column and label_column.

        data = ImageClassificationDataset(["a.jpg", "b.jpg"], [0, 1], ["cat", "dog"])
        train, val, test = data.random_split(test_size=0.2)
    """

    columns = ("image", "label")
    random_split = Part.random_split

    def __init__(
        self,
        images: Iterable[str | Path] | str | Path,
        labels: Iterable[int] = (),
        classes: Iterable[str] = (),
        root: str | Path | None = None,
        image_column: str = "image",
        label_column: str = "label",
    ):
        if isinstance(images, (str, Path)):
            images, labels, classes = _read_table(images, root, image_column, label_column)
        self.images, self.labels = [str(path) for path in images], [int(label) for label in labels]
        self.classes = list(classes)
        if len(self.images) != len(self.labels):
            raise ValueError(f"each picture has a label, given {len(self.images)} and {len(self.labels)}")
        wrong = [label for label in self.labels if not 0 <= label < len(self.classes)]
        if wrong:
            raise ValueError(f"labels are numbers of the {len(self.classes)} classes, given {wrong[0]}")

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return image.imread(self.images[idx], 1), self.labels[idx]

    @classmethod
    def from_folder(cls, root, exts=EXTENSIONS) -> ImageClassificationDataset:
        """A folder with a folder of pictures for each class; ValueError where there are no pictures."""
        root = Path(root).expanduser()
        if not root.is_dir():
            raise ValueError(f"{root} is no folder")
        classes = sorted(folder.name for folder in root.iterdir() if folder.is_dir())
        found = [
            (path, label)
            for label, name in enumerate(classes)
            for path in sorted((root / name).iterdir())
            if path.suffix.lower() in exts
        ]
        if not found:
            raise ValueError(f"{root} has no folders with pictures that end with {', '.join(exts)}")
        return cls(*zip(*found, strict=True), classes)

    @classmethod
    def from_folders(cls, root, train="train", val="val", test="test", exts=EXTENSIONS):
        """(training, validation, test) data sets of folders below `root`, see `from_folder`; None for absent ones.

        ValueError where there is no folder `train`, or where another one has classes that it lacks.
        """
        parts = [Path(root).expanduser() / name for name in (train, val, test)]
        first = cls.from_folder(parts[0], exts)
        return first, *(cls._with_classes(part, first.classes, exts) if part.is_dir() else None for part in parts[1:])

    @classmethod
    def _with_classes(cls, folder, classes, exts):
        found = cls.from_folder(folder, exts)
        unknown = sorted(set(found.classes) - set(classes))
        if unknown:
            raise ValueError(f"{folder} has classes that are not trained: {', '.join(unknown)}")
        return cls(found.images, [classes.index(found.classes[label]) for label in found.labels], classes)

    @classmethod
    def from_csv(cls, csv_file, root=None, image_column="image", label_column="label") -> ImageClassificationDataset:
        """A table with a column of paths, relative to `root` (default: the folder of the table), and one of classes.

        Classes are numbered by their names in order. ValueError for a table without one of the columns.
        """
        return cls(str(csv_file), root=root, image_column=image_column, label_column=label_column)


class ObjectDetectionDataset(Dataset):
    """Pictures in files with boxes: (uint8 (H, W, 3), float32 (M, 6) of left, top, right, bottom, class, difficult).

    images: paths. boxes: arrays (M, 5), or (M, 6) with 1 for boxes that need not be found. classes: names.
    """

    random_split = Part.random_split

    def __init__(self, images: Iterable[str | Path], boxes: Iterable[np.ndarray], classes: Iterable[str]):
        self.images, self.classes = [str(path) for path in images], list(classes)
        self.boxes = [_with_difficult(rows) for rows in boxes]
        if len(self.images) != len(self.boxes):
            raise ValueError(f"each picture has an array of boxes, given {len(self.images)} and {len(self.boxes)}")

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return image.imread(self.images[idx], 1), self.boxes[idx].copy()

    @classmethod
    def from_voc(cls, root, splits="trainval") -> ObjectDetectionDataset:
        """A folder with Annotations, ImageSets/Main and JPEGImages; splits: a name in ImageSets/Main, or several.

        Classes are those of the annotations, in alphabetical order.
        """
        splits = (splits,) if isinstance(splits, str) else splits
        found = _AnyFolder(generate_classes=True, root=str(root), splits=[("", name) for name in splits])
        paths = [found._image_path.format(*item) for item in found._items]
        return cls(paths, [found._load_label(k) for k in range(len(found))], found.classes)

    @classmethod
    def from_coco(cls, anno_file, root=None, min_object_area=0, use_crowd=False) -> ObjectDetectionDataset:
        """A JSON file of annotations as COCO has them, and pictures in the folder `root` (default: that of the file).

        Objects of less than `min_object_area` pixels are left out, groups too unless `use_crowd`, and pictures that no
        object is left of. Classes are all categories of the file, by their numbers. MXNetError for another kind of file.
        """
        with open(anno_file, encoding="utf-8") as file:
            whole = json.load(file)
        try:
            categories = sorted((entry["id"], entry["name"]) for entry in whole["categories"])
            numbers = {key: number for number, (key, _) in enumerate(categories)}
            boxes: dict[int, list] = {entry["id"]: [] for entry in whole["images"]}
            for entry in whole["annotations"]:
                left, top, width, height = entry["bbox"]
                if entry.get("area", width * height) >= min_object_area and (use_crowd or not entry.get("iscrowd", 0)):
                    box = [left, top, left + width - 1, top + height - 1, numbers[entry["category_id"]]]
                    boxes[entry["image_id"]].append(box)
            base = Path(root or Path(anno_file).parent)
            shown = [(base / entry["file_name"], boxes[entry["id"]]) for entry in whole["images"] if boxes[entry["id"]]]
        except (KeyError, TypeError, ValueError) as error:
            raise MXNetError(f"{anno_file} is no file of COCO's annotations: {error!r}") from error
        return cls([path for path, _ in shown], [rows for _, rows in shown], [name for _, name in categories])


class _AnyFolder(CustomVOCDetection):
    """The folders of VOC straight below the root."""

    def _folder(self, part):
        return ""


def _read_table(file_name, root, image_column, label_column) -> tuple[list[Path], list[int], list[str]]:
    """(paths, numbers of classes, names of classes): see `ImageClassificationDataset.from_csv`."""
    with open(file_name, encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        missing = {image_column, label_column} - set(table.fieldnames or ())
        if missing:
            raise ValueError(f"{file_name} has no column {', '.join(sorted(missing))}, it has {table.fieldnames}")
        rows = [(row[image_column], row[label_column]) for row in table]
    base, classes = Path(root or Path(file_name).parent), sorted({label for _, label in rows})
    return [base / path for path, _ in rows], [classes.index(label) for _, label in rows], classes


def _with_difficult(rows) -> np.ndarray:
    rows = np.asarray(rows, "float32").reshape(len(rows), -1)
    if rows.shape[1] not in (5, 6):
        raise ValueError(f"a box is left, top, right, bottom, class and maybe difficult, given {rows.shape[1]} numbers")
    return rows if rows.shape[1] == 6 else np.pad(rows, ((0, 0), (0, 1)))


def is_path(x) -> bool:
    """Whether `x` is the path of a picture."""
    return isinstance(x, (str, os.PathLike))
