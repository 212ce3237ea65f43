"""Small layers that several networks for text share."""

from __future__ import annotations

from gluon import Block, HybridBlock, nn

from ..base import InvalidArgument

__all__ = ["GELU", "L2Normalization", "RNNCellLayer"]


class GELU(HybridBlock):
    """x times the normal distribution function of x (Hendrycks and Gimpel, 2016).

    approximate: with the tanh formula of the paper in place of the error function.

    >>> net = gluonnlp.model.GELU()
    >>> net.initialize()
    >>> net(nd.array([-1, 0, 2]))
    [-0.1587  0.      1.9545]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, approximate=False, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._approximate = approximate

    def hybrid_forward(self, F, x):
        if not self._approximate:
            return F.LeakyReLU(x, act_type="gelu")
        if hasattr(x, "context"):  # MXNet, which reads exported symbols, has no operator for it
            return F.gelu_tanh(x)
        return 0.5 * x * (1 + F.tanh((2 / 3.141592653589793) ** 0.5 * (x + 0.044715 * x * x * x)))


class L2Normalization(HybridBlock):
    """x over its Euclidean norm along `axis`, to which `eps` is added.

    >>> net = gluonnlp.model.L2Normalization()
    >>> net.initialize()
    >>> net(nd.array([[3, 4]]))
    [[0.6 0.8]]
    <NDArray 1x2 @cpu(0)>
    """

    def __init__(self, axis=-1, eps=1e-6, **kwargs):
        super().__init__(**kwargs)
        self._axis = axis
        self._eps = eps

    def hybrid_forward(self, F, x):
        return F.broadcast_div(x, F.norm(x, axis=self._axis, keepdims=True) + self._eps)


class RNNCellLayer(Block):
    """A recurrent cell in the form of a layer: called with inputs in `layout` ("TNC" or "NTC") and states, or None.

    Gives the outputs in that layout, and the new states where states were given. ValueError for states of other shapes.

    >>> net = gluonnlp.model.RNNCellLayer(rnn.GRUCell(4), layout="NTC")
    >>> net.initialize()
    >>> net(nd.ones((1, 3, 2)), None).shape
    (1, 3, 4)
    """

    def __init__(self, rnn_cell, layout="TNC", **kwargs):
        super().__init__(**kwargs)
        if layout not in ("TNC", "NTC"):
            raise InvalidArgument(f'layout is "TNC" or "NTC", got {layout!r}')
        self.cell = rnn_cell
        self._layout = layout

    def forward(self, inputs, states=None):
        batch_size, length = (inputs.shape[self._layout.find(axis)] for axis in "NT")
        given = states
        if states is None:
            states = self.cell.begin_state(batch_size, ctx=inputs.context)
        states = states if isinstance(states, list | tuple) else [states]
        for state, info in zip(states, self.cell.state_info(batch_size), strict=True):
            if state.shape != info["shape"]:
                raise ValueError(f"a state of the shape {info['shape']} is expected, got {state.shape}")
        outputs, states = self.cell.unroll(length, inputs, list(states), layout=self._layout, merge_outputs=True)
        return outputs if given is None else (outputs, states)


def stacked(count, make):
    """`count` cells one after the other, as `make(prefix=...)` gives them; their parameters are called transformer0_..."""
    cells = nn.HybridSequential()
    for i in range(count):
        cells.add(make(prefix=f"transformer{i}_"))
    return cells
