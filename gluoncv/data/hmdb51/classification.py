"""HMDB51 (Kuehne et al., 2011)."""

from gluoncv.data.classes import Attributes
from gluoncv.data.video_custom.classification import VideoClsCustom

__all__ = ["HMDB51", "HMDB51Attr"]


class HMDB51(VideoClsCustom):
    """`VideoClsCustom` with this data set's folders."""

    ROOT, SETTING = "hmdb51/rawframes", "hmdb51/testTrainMulti_7030_splits/hmdb51_train_split_1_rawframes.txt"


class HMDB51Attr(Attributes):
    """The classes."""

    KEY = "hmdb51"
