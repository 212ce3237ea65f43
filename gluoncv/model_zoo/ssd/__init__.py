"""Single shot detectors (Liu et al., 2016)."""

from gluoncv.model_zoo.ssd.anchor import LiteAnchorGenerator, SSDAnchorGenerator
from gluoncv.model_zoo.ssd.presets import custom_ssd, get_ssd, sized_ssd
from gluoncv.model_zoo.ssd.ssd import SSD
from gluoncv.model_zoo.ssd.target import SSDTargetGenerator
from gluoncv.model_zoo.ssd.vgg_atrous import (
    VGGAtrousExtractor,
    get_vgg_atrous_extractor,
    vgg16_atrous_300,
    vgg16_atrous_512,
)
