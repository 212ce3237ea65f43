"""Composes pictures of objects cut out of a small data set in COCO's layout (Dwibedi et al., 2017, "Cut, Paste and Learn").

    python scripts/datasets/coco_parts.py ../shared/data/tiny_coco --target persons --hold-out 2 --categories person \\
        --least-share 0.03
    python scripts/datasets/coco_composed.py persons --backgrounds ../shared/data/tiny_coco --target composed --count 300

Objects come from the part `train2017` of the first folder, backgrounds from pictures of --backgrounds that show no object
of these categories. Objects are mirrored, turned, resized and lit at random and never lie over each other, so their
outlines and joints follow exactly. `train2017` becomes the composed pictures and those that the objects are of, `val2017`
stays as it is: no pixel of it is used.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core.files.atomic import write_bytes
from gluoncv.data import COCOKeyPoints
from gluoncv.data.transforms.mask import to_mask
from scripts.common.flags import Parser
from scripts.common.program import program

KINDS = ("instances", "person_keypoints")
JOINT_PAIRS = COCOKeyPoints.joint_pairs
TRIES = 20  # places that are drawn for an object before it is left out


@program
def main(argv: list[str] | None = None) -> dict[str, int]:
    """Gives the number of composed pictures and of objects in them."""
    args = parse_args(argv)
    whole = {kind: annotations(args.source, kind, "train2017") for kind in KINDS}
    joints = {a["id"]: a for a in whole["person_keypoints"]["annotations"] if any(a["keypoints"])}
    files = {entry["id"]: args.source / "train2017" / entry["file_name"] for entry in whole["instances"]["images"]}
    objects = [
        a | {"keypoints": joints.get(a["id"], {}).get("keypoints", []), "file": files[a["image_id"]]}
        for a in whole["instances"]["annotations"]
        if isinstance(a["segmentation"], list) and a["bbox"][3] >= args.least_height
    ]
    if not objects:
        raise SystemExit(f"{args.source} has no object of {args.least_height} pixels in height to cut out")
    shown = {a["category_id"] for a in objects}
    scenes = backgrounds(args.backgrounds, shown)
    random = np.random.RandomState(args.seed)
    pictures = args.target / "train2017"
    for folder in (pictures, args.target / "annotations"):
        folder.mkdir(parents=True, exist_ok=True)
    last, entries, pasted = max(files), [], []
    for number in range(1, args.count + 1):
        picture, placed = compose(objects, scenes, args, random)
        name = f"{last + number:012d}.jpg"
        picture.save(pictures / name, quality=92)
        width, height = args.size
        entries.append(located({"id": last + number, "file_name": name, "width": width, "height": height}, "train2017"))
        pasted += [a | {"id": -len(pasted) - k, "image_id": last + number} for k, a in enumerate(placed, 1)]
    for kind, old in whole.items():
        new = old | {"images": old["images"] + entries, "annotations": old["annotations"] + pasted}
        write_bytes(args.target / "annotations" / f"{kind}_train2017.json", json.dumps(new).encode())
        held = annotations(args.source, kind, "val2017")
        held["images"] = [located(entry, "val2017") for entry in held["images"]]
        write_bytes(args.target / "annotations" / f"{kind}_val2017.json", json.dumps(held).encode())
    for file in files.values():
        link(pictures / file.name, file)
    link(args.target / "val2017", args.source / "val2017")
    counts = {"pictures": len(entries), "objects": len(pasted)}
    print("  ".join(f"{name}: {count}" for name, count in counts.items()))
    return counts


def annotations(root: Path, kind: str, part: str) -> dict:
    """What COCO's file says; SystemExit where there is none."""
    file = root / "annotations" / f"{kind}_{part}.json"
    if not file.is_file():
        raise SystemExit(f"{file} is missing: {root} is to be a folder with COCO's annotations and pictures")
    return json.loads(file.read_text(encoding="utf-8"))


def located(entry: dict, part: str) -> dict:
    """The entry of a picture that lies in the folder `part`, which COCO tells by the address."""
    return entry | {"coco_url": f"{part}/{entry['file_name']}"}


def backgrounds(root: Path, categories: set[int]) -> list[Path]:
    """The pictures of `root`'s train2017 on which nothing of the categories is."""
    whole = annotations(root, "instances", "train2017")
    full = {a["image_id"] for a in whole["annotations"] if a["category_id"] in categories}
    scenes = [root / "train2017" / entry["file_name"] for entry in whole["images"] if entry["id"] not in full]
    if not scenes:
        raise SystemExit(f"{root} has no picture without these objects to serve as a background")
    return scenes


