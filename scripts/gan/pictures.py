"""Pictures without labels, and grids of generated ones."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from core import image
from core.files.atomic import write_bytes
from gluon.data import Dataset


class Folder(Dataset):
    """The pictures in a folder and below it, in order, through `transform`; SystemExit where there are none."""

    def __init__(self, folder: Path, transform):
        self.files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg", ".png"))
        if not self.files:
            raise SystemExit(f"there are no pictures (.jpg, .jpeg, .png) in {folder}")
        self._transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return self._transform(image.imread(str(self.files[index]), 1))


def redraw(images: Iterable[Path], folder: Path, make: Callable) -> list[Path]:
    """Writes `make(picture)`, one picture between -1 and 1 as (1, C, H, W), of each file as `folder`/STEM.png."""
    drawn = []
    for path in images:
        drawn.append(folder / f"{path.stem}.png")
        save_grid(drawn[-1], make(image.imread(str(path), 1)))
        print(f"{path} -> {drawn[-1]}")
    return drawn


def save_grid(path: Path, pictures, columns: int = 8) -> None:
    """Writes pictures (B, 1 or 3, H, W) between -1 and 1 as one PNG, `columns` of them side by side."""
    from PIL import Image

    pixels = ((pictures.asnumpy().clip(-1, 1) + 1) * 127.5).round().astype("uint8").transpose(0, 2, 3, 1)
    count, height, width, channels = pixels.shape
    columns = min(columns, count)
    rows = -(-count // columns)
    sheet = np.zeros((rows * columns, height, width, channels), "uint8")
    sheet[:count] = pixels
    sheet = sheet.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    sheet = sheet.reshape(rows * height, columns * width, channels)
    file = io.BytesIO()
    Image.fromarray(sheet.squeeze(axis=2) if channels == 1 else sheet).save(file, "PNG")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, file.getvalue())
