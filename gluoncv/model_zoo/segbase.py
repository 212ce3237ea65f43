"""What networks for segmentation share: names of data sets and backbones, forward and prediction,
evaluation at several scales.
"""

import math

from core import ndarray as nd
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import builder, get_model, model

# data set -> how names of networks call it, number of classes
DATASETS = {
    "pascal_voc": ("voc", 21),
    "pascal_aug": ("voc", 21),
    "coco": ("coco", 21),
    "ade20k": ("ade", 150),
    "citys": ("citys", 19),
    "mhpv1": ("mhpv1", 19),
}
# backbone -> the network that is meant
BACKBONES = {
    "resnet18": "resnet18_v1b",
    "resnet34": "resnet34_v1b",
    **{f"resnet{layers}": f"resnet{layers}_v1s" for layers in (50, 101, 152)},
    **{f"resnest{layers}": f"resnest{layers}" for layers in (50, 101, 200, 269)},
}
# mean and deviation of each channel by which pictures are normalised
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# family -> its function of data set and backbone; each family's module enters its own
FAMILIES = {}


def get_segmentation_model(model, **kwargs):
    """A network by family: fcn, psp, deeplab, deeplabplus, deeplabplusv3b, icnet, fastscnn or danet.

    dataset: a key of `DATASETS`. backbone: a key of `BACKBONES` (xception and wideresnet for the last two DeepLabs).
    pretrained, root, ctx, pretrained_base: as those of `get_model`. ValueError for other names.

    >>> net = gluoncv.model_zoo.get_segmentation_model("fcn", dataset="pascal_voc", backbone="resnet50", pretrained_base=False)
    >>> type(net).__name__, net.nclass
    ('FCN', 21)
    """
    return _lookup(FAMILIES, "segmentation model", model)(**kwargs)


def family(name, prefix, network, backbone="resnet50", dataset="pascal_voc"):
    """Enters a family under `name` and gives its function of data set and backbone, whose defaults are given here.

    Networks are called PREFIX_BACKBONE_DATASET; `network(classes, backbone=..., **kwargs)` makes them.
    """

    def get(dataset=dataset, backbone=backbone, pretrained=False, root=None, ctx=None, pretrained_base=True, **kwargs):
        short, classes = _lookup(DATASETS, "data set", dataset)
        # Backbones that a family does not let choose are no part of the name.
        full = "_".join(part for part in (prefix, backbone, short) if part)
        build = builder(
            full, lambda **kw: network(classes, **({"backbone": backbone} if backbone else {}), **kw), base=True
        )
        return build(pretrained, root, ctx, pretrained_base, **kwargs)

    get.__doc__ = f"""A network of the family {name} that gives each pixel of a picture its class: a tuple of scores
    (batch, classes, height, width), of which the first counts; the others are of auxiliary heads, in training.

    dataset: what it is for, which says the number of classes: a key of `DATASETS`. backbone: a key of `BACKBONES`, where the
    family has a choice. pretrained: whether to load the published weights of {prefix}_BACKBONE_DATASET; pretrained_base:
    those of the backbone, for ImageNet, alone. Other keywords are those of its class. ValueError for unknown names.

    >>> gluoncv.model_zoo.get_segmentation_model("{name}", pretrained_base=False).nclass
    {_lookup(DATASETS, "data set", dataset)[1]}
    """
    FAMILIES[name] = get
    return get


def enter(get, name, dataset, backbone):
    """Enters one network of a family under its name."""
    return model(name, lambda **kw: get(dataset, backbone, **kw), base=True)


class Segmenter(HybridBlock):
    """Input (batch, 3, crop_size, crop_size), output a tuple of scores (batch, nclass, height, width),
    the best ones first.

    height, width: of the output, by default `crop_size`. base_size: of the longer side of pictures before they are
    cropped. A network says in `_maps(F, x, size)` what it computes; size are the keywords height and width.
    """

    def __init__(self, nclass, aux, height=None, width=None, base_size=520, crop_size=480):
        super().__init__()
        self.nclass, self.aux = nclass, aux
        self.base_size, self.crop_size = base_size, crop_size
        self._up_kwargs = {"height": height or crop_size, "width": width or crop_size}

    def hybrid_forward(self, F, x):
        return self._maps(F, x, self._up_kwargs)

    def evaluate(self, x):
        """The best scores, of the size that the network was made for."""
        return self.forward(x)[0]

    def predict(self, x):
        """The best scores, of the size of the input (batch, 3, height, width)."""
        return self._maps(nd, x, {**self._up_kwargs, "height": x.shape[2], "width": x.shape[3]})[0]

    def demo(self, x):
        """`predict` under an older name."""
        return self.predict(x)

    def _begin(self, block, ctx, lr_mult=1):
        """A part without published weights, ready to learn `lr_mult` times as fast."""
        block.initialize(ctx=ctx)
        block.collect_params().setattr("lr_mult", lr_mult)
        return block