def compose(objects, scenes, args, random):
    """A picture, and the annotations of the objects in it."""
    from PIL import Image, ImageFilter

    width, height = args.size
    scene = _opened(scenes[random.randint(len(scenes))])
    # A window of at least half of the scene, of any aspect near that of the picture.
    across, down = (int(extent * random.uniform(0.5, 1)) for extent in scene.size)
    left, top = random.randint(scene.width - across + 1), random.randint(scene.height - down + 1)
    picture = scene.resize(args.size, Image.Resampling.BILINEAR, box=(left, top, left + across, top + down))
    picture = _lit(picture, random)
    taken, placed = np.zeros((height, width), bool), []
    for _ in range(random.randint(1, args.most_objects + 1)):
        found = objects[random.randint(len(objects))]
        for _ in range(TRIES):
            matrix, mirrored = _matrix(found["bbox"], args, random)
            outlines = [_moved(np.reshape(part, (-1, 2)), matrix) for part in found["segmentation"] if len(part) >= 6]
            # Eighths of a pixel are the same in the file, so the mask is, too.
            outlines = [np.round(part * 8) / 8 for part in outlines]
            inside = to_mask(outlines, args.size).astype(bool)
            # Half of it at least is to be seen, and nothing of what lies there already is to be hidden.
            if inside.sum() > 0.5 * found["area"] * abs(np.linalg.det(matrix[:, :2])) and not (inside & taken).any():
                break
        else:
            continue
        cut = _drawn(_lit(_opened(found["file"]), random), matrix, args.size)
        soft = Image.fromarray((inside * 255).astype("uint8")).filter(ImageFilter.GaussianBlur(0.7))
        picture.paste(cut, mask=soft)
        taken |= inside
        placed.append(_annotation(found, outlines, inside, matrix, mirrored))
    return picture, placed


def _annotation(found: dict, outlines, inside: np.ndarray, matrix: np.ndarray, mirrored: bool) -> dict:
    """COCO's annotation of an object whose pixels are `inside`."""
    rows, columns = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    left, top = int(columns[0]), int(rows[0])
    seen = np.zeros((17, 3))
    if found["keypoints"]:
        seen = np.reshape(np.array(found["keypoints"], float), (17, 3))
        seen[:, :2] = _moved(seen[:, :2], matrix)
        if mirrored:
            for pair in JOINT_PAIRS:
                seen[pair] = seen[pair[::-1]]
        height, width = inside.shape
        within = (seen[:, :2] >= 0).all(axis=1) & (seen[:, 0] < width) & (seen[:, 1] < height)
        seen[~(within & (seen[:, 2] > 0))] = 0
    return {
        "category_id": found["category_id"],
        "iscrowd": 0,
        "area": int(inside.sum()),
        "bbox": [left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1],
        "segmentation": [part.ravel().tolist() for part in outlines],
        "keypoints": seen.round(2).ravel().tolist(),
        "num_keypoints": int((seen[:, 2] > 0).sum()),
    }


def _matrix(bbox, args, random) -> tuple[np.ndarray, bool]:
    """(2, 3), from the object's picture to the composed one, and whether it is a mirror image."""
    width, height = args.size
    left, top, across, down = bbox
    scale = height / down * np.exp(random.uniform(*np.log(args.heights)))
    angle, mirrored = np.radians(random.uniform(-args.turn, args.turn)), random.rand() < 0.5
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    linear = scale * turn @ np.diag([-1 if mirrored else 1, 1])
    place = np.array([random.uniform(0, width), random.uniform(0.3, 0.8) * height])
    return np.column_stack([linear, place - linear @ [left + across / 2, top + down / 2]]), mirrored


def _moved(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return points @ matrix[:, :2].T + matrix[:, 2]


def _drawn(picture, matrix: np.ndarray, size):
    """The picture under `matrix`, averaged first where it shrinks."""
    from PIL import Image

    shrink = max(1, int(1 / np.sqrt(abs(np.linalg.det(matrix[:, :2])))))
    inverse = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))[:2] / shrink
    return picture.reduce(shrink).transform(
        size, Image.Transform.AFFINE, inverse.ravel().tolist(), Image.Resampling.BILINEAR
    )


def _lit(picture, random):
    """The picture with other brightness, contrast and colour."""
    from PIL import ImageEnhance

    for kind in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
        picture = kind(picture).enhance(random.uniform(0.7, 1.3))
    return picture


@lru_cache(maxsize=64)
def _opened(path: Path):
    from PIL import Image

    with Image.open(path) as opened:
        return opened.convert("RGB")


def link(path: Path, target: Path) -> None:
    """Makes `path` show what `target` is."""
    if not path.exists():
        path.symlink_to(target.resolve(), target_is_directory=target.is_dir())


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("source", type=Path, help="folder with COCO's annotations and pictures, in parts train2017 and val2017")
    add("--backgrounds", type=Path, required=True, help="folder with COCO's annotations and pictures")
    add("--target", type=Path, required=True, help="folder that is made")
    add("--count", type=int, default=300, help="pictures to compose (default: %(default)s)")
    add("--size", type=int, nargs=2, default=[256, 192], metavar=("W", "H"), help="of pictures (default: 256 192)")
    add("--most-objects", type=int, default=3, metavar="N", help="objects of a picture (default: 1 to %(default)s)")
    add("--least-height", type=float, default=100, help="pixels of an object that is cut out (default: %(default)s)")
    add(
        "--heights", type=float, nargs=2, default=[0.4, 1.1], metavar=("LEAST", "MOST"),
        help="of objects, as shares of the picture's (default: 0.4 1.1)",
    )  # fmt: skip
    add("--turn", type=float, default=15, help="degrees that objects turn at most (default: %(default)s)")
    add("--seed", type=int, default=0, help="seed of all that is drawn (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
