"""Recurrent networks of several layers and directions, forward and backward.

Gate equations: Hochreiter and Schmidhuber, 1997 (order i, f, g, o); Cho et al., 2014, with the reset gate applied after
the recurrent product (order r, z, n), as in cuDNN and MXNet. Floor: the operations of the products, and for the gates
the bytes of their inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from core.kernels.contracts.rules import empty
from core.kernels.contracts.types import Key
from core.kernels.dispatch import kernel
from core.kernels.rnn_parameters import unpack


@kernel
def rnn(
    x: Tensor, params: Tensor | Sequence[Tensor], h0: Tensor, c0: Tensor | None, mode: str, hidden: int, layers: int,
    bidirectional: bool, dropout: float, key: Key, training: bool,
) -> tuple[Tensor, Tensor, Tensor | None, tuple[Tensor, ...]]:  # fmt: skip
    """Runs a recurrent network.

    x (T, N, I); params flat: for each layer and direction the i2h (G H, I) and h2h (G H, H) weights, then in the same
    order all i2h and h2h biases; or a list of these, each flat, as their gradients are then; h0 and, for "lstm", c0
    (layers * directions, N, H). `dropout` acts on the input of every layer but the first while `training`, with masks
    from `key`. Returns y (T, N, directions * H), hn, cn (None but for "lstm") and `reserve`, the tensors that
    `rnn_grad` needs.
    """
    unpack(params, mode, x.shape[2], hidden, layers, bidirectional)  # refuses parameters of another network
    y = empty((*x.shape[:2], (2 if bidirectional else 1) * hidden), x.dtype)
    return y, _like(h0), None if c0 is None or mode != "lstm" else _like(c0), ()


@kernel
def rnn_grad(
    dy: Tensor | None, dhn: Tensor | None, dcn: Tensor | None, x: Tensor, params: Tensor | Sequence[Tensor],
    h0: Tensor, c0: Tensor | None, y: Tensor, reserve: tuple[Tensor, ...], mode: str, hidden: int, layers: int,
    bidirectional: bool, dropout: float, key: Key, training: bool,
) -> tuple[Tensor, Tensor | list[Tensor], Tensor, Tensor | None]:  # fmt: skip
    """Gradients of `rnn`: (dx, dparams, dh0, dc0); dc0 is None but for "lstm". dy, dhn and dcn may be None."""
    dparams = _like(params) if isinstance(params, Tensor) else [_like(p) for p in params]
    return _like(x), dparams, _like(h0), None if c0 is None or mode != "lstm" else _like(c0)


def _like(t: Tensor) -> Tensor:
    return empty(t.shape, t.dtype)
