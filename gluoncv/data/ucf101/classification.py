"""UCF101 (Soomro et al., 2012)."""

from gluoncv.data.classes import Attributes
from gluoncv.data.video_custom.classification import VideoClsCustom

__all__ = ["UCF101", "UCF101Attr"]


class UCF101(VideoClsCustom):
    """`VideoClsCustom` with this data set's folders."""

    ROOT, SETTING = "ucf101/rawframes", "ucf101/ucfTrainTestlist/ucf101_train_split_1_rawframes.txt"


class UCF101Attr(Attributes):
    """The classes."""

    KEY = "ucf101"
