"""Something-Something, version 2 (Goyal et al., 2017)."""

from gluoncv.data.classes import Attributes
from gluoncv.data.video_custom.classification import VideoClsCustom

__all__ = ["SomethingSomethingV2", "SomethingSomethingV2Attr"]


class SomethingSomethingV2(VideoClsCustom):
    """`VideoClsCustom` with this data set's folders."""

    ROOT, SETTING = (
        "somethingsomethingv2/20bn-something-something-v2-frames",
        "somethingsomethingv2/train_videofolder.txt",
    )
    NAME_PATTERN = "%06d.jpg"


class SomethingSomethingV2Attr(Attributes):
    """The classes."""

    KEY = "somethingsomethingv2"
