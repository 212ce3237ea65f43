"""Builders that take as numbers what the names of networks spell: `get_resnet(1, 50)` is `resnet50_v1`.

After the numbers come `pretrained`, `ctx` and `root`, as with `get_model`, and keywords of the network's class. Where a
family is built of any numbers, these may be others than those of the published networks. ValueError for numbers that
there are not.
"""

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature

from gluon.model_zoo.vision import MobileNet
from gluon.model_zoo.vision.mobilenet import MULTIPLIERS
from gluoncv.model_zoo import cifar_resnet
from gluoncv.model_zoo.mobilenet import MobileNetV2
from gluoncv.model_zoo.mobilenetv3 import mobilenet_v3
from gluoncv.model_zoo.model_zoo import MODELS, builder, get_model
from gluoncv.model_zoo.nasnet import NASNetALarge
from gluoncv.model_zoo.resnext import BLOCKS, CIFARResNext, ResNext, SENet


def _by_numbers(named: Callable) -> Callable:
    """Makes a builder of a function from numbers to the name of a network, or to its name and what makes it."""
    numbers = tuple(signature(named).parameters)
    places = (*numbers, "pretrained", "ctx", "root")

    @wraps(named)
    def build(*args, **kwargs):
        if len(args) > len(places):
            raise TypeError(f"{named.__name__} takes {', '.join(places)} by position, got {len(args)} arguments")
        kwargs = dict(zip(places, args, strict=False)) | kwargs
        name, make = named(**{number: kwargs.pop(number) for number in numbers if number in kwargs})
        if name in MODELS or make is None:
            return get_model(name, **kwargs)
        return builder(name, make)(**kwargs)

    return build


