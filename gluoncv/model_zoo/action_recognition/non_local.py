"""Non-local blocks: every place of a video, or picture, looks at all others (Wang et al., 2018)."""

from functools import partial

from core import initializer
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.nn import sequence


class NonLocal(HybridBlock):
    """x + convolution(attention of each position to all positions); with `use_bn` it starts as x alone.

    nonlocal_type: "gaussian", the only one; ValueError for others. dim: 3 for videos, 2 for pictures. embed: queries,
    keys and values are convolutions to `embed_dim` channels, by default half of those of the input. sub_sample: keys
    and values are those of halved pictures.
    """

    def __init__(
        self, in_channels=1024, nonlocal_type="gaussian", dim=3, embed=True, embed_dim=None, sub_sample=False,
        use_bn=True, norm_layer=nn.BatchNorm, norm_kwargs=None,
    ):  # fmt: skip
        super().__init__()
        if nonlocal_type != "gaussian":
            raise ValueError(f"nonlocal_type is gaussian, got {nonlocal_type!r}")
        self.embed, self.embed_dim, self.sub_sample, self.use_bn = (
            embed,
            embed_dim or in_channels // 2,
            sub_sample,
            use_bn,
        )
        kind, pool = (nn.Conv2D, nn.MaxPool2D(2)) if dim == 2 else (nn.Conv3D, nn.MaxPool3D((1, 2, 2)))
        conv = partial(kind, kernel_size=1, weight_initializer=initializer.MSRAPrelu())
        with self.name_scope():
            if embed:
                for name in ("theta", "phi", "g"):
                    setattr(self, name, conv(self.embed_dim, in_channels=in_channels))
            if sub_sample:
                self.max_pool = pool
                for name in ("phi", "g"):
                    parts = [getattr(self, name)] if embed else []
                    setattr(self, f"sub_{name}", sequence(*parts, pool, prefix=None))
            self.W = conv(in_channels, in_channels=self.embed_dim if embed else in_channels)
            if use_bn:
                self.bn = norm_layer(in_channels=in_channels, gamma_initializer="zeros", **(norm_kwargs or {}))
                self.W_bn = sequence(self.W, self.bn, prefix=None)

    def hybrid_forward(self, F, x):
        query = self.theta(x) if self.embed else x
        if self.sub_sample:
            key, value = self.sub_phi(x), self.sub_g(x)
        else:
            key, value = (self.phi(x), self.g(x)) if self.embed else (x, x)
        query, key, value = (F.reshape(part, (0, 0, -1)) for part in (query, key, value))
        attention = F.softmax(F.batch_dot(query, key, transpose_a=True) * self.embed_dim**-0.5, axis=2)
        seen = F.batch_dot(value, attention, transpose_b=True)
        seen = F.reshape_like(seen, x, lhs_begin=2, lhs_end=None, rhs_begin=2, rhs_end=None)
        return (self.W_bn if self.use_bn else self.W)(seen) + x
