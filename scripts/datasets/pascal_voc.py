"""Brings Pascal VOC 2007 and 2012, and the masks of Semantic Boundaries, into ~/.mxnet/datasets/voc: VOC2007, VOC2012,
VOCaug.

    python scripts/datasets/pascal_voc.py --download-dir ~/VOCdevkit
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets.archives import Source, parser_of, unpack

VOC = "http://host.robots.ox.ac.uk/pascal/VOC/"
BOUNDARIES = "http://www.eecs.berkeley.edu/Research/Projects/CS/vision/grouping/semantic_contours/benchmark.tgz"
SOURCES = (
    Source(VOC + "voc2007/VOCtrainval_06-Nov-2007.tar", "34ed68851bce2a36e2a223fa52c661d592c66b3c"),
    Source(VOC + "voc2007/VOCtest_06-Nov-2007.tar", "41a8d6e12baa5ab18ee7f8f8029b9e11805b4ef1"),
    Source(VOC + "voc2012/VOCtrainval_11-May-2012.tar", "4e443f8a2eca6b1dac8a6c57641b67dd40621a49"),
    Source(BOUNDARIES, "7129e0a480c2d6afb02b517bb18ac54283bfaa35"),
)


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the archives that were unpacked."""
    args = parser_of(__doc__, "voc").parse_args(argv)
    found = unpack(args, SOURCES)
    for packed, name in (
        ("VOCdevkit/VOC2007", "VOC2007"),
        ("VOCdevkit/VOC2012", "VOC2012"),
        ("benchmark_RELEASE", "VOCaug"),
    ):
        if (args.target_dir / packed).is_dir() and not (args.target_dir / name).exists():
            shutil.move(str(args.target_dir / packed), str(args.target_dir / name))
    return found


if __name__ == "__main__":
    main()
