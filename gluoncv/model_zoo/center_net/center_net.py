"""CenterNet (Zhou et al., 2019): objects are found as points, with their size."""

from core import autograd
from core.initializer import Constant, Normal, Xavier
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.data.classes import COCO, VOC
from gluoncv.model_zoo.center_net.builders import BODIES, get_base_network
from gluoncv.model_zoo.model_zoo import model, with_weights
from gluoncv.model_zoo.reuse import class_map, replace_layer
from gluoncv.nn.coder import CenterNetDecoder

# data set -> classes, detections
DATASETS = {"voc": (VOC, 40), "coco": (COCO, 100)}


class CenterNet(HybridBlock):
    """Input (B, 3, H, W); output: classes (B, topk), scores (B, topk) and corners (B, topk, 4) in pixels.

    In training, output: heat maps (B, classes, H / scale, W / scale) of probabilities, and sizes and offsets, both
    (B, 2, ...), in positions.

    base_network: the body. heads: {"heatmap": ..., "wh": ..., "reg": ...}, each {"num_output": channels, "bias":
    initial value}. head_conv_channel: channels of a 3x3 convolution before the last one of each head, none if 0.
    flip_test: the mean of the results on the picture and on its mirror image.

    >>> net = gluoncv.model_zoo.get_model("center_net_resnet18_v1b_voc", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.CenterNet)
    True
    >>> len(net.collect_params())
    145
    """

    def __init__(
        self, base_network, heads, classes, head_conv_channel=0, scale=4.0, topk=100, flip_test=False, nms_thresh=0,
        nms_topk=400, post_nms=100, norm_layer=None, norm_kwargs=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        if not isinstance(heads, dict):
            raise AssertionError(f"heads is a dictionary, in order, got {type(heads).__name__}")
        self.classes, self.topk, self.scale, self.flip_test = classes, topk, scale, flip_test
        self.nms_thresh, self.nms_topk, self.post_nms = nms_thresh, nms_topk, min(post_nms, topk)
        self._head_setups, self._head_conv_channel = heads, head_conv_channel
        with self.name_scope():
            self.base_network = base_network
            self.heatmap_nms = nn.MaxPool2D(pool_size=3, strides=1, padding=1)
            self.decoder = CenterNetDecoder(topk=topk, scale=scale)
            self.heads = nn.HybridSequential("heads")
            for name, setup in heads.items():
                head = nn.HybridSequential(name)
                if head_conv_channel > 0:
                    wide = nn.Conv2D(head_conv_channel, 3, padding=1, weight_initializer=_weight(setup))
                    head.add(wide, nn.Activation("relu"))
                head.add(_last(setup["num_output"], setup))
                self.heads.add(head)

    @property
    def num_classes(self):
        """The number of classes."""
        return len(self.classes)

    def set_nms(self, nms_thresh=0, nms_topk=400, post_nms=100):
        """Accepted as with other detectors: points are suppressed by neighbours in the heat map, and there alone."""
        self._clear_cached_op()
        self.nms_thresh, self.nms_topk, self.post_nms = nms_thresh, nms_topk, min(post_nms, nms_topk)

    def reset_class(self, classes, reuse_weights=None):
        """Gives the detector other classes; weights are kept of those in `reuse_weights` (see `class_map`)."""
        self._clear_cached_op()
        mapping = class_map(self.classes, classes, reuse_weights)
        self.classes = classes
        heatmap, *others = self.heads
        *layers, old = heatmap
        with self.name_scope():
            setup = self._head_setups["heatmap"]
            new = _last(len(classes), setup, in_channels=old.weight.shape[1] if old.weight.shape else 0)
            head = nn.HybridSequential("heatmap")
            head.add(*layers, replace_layer(old, new, mapping))
            self.heads = nn.HybridSequential("heads")
            self.heads.add(head, *others)

    def hybrid_forward(self, F, x):
        heatmap, size, offset = self._maps(F, x)
        if autograd.is_training():
            return F.clip(heatmap, 0.0001, 1 - 0.0001), size, offset
        if self.flip_test:
            mirrored = [F.flip(part, axis=3) for part in self._maps(F, F.flip(x, axis=3))[:2]]
            heatmap, size = (heatmap + mirrored[0]) * 0.5, (size + mirrored[1]) * 0.5
        peak = F.broadcast_equal(self.heatmap_nms(heatmap), heatmap)
        return self.decoder(peak * heatmap, size, offset)

    def _maps(self, F, x):
        x = self.base_network(x)
        heatmap, *others = [head(x) for head in self.heads]
        return F.sigmoid(heatmap), *others


def get_center_net(name, dataset, pretrained=False, ctx=None, root=None, **kwargs):
    """A detector of its parts (see `CenterNet`), with the weights published for
    center_net_NAME_DATASET if `pretrained`.
    """
    return with_weights(CenterNet(**kwargs), f"center_net_{name}_{dataset}", pretrained, ctx, root)


def _weight(setup):
    return Normal(0.001) if setup.get("bias", 0.0) == 0 else Xavier()


def _last(channels, setup, **kwargs):
    bias = Constant(setup.get("bias", 0.0))
    return nn.Conv2D(channels, 1, weight_initializer=_weight(setup), bias_initializer=bias, **kwargs)


def _center_net(name, dataset):
    names, topk = DATASETS[dataset]

    def make(pretrained_base=True, root=None, ctx=None, classes=names, norm_layer=None, norm_kwargs=None, **kwargs):
        norm = {} if norm_layer is None else {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        base = get_base_network(name, pretrained_base=pretrained_base, root=root, ctx=ctx, **norm)
        heads = {
            "heatmap": {"num_output": len(classes), "bias": -2.19}, "wh": {"num_output": 2}, "reg": {"num_output": 2},
        }  # fmt: skip
        return CenterNet(base, heads, classes, **{"head_conv_channel": 64, "scale": 4.0, "topk": topk, **kwargs})

    model(f"center_net_{name}_{dataset}", make, base=True)


for _name in BODIES:
    for _dataset in DATASETS:
        _center_net(_name, _dataset)
