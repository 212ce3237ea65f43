"""What networks for actions share: means over parts of a video, names, weights taken from other networks."""

from functools import partial

from core import initializer
from core import ndarray as nd
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import get_model, model

# data set -> number of classes; "custom" stands for one of the user's
CLASSES = {"ucf101": 101, "hmdb51": 51, "kinetics400": 400, "kinetics700": 700, "sthsthv2": 174, "custom": 400}


class Recognizer(HybridBlock):
    """Features of each part of a video, averaged over the parts.

    num_segments, num_crop: parts of a video, and crops of each, which follow each other in the batch. feat_ext: gives
    the features and not the scores.
    """

    def __init__(self, feat_dim, num_segments=1, num_crop=1, feat_ext=False, **kwargs):
        super().__init__(**kwargs)
        self.feat_dim, self.feat_ext = feat_dim, feat_ext
        self.num_segments, self.num_crop = num_segments, num_crop

    def _mean(self, F, x):
        return F.mean(F.reshape(x, (-1, self.num_segments * self.num_crop, self.feat_dim)), axis=1)


def enter(network, dataset, make, transfer=False):
    """Enters the network NETWORK_DATASET; `make(nclass, **kwargs)` gives it without weights of its own.

    classes: names of the classes, whose number `nclass` then is. transfer: whether the builder's
    `use_kinetics_pretrain` is the default: it starts from the network trained on Kinetics, unless `pretrained_base` is
    False. `use_tsn` and `tsn` are accepted for old programs and mean nothing.
    """

    def build(
        nclass=None, pretrained_base=True, root=None, ctx=None, use_kinetics_pretrain=transfer, use_tsn=False,
        tsn=False, classes=None, **kwargs,
    ):  # fmt: skip
        if nclass is None:
            nclass = len(classes) if classes else CLASSES[dataset]
        kinetics = pretrained_base and use_kinetics_pretrain
        net = make(nclass, pretrained_base=pretrained_base and not kinetics, root=root, ctx=ctx, **kwargs)
        if kinetics:
            source = get_model(f"{network}_kinetics400", pretrained=True, root=root, ctx=ctx)
            adopt(net, source, ctx, skip=lambda name: name.startswith(("output.", "fc.", "head.")))
        return net

    return model(f"{network}_{dataset}", build, base=True)


def adopt(net, source, ctx=None, rename=lambda name: name, skip=lambda name: False):
    """Gives the parameters of `net` the values that `source` has under the names `rename` gives.

    Weights of convolutions on pictures are repeated along the time and divided by its length (Carreira and Zisserman,
    2017). KeyError names a parameter that `source` does not have, AssertionError one of another shape.
    """
    values = source._collect_params_with_prefix()
    for name, parameter in net._collect_params_with_prefix().items():
        if skip(name):
            continue
        value = values[rename(name)].data()
        if len(parameter.shape) == 5 and value.ndim == 4:
            duration = parameter.shape[2]
            value = nd.repeat(nd.expand_dims(value, axis=2), repeats=duration, axis=2) / duration
        if len(value.shape) != len(parameter.shape) or any(
            a not in (0, b) for a, b in zip(parameter.shape, value.shape)
        ):
            raise AssertionError(f"{name} has the shape {parameter.shape}, but would take values of {value.shape}")
        parameter.shape = value.shape
        if parameter._data is None:
            parameter.initialize(ctx=ctx)
        parameter.set_data(value)


def scores(nclass, init_std, feat_dim):
    """The last layer."""
    return nn.Dense(nclass, in_units=feat_dim, weight_initializer=initializer.Normal(init_std))


def freeze_statistics(*blocks):
    """Lets all normalisation in some blocks use the running statistics."""
    for block in blocks:
        block.apply(lambda layer: isinstance(layer, nn.BatchNorm) and layer._kwargs.update(use_global_stats=True))


def frozen_statistics(norm, freeze):
    """`norm`, or with `freeze` such that it always uses the running statistics."""
    return partial(norm, use_global_stats=True) if freeze else norm
