"""Something-Something, version 2 (Goyal et al., 2017)."""

from gluoncv.data.classes import Attributes
from gluoncv.data.video_custom.classification import VideoClsCustom

__all__ = ["SomethingSomethingV2", "SomethingSomethingV2Attr"]


class SomethingSomethingV2(VideoClsCustom):
    r"""`VideoClsCustom` with this data set's folders.

    >>> import os, tempfile
    >>> root, setting = tempfile.mkdtemp(), os.path.join(tempfile.mkdtemp(), "list.txt")
    >>> with open(setting, "w") as file:
    ...     _ = file.write("first 16 0\nsecond 20 3\n")
    >>> len(gluoncv.data.SomethingSomethingV2(root=root, setting=setting))
    2
    """

    ROOT, SETTING = (
        "somethingsomethingv2/20bn-something-something-v2-frames",
        "somethingsomethingv2/train_videofolder.txt",
    )
    NAME_PATTERN = "%06d.jpg"


class SomethingSomethingV2Attr(Attributes):
    """The classes.

    >>> gluoncv.data.SomethingSomethingV2Attr().num_class
    174
    """

    KEY = "somethingsomethingv2"
