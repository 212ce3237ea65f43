"""UCF101."""

from gluoncv.data.ucf101.classification import UCF101
