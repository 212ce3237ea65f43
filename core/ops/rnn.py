"""The fused recurrent operator."""

import math
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

from core import kernels
from core.base import MXNetError
from core.kernels.rnn_parameters import GATES
from core.ops.attributes import Bool, Choice, Float, Int, OptFloat, OptInt, Share
from core.ops.registry import F, composite, decompose, gradient, gradients_through, infer, operator
from core.ops.shape import expect_shape
from core.ops.values import Attrs, Gradients, Input, Namespace, Tensor, Value

MODES = tuple(GATES)


@operator(
    "_rnn", outputs=lambda attrs: 3 if attrs["mode"] == "lstm" else 2, train=True, rng=True, reserves=True,
    memory="new", when={"state_cell": ("mode", "lstm")}, draws=lambda attrs: bool(attrs["p"]), in_parts="_plan_rnn",
)  # fmt: skip
def _rnn(
    data: Tensor, parameters: Tensor, state: Tensor, state_cell: Tensor | None = None, *, state_size: Int,
    num_layers: Int, mode: Annotated[str, Choice(*MODES)], bidirectional: Bool, p: Float, training: bool, key: int,
) -> Tensor | tuple[tuple[Tensor, ...], ...]:  # fmt: skip
    """A recurrent network of several layers and directions: output, last state, and for lstm the last cell."""
    if not data.shape[0]:
        raise MXNetError(f"RNN: a sequence has one step or more, given data of shape {tuple(data.shape)}")
    states = (num_layers * (2 if bidirectional else 1), data.shape[1], state_size)
    expect_shape("RNN", "a state", state, states)
    if state_cell is not None:
        expect_shape("RNN", "a state_cell", state_cell, states)
    y, hn, cn, reserve = kernels.rnn.rnn(
        data, parameters, state, state_cell, mode, state_size, num_layers, bidirectional, p, key, training
    )
    return ((y, hn) if cn is None else (y, hn, cn)), reserve


@gradient(_rnn)
def _rnn_gradient(
    dys: Sequence[Value], data: Value, parameters: Value, state: Value, state_cell: Value, out: Value,
    attrs: Namespace, reserve: tuple[Tensor, ...],
) -> Gradients | Value:  # fmt: skip
    how = {k: v for k, v in vars(attrs).items() if k != "training"}
    how["p"] = attrs.p if attrs.training else 0.0  # predictions are differentiated too, without dropout
    return F._rnn_grad(
        *dys, *([None] if len(dys) < 3 else []), data, parameters, state, state_cell, out, reserve=reserve, **how
    )


