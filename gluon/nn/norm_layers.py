"""Normalisation layers."""

from __future__ import annotations

from core.dtypes import dtype_name
from gluon.block import HybridBlock


class _Norm(HybridBlock):
    """Layers with a factor `gamma` and an offset `beta`, which are fixed at 1 and 0 without `scale` and `center`."""

    def _add_affine(self, size, center, scale, beta_initializer, gamma_initializer):
        for name, used, init in (("gamma", scale, gamma_initializer), ("beta", center, beta_initializer)):
            parameter = self.params.get(
                name,
                grad_req="write" if used else "null",
                shape=(size,),
                init=init,
                allow_deferred_init=True,
                differentiable=used,
            )
            setattr(self, name, parameter)

    def __repr__(self):
        content = ", ".join(f"{k}={v!r}" for k, v in self._kwargs.items())
        return f"{type(self).__name__}({content}, in_channels={self._shown_channels()})"

    def _shown_channels(self):
        return self.gamma.shape[0]


class BatchNorm(_Norm):
    """Normalises every channel over batch and space (Ioffe and Szegedy, 2015).

    In training the statistics are those of the batch, and the running ones move by 1 - momentum towards them when the
    backward pass runs; in prediction, and with `use_global_stats` always, the running ones are used. axis: that of the
    channels. Parameters: gamma, beta, running_mean, running_var, each (channels,). Half precision keeps them float32.

    ``gamma (x - mean) / sqrt(variance + epsilon) + beta``. axis: that of the channels. center, scale: whether beta and gamma are
    trained. use_global_stats: whether training uses the running statistics, too. Parameters gamma, beta, running_mean and
    running_var are (in_channels,), which is found out in the first call where it is 0.

    >>> layer = nn.BatchNorm()
    >>> layer.initialize()
    >>> with autograd.record():
    ...     y = layer(nd.array([[1, 10], [3, 30]]))
    >>> y
    [[-1. -1.]
     [ 1.  1.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(
        self,
        axis=1,
        momentum=0.9,
        epsilon=1e-5,
        center=True,
        scale=True,
        use_global_stats=False,
        beta_initializer="zeros",
        gamma_initializer="ones",
        running_mean_initializer="zeros",
        running_variance_initializer="ones",
        in_channels=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        self._axis = axis
        self.in_channels = in_channels
        self._add_affine(in_channels, center, scale, beta_initializer, gamma_initializer)
        for name, init in (("running_mean", running_mean_initializer), ("running_var", running_variance_initializer)):
            parameter = self.params.get(
                name,
                grad_req="null",
                shape=(in_channels,),
                init=init,
                allow_deferred_init=True,
                differentiable=False,
            )
            setattr(self, name, parameter)

    def cast(self, dtype):
        super().cast("float32" if dtype_name(dtype) in ("float16", "bfloat16") else dtype)

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):
        return F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def _shown_channels(self):
        return self.gamma.shape[0] or None


class BatchNormReLU(BatchNorm):
    """`BatchNorm` and then relu.

    Arguments and parameters are those of `BatchNorm`. As one layer the two are one pass over memory, forwards and backwards;
    hybridized networks fuse the two layers by themselves. In training the statistics are those of the batch, in prediction the
    running ones.

    >>> layer = nn.BatchNormReLU()
    >>> layer.initialize()
    >>> layer(nd.array([[1, -1]]))
    [[1. 0.]]
    <NDArray 1x2 @cpu(0)>
    """

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):
        return F.relu(super().hybrid_forward(F, x, gamma, beta, running_mean, running_var))


class LayerNorm(_Norm):
    """Normalises along `axis` (Ba et al., 2016). Parameters: gamma and beta of the extent of that axis.

    ``gamma (x - mean) / sqrt(variance + epsilon) + beta`` with mean and variance of each vector along `axis`, in training and
    prediction alike. center, scale: whether beta and gamma are trained. in_channels: the length of the axis, found out in the
    first call where it is 0. Transformers are made with it.

    >>> layer = nn.LayerNorm()
    >>> layer.initialize()
    >>> layer(nd.array([[1, 2, 3]]))
    [[-1.2247  0.      1.2247]]
    <NDArray 1x3 @cpu(0)>
    """

    def __init__(
        self,
        axis=-1,
        epsilon=1e-5,
        center=True,
        scale=True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        in_channels=0,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        self._center = center
        self._scale = scale
        self._add_affine(in_channels, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F, x, gamma, beta):
        return F.LayerNorm(x, gamma, beta, axis=self._axis, eps=self._epsilon)


class InstanceNorm(_Norm):
    """Normalises every channel of every instance over space (Ulyanov et al., 2016); the channels are along `axis`.

    ``gamma (x - mean) / sqrt(variance + epsilon) + beta``, with mean and variance of each channel of each instance, in training and
    prediction alike. center, scale: whether beta and gamma are trained; here gamma is not unless asked for. Style transfer
    uses it.

    >>> layer = nn.InstanceNorm()
    >>> layer.initialize()
    >>> layer(nd.array([[[1, 3], [10, 30]]]))
    [[[-1.  1.]
      [-1.  1.]]]
    <NDArray 1x2x2 @cpu(0)>
    """

    def __init__(
        self,
        axis=1,
        epsilon=1e-5,
        center=True,
        scale=False,
        beta_initializer="zeros",
        gamma_initializer="ones",
        in_channels=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis = axis
        self._epsilon = epsilon
        self._add_affine(in_channels, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F, x, gamma, beta):
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, eps=self._epsilon, name="fwd")
        swapped = F.InstanceNorm(F.swapaxes(x, 1, self._axis), gamma, beta, eps=self._epsilon, name="fwd")
        return F.swapaxes(swapped, 1, self._axis)


class GroupNorm(_Norm):
    """Normalises groups of channels of every instance (Wu and He, 2018).

    Parameters: gamma, beta, each (num_groups,), or, as in MXNet 2, (in_channels,) where that is given.

    ``gamma (x - mean) / sqrt(variance + epsilon) + beta``: (batch, channels, ...) is cut along the channels into num_groups groups,
    each with its mean and variance over channels and space. It does not depend on the batch, in training and prediction alike,
    so it serves where batches are small.

    >>> layer = nn.GroupNorm(num_groups=2)
    >>> layer.initialize()
    >>> layer(nd.array([[[1], [3], [10], [30]]])).reshape(-1)
    [-1.  1. -1.  1.]
    <NDArray 4 @cpu(0)>
    """

    def __init__(
        self,
        num_groups=1,
        epsilon=1e-5,
        center=True,
        scale=True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        prefix=None,
        params=None,
        in_channels=0,
    ):
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._num_groups = num_groups
        self._epsilon = epsilon
        self._add_affine(in_channels or num_groups, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F, data, gamma, beta):
        return F.GroupNorm(data, gamma, beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self):
        content = ", ".join(f"{k}={v!r}" for k, v in self._kwargs.items())
        return f"{type(self).__name__}({content})"
