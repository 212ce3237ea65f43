"""Lists of pictures."""

from gluoncv.data.lst.detection import LstDetection
