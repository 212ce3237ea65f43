"""ImageNet."""

from gluoncv.data.imagenet.classification import ImageNet
