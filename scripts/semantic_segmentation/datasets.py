"""Pictures with a class for each pixel: the data sets of gluoncv.data, a folder of one's own, and rendered ones."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from core import nd
from core.image.codec import load_picture
from gluoncv.data import SegmentationDataset, get_segmentation_dataset
from gluoncv.model_zoo import segbase
from scripts.common.environment import checksums
from scripts.common.shapes import SHAPES, render


def data_set(args, split: str, mode: str, transform=None) -> SegmentationDataset:
    """The part `split` of `args.dataset`; networks can be made for it by this name afterwards."""
    options = {"transform": transform, "base_size": args.base_size, "crop_size": args.crop_size}
    if args.dataset == "rendered":
        pictures = Rendered(args.num_samples, args.crop_size, mode=mode, seed=int(split != "train"), **options)
    elif args.dataset == "folder":
        pictures = Folder(args.dataset_root, split, mode, **options)
    else:
        root = {"root": args.dataset_root} if args.dataset_root else {}
        return get_segmentation_dataset(args.dataset, split=split, mode=mode, **root, **options)
    segbase.DATASETS[args.dataset] = (args.dataset, pictures.num_class)
    return pictures


def data_files(args) -> dict[str, str]:
    """Checksums of what says which pictures and masks there are, or what is drawn."""
    if args.dataset == "rendered":
        return {"rendered": f"{args.num_samples} pictures, seed 0; validated on as many others, seed 1"}
    root = Path(args.dataset_root or ".")
    return checksums(sorted(root.glob("*.png") if args.dataset == "folder" else root.glob("**/Segmentation/*.txt")))


class Folder(SegmentationDataset):
    """Pictures NAME.jpg with masks NAME.png in one folder, or in its folder `split` where there is one.

    The classes are the values that occur in the masks, in order; 255 does not count.
    """

    def __init__(self, root, split, mode, transform, **kwargs):
        super().__init__(root, split, mode, transform, **kwargs)
        folder = Path(root) / split
        folder = folder if folder.is_dir() else Path(root)
        self.masks = sorted(folder.glob("*.png"))
        self.images = [mask.with_suffix(".jpg") for mask in self.masks]
        if not self.masks:
            raise SystemExit(f"there is no mask *.png in {folder}")
        self._values = self._found()

    @property
    def num_class(self):
        return len(self._values)

    @property
    def classes(self):
        return tuple(f"value {value}" for value in self._values)

    def _found(self) -> np.ndarray:
        values = np.unique(np.concatenate([np.unique(np.asarray(load_picture(mask))) for mask in self.masks]))
        return values[values != 255]

    def _mask_transform(self, mask):
        values = np.asarray(mask)
        classes = np.where(values == 255, -1, np.searchsorted(self._values, values))
        return nd.array(classes, dtype="int32")


class Rendered(SegmentationDataset):
    """`count` pictures of `size` pixels with disks, squares and triangles, as PNG files in memory."""

    NUM_CLASS = 1 + len(SHAPES)
    CLASSES = ("background", *SHAPES)

    def __init__(self, count, size, mode, transform, seed=0, **kwargs):
        super().__init__(".", "train", mode, transform, **kwargs)
        random = np.random.RandomState(seed)
        for _ in range(count):
            picture, boxes, masks = render(random, size)
            classes = np.zeros((size, size), "uint8")
            for box, mask in zip(boxes, masks, strict=True):
                classes[mask] = 1 + box[4]
            self.images.append(_png(picture))
            self.masks.append(_png(classes))

    def _name(self, index):
        return f"{index}.png"


def _png(pixels: np.ndarray) -> io.BytesIO:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file
