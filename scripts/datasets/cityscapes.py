"""Brings Cityscapes, whose archives can be had after a registration, into ~/.mxnet/datasets/citys.

python scripts/datasets/cityscapes.py --download-dir ~/downloads
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets.archives import Source, parser_of, unpack

SOURCES = (
    Source("https://www.cityscapes-dataset.com/file-handling/gtFine_trainvaltest.zip", by_hand=True),
    Source("https://www.cityscapes-dataset.com/file-handling/leftImg8bit_trainvaltest.zip", by_hand=True),
)


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the archives that were unpacked."""
    return unpack(parser_of(__doc__, "citys").parse_args(argv), SOURCES)


if __name__ == "__main__":
    main()
