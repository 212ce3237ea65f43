"""Blends."""

from gluoncv.data.mixup.detection import MixupDetection
