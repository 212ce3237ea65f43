"""Brings Multi-Human Parsing V1 into ~/.mxnet/datasets/mhp.

    python scripts/datasets/mhp_v1.py --download-dir ~/downloads

The archive LV-MHP-v1.zip is on Google Drive, which serves it to browsers alone, and goes into --download-dir.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets.archives import Source, parser_of, unpack

SOURCES = (
    Source(
        "https://drive.google.com/uc?id=1hTS8QJBuGdcppFAr_bvW2tsD9hW_ptr5&export=download/LV-MHP-v1.zip", by_hand=True
    ),
)


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the archives that were unpacked."""
    return unpack(parser_of(__doc__, "mhp").parse_args(argv), SOURCES)


if __name__ == "__main__":
    main()
