"""Brings the scenes of ADE20K into ~/.mxnet/datasets/ade.

python scripts/datasets/ade20k.py --download-dir ~/downloads
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets.archives import Source, parser_of, unpack

SOURCES = (
    Source("http://data.csail.mit.edu/places/ADEchallenge/ADEChallengeData2016.zip"),
    Source("http://data.csail.mit.edu/places/ADEchallenge/release_test.zip"),
)


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the archives that were unpacked."""
    return unpack(parser_of(__doc__, "ade").parse_args(argv), SOURCES)


if __name__ == "__main__":
    main()
