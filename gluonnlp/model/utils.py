"""What programs take from this module of GluonNLP to build and load networks of their own."""

from __future__ import annotations

import functools

from gluon import rnn
from gluon.contrib.rnn import VariationalDropoutCell

from ..base import InvalidArgument, kept_in
from ..data.utils import _load_pretrained_vocab
from .gnmt import cell_class
from .lstmpcellwithclip import LSTMPCellWithClip
from .parameter import WeightDropParameter, apply_weight_drop
from .registry import load_published
from .train.language_model import recurrent_layer

__all__ = ["WeightDropParameter", "apply_weight_drop"]

_get_cell_type = cell_class
_get_rnn_layer = recurrent_layer


def _load_vocab(dataset_name, vocab, root, cls=None):
    """The vocabulary that was published for `dataset_name`, or where that is None the given one."""
    return vocab if dataset_name is None else _load_pretrained_vocab(dataset_name, kept_in(root, "models"), cls)


def _load_pretrained_params(net, model_name, dataset_name, root, ctx, ignore_extra=False, allow_missing=False):
    """Reads the published weights of `model_name` for `dataset_name` into `net`."""
    load_published(net, model_name, dataset_name, root, ctx, ignore_extra, allow_missing)


def _get_rnn_cell(
    mode, num_layers, input_size, hidden_size, dropout, weight_dropout, var_drop_in, var_drop_state, var_drop_out,
    skip_connection, proj_size=None, cell_clip=None, proj_clip=None,
):  # fmt: skip
    """Cells one above the other: "rnn_relu", "rnn_tanh", "lstm", "gru", or "lstmpc",
    an LSTM with projection and bounds.

    Rates: dropout between cells, weight_dropout of hidden-to-hidden weights, var_drop_* of inputs, states and outputs
    with one mask for all steps. skip_connection: each cell adds its inputs to its outputs. All cells have input_size.
    """
    bounds = {"proj_size": proj_size, "cell_clip": cell_clip, "proj_clip": proj_clip}
    if mode != "lstmpc" and (given := [name for name, value in bounds.items() if value is not None]):
        raise InvalidArgument(f"{', '.join(given)} is for mode 'lstmpc' only, not {mode!r}")
    stack = rnn.HybridSequentialRNNCell()
    with stack.name_scope():
        for layer in range(num_layers):
            if mode == "lstmpc":
                settings = {"cell_clip": cell_clip, "projection_clip": proj_clip}
                cell = LSTMPCellWithClip(hidden_size, proj_size, input_size=input_size, **settings)
            else:
                cell = _CELLS[mode](hidden_size, input_size=input_size)
            if var_drop_in or var_drop_state or var_drop_out:
                cell = VariationalDropoutCell(cell, var_drop_in, var_drop_state, var_drop_out)
            stack.add(rnn.ResidualCell(cell) if skip_connection else cell)
            if dropout and layer != num_layers - 1:
                stack.add(rnn.DropoutCell(dropout))
    apply_weight_drop(stack, "h2h_weight", weight_dropout)
    return stack


_CELLS = {
    "rnn_relu": functools.partial(rnn.RNNCell, activation="relu"),
    "rnn_tanh": functools.partial(rnn.RNNCell, activation="tanh"),
    "lstm": rnn.LSTMCell,
    "gru": rnn.GRUCell,
}
