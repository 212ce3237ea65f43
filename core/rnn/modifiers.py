"""Cells that change what other cells give: dropout, zoneout, residual connections."""

from __future__ import annotations

import numbers

from core import symbol as sym
from core.rnn.cells import BaseRNNCell, BidirectionalCell, _normalize_sequence


class DropoutCell(BaseRNNCell):
    """Dropout of what comes from the cell below."""

    def __init__(self, dropout, prefix="dropout_", params=None):
        super().__init__(prefix, params)
        if not isinstance(dropout, numbers.Number):
            raise AssertionError(f"dropout is a probability, got {dropout!r}")
        self.dropout = dropout

    @property
    def state_info(self):
        return []

    def __call__(self, inputs, states):
        return (sym.Dropout(inputs, p=self.dropout) if self.dropout > 0 else inputs), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        self.reset()
        inputs, _ = _normalize_sequence(length, inputs, layout, merge_outputs)
        if isinstance(inputs, sym.Symbol):
            return self(inputs, [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """Base of cells around another one, whose weights and states they have."""

    def __init__(self, base_cell):
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self):
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self):
        return self.base_cell.state_info

    def reset(self):
        super().reset()
        if hasattr(self, "base_cell"):
            self.base_cell.reset()

    def begin_state(self, func=sym.zeros, **kwargs):
        self._refuse_modified()
        self.base_cell._modified = False
        begin = self.base_cell.begin_state(func=kwargs.pop("init_sym", func), **kwargs)
        self.base_cell._modified = True
        return begin

    def unpack_weights(self, args):
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args):
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Outputs and states keep their former values with given probabilities (Krueger et al., 2017)."""

    def __init__(self, base_cell, zoneout_outputs=0.0, zoneout_states=0.0):
        from core.rnn.fused import FusedRNNCell

        if isinstance(base_cell, (FusedRNNCell, BidirectionalCell)):
            raise AssertionError(
                f"{type(base_cell).__name__} has no single steps: put zoneout on the cells inside, or unfuse()"
            )
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states

    def reset(self):
        super().reset()
        self.prev_output = None

    def __call__(self, inputs, states):
        output, after = self.base_cell(inputs, states)
        before = sym.zeros_like(output) if self.prev_output is None else self.prev_output
        output = self._mixed(self.zoneout_outputs, output, before)
        self.prev_output = output
        return output, [self._mixed(self.zoneout_states, new, old) for new, old in zip(after, states)]

    @staticmethod
    def _mixed(probability, new, old):
        if not probability:
            return new
        return sym.where(sym.Dropout(sym.ones_like(new), p=probability), new, old)


class ResidualCell(ModifierCell):
    """Adds the input to the output (He et al., 2016)."""

    def __call__(self, inputs, states):
        output, states = self.base_cell(inputs, states)
        return sym.elemwise_add(output, inputs, name=f"{output.name}_plus_residual"), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        self.reset()
        self.base_cell._modified = False
        outputs, states = self.base_cell.unroll(length, inputs, begin_state, layout, merge_outputs)
        self.base_cell._modified = True
        merge = isinstance(outputs, sym.Symbol) if merge_outputs is None else merge_outputs
        inputs, _ = _normalize_sequence(length, inputs, layout, merge)
        pairs = [(outputs, inputs)] if merge else list(zip(outputs, inputs))
        sums = [sym.elemwise_add(out, x, name=f"{out.name}_plus_residual") for out, x in pairs]
        return (sums[0] if merge else sums), states
