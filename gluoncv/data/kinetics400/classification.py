"""Kinetics, 400 classes (Kay et al., 2017)."""

from gluoncv.data.classes import Attributes
from gluoncv.data.video_custom.classification import VideoClsCustom

__all__ = ["Kinetics400", "Kinetics400Attr"]


class Kinetics400(VideoClsCustom):
    r"""`VideoClsCustom` with this data set's folders.

    >>> import os, tempfile
    >>> root, setting = tempfile.mkdtemp(), os.path.join(tempfile.mkdtemp(), "list.txt")
    >>> with open(setting, "w") as file:
    ...     _ = file.write("first 16 0\nsecond 20 3\n")
    >>> len(gluoncv.data.Kinetics400(root=root, setting=setting))
    2
    """

    ROOT, SETTING = "kinetics400/rawframes_train", "kinetics400/kinetics400_train_list_rawframes.txt"


class Kinetics400Attr(Attributes):
    """The classes.

    >>> gluoncv.data.Kinetics400Attr().classes[:2]
    ['abseiling', 'air_drumming']
    """

    KEY = "kinetics400"