@operator(
    "_rnn_grad", outputs=lambda attrs: 4 if attrs["mode"] == "lstm" else 3, memory="new",
    draws=lambda attrs: bool(attrs["p"]), in_parts="_plan_rnn_grad",
)  # fmt: skip
def _rnn_grad(
    dy: Tensor, dy_state: Tensor, dy_cell: Tensor, data: Tensor, parameters: Tensor, state: Tensor,
    state_cell: Tensor, out: Tensor, *, reserve: tuple[Tensor, ...], state_size: Int, num_layers: Int,
    mode: Annotated[str, Choice(*MODES)], bidirectional: Bool, p: Float, key: int,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Gradients of `_rnn` in data, parameters and states, from what its forward pass kept."""
    grads: Sequence[Any] = kernels.rnn.rnn_grad(
        dy, dy_state, dy_cell, data, parameters, state, state_cell, out, reserve, mode, state_size, num_layers,
        bidirectional, p, key, True,
    )  # fmt: skip
    return tuple(g for g in grads if g is not None)


@decompose(_rnn_grad)
def _rnn_grad_decompose(
    dy: Value, dy_state: Value, dy_cell: Value, data: Value, parameters: Value, state: Value, state_cell: Value,
    out: Value, *, reserve: tuple[Tensor, ...], state_size: int, num_layers: int, mode: str, bidirectional: bool,
    p: float, key: int,
) -> Sequence[Value]:  # fmt: skip
    if p:
        raise MXNetError("RNN has no second derivative with dropout between layers: use predict mode, or p=0")
    operands = [x for x in (data, parameters, state, state_cell) if x is not None]
    dys = [dy, dy_state, dy_cell]

    def network(data: Value, parameters: Value, state: Value, cell: Value | None = None) -> list[Value]:
        directions = 2 if bidirectional else 1
        results = _stepwise(
            data, parameters, state, cell, None, state_size, num_layers, directions, mode, 0.0, None, None
        )
        return [result for result, h in zip(results, dys, strict=False) if h is not None]

    return gradients_through(network, operands, [h for h in dys if h is not None], [True] * len(operands))


def _shown(attrs: Attrs) -> int:
    return (3 if attrs["mode"] == "lstm" else 2) if attrs["state_outputs"] else 1


@composite(
    "RNN", aliases=("rnn",), train=True, outputs=_shown, real=True,
    names=("output", "state_output", "statecell_output"),
    when={"state_cell": ("mode", "lstm"), "sequence_length": ("use_sequence_length", True)},
)  # fmt: skip
def rnn(
    data: Value, parameters: Value, state: Value, state_cell: Value | None = None, sequence_length: Value | None = None,
    *, state_size: Int, num_layers: Int, bidirectional: Bool = False, mode: Annotated[str, Choice(*MODES)],
    p: Share = 0.0, state_outputs: Bool = False, projection_size: OptInt = None, lstm_state_clip_min: OptFloat = None,
    lstm_state_clip_max: OptFloat = None, lstm_state_clip_nan: Bool = False, use_sequence_length: Bool = False,
    training: bool,
) -> Value | Sequence[Value]:  # fmt: skip
    """A recurrent network (T, N, I) -> (T, N, D H), with the last states if state_outputs.

    parameters: for each layer and direction the i2h then h2h weights (then h2r with a projection), then all biases in
    that order. sequence_length (N,) with use_sequence_length: later outputs are 0, states are those of the last step.
    lstm_state_clip_min and lstm_state_clip_max bound the cell of an lstm, which lstm_state_clip_nan sets to the lower
    bound where it is NaN. As in MXNet a GPU alone heeds lengths and
    bounds; on the CPU a warning says that they are ignored.
    """
    if min(num_layers, state_size) < 1:
        raise MXNetError(f"RNN: num_layers and state_size are from 1 on, given {num_layers} and {state_size}")
    p = p if training else 0.0
    clipped = lstm_state_clip_min is not None or lstm_state_clip_max is not None
    if (clipped or use_sequence_length) and getattr(getattr(data, "context", None), "device_type", "gpu") != "gpu":
        warnings.warn("RNN: sequence lengths and bounds of the cell are ignored on the CPU, as in MXNet", stacklevel=2)
        if use_sequence_length and mode != "lstm":
            state_cell = None
        clipped, use_sequence_length, sequence_length = False, False, None
    if projection_size is None and not clipped and not use_sequence_length:
        fused = F._rnn(
            data, parameters, state, state_cell if mode == "lstm" else None, state_size=state_size,
            num_layers=num_layers, mode=mode, bidirectional=bidirectional, p=p,
        )  # fmt: skip
        return list(fused) if state_outputs else fused[0]
    if use_sequence_length and sequence_length is None:  # without a cell the lengths are the fourth input
        state_cell, sequence_length = None, state_cell
    clip = (lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan) if clipped else None
    results = _stepwise(
        data, parameters, state, state_cell, sequence_length, state_size, num_layers, 2 if bidirectional else 1, mode,
        p, projection_size, clip,
    )  # fmt: skip
    return results if state_outputs else results[0]


def _stepwise(
    data: Value, parameters: Value, state: Value, cell: Input, lengths: Any, hidden: int, layers: int, directions: int,
    mode: str, p: float, projection: int | None, clip: Any,
) -> list[Value]:  # fmt: skip
    """The network as an expression, for what the fused operator does not do."""
    steps, _, width = data.shape
    weights = _unpacked(parameters, mode, width, hidden, layers, directions, projection)
    last_states, last_cells = [], []
    for layer in range(layers):
        if layer and p > 0:
            data = F.Dropout(data, p=p, mode="always")
        outputs = []
        for direction in range(directions):
            position = layer * directions + direction
            h = F.squeeze(F.slice_axis(state, axis=0, begin=position, end=position + 1), axis=0)
            c = (
                None
                if cell is None
                else F.squeeze(F.slice_axis(cell, axis=0, begin=position, end=position + 1), axis=0)
            )
            x = _turned(data, lengths) if direction else data
            y, h, c = _one_direction(x, h, c, weights[position], steps, lengths, mode, clip)
            outputs.append(_turned(y, lengths) if direction else y)
            last_states.append(h)
            last_cells.append(c)
        data = outputs[0] if directions == 1 else F.Concat(*outputs, dim=2)
    results = [data, F.stack(*last_states, axis=0)]
    return [*results, F.stack(*last_cells, axis=0)] if cell is not None else results


def _one_direction(
    x: Value, h: Value, c: Input, weights: Sequence[Any], steps: int, lengths: Any, mode: str, clip: Any
) -> tuple[Value, Any, Any]:
    """Outputs (T, N, H) and last states of one layer in one direction."""
    i2h, h2h, h2r, i2h_bias, h2h_bias = weights
    rows = i2h.shape[0]
    projected = F.FullyConnected(x, i2h, i2h_bias, num_hidden=rows, flatten=False)
    outputs, states, cells = [], [], []
    for t in range(steps):
        from_input = F.squeeze(F.slice_axis(projected, axis=0, begin=t, end=t + 1), axis=0)
        from_state = F.FullyConnected(h, h2h, h2h_bias, num_hidden=rows)
        if mode == "lstm":
            i, f, g, o = F.SliceChannel(from_input + from_state, num_outputs=4)
            c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
            if clip is not None:
                low, high = (-math.inf if clip[0] is None else clip[0]), (math.inf if clip[1] is None else clip[1])
                if clip[2]:
                    c = F.where(c == c, c, F.full_like(c, fill_value=low))
                c = F.clip(c, a_min=low, a_max=high)
            h = F.sigmoid(o) * F.tanh(c)
            if h2r is not None:
                h = F.FullyConnected(h, h2r, num_hidden=h2r.shape[0], no_bias=True)
        elif mode == "gru":
            i_r, i_z, i_n = F.SliceChannel(from_input, num_outputs=3)
            h_r, h_z, h_n = F.SliceChannel(from_state, num_outputs=3)
            z = F.sigmoid(i_z + h_z)
            h = (1 - z) * F.tanh(i_n + F.sigmoid(i_r + h_r) * h_n) + z * h
        else:
            h = F.Activation(from_input + from_state, act_type=mode.removeprefix("rnn_"))
        outputs.append(h)
        states.append(h)
        cells.append(c)
    y = F.stack(*outputs, axis=0)
    if lengths is None:
        return y, h, c
    y = F.SequenceMask(y, lengths, use_sequence_length=True)
    last_h, last_c = (
        None if s[0] is None else F.SequenceLast(F.stack(*s, axis=0), lengths, use_sequence_length=True)
        for s in (states, cells)
    )
    return y, last_h, last_c


def _turned(x: Value, lengths: Any) -> Value:
    """The sequence backwards; with lengths every instance's own part of it."""
    if lengths is None:
        return F.SequenceReverse(x)
    return F.SequenceReverse(x, lengths, use_sequence_length=True)


def _unpacked(
    parameters: Value, mode: str, width: int, hidden: int, layers: int, directions: int, projection: int | None
) -> list[tuple[Value | None, ...]]:
    """(i2h, h2h, h2r or None, i2h bias, h2h bias) for each layer and direction, cut out of the flat parameters."""
    rows, recurrent, start = GATES[mode] * hidden, projection or hidden, 0

    def cut(*shape: int) -> Value:
        nonlocal start
        stop = start + math.prod(shape)
        part = F.Reshape(F.slice_axis(parameters, axis=0, begin=start, end=stop), shape=shape)
        start = stop
        return part

    matrices = []
    for layer in range(layers):
        for _ in range(directions):
            i2h, h2h = cut(rows, directions * recurrent if layer else width), cut(rows, recurrent)
            matrices.append((i2h, h2h, cut(projection, hidden) if projection else None))
    return [(*m, cut(rows), cut(rows)) for m in matrices]


@infer(rnn)
def _rnn_shapes(shapes: dict[str, Any], attrs: Attrs) -> None:
    steps, batch, width = shapes["data"]
    directions, hidden = 2 if attrs["bidirectional"] else 1, attrs["state_size"]
    projection = attrs["projection_size"]
    rows, recurrent, count = GATES[attrs["mode"]] * hidden, projection or hidden, 0
    for layer in range(attrs["num_layers"]):
        count += directions * rows * ((directions * recurrent if layer else width) + recurrent + 2)
        count += directions * hidden * projection if projection else 0
    shapes["parameters"] = (count,)
    shapes["state"] = (attrs["num_layers"] * directions, batch, recurrent)
    shapes["state_cell"] = (attrs["num_layers"] * directions, batch, hidden)
