"""The classes of data sets, in the order of their numbers."""

import json
from functools import cache
from pathlib import Path

# The names and where they are from: PASCAL VOC (Everingham et al., 2010), COCO 2017 (Lin et al., 2014), ImageNet
# (Russakovsky et al., 2015), ADE20K (Zhou et al., 2017), Cityscapes (Cordts et al., 2016), LV-MHP-v1 (Li et al., 2017),
# VisDrone (Zhu et al., 2018), CIFAR-10 (Krizhevsky, 2009), UCF101 (Soomro et al., 2012), HMDB51 (Kuehne et al., 2011),
# Kinetics (Kay et al., 2017), Something-Something (Goyal et al., 2017).
_FILE = Path(__file__).with_suffix(".json")


def names(key) -> tuple[str, ...]:
    """The classes of the data set that `classes.json` has under `key`; KeyError for others."""
    return _all()[key]


class Attributes:
    """Classes of a data set as a list `classes`, and their number `num_class`; subclasses say which by `KEY`."""

    KEY = ""

    def __init__(self):
        self.classes = list(names(self.KEY))
        self.num_class = len(self.classes)


@cache
def _all():
    with open(_FILE, encoding="utf-8") as file:
        return {key: tuple(value) for key, value in json.load(file).items()}


VOC, COCO = names("pascal_voc_detection"), names("coco")
