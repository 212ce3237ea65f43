"""Kinetics, 400 classes (Kay et al., 2017)."""

from gluoncv.data.classes import Attributes
from gluoncv.data.video_custom.classification import VideoClsCustom

__all__ = ["Kinetics400", "Kinetics400Attr"]


class Kinetics400(VideoClsCustom):
    """`VideoClsCustom` with this data set's folders."""

    ROOT, SETTING = "kinetics400/rawframes_train", "kinetics400/kinetics400_train_list_rawframes.txt"


class Kinetics400Attr(Attributes):
    """The classes."""

    KEY = "kinetics400"
