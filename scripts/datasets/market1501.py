"""Brings Market-1501 into ~/.mxnet/datasets/market1501.

python scripts/datasets/market1501.py --download-dir ~/downloads
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets.archives import Source, parser_of, unpack

SOURCES = (Source("http://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/gluon/dataset/Market-1501-v15.09.15.zip"),)


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the archives that were unpacked."""
    return unpack(parser_of(__doc__, "market1501").parse_args(argv), SOURCES)


if __name__ == "__main__":
    main()
