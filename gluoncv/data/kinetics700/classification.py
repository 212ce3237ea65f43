"""Kinetics, 700 classes (Carreira et al., 2019)."""

from gluoncv.data.classes import Attributes
from gluoncv.data.video_custom.classification import VideoClsCustom

__all__ = ["Kinetics700", "Kinetics700Attr"]


class Kinetics700(VideoClsCustom):
    """`VideoClsCustom` with this data set's folders."""

    ROOT, SETTING = "kinetics700/rawframes_train", "kinetics700/kinetics700_train_list_rawframes.txt"


class Kinetics700Attr(Attributes):
    """The classes."""

    KEY = "kinetics700"
