"""Loading data next to PyTorch's `DataLoader`, measured alternately in one run.

    python scripts/benchmarks/data_loader.py [--images FOLDER] [--workers 2] [--rounds 5]

1. Batches of 64 x 3 x 32 x 32 float32 from memory, without and with worker processes: time a batch.
2. JPEG files of FOLDER (searched recursively), decoded, randomly cropped and resized to 224 x 224, flipped, and
   normalised: images a second; PyTorch's side does the same with Pillow and NumPy.

Both sides take turns; medians of the rounds, and of their ratios, go to logs/benchmarks/data_loader.log, and the ratio
of what this process and its workers computed. The first ratio below 1 in part 1, above 1 in part 2, is in our favour;
that of processor time always below 1.
"""

import argparse
import io
import math
import random
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import torch
import torch.utils.data

from core import image
from gluon.data import ArrayDataset, DataLoader, SimpleDataset
from gluon.data.vision import transforms
from scripts.benchmarks.table import report

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, help="folder with JPEG files; without it part 2 is left out")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [memory(workers, shuffle, options.rounds) for workers in (0, options.workers) for shuffle in (False, True)]
    if options.images:
        rows.append(pictures(options.images, options.workers, options.rounds))
    report("data_loader", f"loading data, median of {options.rounds} rounds, ratio of those of each round", rows)


def memory(workers: int, shuffle: bool, rounds: int) -> dict:
    data = np.random.default_rng(0).standard_normal((64 * 200, 3, 32, 32), dtype=np.float32)
    labels = np.arange(len(data))
    tensors = torch.utils.data.TensorDataset(torch.from_numpy(data), torch.from_numpy(labels))
    ours, theirs = alternate(
        DataLoader(ArrayDataset(data, labels), 64, shuffle=shuffle, num_workers=workers),
        torch.utils.data.DataLoader(tensors, 64, shuffle=shuffle, num_workers=workers),
        rounds,
    )
    what = f"64 x 3 x 32 x 32 in memory{', shuffled' if shuffle else ''}, {workers} workers"
    return row(what, "ms a batch", ours[0] / 200 * 1e3, theirs[0] / 200 * 1e3, ours[1] / theirs[1])


def pictures(folder: Path, workers: int, rounds: int) -> dict:
    files = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.suffix.lower() in (".jpg", ".jpeg")]
    files *= max(1, 640 // len(files))
    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomFlipLeftRight(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )
    ours, theirs = alternate(
        DataLoader(SimpleDataset(files).transform(Decoded(transform)), 64, num_workers=workers),
        torch.utils.data.DataLoader(WithPillow(files), 64, num_workers=workers),
        rounds,
    )
    what = f"JPEG to 224 x 224, {workers} workers"
    return row(what, "images/s", len(files) / ours[0], len(files) / theirs[0], ours[1] / theirs[1])


def row(what: str, unit: str, ours: np.ndarray, theirs: np.ndarray, processor: np.ndarray) -> dict:
    """A line of the table; `ours`, `theirs`, the ratio of `processor` time: a number a round."""
    return {
        "what": what,
        "unit": unit,
        "gluon": float(np.median(ours)),
        "torch": float(np.median(theirs)),
        "gluon/torch": float(np.median(ours / theirs)),
        "processor": float(np.median(processor)),
    }


class Decoded:
    def __init__(self, transform):
        self.transform = transform

    def __call__(self, data):
        return self.transform(image.imdecode(data))


class WithPillow(torch.utils.data.Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        from PIL import Image

        picture = Image.open(io.BytesIO(self.files[index])).convert("RGB")
        picture = picture.resize((224, 224), Image.Resampling.BILINEAR, box=window(*picture.size))
        if random.random() < 0.5:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = np.asarray(picture, dtype=np.float32) / 255
        pixels = (pixels - np.array(MEAN, np.float32)) / np.array(STD, np.float32)
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))


def window(width: int, height: int) -> tuple[int, int, int, int]:
    """The box that RandomResizedCrop draws."""
    for _ in range(10):
        area, aspect = random.uniform(0.08, 1) * width * height, math.exp(random.uniform(-1, 1) * math.log(4 / 3))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if w <= width and h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            return x, y, x + w, y + h
    return 0, 0, width, height


def alternate(ours, theirs, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """For each the seconds of `rounds` passes, after one to warm up, and those that processors worked: (2, rounds)."""
    times: tuple[list, list] = ([], [])
    for round_ in range(rounds + 1):
        for loader, taken in zip((ours, theirs), times):
            begin, worked = time.perf_counter(), processor_time()
            for _ in loader:
                pass
            if round_:
                taken.append((time.perf_counter() - begin, processor_time() - worked))
    return np.array(times[0]).T, np.array(times[1]).T


def processor_time() -> float:
    """Seconds that processors worked for this process and its children that have ended."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in usage)


if __name__ == "__main__":
    main()
