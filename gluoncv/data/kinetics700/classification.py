"""Kinetics, 700 classes (Carreira et al., 2019)."""

from gluoncv.data.classes import Attributes
from gluoncv.data.video_custom.classification import VideoClsCustom

__all__ = ["Kinetics700", "Kinetics700Attr"]


class Kinetics700(VideoClsCustom):
    r"""`VideoClsCustom` with this data set's folders.

    >>> import os, tempfile
    >>> root, setting = tempfile.mkdtemp(), os.path.join(tempfile.mkdtemp(), "list.txt")
    >>> with open(setting, "w") as file:
    ...     _ = file.write("first 16 0\nsecond 20 3\n")
    >>> len(gluoncv.data.Kinetics700(root=root, setting=setting))
    2
    """

    ROOT, SETTING = "kinetics700/rawframes_train", "kinetics700/kinetics700_train_list_rawframes.txt"


class Kinetics700Attr(Attributes):
    """The classes.

    >>> gluoncv.data.Kinetics700Attr().num_class
    700
    """

    KEY = "kinetics700"
