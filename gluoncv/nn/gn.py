"""Group normalisation (Wu and He, 2018) with a scale and a shift of each channel."""

from gluon.block import HybridBlock


class GroupNorm(HybridBlock):
    """Normalises `ngroups` groups of channels of every instance, input (batch, channels, ...).

    Parameters: gamma, which is not used unless `scale`, and beta, both (channels,). `gluon.nn.GroupNorm` has those of
    groups instead. ValueError when the channels, if they are given, cannot be divided into the groups, and for another
    `axis` of channels than 1.

    >>> from gluoncv.nn import GroupNorm
    >>> layer = GroupNorm(ngroups=2, in_channels=4)
    >>> layer.initialize()
    >>> layer(nd.array([[[[1]], [[3]], [[10]], [[30]]]])).reshape(-1)
    [-1.  1. -1.  1.]
    <NDArray 4 @cpu(0)>
    """

    def __init__(
        self, ngroups=32, in_channels=0, axis=1, epsilon=1e-5, beta_initializer="zeros", gamma_initializer="ones",
        scale=True, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        if axis != 1:
            raise ValueError(f"GroupNorm takes channels along axis 1, given {axis}")
        if in_channels % ngroups:
            raise ValueError(f"{in_channels} channels cannot be divided into {ngroups} groups")
        self.ngroups, self.scale, self._epsilon = ngroups, scale, epsilon
        deferred = {"shape": (in_channels,), "allow_deferred_init": True}
        self.gamma = self.params.get("gamma", init=gamma_initializer, **deferred)
        self.beta = self.params.get("beta", init=beta_initializer, **deferred)

    def hybrid_forward(self, F, x, gamma, beta):
        ones, zeros = F.ones((self.ngroups,)), F.zeros((self.ngroups,))
        y = F.InstanceNorm(F.reshape(x, (0, self.ngroups, -1)), ones, zeros, eps=self._epsilon)
        y = F.reshape(F.reshape_like(y, x), (0, 0, -1))
        if self.scale:
            y = F.broadcast_mul(y, F.reshape(gamma, (1, -1, 1)))
        return F.reshape_like(F.broadcast_add(y, F.reshape(beta, (1, -1, 1))), x)
