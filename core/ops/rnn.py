"""The fused recurrent operator."""

from core import kernels
from core.base import MXNetError
from core.kernels.rnn_parameters import GATES
from core.ops.attributes import Bool, Choice, Float, Int, OptFloat, OptInt
from core.ops.registry import F, composite, gradient, infer, operator

MODES = tuple(GATES)


@operator("_rnn", outputs=lambda attrs: 3 if attrs["mode"] == "lstm" else 2, train=True, rng=True, reserves=True)
def _rnn(
    data, parameters, state, state_cell=None, *, state_size: Int, num_layers: Int, mode: Choice(*MODES), bidirectional: Bool,
    p: Float, training, key,
):  # fmt: skip
    """A recurrent network of several layers and directions: output, last state, and for lstm the last cell."""
    y, hn, cn, reserve = kernels.rnn.rnn(
        data, parameters, state, state_cell, mode, state_size, num_layers, bidirectional, p, key, training
    )
    return ((y, hn) if cn is None else (y, hn, cn)), reserve


@gradient(_rnn)
def _(heads, data, parameters, state, state_cell, out, attrs, reserve):
    if not reserve:
        raise MXNetError("RNN: the gradient needs a forward pass in training mode: autograd.record(train_mode=True)")
    how = {k: v for k, v in vars(attrs).items() if k != "training"}
    return F._rnn_grad(
        *heads, *([None] if len(heads) < 3 else []), data, parameters, state, state_cell, out, reserve=reserve, **how
    )


@operator("_rnn_grad", outputs=lambda attrs: 4 if attrs["mode"] == "lstm" else 3)
def _rnn_grad(
    head, head_state, head_cell, data, parameters, state, state_cell, out, *, reserve, state_size: Int, num_layers: Int,
    mode: Choice(*MODES), bidirectional: Bool, p: Float, key,
):  # fmt: skip
    """Gradients of `_rnn` in data, parameters and states, from what its forward pass kept."""
    grads = kernels.rnn.rnn_grad(
        head, head_state, head_cell, data, parameters, state, state_cell, out, reserve, mode, state_size, num_layers,
        bidirectional, p, key, True,
    )  # fmt: skip
    return tuple(g for g in grads if g is not None)


@composite("RNN", aliases=("rnn",))
def rnn(
    data, parameters, state, state_cell=None, sequence_length=None, *, state_size: Int, num_layers: Int,
    bidirectional: Bool = False, mode: Choice(*MODES), p: Float = 0.0, state_outputs: Bool = False,
    projection_size: OptInt = None, lstm_state_clip_min: OptFloat = None, lstm_state_clip_max: OptFloat = None,
    lstm_state_clip_nan: Bool = False, use_sequence_length: Bool = False,
):  # fmt: skip
    """A recurrent network (T, N, I) -> (T, N, D H), with the last states if state_outputs.

    parameters: for each layer and direction the i2h then h2h weights, then all biases in that order.
    """
    if projection_size is not None or lstm_state_clip_min is not None or use_sequence_length:
        raise MXNetError(
            "RNN: projection, clipping of the cell and sequence lengths are not supported by the fused operator"
        )
    results = F._rnn(
        data, parameters, state, state_cell if mode == "lstm" else None, state_size=state_size, num_layers=num_layers,
        mode=mode, bidirectional=bidirectional, p=p,
    )  # fmt: skip
    return list(results) if state_outputs else results[0]


@infer(rnn)
def _(shapes, attrs):
    steps, batch, width = shapes["data"]
    directions, hidden = 2 if attrs["bidirectional"] else 1, attrs["state_size"]
    rows, count = GATES[attrs["mode"]] * hidden, 0
    for layer in range(attrs["num_layers"]):
        count += directions * rows * ((directions * hidden if layer else width) + hidden + 2)
    shapes["parameters"] = (count,)
    shapes["state"] = shapes["state_cell"] = (attrs["num_layers"] * directions, batch, hidden)
