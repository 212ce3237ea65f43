"""StyleGAN (Karras et al., 2019): a mapping of noise to styles, a generator that grows, and a discriminator.

Parameters of the generator have the names of the published ones (stylegan-ffhq-1024px-new.params), which hold each
convolution's weight twice: `load_parameters(FILE, ignore_extra=True)` reads them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from core import initializer, nd
from gluon import nn
from gluon.block import Block, HybridBlock

CODE = 512  # length of noise and of styles
# Channels of the maps of 4, 8, ... 1024 pixels.
WIDTHS = (512, 512, 512, 512, 256, 128, 64, 32, 16)
FUSED = 5  # the first map (of 128 pixels) that a transposed convolution makes


def sizes(widths: Sequence[int] = WIDTHS) -> list[int]:
    """Sides of the maps."""
    return [4 * 2**k for k in range(len(widths))]


class Bias(HybridBlock):
    """x plus a number for each channel."""

    def __init__(self, channels, init="zeros"):
        super().__init__()
        with self.name_scope():
            self.bias = self.params.get("bias", shape=(channels,), init=init)

    def hybrid_forward(self, F, x, bias):
        return F.broadcast_add(
            x, F.reshape(bias, shape=(1, -1)) if x.ndim == 2 else F.reshape(bias, shape=(1, -1, 1, 1))
        )


class EqualConv2d(HybridBlock):
    """A convolution whose weights learn equally fast: they are normal, and scaled by sqrt(2 / fan in) when used."""

    def __init__(self, in_channels, channels, kernel, padding=0):
        super().__init__()
        self._scale = math.sqrt(2 / (in_channels * kernel**2))
        self._window = {"kernel": (kernel, kernel), "pad": (padding, padding), "num_filter": channels, "no_bias": True}
        with self.name_scope():
            shape = (channels, in_channels, kernel, kernel)
            self.weight_orig = self.params.get("weight_orig", shape=shape, init=initializer.Normal(1))
            self.conv = Bias(channels)

    def hybrid_forward(self, F, x, weight_orig):
        return self.conv(F.Convolution(x, weight_orig * self._scale, **self._window))


class EqualLinear(HybridBlock):
    """A dense layer whose weights learn equally fast, as `EqualConv2d`."""

    def __init__(self, in_units, units, bias="zeros"):
        super().__init__()
        self._scale, self._units = math.sqrt(2 / in_units), units
        with self.name_scope():
            self.weight_orig = self.params.get("weight_orig", shape=(units, in_units), init=initializer.Normal(1))
            self.linear = Bias(units, bias)

    def hybrid_forward(self, F, x, weight_orig):
        return self.linear(F.FullyConnected(x, weight_orig * self._scale, num_hidden=self._units, no_bias=True))


class FusedUpsample(HybridBlock):
    """A transposed convolution that doubles the size, its filters smoothed by a window of 2 x 2."""

    def __init__(self, in_channels, channels, kernel, padding=0):
        super().__init__()
        self._scale, self._channels, self._kernel = math.sqrt(2 / (in_channels * kernel**2)), channels, kernel + 1
        self._padding = padding
        with self.name_scope():
            shape = (in_channels, channels, kernel, kernel)
            self.weight = self.params.get("weight", shape=shape, init=initializer.Normal(1))
            self.bias = self.params.get("bias", shape=(channels,), init="zeros")

    def hybrid_forward(self, F, x, weight, bias):
        wide = F.pad(weight * self._scale, mode="constant", constant_value=0, pad_width=(0, 0, 0, 0, 1, 1, 1, 1))
        corners = [
            F.slice(wide, begin=(None, None, top, left), end=(None, None, bottom, right))
            for top, bottom in ((1, None), (0, -1))
            for left, right in ((1, None), (0, -1))
        ]
        window = {"kernel": (self._kernel, self._kernel), "stride": (2, 2), "pad": (self._padding, self._padding)}
        return F.Deconvolution(x, F.add_n(*corners) / 4, bias, num_filter=self._channels, no_bias=False, **window)


class Blur(HybridBlock):
    """Each map smoothed by a binomial window of 3 x 3."""

    def __init__(self, channels):
        super().__init__()
        self._channels = channels
        window = np.outer([1, 2, 1], [1, 2, 1]).astype("float32") / 16
        self._window = np.broadcast_to(window, (channels, 1, 3, 3)).copy()

    def hybrid_forward(self, F, x):
        window = nd.array(self._window, ctx=x.context)
        return F.Convolution(
            x, window, kernel=(3, 3), pad=(1, 1), num_filter=self._channels, num_group=self._channels, no_bias=True
        )


class PixelNorm(HybridBlock):
    """x over the root of its mean square over the channels."""

    def hybrid_forward(self, F, x):
        return F.broadcast_div(x, F.sqrt(F.mean(F.square(x), axis=1, keepdims=True) + 1e-8))


class AdaptiveInstanceNorm(HybridBlock):
    """Maps normalised one by one, then scaled and shifted by what a style says."""

    def __init__(self, channels, code):
        super().__init__()
        self.norm = nn.InstanceNorm(in_channels=channels)
        # Scales begin at 1, shifts at 0.
        self.style = EqualLinear(code, 2 * channels, initializer.Constant([1.0] * channels + [0.0] * channels))

    def hybrid_forward(self, F, x, style):
        scale, shift = F.split(F.expand_dims(F.expand_dims(self.style(style), 2), 3), num_outputs=2, axis=1)
        return F.broadcast_add(F.broadcast_mul(self.norm(x), scale), shift)


class NoiseInjection(HybridBlock):
    """Adds one plane of noise to all maps, each time another number of times, which is learned."""

    def __init__(self, channels):
        super().__init__()
        self._scale = math.sqrt(2 / channels)
        with self.name_scope():
            self.weight = self.params.get("weight_orig", shape=(1, channels, 1, 1), init="zeros")

    def hybrid_forward(self, F, x, noise, weight):
        return F.broadcast_add(x, F.broadcast_mul(weight * self._scale, noise))


class ConstantInput(HybridBlock):
    """The learned maps of 4 x 4 that all pictures begin with; gives one for each row of `x`."""

    def __init__(self, channels, size=4):
        super().__init__()
        with self.name_scope():
            self.input = self.params.get("input", shape=(1, channels, size, size), init=initializer.Normal(1))

    def hybrid_forward(self, F, x, input):
        return F.broadcast_axis(input, axis=0, size=x.shape[0])


class StyledConvBlock(HybridBlock):
    """Two convolutions, each followed by noise and a style; the first one is a constant, or comes after a doubling."""

    def __init__(self, in_channels, channels, code, first=False, fused=False):
        super().__init__()
        self._doubles = not first and not fused
        if first:
            self.conv1 = ConstantInput(in_channels)
        else:
            kind = FusedUpsample if fused else EqualConv2d
            self.conv1 = nn.HybridSequential()
            self.conv1.add(kind(in_channels, channels, 3, padding=1), Blur(channels))
        self.noise1, self.adain1 = NoiseInjection(channels), AdaptiveInstanceNorm(channels, code)
        self.conv2 = EqualConv2d(channels, channels, 3, padding=1)
        self.noise2, self.adain2 = NoiseInjection(channels), AdaptiveInstanceNorm(channels, code)

    def hybrid_forward(self, F, x, style, noise):
        x = F.UpSampling(x, scale=2, sample_type="nearest") if self._doubles else x
        x = self.adain1(F.LeakyReLU(self.noise1(self.conv1(x), noise), slope=0.2), style)
        return self.adain2(F.LeakyReLU(self.noise2(self.conv2(x), noise), slope=0.2), style)


class Generator(Block):
    """Pictures (B, 3, S, S), S of stage `step`, from a style (B, code) for each stage up to that."""

    def __init__(self, code, widths):
        super().__init__()
        self.progression, self.to_rgb = nn.HybridSequential(), nn.HybridSequential()
        for k, width in enumerate(widths):
            before = widths[max(k - 1, 0)]
            self.progression.add(StyledConvBlock(before, width, code, first=k == 0, fused=k >= FUSED))
            self.to_rgb.add(EqualConv2d(width, 3, 1))

    def forward(self, styles, noise, step, alpha):
        out = before = styles[0]
        for k in range(step + 1):
            before, out = out, self.progression[k](out, styles[k], noise[k])
        picture = self.to_rgb[step](out)
        if step > 0 and alpha < 1:
            smaller = nd.UpSampling(self.to_rgb[step - 1](before), scale=2, sample_type="nearest")
            picture = (1 - alpha) * smaller + alpha * picture
        return picture


class StyledGenerator(Block):
    """Pictures (B, 3, 4 * 2**step, 4 * 2**step), about -1 to 1, from noise (B, code).

    Called with the noise and, in this order: `step`; alpha, 1, or less while the last stage fades in; second, noise whose
    style is used from stage `crossover` on; mean_style, which styles are drawn towards, and style_weight, the share of the
    way from it that is kept (truncation); noise, planes (B, 1, S, S) of each stage, random ones by default.
    """

    def __init__(self, code_dim=CODE, n_mlp=8, widths=WIDTHS):
        super().__init__()
        self.generator, self.style = Generator(code_dim, widths), nn.HybridSequential()
        self.style.add(PixelNorm())
        for _ in range(n_mlp):
            self.style.add(EqualLinear(code_dim, code_dim), nn.LeakyReLU(0.2))

    def forward(self, x, step=0, alpha=1.0, second=None, crossover=0, mean_style=None, style_weight=1.0, noise=None):
        style = self._truncated(self.style(x), mean_style, style_weight)
        styles = [style] * (step + 1)
        if second is not None:
            styles[crossover:] = [self._truncated(self.style(second), mean_style, style_weight)] * (
                step + 1 - crossover
            )
        if noise is None:
            sides = [4 * 2**k for k in range(step + 1)]
            noise = [nd.random.normal(shape=(x.shape[0], 1, side, side), ctx=x.context) for side in sides]
        return self.generator(styles, noise, step, alpha)

    def mean_style(self, x):
        """The mean (1, code) of the styles of noise."""
        return self.style(x).mean(axis=0, keepdims=True)

    @staticmethod
    def _truncated(style, mean, weight):
        return style if mean is None else nd.broadcast_add(mean, weight * nd.broadcast_sub(style, mean))


class ConvBlock(HybridBlock):
    """Two convolutions, smoothed and halved between unless it is the `last` one, which ends in one place."""

    def __init__(self, in_channels, channels, last=False):
        super().__init__()
        self._last = last
        self.conv1 = EqualConv2d(in_channels, channels, 3, padding=1)
        self.conv2 = EqualConv2d(channels, channels, 4 if last else 3, padding=0 if last else 1)
        self.blur = None if last else Blur(channels)

    def hybrid_forward(self, F, x):
        x = F.LeakyReLU(self.conv1(x), slope=0.2)
        x = self.conv2(x if self._last else self.blur(x))
        x = x if self._last else F.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg")
        return F.LeakyReLU(x, slope=0.2)


class Discriminator(Block):
    """One number (B, 1) for each picture, larger for real ones; called with pictures, `step` and `alpha`.

    from_rgb_activate: colours are followed by a leaky ReLU when they become maps.
    """

    def __init__(self, from_rgb_activate=True, widths=WIDTHS):
        super().__init__()
        self._activate = from_rgb_activate
        self.progression, self.from_rgb = nn.HybridSequential(), nn.HybridSequential()
        for k, width in enumerate(widths):
            # The last block also sees how much pictures differ.
            self.progression.add(ConvBlock(width + (k == 0), widths[max(k - 1, 0)], last=k == 0))
            self.from_rgb.add(EqualConv2d(3, width, 1))
        self.linear = EqualLinear(widths[0], 1)

    def forward(self, x, step=0, alpha=1.0):
        out = self._maps(x, step)
        for k in range(step, -1, -1):
            if k == 0:
                out = nd.concat(out, _deviation(out), dim=1)
            out = self.progression[k](out)
            if k == step and k > 0 and alpha < 1:
                small = nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg")
                out = (1 - alpha) * self._maps(small, k - 1) + alpha * out
        return self.linear(out.reshape((0, -1)))

    def _maps(self, x, step):
        maps = self.from_rgb[step](x)
        return nd.LeakyReLU(maps, slope=0.2) if self._activate else maps


def _deviation(x):
    """A plane (B, 1, H, W) of the mean over channels and places of the deviation within the batch."""
    spread = nd.broadcast_sub(x, x.mean(axis=0, keepdims=True))
    mean = nd.sqrt((spread**2).mean(axis=0) + 1e-8).mean()
    return nd.broadcast_mul(nd.ones_like(x[:, :1]), mean.reshape((1, 1, 1, 1)))
