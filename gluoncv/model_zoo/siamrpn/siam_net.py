"""SiamRPN: a region proposal network on the correlation of a template with a picture (Li et al., 2018 and 2019).

As in GluonCV, parameters are initialized by the constructors, on `ctx`, which is the current context by default.
"""

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import model, with_weights

# channels, kernel, stride, whether it is pooled, whether a relu follows
ALEXNET = (
    (96, 11, 2, True, True),
    (256, 5, 1, True, True),
    (384, 3, 1, False, True),
    (384, 3, 1, False, True),
    (256, 3, 1, False, False),
)


class AlexNetLegacy(HybridBlock):
    """AlexNet without padding and dense layers, normalised; `width_mult` scales all channels."""

    def __init__(self, width_mult=1, ctx=None, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                for channels, kernel, stride, pools, active in ALEXNET:
                    self.features.add(nn.Conv2D(int(channels * width_mult), kernel, stride), nn.BatchNorm())
                    if pools:
                        self.features.add(nn.MaxPool2D(pool_size=3, strides=2))
                    if active:
                        self.features.add(nn.Activation("relu"))
        self.initialize(ctx=ctx)

    def hybrid_forward(self, F, x):
        return self.features(x)


class DepthwiseXCorr(HybridBlock):
    """(B, out_channels, h, w): the correlation of each channel of a template (B, C, k, k) with
    that of a picture (B, C, H, W).
    """

    def __init__(self, hidden, out_channels, bz=1, is_train=False, kernel_size=3, ctx=None):
        super().__init__()
        self._hidden = hidden
        self.conv_kernel, self.conv_search, self.head = (nn.HybridSequential(prefix="") for _ in range(3))
        for part, kernel in ((self.conv_kernel, kernel_size), (self.conv_search, kernel_size), (self.head, 1)):
            part.add(nn.Conv2D(hidden, kernel, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
        self.head.add(nn.Conv2D(out_channels, kernel_size=1))
        self._batch = bz if is_train else 1
        # Maps of templates of 127 pixels.
        self._window = (4, 4)
        self.initialize(ctx=ctx)

    def hybrid_forward(self, F, kernel, search):
        kernel, search = self.conv_kernel(kernel), self.conv_search(search)
        groups = self._batch * self._hidden
        # One group for each channel of each instance.
        merged = F.expand_dims(F.reshape(search, shape=(-3, 0, 0)), axis=0)
        weight = F.expand_dims(F.reshape(kernel, shape=(-3, 0, 0)), axis=1)
        out = F.Convolution(merged, weight, kernel=self._window, no_bias=True, num_filter=groups, num_group=groups)
        return self.head(F.reshape(out, shape=(self._batch, self._hidden, -1, 0)))


class DepthwiseRPN(HybridBlock):
    """Scores (B, 2 anchor_num, h, w) and offsets (B, 4 anchor_num, h, w) of anchors."""

    def __init__(self, bz=1, is_train=False, ctx=None, anchor_num=5, out_channels=256):
        super().__init__()
        self.cls = DepthwiseXCorr(out_channels, 2 * anchor_num, bz=bz, is_train=is_train, ctx=ctx)
        self.loc = DepthwiseXCorr(out_channels, 4 * anchor_num, bz=bz, is_train=is_train, ctx=ctx)

    def hybrid_forward(self, F, z_f, x_f):
        return self.cls(z_f, x_f), self.loc(z_f, x_f)


class SiamRPN(HybridBlock):
    """Input: templates (B, 3, 127, 127) and pictures (B, 3, 287, 287); output as that of `DepthwiseRPN`.

    bz: instances of a batch in training (is_train); else there is one.

    >>> net = gluoncv.model_zoo.get_model("siamrpn_alexnet_v2_otb15")
    >>> isinstance(net, gluoncv.model_zoo.SiamRPN)
    True
    >>> len(net.collect_params())
    64
    """

    def __init__(self, bz=1, is_train=False, ctx=None, **kwargs):
        super().__init__(**kwargs)
        self.backbone = AlexNetLegacy(ctx=ctx)
        self.rpn_head = DepthwiseRPN(bz=bz, is_train=is_train, ctx=ctx)
        self.bz, self.is_train = bz, is_train
        self.zbranch = None

    def template(self, zinput):
        """Keeps what is to be tracked."""
        self.zbranch = self.backbone(zinput)

    def track(self, xinput):
        """{"cls": scores, "loc": offsets} of the template in a picture."""
        scores, offsets = self.rpn_head(self.zbranch, self.backbone(xinput))
        return {"cls": scores, "loc": offsets}

    def hybrid_forward(self, F, template, search):
        return self.rpn_head(self.backbone(template), self.backbone(search))


def get_Siam_RPN(base_name, bz=1, is_train=False, pretrained=False, ctx=None, root=None):
    """A tracker, with the weights published for siamrpn_BASE_NAME if `pretrained`.

    >>> type(gluoncv.model_zoo.get_Siam_RPN("alexnet_v2_otb15")).__name__
    'SiamRPN'
    """
    return with_weights(SiamRPN(bz=bz, is_train=is_train, ctx=ctx), f"siamrpn_{base_name}", pretrained, ctx, root)


def _on_alexnet(pretrained_base, root, ctx, **kwargs):
    """The network of that name; there is no other one that it is built on, whose weights it could load from `root`."""
    return SiamRPN(ctx=ctx, **kwargs)


siamrpn_alexnet_v2_otb15 = model("siamrpn_alexnet_v2_otb15", _on_alexnet, base=True, load_base=False)
