"""Brings the tiny motorbike data set, some pictures of VOC in its layout, into ~/.mxnet/datasets/tiny_motorbike.

python scripts/datasets/tiny_motorbike.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets.archives import Source, parser_of, unpack

SOURCES = (Source("https://autogluon.s3.amazonaws.com/datasets/tiny_motorbike.zip"),)


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the archives that were unpacked; the data lie in a folder of the archive."""
    return unpack(parser_of(__doc__, "").parse_args(argv), SOURCES)


if __name__ == "__main__":
    main()
