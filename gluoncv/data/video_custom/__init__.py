"""Videos of classes."""

from gluoncv.data.video_custom.classification import VideoClsCustom