class SegBaseModel(Segmenter):
    """A segmenter on a residual network that dilates: features an eighth of the size.

    backbone: a key of `BACKBONES`; `pretrained_base` loads its weights, from under `root`. Further keywords go to it.

    >>> net = gluoncv.model_zoo.get_model("fcn_resnet50_ade", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.SegBaseModel)
    True
    >>> len(net.collect_params())
    289
    """

    def __init__(
        self, nclass, aux, backbone="resnet50", height=None, width=None, base_size=520, crop_size=480,
        pretrained_base=True, root=None, ctx=None, **kwargs,
    ):  # fmt: skip
        super().__init__(nclass, aux, height, width, base_size, crop_size)
        name = _lookup(BACKBONES, "backbone", backbone)
        with self.name_scope():
            body = get_model(name, pretrained=pretrained_base, root=root, ctx=ctx, dilated=True, **kwargs)
            for part in ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4"):
                setattr(self, part, getattr(body, part))

    def base_forward(self, x):
        """The features of the last two stages."""
        x = self.layer2(self.layer1(self.maxpool(self.relu(self.bn1(self.conv1(x))))))
        before = self.layer3(x)
        return before, self.layer4(before)


class SegEvalModel:
    """A network called like a function for its best scores; use_predict: of the size of the input.

    >>> net = gluoncv.model_zoo.get_model("fastscnn_citys", pretrained_base=False)
    >>> type(gluoncv.model_zoo.SegEvalModel(net)).__name__
    'SegEvalModel'
    """

    def __init__(self, module, use_predict=False):
        self.module, self.use_predict = module, use_predict

    def __call__(self, *inputs, **kwargs):
        return (self.module.predict if self.use_predict else self.module.evaluate)(*inputs, **kwargs)

    def collect_params(self):
        """The network's parameters."""
        return self.module.collect_params()


class MultiEvalModel:
    """Scores of one picture (3, height, width), summed over scales and, with `flip`,
    over the picture and its mirror image.

    Scores are exp(output), (1, nclass, height, width). The picture is brought to `base_size` times each of `scales` on
    its longer side, and looked at in overlapping squares of `crop_size`. Parameters are put on all of `ctx_list`.

    >>> net = gluoncv.model_zoo.get_model("fastscnn_citys", pretrained_base=False)
    >>> type(gluoncv.model_zoo.MultiEvalModel(net, 19, [mx.cpu()])).__name__
    'MultiEvalModel'
    """

    def __init__(self, module, nclass, ctx_list, flip=True, scales=(0.5, 0.75, 1.0, 1.25, 1.5, 1.75)):
        self.flip, self.ctx_list, self.nclass, self.scales = flip, ctx_list, nclass, scales
        self.base_size, self.crop_size = module.base_size, module.crop_size
        module.collect_params().reset_ctx(ctx=ctx_list)
        self.evalmodule = SegEvalModel(module)

    def parallel_forward(self, inputs):
        """The scores of a list of pictures, one for each device, each as a tuple of one."""
        return [(self(x.as_in_context(ctx)),) for x, ctx in zip(inputs, self.ctx_list)]

    def __call__(self, image):
        image = image.expand_dims(0)
        height, width = image.shape[2:]
        scores = nd.zeros((1, self.nclass, height, width), ctx=image.context)
        for scale in self.scales:
            longer = math.ceil(self.base_size * scale)
            rows, columns = (int(side * longer / max(height, width) + 0.5) for side in (height, width))
            scores += _resized(self._score(_resized(image, rows, columns)), height, width)
        return scores

    def _score(self, image):
        """Means of the scores of all squares."""
        height, width = image.shape[2:]
        size = self.crop_size
        padded = _padded(image, size)
        tall, wide = padded.shape[2:]
        stride = int(size * 2 / 3)
        scores = nd.zeros((1, self.nclass, tall, wide), ctx=image.context)
        counts = nd.zeros((1, 1, tall, wide), ctx=image.context)
        for top in range(0, max(tall - size, 0) + stride, stride) if tall > size else (0,):
            for left in range(0, max(wide - size, 0) + stride, stride) if wide > size else (0,):
                bottom, right = min(top + size, tall), min(left + size, wide)
                square = self.flip_inference(_padded(padded[:, :, top:bottom, left:right], size))
                scores[:, :, top:bottom, left:right] += square[:, :, : bottom - top, : right - left]
                counts[:, :, top:bottom, left:right] += 1
        return nd.broadcast_div(scores, counts)[:, :, :height, :width]

    def flip_inference(self, image):
        """The scores of pictures (batch, 3, crop_size, crop_size)."""
        output = self.evalmodule(image)
        if self.flip:
            output = output + self.evalmodule(image.flip(3)).flip(3)
        return output.exp()

    def collect_params(self):
        """The network's parameters."""
        return self.evalmodule.collect_params()


def _resized(image, height, width):
    return nd.contrib.BilinearResize2D(image, height=height, width=width)


def _padded(image, size):
    """The picture with black below and to the right, at least `size` on each side."""
    height, width = image.shape[2:]
    below, beside = max(size - height, 0), max(size - width, 0)
    if not below and not beside:
        return image
    pad = (0, 0, 0, 0, 0, below, 0, beside)
    black = [-mean / deviation for mean, deviation in zip(MEAN, DEVIATION, strict=True)]
    channels = [
        nd.pad(image[:, i : i + 1], mode="constant", pad_width=pad, constant_value=value)
        for i, value in enumerate(black)
    ]
    return nd.concat(*channels, dim=1)


def _lookup(table, what, key):
    if key not in table:
        raise ValueError(f"there is no {what} {key!r}; there are {', '.join(sorted(table))}")
    return table[key]
