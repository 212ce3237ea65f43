"""How well persons are found again in the pictures of other cameras: the first places, and the mean average precision.

    python scripts/re_identification/test.py --dataset-root datasets \\
        --pretrained checkpoints/re_identification/market1501/market1501-0070.params

The root holds Market-1501-v15.09.15 with `query` and `bounding_box_test`; files are called NUMBER_cCAMERA..., with -1
for what is no person.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core import nd
from gluon.data import DataLoader
from gluoncv.data.market1501.data_read import ImageTxtDataset
from scripts.common.devices import contexts
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.re_identification.network import PersonNet
from scripts.re_identification.train import FOLDER, add_picture_arguments, steps

PLACES = (1, 5, 10)


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    device = contexts(args)[0]
    weights = nd.load(args.pretrained)
    net = PersonNet(args.depth, weights["classifier.weight"].shape[0])
    net.load_dict(weights, ctx=device)
    parts = [listed(args.dataset_root / FOLDER / part) for part in ("query", "bounding_box_test")]
    found = [
        (features_of(net, items, args, device), *map(np.array, zip(*numbers, strict=True))) for items, numbers in parts
    ]
    figures = evaluate(*found)
    print("  ".join(f"{name} {value:.4f}" for name, value in figures.items()))
    return figures


def listed(folder: Path) -> tuple[list[tuple[str, int]], list[tuple[int, int]]]:
    """(file, person) and (person, camera) of the pictures of persons in a folder."""
    files = sorted(path for path in folder.glob("*.jpg") if not path.name.startswith("-1"))
    if not files:
        raise SystemExit(f"there are no pictures of persons in {folder}")
    numbers = [(int(person), int(camera[1])) for person, camera, *_ in (path.name.split("_") for path in files)]
    return [(str(path), person) for path, (person, _) in zip(files, numbers, strict=True)], numbers


def features_of(net, items, args, device) -> np.ndarray:
    """Features (N, C) of length 1, of the pictures and their mirror images together."""
    pictures = ImageTxtDataset(items, transform=steps((args.img_width, args.img_height)))
    rows = []
    for data, _ in DataLoader(pictures, args.batch_size, num_workers=args.num_workers):
        x = data.as_in_context(device)
        rows.append((net.features(x) + net.features(nd.flip(x, axis=3))).asnumpy())
    rows = np.concatenate(rows)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def evaluate(queries, gallery) -> dict[str, float]:
    """Shares of queries with the person among the first places, and the mean average precision.

    Both: features (N, C), persons (N,) and cameras (N,). Pictures of the person by the query's own camera do not count,
    nor do queries of persons whom no other camera has seen.
    """
    first, precisions = [], []
    for query, person, camera in zip(*queries, strict=True):
        features, persons, cameras = gallery
        order = np.argsort(-features @ query, kind="stable")
        same = persons[order] == person
        hits = np.flatnonzero(same[~(same & (cameras[order] == camera))])
        if len(hits):
            first.append(hits[0])
            precisions.append(_average_precision(hits))
    return {f"top{n}": float(np.mean(np.array(first) < n)) for n in PLACES} | {"mAP": float(np.mean(precisions))}


def _average_precision(hits: np.ndarray) -> float:
    """The area under the curve of precision by recall, in trapezoids, of the places (from 0) of what is right."""
    count = np.arange(len(hits))
    before = np.where(hits > 0, count / np.maximum(hits, 1), 1.0)
    return float(((before + (count + 1) / (hits + 1)) / 2).mean())


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add_picture_arguments(parser)
    parser.add_argument("--pretrained", required=True, help="weights that train.py has kept")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
