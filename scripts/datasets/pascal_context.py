"""Brings PASCAL Context into ~/.mxnet/datasets/PContext: the pictures of VOC 2010, and what is seen in every pixel of them.

    python scripts/datasets/pascal_context.py --download-dir ~/downloads

The masks in trainval_merged.json are read by the package `detail` (github.com/zhanghang1989/detail-api).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets.archives import Source, parser_of, unpack

SOURCES = (
    Source(
        "http://host.robots.ox.ac.uk/pascal/VOC/voc2010/VOCtrainval_03-May-2010.tar",
        "bf9985e9f2b064752bf6bd654d89f017c76c395a",
    ),
    Source(
        "https://codalabuser.blob.core.windows.net/public/trainval_merged.json",
        "169325d9f7e9047537fedca7b04de4dddf10b881",
        inside="VOCdevkit/VOC2010",
    ),
)


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the files that were brought."""
    return unpack(parser_of(__doc__, "PContext").parse_args(argv), SOURCES)


if __name__ == "__main__":
    main()
