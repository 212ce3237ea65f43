"""Brings COCO 2017 into ~/.mxnet/datasets/coco: annotations, train2017, val2017.

python scripts/datasets/mscoco.py --download-dir ~/downloads
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets.archives import Source, parser_of, unpack

SOURCES = (
    Source("http://images.cocodataset.org/zips/train2017.zip"),
    Source("http://images.cocodataset.org/annotations/annotations_trainval2017.zip"),
    Source("http://images.cocodataset.org/zips/val2017.zip"),
)


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the archives that were unpacked."""
    return unpack(parser_of(__doc__, "coco").parse_args(argv), SOURCES)


if __name__ == "__main__":
    main()
