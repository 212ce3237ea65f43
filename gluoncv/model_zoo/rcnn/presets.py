"""The region-based detectors by name."""

from functools import partial

from core import symbol as sym
from core.initializer import Normal
from gluon import nn
from gluon.contrib.nn import SyncBatchNorm
from gluoncv.data.classes import COCO, VOC
from gluoncv.model_zoo.model_zoo import MODELS, custom, get_model, model, with_weights
from gluoncv.model_zoo.rcnn.faster_rcnn import DoubleHeadRCNN, FasterRCNN
from gluoncv.model_zoo.rcnn.mask_rcnn import MaskRCNN
from gluoncv.nn.dropblock import set_drop_prob
from gluoncv.nn.feature import FPNFeatureExpander

# network -> last layers of its four stages, for pyramids: their numbers, or their names
LAYERS = {
    "resnet18_v1b": (3, 3, 3, 3),
    "resnet50_v1b": (8, 11, 17, 8),
    "resnet101_v1d": (8, 11, 68, 8),
    "resnest50": (11, 15, 23, 11),
    "resnest101": (11, 15, 91, 11),
    "resnest269": (11, 119, 191, 31),
    "mobilenet1.0": (6, 10, 22, 26),
    # The widened maps before each halving, and the last one (as SSDLite of Sandler et al., 2018).
    "mobilenetv2_1.0": (
        "features_linearbottleneck3_relu60_relu6", "features_linearbottleneck6_relu60_relu6",
        "features_linearbottleneck13_relu60_relu6", "features_relu61_relu6",
    ),
}  # fmt: skip
CLASSES = {"voc": VOC, "coco": COCO}

_SCALES = {"scales": (2, 4, 8, 16, 32)}
_VOC = {**_SCALES, "max_num_gt": 100}
_COCO = {
    **_VOC, "short": 800, "max_size": 1333, "nms_thresh": 0.5, "nms_topk": -1, "post_nms": -1, "clip": 4.14,
    "rpn_test_post_nms": 1000, "rpn_min_size": 1,
}  # fmt: skip
_PYRAMID = {
    "min_stage": 2, "max_stage": 6, "roi_size": (7, 7), "strides": (4, 8, 16, 32, 64), "alloc_size": (384, 384),
    "num_sample": 512,
}  # fmt: skip
_FPN = {**_COCO, **_PYRAMID}
_SYNC = {**_FPN, "short": (640, 800), "rpn_channel": 256}
_MASK = {**_COCO, "clip": 4.42, "max_num_gt": 300}
_MASK_FPN = {**_MASK, **_PYRAMID, "target_roi_scale": 2}
_MASK_SYNC = {**_MASK_FPN, "short": (640, 800), "num_fcn_convs": 2}

# network and data set -> settings of the detector; of detectors on one map
FASTER = {
    "resnet50_v1b_voc": _VOC,
    "resnet101_v1d_voc": _VOC,
    "resnet50_v1b_coco": _COCO,
    "resnet101_v1d_coco": _COCO,
    "resnet50_v1b_custom": {},
    "resnet101_v1d_custom": {},
}
MASK = {
    "resnet18_v1b_coco": {**_MASK, "num_sample": 256},
    "resnet50_v1b_coco": _MASK,
    "resnet101_v1d_coco": _MASK,
}
# on pyramids: and layers between regions and predictors (see `_head`)
FASTER_FPN = {
    "fpn_resnet50_v1b_coco": (_FPN, {"dense": 2}),
    "fpn_resnet101_v1d_coco": (_FPN, {"dense": 2}),
    "fpn_syncbn_resnet50_v1b_coco": (_SYNC, {"convolutions": 1}),
    "fpn_syncbn_resnet101_v1d_coco": (_SYNC, {"convolutions": 4}),
    "fpn_syncbn_resnest50_coco": (_SYNC, {"convolutions": 4}),
    "fpn_syncbn_resnest101_coco": (_SYNC, {"convolutions": 4}),
    "fpn_syncbn_resnest269_coco": ({**_SYNC, "short": (640, 864), "max_size": 1440}, {"convolutions": 4}),
}
MASK_FPN = {
    "fpn_resnet18_v1b_coco": ({**_MASK_FPN, "num_fcn_convs": 2}, {"dense": 2}),
    "fpn_resnet50_v1b_coco": ({**_MASK_FPN, "num_fcn_convs": 4, "roi_size": (14, 14)}, {"dense": 2, "pool": True}),
    "fpn_resnet101_v1d_coco": ({**_MASK_FPN, "num_fcn_convs": 4, "roi_size": (14, 14)}, {"dense": 2, "pool": True}),
    "fpn_syncbn_resnet18_v1b_coco": (_MASK_SYNC, {"convolutions": 1, "use_bias": True}),
    "fpn_syncbn_mobilenet1_0_coco": (
        {**_MASK_SYNC, "roi_size": (14, 14)}, {"convolutions": 1, "use_bias": True, "pool": True},
    ),
}  # fmt: skip


