"""Augmentations of detectors."""

from gluoncv.data.transforms.experimental import bbox, image
