"""Networks for pose estimation: heat maps of joints from transposed convolutions
(Xiao et al., 2018) or shuffled pixels.
"""

import numpy as np

from core import initializer
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import get_model, model
from gluoncv.nn import DUC, BatchNormCudnnOff, sequence

# the residual networks that poses are found with
BACKBONES = (
    "resnet18_v1b", "resnet50_v1b", "resnet101_v1b", "resnet152_v1b", "resnet50_v1d", "resnet101_v1d", "resnet152_v1d",
)  # fmt: skip
# network on which a mobile one is built -> layers at its end that are left out
MOBILE = {
    "resnet18_v1b": 0,
    "resnet50_v1b": 0,
    "mobilenet1.0": 2,
    "mobilenetv2_1.0": 1,
    "mobilenetv3_large": 4,
    "mobilenetv3_small": 4,
}
PARTS = ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4")
# kernel of transposed convolutions that double the size -> padding, padding of the output
PADDINGS = {4: (1, 0), 3: (1, 1), 2: (0, 0)}


class SimplePoseResNet(HybridBlock):
    """Input (batch, 3, height, width), output heat maps (batch, num_joints, height / 4, width / 4).

    base_name: a residual network; `pretrained_base` loads its weights from under `root` to `pretrained_ctx`.
    num_deconv_filters, num_deconv_kernels: channels and kernels of transposed convolutions, each 2, 3 or 4.

    >>> net = gluoncv.model_zoo.get_model("simple_pose_resnet18_v1b", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.SimplePoseResNet)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 256, 192))[1]
    [(1, 17, 64, 48)]
    """

    def __init__(
        self, base_name="resnet50_v1b", pretrained_base=False, pretrained_ctx=None, num_joints=17, num_deconv_layers=3,
        num_deconv_filters=(256, 256, 256), num_deconv_kernels=(4, 4, 4), final_conv_kernel=1, deconv_with_bias=False,
        root=None, norm_layer=BatchNormCudnnOff, norm_kwargs=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        if not num_deconv_layers == len(num_deconv_filters) == len(num_deconv_kernels):
            raise AssertionError(
                f"num_deconv_layers is {num_deconv_layers}, so there are as many filters and kernels; got "
                f"{num_deconv_filters} and {num_deconv_kernels}"
            )
        norm = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        body = get_model(base_name, pretrained=pretrained_base, root=root, ctx=pretrained_ctx, **norm)
        parts = ("features",) if base_name.endswith("v1") else PARTS
        self.resnet = sequence(*(getattr(body, part) for part in parts), prefix=None)
        self.deconv_layers = sequence()
        init = {"weight_initializer": initializer.Normal(0.001)}
        for width, kernel in zip(num_deconv_filters, num_deconv_kernels, strict=True):
            if kernel not in PADDINGS:
                raise ValueError(f"the kernel of a transposed convolution is one of {sorted(PADDINGS)}, got {kernel}")
            conv = nn.Conv2DTranspose(width, kernel, 2, *PADDINGS[kernel], use_bias=deconv_with_bias, **init)
            self.deconv_layers.add(conv, norm_layer(**(norm_kwargs or {})), nn.Activation("relu"))
        self.final_layer = nn.Conv2D(num_joints, final_conv_kernel, padding=final_conv_kernel // 2, **init)

    def hybrid_forward(self, F, x):
        return self.final_layer(self.deconv_layers(self.resnet(x)))


class MobilePose(HybridBlock):
    """Input (batch, 3, height, width), output heat maps (batch, num_joints, height / 4, width / 4).

    base_name: a key of `MOBILE`; `pretrained_base` loads its weights from under `root` to `pretrained_ctx`.
    norm_layer: of all normalisation; by default that network's, and `BatchNormCudnnOff` after it.

    >>> net = gluoncv.model_zoo.get_model("mobile_pose_resnet18_v1b", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.MobilePose)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 256, 192))[1]
    [(1, 17, 64, 48)]
    """

    def __init__(
        self, base_name, num_joints=17, pretrained_base=False, pretrained_ctx=None, root=None, norm_layer=None,
        norm_kwargs=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        if base_name not in MOBILE:
            raise ValueError(f"there is no mobile pose network on {base_name!r}, but on {', '.join(MOBILE)}")
        norm = {"norm_kwargs": norm_kwargs, **({"norm_layer": norm_layer} if norm_layer else {})}
        with self.name_scope():
            body = get_model(base_name, pretrained=pretrained_base, root=root, ctx=pretrained_ctx, **norm)
            left_out = MOBILE[base_name]
            parts = [body.features[:-left_out]] if left_out else [getattr(body, part) for part in PARTS]
            self.features = sequence(*parts, prefix=None)
            doubling = [nn.Conv2D(256, 1, use_bias=False), *(DUC(width, 2, **norm) for width in (512, 256, 128))]
            last = nn.Conv2D(num_joints, 1, use_bias=False, weight_initializer=initializer.Normal(0.001))
            self.upsampling = sequence(*doubling, last, prefix=None)

    def hybrid_forward(self, F, x):
        return self.upsampling(self.features(x))


class SimplePoseGaussianTargetGenerator:
    """Heat maps (J, H, W) with a Gaussian of deviation `sigma` at each visible joint, and weights (J, 1, 1),
    float32 NumPy.

    image_size, heatmap_size: (width, height). Called with joints (J, 3, 2) in pixels. Joints whose Gaussian is outside
    weigh 0.
    """

    def __init__(self, num_joints, image_size, heatmap_size, sigma=2):
        self._num_joints, self._sigma, self._size = num_joints, sigma, tuple(heatmap_size)
        self._stride = np.array(image_size) / np.array(heatmap_size)

    def __call__(self, joints_3d):
        width, height = self._size
        weight = np.array(joints_3d[:, 0, 1], "float32")
        target = np.zeros((self._num_joints, height, width), "float32")
        reach = int(self._sigma * 3)
        line = np.arange(-reach, reach + 1, dtype="float32")
        gaussian = np.exp(-(line**2 + line[:, None] ** 2) / (2 * self._sigma**2))
        for k, heat in enumerate(target):
            x, y = (int(v) for v in joints_3d[k, :2, 0] / self._stride + 0.5)
            left, top, right, bottom = x - reach, y - reach, x + reach + 1, y + reach + 1
            if left >= width or top >= height or right < 0 or bottom < 0:
                weight[k] = 0
            elif weight[k] > 0.5:
                x0, y0, x1, y1 = max(0, left), max(0, top), min(right, width), min(bottom, height)
                heat[y0:y1, x0:x1] = gaussian[y0 - top : y1 - top, x0 - left : x1 - left]
        return target, weight.reshape(-1, 1, 1)


def _pose(prefix, network, base_name):
    def make(pretrained_base, root, ctx, pretrained_ctx=None, **kwargs):
        where = {"root": root, "pretrained_ctx": pretrained_ctx or ctx}
        return network(base_name, pretrained_base=pretrained_base, **where, **kwargs)

    return model(f"{prefix}_{base_name}", make, base=True, load_base=False)


(
    simple_pose_resnet18_v1b, simple_pose_resnet50_v1b, simple_pose_resnet101_v1b, simple_pose_resnet152_v1b,
    simple_pose_resnet50_v1d, simple_pose_resnet101_v1d, simple_pose_resnet152_v1d,
) = (_pose("simple_pose", SimplePoseResNet, name) for name in BACKBONES)  # fmt: skip
(
    mobile_pose_resnet18_v1b, mobile_pose_resnet50_v1b, mobile_pose_mobilenet1_0, mobile_pose_mobilenetv2_1_0,
    mobile_pose_mobilenetv3_large, mobile_pose_mobilenetv3_small,
) = (_pose("mobile_pose", MobilePose, name) for name in MOBILE)  # fmt: skip
