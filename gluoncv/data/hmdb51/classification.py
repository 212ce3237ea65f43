"""HMDB51 (Kuehne et al., 2011)."""

from gluoncv.data.classes import Attributes
from gluoncv.data.video_custom.classification import VideoClsCustom

__all__ = ["HMDB51", "HMDB51Attr"]


class HMDB51(VideoClsCustom):
    r"""`VideoClsCustom` with this data set's folders.

    >>> import os, tempfile
    >>> root, setting = tempfile.mkdtemp(), os.path.join(tempfile.mkdtemp(), "list.txt")
    >>> with open(setting, "w") as file:
    ...     _ = file.write("first 16 0\nsecond 20 3\n")
    >>> len(gluoncv.data.HMDB51(root=root, setting=setting))
    2
    """

    ROOT, SETTING = "hmdb51/rawframes", "hmdb51/testTrainMulti_7030_splits/hmdb51_train_split_1_rawframes.txt"


class HMDB51Attr(Attributes):
    """The classes.

    >>> gluoncv.data.HMDB51Attr().classes[:2]
    ['brush_hair', 'cartwheel']
    """

    KEY = "hmdb51"
