"""The single shot detectors by name."""

import numpy as np

from gluoncv.data.classes import COCO, VOC
from gluoncv.model_zoo.model_zoo import custom, model, with_weights
from gluoncv.model_zoo.ssd.anchor import LiteAnchorGenerator
from gluoncv.model_zoo.ssd.resnet_v1b_ssd import resnet34_v1b_ssd
from gluoncv.model_zoo.ssd.ssd import SSD
from gluoncv.model_zoo.ssd.vgg_atrous import vgg16_atrous_300, vgg16_atrous_512

_FEW, _MANY = [1, 2, 0.5], [1, 2, 0.5, 3, 1.0 / 3]
_MOBILENET, _WIDE = ["relu22_fwd", "relu26_fwd"], [512, 512, 256, 256]
_VOC_300 = [30, 60, 111, 162, 213, 264, 315]
_COCO_300 = [21, 45, 99, 153, 207, 261, 315]
_VOC_512 = [51.2, 102.4, 189.4, 276.4, 363.52, 450.6, 492]
_COCO_512 = [51.2, 133.12, 215.04, 296.96, 378.88, 460.8, 542.72]
_EIGHTH_512 = [51.2, 76.8, 153.6, 230.4, 307.2, 384.0, 460.8, 537.6]
_STEPS_300, _STEPS_512, _EIGHTH_STEPS_512 = (
    [8, 16, 32, 64, 100, 300],
    [16, 32, 64, 128, 256, 512],
    [8, 16, 32, 64, 128, 256, 512],
)

# (pixels, network) -> layers of the network, or what makes the body; channels of further maps; pixels a place
# of each map
BODIES = {
    (300, "vgg16_atrous"): (vgg16_atrous_300, None, _STEPS_300),
    (512, "vgg16_atrous"): (vgg16_atrous_512, None, _EIGHTH_STEPS_512),
    (512, "resnet18_v1"): (["stage3_activation1", "stage4_activation1"], _WIDE, _STEPS_512),
    (512, "resnet50_v1"): (["stage3_activation5", "stage4_activation2"], _WIDE, _STEPS_512),
    (512, "resnet101_v2"): (["stage3_activation22", "stage4_activation2"], _WIDE, _STEPS_512),
    (512, "resnet152_v2"): (
        ["stage2_activation7", "stage3_activation35", "stage4_activation2"], _WIDE, _EIGHTH_STEPS_512,
    ),
    (512, "mobilenet1.0"): (_MOBILENET, _WIDE, _STEPS_512),
    (300, "mobilenet1.0"): (_MOBILENET, [512, 256, 256, 128], [16, 30, 60, 100, 150, 300]),
    (300, "mobilenet0.25"): (_MOBILENET, [256, 256, 128, 128], _STEPS_300),
    (300, "resnet34_v1b"): (resnet34_v1b_ssd, None, _STEPS_300),
}  # fmt: skip
# (pixels, network) -> sizes of anchors by data set
ANCHORS = {
    (300, "vgg16_atrous"): {"voc": _VOC_300, "coco": _COCO_300, "custom": _COCO_300},
    (512, "vgg16_atrous"): dict.fromkeys(("voc", "coco", "custom"), _EIGHTH_512),
    (512, "resnet18_v1"): dict.fromkeys(("voc", "coco", "custom"), _VOC_512),
    (512, "resnet50_v1"): {"voc": _VOC_512, "coco": _COCO_512, "custom": _COCO_512},
    (512, "resnet101_v2"): {"voc": _VOC_512},
    (512, "resnet152_v2"): {"voc": _EIGHTH_512},
    (512, "mobilenet1.0"): dict.fromkeys(("voc", "coco", "custom"), _VOC_512),
    (300, "mobilenet0.25"): dict.fromkeys(("voc", "coco", "custom"), _COCO_300),
    (300, "resnet34_v1b"): dict.fromkeys(("voc", "coco", "custom"), _COCO_300),
}
CLASSES = {"voc": VOC, "coco": COCO}
# SSDLite (Sandler et al., 2018): 1x1 predictors
LITE = {
    "sizes": [60.0, 105.0, 150.0, 195.0, 240.0, 285.0, 300.0], "ratios": [_FEW] + [_MANY] * 5,
    "predictors_kernel": (1, 1), "predictors_pad": (0, 0), "min_depth": 64, "reduce_ratio": 0.5,
    "anchor_generator": LiteAnchorGenerator,
}  # fmt: skip


