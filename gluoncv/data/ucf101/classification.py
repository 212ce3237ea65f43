"""UCF101 (Soomro et al., 2012)."""

from gluoncv.data.classes import Attributes
from gluoncv.data.video_custom.classification import VideoClsCustom

__all__ = ["UCF101", "UCF101Attr"]


class UCF101(VideoClsCustom):
    r"""`VideoClsCustom` with this data set's folders.

    >>> import os, tempfile
    >>> root, setting = tempfile.mkdtemp(), os.path.join(tempfile.mkdtemp(), "list.txt")
    >>> with open(setting, "w") as file:
    ...     _ = file.write("first 16 0\nsecond 20 3\n")
    >>> len(gluoncv.data.UCF101(root=root, setting=setting))
    2
    """

    ROOT, SETTING = "ucf101/rawframes", "ucf101/ucfTrainTestlist/ucf101_train_split_1_rawframes.txt"


class UCF101Attr(Attributes):
    """The classes.

    >>> gluoncv.data.UCF101Attr().classes[:2]
    ['ApplyEyeMakeup', 'ApplyLipstick']
    """

    KEY = "ucf101"