def get_faster_rcnn(name, dataset, pretrained=False, ctx=None, root=None, **kwargs):
    """A Faster R-CNN of its parts, with the weights published for faster_rcnn_NAME_DATASET if `pretrained`."""
    return with_weights(FasterRCNN(**kwargs), f"faster_rcnn_{name}_{dataset}", pretrained, ctx, root, lenient=True)


def get_doublehead_rcnn(name, dataset, pretrained=False, ctx=None, root=None, **kwargs):
    """A Double-Head R-CNN of its parts, with the weights published for doublehead_rcnn_NAME_DATASET if `pretrained`."""
    net = DoubleHeadRCNN(**kwargs)
    return with_weights(net, f"doublehead_rcnn_{name}_{dataset}", pretrained, ctx, root, lenient=True)


def get_mask_rcnn(name, dataset, pretrained=False, ctx=None, root=None, **kwargs):
    """A Mask R-CNN of its parts, with the weights published for mask_rcnn_NAME_DATASET if `pretrained`."""
    return with_weights(MaskRCNN(**kwargs), f"mask_rcnn_{name}_{dataset}", pretrained, ctx, root, lenient=True)


def _patterns(*others):
    """The regular expression of parameters that are trained when normalisation is not."""
    return "|".join([".*dense", ".*rpn", *others, *_BODIES])


# Convolutions of bodies behind the first maps of a quarter of the picture: of residual networks, then of MobileNets.
_BODIES = (
    ".*down(2|3|4)_conv", ".*layers(2|3|4)_conv", r".*linearbottleneck([3-9]|\d\d)_conv", r".*features_conv1_",
    r"mobilenet\d+_conv([7-9]|\d\d)_",
)  # fmt: skip


# With normalisation that is trained.
_ALL = "(?!.*moving)"


# ---------------------------------------------------------------------------------------------- on one map


def _plain(prefix, network, name, settings, *patterns):
    """Enters a detector on the third stage of a residual network, with the fourth one on regions."""
    body, _, dataset = name.rpartition("_")
    known = CLASSES.get(dataset)

    def make(classes=known, pretrained_base=True, root=None, ctx=None, **kwargs):
        base = get_model(body, pretrained=pretrained_base, root=root, ctx=ctx, use_global_stats=True)
        features, top_features = nn.HybridSequential(), nn.HybridSequential()
        features.add(base.conv1, base.bn1, base.relu, base.maxpool, base.layer1, base.layer2, base.layer3)
        top_features.add(base.layer4)
        return network(
            features, top_features, classes, **{"train_patterns": _patterns(*patterns), **settings, **kwargs}
        )

    if dataset == "custom":
        custom(f"{prefix}_{name}", make)
    else:
        model(f"{prefix}_{name}", make, base=True, lenient=True)


# ---------------------------------------------------------------------------------------------- on pyramids


def _pyramid(prefix, network, name, settings, head, *patterns):
    """Enters a detector on a feature pyramid."""
    synced = "_syncbn_" in name
    body = (
        name.removeprefix("fpn_").removeprefix("syncbn_").removesuffix("_coco").replace("mobilenet1_0", "mobilenet1.0")
    )
    masks = network is MaskRCNN

    def make(classes=COCO, pretrained_base=True, root=None, ctx=None, num_devices=0, **kwargs):
        norm_kwargs = {"num_devices": num_devices} if num_devices >= 1 else {}
        base, norm = _base(body, synced, norm_kwargs, pretrained=pretrained_base, root=root, ctx=ctx), {}
        if synced:
            norm = {
                "norm_layer": sym.contrib.SyncBatchNorm,
                "norm_kwargs": {"ndev": num_devices} if num_devices >= 1 else {},
            }  # fmt: skip
        features = FPNFeatureExpander(
            base, _outputs(body), [256] * 4, use_p6=True, no_bias=synced and not masks, **norm
        )
        options = {"train_patterns": _ALL if synced else _patterns("P", *patterns), **settings, **kwargs}
        if synced and masks:
            options |= {"norm_layer": SyncBatchNorm, "norm_kwargs": norm_kwargs}
        layers = _head(**head, norm=partial(SyncBatchNorm, **norm_kwargs))
        return network(features, None, classes, box_features=layers, **options)

    model(f"{prefix}_{name}", make, base=True, lenient=True)


def _base(body, synced, norm_kwargs, **kwargs):
    options = {"norm_layer": SyncBatchNorm, "norm_kwargs": norm_kwargs} if synced else {"use_global_stats": True}
    base = get_model(body, **kwargs, **options)
    base.apply(partial(set_drop_prob, 0.0))
    return base


def _outputs(body):
    if isinstance(LAYERS[body][0], str):
        return list(LAYERS[body])
    stage = "relu{1}_fwd" if body.startswith("mobilenet") else "layers{0}_relu{1}_fwd"
    return [stage.format(i, number) for i, number in enumerate(LAYERS[body], 1)]