@_by_numbers
def get_resnet(version, num_layers, use_se=False):
    """Residual networks of version 1 or 2 (He et al., 2016), with weighed channels (Hu et al., 2018) if `use_se`.

    >>> net = gluoncv.model_zoo.get_resnet(1, 18, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return f"{'se_' if use_se else ''}resnet{num_layers}_v{version}", None


@_by_numbers
def get_se_resnet(version, num_layers):
    """Residual networks with weighed channels (Hu et al., 2018).

    >>> net = gluoncv.model_zoo.get_se_resnet(1, 18, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return f"se_resnet{num_layers}_v{version}", None


@_by_numbers
def get_resnext(num_layers, cardinality=32, bottleneck_width=4, use_se=False, deep_stem=False, avg_down=False):
    """ResNeXt (Xie et al., 2017) of 50 or 101 layers, with any groups of the 3x3 convolutions.

    >>> net = gluoncv.model_zoo.get_resnext(50, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    blocks = _blocks(num_layers)
    suffix = "e" if deep_stem and avg_down else ""
    name = f"{'se_' if use_se else ''}resnext{num_layers}{suffix}_{cardinality}x{bottleneck_width}d"
    settings = {"use_se": use_se, "deep_stem": deep_stem, "avg_down": avg_down}
    return name, partial(ResNext, blocks, cardinality, bottleneck_width, **settings)


@_by_numbers
def get_senet(num_layers, cardinality=64, bottleneck_width=4, avg_down=False):
    """SENet (Hu et al., 2018); that of 154 layers is counted as 152.

    >>> net = gluoncv.model_zoo.get_senet(50, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    published = (num_layers, cardinality, bottleneck_width) == (152, 64, 4)
    name = f"senet_{num_layers + 2}{'e' if avg_down else ''}"
    make = partial(SENet, _blocks(num_layers), cardinality, bottleneck_width, avg_down=avg_down)
    return name if published else f"{name}_{cardinality}x{bottleneck_width}d", make


@_by_numbers
def get_vgg(num_layers, batch_norm=False):
    """VGG (Simonyan and Zisserman, 2014).

    >>> net = gluoncv.model_zoo.get_vgg(11, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return f"vgg{num_layers}{'_bn' if batch_norm else ''}", None


@_by_numbers
def get_densenet(num_layers):
    """DenseNet (Huang et al., 2017).

    >>> net = gluoncv.model_zoo.get_densenet(121, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return f"densenet{num_layers}", None


@_by_numbers
def get_squeezenet(version):
    """SqueezeNet (Iandola et al., 2016), "1.0" or "1.1".

    >>> net = gluoncv.model_zoo.get_squeezenet("1.1", classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return f"squeezenet{version}", None


@_by_numbers
def get_mobilenet(multiplier):
    """MobileNet (Howard et al., 2017), its channels times any number.

    >>> net = gluoncv.model_zoo.get_mobilenet(0.3, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return f"mobilenet{MULTIPLIERS.get(multiplier, multiplier)}", partial(MobileNet, multiplier)


@_by_numbers
def get_mobilenet_v2(multiplier):
    """MobileNetV2 (Sandler et al., 2018), its channels times any number.

    >>> net = gluoncv.model_zoo.get_mobilenet_v2(0.3, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return f"mobilenetv2_{MULTIPLIERS.get(multiplier, multiplier)}", partial(MobileNetV2, multiplier)


@_by_numbers
def get_mobilenet_v3(model_name, multiplier=1.0):
    """MobileNetV3 (Howard et al., 2019), "large" or "small", its channels times any number.

    >>> net = gluoncv.model_zoo.get_mobilenet_v3("small", classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    name = f"mobilenetv3_{model_name}"
    return name if multiplier == 1 else f"{name}_{multiplier}", partial(mobilenet_v3, model_name, multiplier=multiplier)


@_by_numbers
def get_nasnet(repeat=6, penultimate_filters=4032):
    """NASNet-A (Zoph et al., 2018), of any number of cells and of filters before the last layer.

    >>> scores, auxiliary = gluoncv.model_zoo.get_nasnet(4, 1056, classes=10)(sym.var("data"))
    >>> scores.infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return f"nasnet_{repeat}_{penultimate_filters}", partial(NASNetALarge, repeat, penultimate_filters)


@_by_numbers
def get_darknet(darknet_version, num_layers):
    """Darknet (Redmon and Farhadi, 2018): ("v3", 53).

    >>> net = gluoncv.model_zoo.get_darknet("v3", 53, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return f"darknet{num_layers}" if darknet_version == "v3" else f"darknet_{darknet_version}_{num_layers}", None


@_by_numbers
def get_dla(layers):
    """Deep layer aggregation (Yu et al., 2018): 34.

    >>> net = gluoncv.model_zoo.get_dla(34, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    return f"dla{layers}", None


def get_hrnet(
    model_name, stage_interp_type="nearest", purpose="cls", pretrained=False, ctx=None, root=None, **kwargs
):  # fmt: skip
    """High-resolution networks (Wang et al., 2019), such as "w18_small_v1", for purpose "cls" or "seg".

    stage_interp_type: how branches are brought to the size of others, "nearest", "bilinear" or "bilinear_like".
    NotImplementedError for another purpose.

    >>> net = gluoncv.model_zoo.get_hrnet("w18_small_v1")
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """
    kinds = {"cls": "c", "seg": "s"}
    if purpose not in kinds:
        raise NotImplementedError(f"purpose is cls or seg, got {purpose!r}")
    name = f"hrnet_{model_name}_{kinds[purpose]}"
    return get_model(name, pretrained, root, ctx, stage_interp_type=stage_interp_type, **kwargs)


@_by_numbers
def get_residualAttentionModel(input_size, num_layers):
    """Residual attention networks (Wang et al., 2017) for pictures of 32 or of 224.

    >>> net = gluoncv.model_zoo.get_residualAttentionModel(32, 56, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 32))[1]
    [(1, 10)]
    """
    if input_size not in (32, 224):
        raise AssertionError(f"input_size is 32 or 224, got {input_size}")
    return f"{'cifar_' if input_size == 32 else ''}residualattentionnet{num_layers}", None


@_by_numbers
def get_cifar_resnet(version, num_layers):
    """Residual networks of version 1 or 2 for pictures of 32x32; layers: 2 more than a multiple of 6.

    >>> net = gluoncv.model_zoo.get_cifar_resnet(1, 20, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 32))[1]
    [(1, 10)]
    """
    return f"cifar_resnet{num_layers}_v{version}", partial(cifar_resnet.plain, version, num_layers)


@_by_numbers
def get_cifar_wide_resnet(num_layers, width_factor=1):
    """Wide residual networks (Zagoruyko, Komodakis, 2016); layers: 4 more than a multiple of 6.

    >>> net = gluoncv.model_zoo.get_cifar_wide_resnet(16, width_factor=2, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 32))[1]
    [(1, 10)]
    """
    return f"cifar_wideresnet{num_layers}_{width_factor}", partial(cifar_resnet.wide, num_layers, width_factor)


@_by_numbers
def get_cifar_resnext(num_layers, cardinality=16, bottleneck_width=64):
    """ResNeXt for pictures of 32x32; layers: 2 more than a multiple of 9.

    >>> net = gluoncv.model_zoo.get_cifar_resnext(29, cardinality=4, bottleneck_width=8, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 32))[1]
    [(1, 10)]
    """
    blocks, rest = divmod(num_layers - 2, 9)
    if rest:
        raise AssertionError(f"num_layers is 2 more than a multiple of 9, got {num_layers}")
    name = f"cifar_resnext{num_layers}_{cardinality}x{bottleneck_width}d"
    return name, partial(CIFARResNext, (blocks,) * 3, cardinality, bottleneck_width)


@_by_numbers
def get_simple_pose_resnet(base_name):
    """Simple baselines for poses (Xiao et al., 2018) on a residual network.

    >>> net = gluoncv.model_zoo.get_simple_pose_resnet("resnet18_v1b")
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 256, 192))[1]
    [(1, 17, 64, 48)]
    """
    return f"simple_pose_{base_name}", None


@_by_numbers
def get_mobile_pose(base_name):
    """Small networks for poses.

    >>> net = gluoncv.model_zoo.get_mobile_pose("resnet18_v1b")
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 256, 192))[1]
    [(1, 17, 64, 48)]
    """
    return f"mobile_pose_{base_name}", None


def _blocks(layers):
    if layers not in BLOCKS:
        raise AssertionError(f"num_layers is one of {', '.join(map(str, BLOCKS))}, got {layers}")
    return BLOCKS[layers]
