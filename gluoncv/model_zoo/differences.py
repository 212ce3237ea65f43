"""What networks of other libraries compute otherwise than ours: an epsilon, an activation, a pooling.

`make` makes a network compute as theirs does, `text` says where it does not. Each difference has a name and a value,
which state_dict.json gives:

- `epsilon`: the number of all normalisations;
- `activation`: "relu6" in place of relu everywhere;
- `first_pool`: keywords of the first pooling;
- `bottleneck_stride`: "3x3", the convolution of a bottleneck that strides, where here the first one does;
- `slope`: of all leaky relus;
- `relu_before_se`: blocks of two convolutions end in a relu before their channels are weighed;
- `align_corners`: whether scores are resized so that the middles of corner pixels stay where they are;
- `first_dilation`: "own": the first block of a stage dilates as the others do, not as the stage before.
"""

from __future__ import annotations

from gluon import nn
from gluon.model_zoo.vision import BasicBlockV1, BottleneckV1
from gluoncv.nn import ReLU6


def make(net, differences):
    """Makes a network compute as `differences` say; it is compiled anew at its next call."""
    for name, value in differences.items():
        MAKERS[name](net, value)
    if differences and hasattr(net, "_clear_cached_op"):
        net._clear_cached_op()


def text(net, differences):
    """The differences that a network does not have, as words; "" for none."""
    open_ones = [name for name, value in differences.items() if MAKERS[name](net, value, check=True)]
    return ", ".join(f"{name.replace('_', ' ')} {differences[name]}" for name in open_ones)


def _epsilon(net, value, check=False):
    found = [block for block in _blocks(net) if isinstance(block, nn.BatchNorm) and block._kwargs["eps"] != value]
    if not check:
        for block in found:
            block._kwargs["eps"] = value
    return bool(found)


def _activation(net, value, check=False):
    found = [
        (parent, name) for parent in _blocks(net) for name, child in parent._children.items()
        if isinstance(child, nn.Activation) and child._act_type == "relu"
    ]  # fmt: skip
    if not check:
        for parent, name in found:
            replace_child(parent, name, ReLU6())
    return bool(found)


def _first_pool(net, value, check=False):
    pool = next(block for block in _blocks(net) if isinstance(block, nn.MaxPool2D))
    wanted = {**value, **{key: tuple(value[key]) for key in ("kernel", "stride", "pad") if key in value}}
    differs = any(pool._kwargs[key] != wanted[key] for key in wanted)
    if not check:
        pool._kwargs.update(wanted)
    return differs


def _bottleneck_stride(net, value, check=False):
    found = []
    for block in _blocks(net):
        if isinstance(block, BottleneckV1):
            first, second = block.body[0], block.body[3]
            if first._kwargs["stride"] != (1, 1):
                found.append((first, second))
    if not check:
        for first, second in found:
            first._kwargs["stride"], second._kwargs["stride"] = second._kwargs["stride"], first._kwargs["stride"]
    return bool(found)


def _slope(net, value, check=False):
    found = [block for block in _blocks(net) if isinstance(block, nn.LeakyReLU) and block._alpha != value]
    if not check:
        for block in found:
            block._alpha = value
    return bool(found)


def _relu_before_se(net, value, check=False):
    found = [block.body for block in _blocks(net) if isinstance(block, BasicBlockV1) and len(block.body) == 5]
    if not check:
        for body in found:
            body.add(nn.Activation("relu"))
    return bool(found)


def _align_corners(net, value, check=False):
    differs = net._up_kwargs.get("align_corners", True) != value
    if not check:
        net._up_kwargs["align_corners"] = value
    return differs


def _first_dilation(net, value, check=False):
    found = []
    for stage in (net.layer3, net.layer4):
        first, second = stage[0].conv2._kwargs, stage[1].conv2._kwargs
        if first["dilate"] != second["dilate"]:
            found.append((first, second))
    if not check:
        for first, second in found:
            first.update(dilate=second["dilate"], pad=second["pad"])
    return bool(found)


MAKERS = {
    "epsilon": _epsilon,
    "activation": _activation,
    "first_pool": _first_pool,
    "bottleneck_stride": _bottleneck_stride,
    "slope": _slope,
    "relu_before_se": _relu_before_se,
    "align_corners": _align_corners,
    "first_dilation": _first_dilation,
}


def _blocks(net):
    yield net
    for child in net._children.values():
        yield from _blocks(child)


def replace_child(parent, name, block):
    """Puts a block in place of a child."""
    old = parent._children[name]
    parent._children[name] = block
    for attribute, value in vars(parent).items():
        if value is old:
            object.__setattr__(parent, attribute, block)