def _head(dense=1, convolutions=0, use_bias=False, pool=False, norm=None, channels=256, units=1024):
    """Layers on regions: pooling to half the size, 3x3 convolutions with normalisation, dense layers."""
    head = nn.HybridSequential()
    if pool:
        head.add(nn.AvgPool2D(pool_size=(3, 3), strides=2, padding=1))
    for _ in range(convolutions):
        head.add(nn.Conv2D(channels, 3, padding=1, use_bias=use_bias), norm(), nn.Activation("relu"))
    for _ in range(dense):
        head.add(nn.Dense(units, weight_initializer=Normal(0.01)), nn.Activation("relu"))
    return head


# ---------------------------------------------------------------------------------------------- pyramids of the user's


def custom_rcnn_fpn(
    pretrained_base=True, base_network_name="resnet18_v1b", norm_layer=nn.BatchNorm, norm_kwargs=None,
    sym_norm_layer=None, sym_norm_kwargs=None, num_fpn_filters=256, num_box_head_conv=4, num_box_head_conv_filters=256,
    num_box_head_dense_filters=1024, root=None, ctx=None,
):  # fmt: skip
    """(features, top_features, box_features) of a detector on a pyramid of one of the networks in `LAYERS`.

    pretrained_base: whether the body begins with published weights, or what `get_model` takes as `pretrained`.
    norm_layer: with `BatchNorm` the body keeps its statistics and the head is dense; with others all are trained, and
    `num_box_head_conv` convolutions come first. sym_norm_layer: operator of symbols that normalises the pyramid.
    ValueError for another network.
    """
    if base_network_name not in LAYERS:
        raise ValueError(f"there is no pyramid of {base_network_name!r}: there are {', '.join(LAYERS)}")
    fixed = norm_layer is nn.BatchNorm
    base = get_model(
        base_network_name, pretrained=pretrained_base, root=root, ctx=ctx, norm_layer=norm_layer,
        norm_kwargs={**(norm_kwargs or {}), **({"use_global_stats": True} if fixed else {})},
    )  # fmt: skip
    features = FPNFeatureExpander(
        base, _outputs(base_network_name), [num_fpn_filters] * 4, use_p6=True, no_bias=not fixed,
        norm_layer=sym_norm_layer, norm_kwargs=sym_norm_kwargs,
    )  # fmt: skip
    head = {"dense": 2} if fixed else {"convolutions": num_box_head_conv, "channels": num_box_head_conv_filters}
    norm = partial(norm_layer, **(norm_kwargs or {}))
    return features, None, _head(**head, pool=True, norm=norm, units=num_box_head_dense_filters)


def _custom_pyramid(family, network, *patterns):
    """Enters a detector whose parts are those of `custom_rcnn_fpn`, by its name custom_FAMILY_fpn."""
    name, parts = f"custom_{family}_fpn", (
        "norm_layer", "norm_kwargs", "sym_norm_layer", "sym_norm_kwargs", "num_fpn_filters", "num_box_head_conv",
        "num_box_head_conv_filters", "num_box_head_dense_filters",
    )  # fmt: skip

    def build(
        classes, transfer=None, dataset="custom", pretrained_base=True, base_network_name="resnet18_v1b",
        pretrained=False, root=None, ctx=None, **kwargs,
    ):  # fmt: skip
        own = {key: kwargs.pop(key) for key in parts if key in kwargs}
        fixed = own.get("norm_layer", nn.BatchNorm) is nn.BatchNorm
        if transfer is not None:
            kind = "fpn" if fixed else "fpn_syncbn"
            net = get_model(
                f"{family}_{kind}_{base_network_name}_{transfer}", pretrained=True, root=root, ctx=ctx, **kwargs
            )
            net.reset_class(classes, reuse_weights=[label for label in classes if label in net.classes])
            return net
        features, top_features, box_features = custom_rcnn_fpn(
            pretrained_base, base_network_name, root=root, ctx=ctx, **own
        )
        trained = {"train_patterns": _patterns("P", *patterns) if fixed else _ALL}
        return network(features, top_features, classes, box_features=box_features, **{**trained, **kwargs})

    build.__name__ = build.__qualname__ = name
    build.__doc__ = "A detector on a pyramid; arguments as those of `custom_rcnn_fpn`, of the class, and of `custom`."
    MODELS[name] = build


for _name, _settings in FASTER.items():
    _plain("faster_rcnn", FasterRCNN, _name, _settings)
for _name, _settings in MASK.items():
    _plain("mask_rcnn", MaskRCNN, _name, _settings, ".*mask")
for _name, (_settings, _layers) in FASTER_FPN.items():
    _pyramid("faster_rcnn", FasterRCNN, _name, _settings, _layers)
for _name, (_settings, _layers) in MASK_FPN.items():
    _pyramid("mask_rcnn", MaskRCNN, _name, _settings, _layers, ".*mask")
_plain("doublehead_rcnn", DoubleHeadRCNN, "resnet50_v1b_voc", _VOC, ".*double_fc", ".*double_conv")
_custom_pyramid("faster_rcnn", FasterRCNN)
_custom_pyramid("mask_rcnn", MaskRCNN, ".*mask")
