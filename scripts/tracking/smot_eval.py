"""Judges videos in which objects were followed: MOTA, IDF1 and what they are made of.

    python scripts/tracking/smot_eval.py --gt-dir truth --pred-dir found

Videos are files gt_NAME.npy in the one folder and pred_NAME.npy in the other, with a row of frame, number, left, top,
width and height for each box (further columns do not count).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


from core.files.numpy_files import read_npy
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.tracking import clear_mot


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    truths = {path.stem.removeprefix("gt_"): path for path in sorted(args.gt_dir.glob("gt_*.npy"))}
    pairs = {name: args.pred_dir / f"pred_{name}.npy" for name in truths}
    videos = [name for name, found in pairs.items() if found.is_file()]
    if not videos:
        raise SystemExit(f"{args.pred_dir} has no pred_NAME.npy for a gt_NAME.npy in {args.gt_dir}")
    given = [(truths[name], pairs[name], args.min_iou) for name in videos]
    if args.num_worker > 1:
        # A fresh interpreter each: what the caller has open is not copied.
        with get_context("spawn").Pool(min(args.num_worker, len(videos))) as pool:
            parts = pool.starmap(counts, given)
    else:
        parts = [counts(*one) for one in given]
    total = sum(parts, Counter())
    figures = clear_mot.figures(total)
    print(f"{args.model_name}, {len(videos)} videos")
    print("  ".join(f"{name} {value:.4f}" for name, value in figures.items()))
    print("  ".join(f"{name} {value}" for name, value in sorted(total.items())))
    return figures


def counts(truth: Path, found: Path, min_iou: float) -> Counter:
    """What is counted in one video."""
    return clear_mot.counts(read_npy(truth), read_npy(found), min_iou)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--model-name", default="smot", help="what to call it (default: %(default)s)")
    add("--gt-dir", type=Path, required=True, help="folder of the truth")
    add("--pred-dir", type=Path, required=True, help="folder of what was found")
    add("--min-iou", type=float, default=0.5, help="overlap from which on a box is found (default: %(default)s)")
    add("--num-worker", type=int, default=0, help="processes, each for a video at a time (default: this one)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
