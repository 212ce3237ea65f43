"""How a program ends that lacks data, and where its data are unless it is told."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable
from pathlib import Path

from core.store import DownloadError, home

# What is kept below a folder of this name, where it can be had, and the program that brings it into the layout
ORIGINS = {
    "voc": ("Pascal VOC", "http://host.robots.ox.ac.uk/pascal/VOC/", "pascal_voc"),
    "VOCdevkit": ("Pascal VOC", "http://host.robots.ox.ac.uk/pascal/VOC/", "pascal_voc"),
    "VOC2007": ("Pascal VOC", "http://host.robots.ox.ac.uk/pascal/VOC/", "pascal_voc"),
    "VOC2012": ("Pascal VOC", "http://host.robots.ox.ac.uk/pascal/VOC/", "pascal_voc"),
    "VOCaug": ("Semantic Boundaries", "http://home.bharathh.info/pubs/codes/SBD/download.html", "pascal_voc"),
    "coco": ("COCO", "https://cocodataset.org/#download", "mscoco"),
    "annotations": ("COCO", "https://cocodataset.org/#download", "mscoco"),
    "ade": ("ADE20K", "http://data.csail.mit.edu/places/ADEchallenge/ADEChallengeData2016.zip", "ade20k"),
    "citys": ("Cityscapes", "https://www.cityscapes-dataset.com/downloads/", "cityscapes"),
    "imagenet": ("ImageNet", "https://image-net.org/download.php", "imagenet"),
    "rec": ("a record file of ImageNet", "https://image-net.org/download.php", "imagenet"),
    "ILSVRC2012": ("a record file of ImageNet", "https://image-net.org/download.php", "imagenet"),
    "kinetics400": ("Kinetics 400", "https://github.com/cvdfoundation/kinetics-dataset", None),
    "ucf101": ("UCF101", "https://www.crcv.ucf.edu/data/UCF101.php", None),
    "hmdb51": ("HMDB51", "https://serre-lab.clps.brown.edu/resource/hmdb-a-large-human-motion-database/", None),
    "somethingsomethingv2": ("Something-Something V2", "https://www.qualcomm.com/developer/software/something-something-v-2-dataset", None),
    "kitti": ("KITTI", "https://www.cvlibs.net/datasets/kitti/raw_data.php", None),
    "market1501": ("Market-1501", "https://zheng-lab.cecs.anu.edu.au/Project/project_reid.html", "market1501"),
    "otb2015": ("OTB 2015", "http://cvlab.hanyang.ac.kr/tracker_benchmark/datasets.html", None),
}  # fmt: skip


def program(main: Callable) -> Callable:
    """Lets the main function of a program end in one sentence where a file of its data lacks, and not in a traceback:
    which file, where it can be had, where it belongs. The exit status is 1.
    """

    @functools.wraps(main)
    def run(argv: list[str] | None = None):
        try:
            return main(argv)
        except FileNotFoundError as error:
            raise SystemExit(sentence(error.filename or str(error))) from None
        except ModuleNotFoundError:
            raise
        except (DownloadError, ImportError) as error:  # the latter of what names the package to install
            raise SystemExit(" ".join(str(error).split())) from None

    return run


def missing(path: Path) -> FileNotFoundError:
    """The error that a file is not there."""
    return FileNotFoundError(errno.ENOENT, "is not there", str(path))


def sentence(missing: str | Path) -> str:
    """What to do about a missing file of a data set."""
    path = Path(missing).expanduser()
    path = path.absolute() if len(str(missing).split()) == 1 else missing
    for part in Path(path).parts[::-1]:
        if part in ORIGINS:
            name, address, prepares = ORIGINS[part]
            helps = f" with scripts/datasets/{prepares}.py" if prepares else ""
            return f"{path} is missing: it is of {name}, from {address}, and is put there{helps}"
    return f"{path} is missing: it is named on the command line, or by a default that --help shows"


def data_root(given: str | Path, name: str) -> Path:
    """The folder of the data set `name`: below `given` or `given` itself, or where GluonCV keeps it, `~/.mxnet/datasets`.

    `MXNET_HOME` is in place of `~/.mxnet`.
    """
    root = Path(given).expanduser() if given else Path(home()) / "datasets"
    return root if given and not (root / name).is_dir() else root / name