def get_ssd(
    name, base_size, features, filters, sizes, ratios, steps, classes, dataset, pretrained=False, pretrained_base=True,
    ctx=None, root=None, detector=SSD, **kwargs,
):  # fmt: skip
    """A single shot detector of its parts (see `SSD`), with the weights published for
    SSD_SIZE_NAME_DATASET if `pretrained`.

    detector: `SSD`, or a class made of it.
    """
    net = detector(
        None if callable(features) else name, base_size, features, filters, sizes, ratios, steps, classes=classes,
        pretrained=False if pretrained else pretrained_base, ctx=ctx, root=root, **kwargs,
    )  # fmt: skip
    return with_weights(net, f"ssd_{base_size}_{name}_{dataset}", pretrained, ctx, root)


def sized_ssd(network, size, classes, **kwargs):
    """A single shot detector on a MobileNet for pictures of `size` pixels, of any size: its maps are a 16th of it, half
    as large, and so on up to one position; its anchors a fifth of it to all of it.

    Keywords as those of `get_ssd`. ValueError for another network.
    """
    if not network.startswith("mobilenet") or "v" in network:
        raise ValueError(f"detectors of any size are made on mobilenet1.0, 0.75, 0.5 and 0.25, given {network!r}")
    steps = [2**k for k in range(4, 16) if 2 ** (k - 1) < size]
    return get_ssd(
        network, size, ["relu22_fwd", "relu26_fwd"], [128] * (len(steps) - 2),
        list(np.linspace(0.2, 1.05, len(steps) + 1) * size), [[1, 2, 0.5]] * len(steps), steps, classes, "", **kwargs,
    )  # fmt: skip


def custom_ssd(
    base_network_name, base_size, filters, sizes, ratios, steps, classes, dataset, pretrained_base=True, **kwargs
):
    """A single shot detector on one of the bodies in `BODIES`; ValueError for others.

    >>> net = gluoncv.model_zoo.custom_ssd("vgg16_atrous", 300, None, [21, 51.2, 133.4, 215.6, 297.8, 379.9, 462.1], [[1, 2, 0.5]] * 6, [8, 16, 32, 64, 100, 300], ["cat"], "", pretrained_base=False)
    >>> net.classes
    ['cat']
    """
    if (base_size, base_network_name) not in BODIES:
        known = ", ".join(f"{network} at {size}" for size, network in BODIES)
        raise ValueError(f"there is no body for SSD of {base_network_name!r} at {base_size} pixels: there are {known}")
    features = BODIES[base_size, base_network_name][0]
    return get_ssd(
        base_network_name, base_size, features, filters, sizes, ratios, steps, classes, dataset,
        pretrained_base=pretrained_base, **kwargs,
    )  # fmt: skip


def _ssd(size, network, dataset, suffix="", **settings):
    features, filters, steps = BODIES[size, network]
    known = CLASSES.get(dataset)
    settings = {"ratios": [_FEW] + [_MANY] * (len(steps) - 3) + [_FEW] * 2, "steps": steps, **settings}

    def make(classes=known, pretrained_base=True, **kwargs):
        return get_ssd(
            network, size, features, filters, classes=classes, dataset=dataset, pretrained_base=pretrained_base,
            **{**settings, **kwargs},
        )  # fmt: skip

    name = f"ssd_{size}_{network}{suffix}_{dataset}"
    if dataset == "custom":
        custom(name, make)
    else:
        model(name, make, base=True)


for (_size, _network), _sizes in ANCHORS.items():
    for _dataset, _values in _sizes.items():
        _ssd(_size, _network, _dataset, sizes=_values)
_ssd(300, "mobilenet1.0", "coco", "_lite", **LITE)
