"""What the demos have in common: pictures in, pictures out, and what was found as text."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from scripts.common.flags import Parser

PUBLISHED = "file, folder or URL of weights (default: the published ones)"


def demo_parser(
    description: str, folder: str, weights: str | None = PUBLISHED, needed: bool = False
) -> argparse.ArgumentParser:
    """A parser with --images (or --input-pic), --save-dir and, unless `weights` is None,
    --pretrained (or --saved-params).
    """
    parser = Parser(description)
    add = parser.add_argument
    add("--images", "--input-pic", type=Path, nargs="+", required=True, help="pictures")
    if weights is not None:
        add("--pretrained", "--saved-params", required=needed, help=weights)
    add("--save-dir", type=Path, default=Path(folder), help="folder of the drawn pictures (default: %(default)s)")
    return parser


def add_score_arguments(parser: argparse.ArgumentParser, short: int) -> None:
    """Adds --short and --threshold, of detectors."""
    add = parser.add_argument
    add("--short", type=int, default=short, help="short side of the input (default: %(default)s)")
    add("--threshold", "--thresh", type=float, default=0.5, help="lowest score that is shown (default: %(default)s)")


def objects(net, classes, scores, threshold: float) -> list[tuple[str, float]]:
    """(name, score) of the objects of one picture that reach the threshold; classes and scores (N, 1)."""
    pairs = zip(classes.asnumpy().ravel(), scores.asnumpy().ravel(), strict=True)
    return [(net.classes[int(c)], float(score)) for c, score in pairs if score >= threshold and c >= 0]


def keep(picture, source: Path, folder: Path, found: Iterable[tuple[str, float]] = (), form: str = ".3f") -> Path:
    """Writes a Pillow picture, or its bytes (H, W, 3), as `folder`/STEM.png, and prints what was found in it."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{source.stem}.png"
    (picture if isinstance(picture, Image.Image) else Image.fromarray(picture)).save(target)
    print(f"{source} -> {target}")
    for name, score in found:
        print(f"  {score:{form}}  {name}")
    return target
