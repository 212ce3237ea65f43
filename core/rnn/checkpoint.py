"""Checkpoints of networks with recurrent cells: files hold the weights gate by gate,
so that fused and single cells share them.
"""

from __future__ import annotations

import warnings

from core.model import load_checkpoint, save_checkpoint
from core.rnn.cells import BaseRNNCell
from core.util import require


def save_rnn_checkpoint(cells, prefix, epoch, symbol, arg_params, aux_params):
    """`model.save_checkpoint` with the weights of a cell, or of several, unpacked."""
    for cell in _listed(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells, prefix, epoch):
    """(symbol, arg_params, aux_params) of `save_rnn_checkpoint`, packed for these cells."""
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _listed(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells, prefix, period=1):
    """An epoch callback that calls `save_rnn_checkpoint` every `period` epochs."""
    period = max(1, int(period))

    def checkpoint(epoch, symbol=None, arg_params=None, aux_params=None):
        if (epoch + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, epoch + 1, symbol, arg_params, aux_params)

    return checkpoint


def rnn_unroll(cell, length, inputs=None, begin_state=None, input_prefix="", layout="NTC"):
    """Was replaced by `cell.unroll`, which names no inputs: `input_prefix` is refused."""
    require("rnn_unroll", "input_prefix", input_prefix, "")
    warnings.warn("rnn_unroll was replaced by cell.unroll", DeprecationWarning, stacklevel=2)
    return cell.unroll(length, inputs, begin_state, layout)


def _listed(cells) -> list:
    return [cells] if isinstance(cells, BaseRNNCell) else list(cells)
