"""One flat array for many parameters, so that an optimizer updates all of them in one pass over memory."""

from __future__ import annotations

import itertools
import operator

from core import heap, storage
from core import ndarray as nd
from core.dtypes import dtype_name
from core.optimizer.optimizer import HALF, Optimizer

# While arenas are filled, freed memory goes back to the system in parts of this size.
RELEASE_BYTES = 64 << 20
_MULTIPLIERS = operator.attrgetter("lr_mult", "wd_mult")


class Arena:
    """Weights, gradients and states of parameters of one dtype and context, each kind in one flat array.

    rows: (index, weight, gradient) with dense arrays; from then on these arrays are views of the flat ones. The states
    are those of the `updater`.
    """

    def __init__(self, updater, rows):
        self._updater = updater
        self._states = updater.states
        self._rows = rows
        optimizer = updater.optimizer
        indices, weights, gradients = zip(*rows)
        self._indices = list(indices)
        updater.prepare(indices, weights)
        self._ctx = weights[0].context
        states = [updater.states[i] for i in indices]
        # Elements of all arrays lie in the order of the weights', which may be channels-last.
        self._order = None
        self._weight = self._flat(weights)
        self._order = [w._data for w in weights]
        for weight in weights:  # a write to one of them while recording is no change of its neighbours
            weight._data = storage.counted_alone(weight._data)
        self._gradient = self._flat(gradients)
        self._master = None
        if optimizer.multi_precision and dtype_name(weights[0].dtype) in HALF:
            pairs = [s if optimizer.master_last else (s[1], s[0]) for s in states]
            states = [state for state, _ in pairs]
            self._master = self._flat([master for _, master in pairs])._data
        self._state = self._flat_states(states)
        self._order = None
        self._views = [(w, w._data, g, g._data) for _, w, g in rows]
        self._parts = [w._data for w in weights]
        self._multipliers = None
        self._segments = None

    @staticmethod
    def fits(optimizer, weight, gradient):
        """Whether a parameter can live in an arena for the optimizer."""
        kind = type(optimizer)
        return (
            optimizer.elementwise
            and optimizer.master_in_kernel
            and kind._updates_by_rule()
            and kind.update_multi_precision is Optimizer.update_multi_precision
            and weight.stype == gradient.stype == "default"
            and weight.dtype == gradient.dtype
        )

    def intact(self):
        """Whether the arrays are still views of the flat ones, and the states those that were flattened."""
        if self._updater.states is not self._states:
            return False
        return all(w._data is wd and g._data is gd for w, wd, g, gd in self._views)

    def gradients(self):
        """([(marked array, its gradient's tensor)] in the order of the flat one, the flat tensor)."""
        return [(w._entry, g) for w, _, _, g in self._views], self._gradient._data

    def counts(self):
        """How often its parameters were updated before; `update` needs one count for all of them."""
        optimizer = self._updater.optimizer
        optimizer._set_current_context(self._ctx.device_id)
        return set(map(optimizer._index_update_count.get, self._indices, itertools.repeat(optimizer.begin_num_update)))

    def update(self):
        """One update of all parameters."""
        optimizer = self._updater.optimizer
        (done,) = self.counts()
        t = done + 1
        optimizer._index_update_count.update(dict.fromkeys(self._indices, t))
        optimizer.num_update = max(optimizer.num_update, t)
        where = {}
        segments = self._current_segments(optimizer)
        if segments is not None:
            where["segments"] = segments
        if self._master is not None:
            where["w32"] = self._master
        lr = optimizer.learning_rate
        optimizer._rule(self._weight, self._gradient, self._state, lr, optimizer.wd, t, **where)
        storage.count_change(self._parts)

    def _current_segments(self, optimizer):
        """Parts of equal multipliers, (start, stop, lr_mult, wd_mult); None where all multipliers are 1."""
        parameters = list(map(optimizer.param_dict.get, self._indices))
        if None in parameters:
            factor = optimizer._multiplier
            multipliers = [(factor(i, "lr_mult"), factor(i, "wd_mult")) for i in self._indices]
        else:  # without a call for each
            multipliers = list(map(_MULTIPLIERS, parameters))
        if multipliers != self._multipliers:
            self._multipliers = multipliers
            self._segments = None
            if any(m != (1.0, 1.0) for m in multipliers):
                self._segments = []
                for (_, data, _, _), pair in zip(self._views, multipliers):
                    start = data.storage_offset()
                    stop = start + data.numel()
                    if self._segments and self._segments[-1][2:] == pair:
                        start = self._segments.pop()[0]
                    self._segments.append((start, stop, *pair))
        return self._segments

    def _flat(self, arrays):
        """A flat array with the memory of `arrays` from now on; what they had is released as it is copied."""
        flat, views = storage.flat_buffer([array._data for array in arrays], self._order)
        released = 0
        for array, view in zip(arrays, views):
            view.copy_(array._data)
            array._data = view
            released += view.numel() * view.element_size()
            if released >= RELEASE_BYTES:
                heap.trim()
                released = 0
        if released >= RELEASE_BYTES // 4:
            heap.trim()
        return nd.NDArray._wrap(flat, arrays[0].context)

    def _flat_states(self, states):
        first = states[0]
        if first is None:
            return None
        if isinstance(first, (tuple, list)):
            return tuple(self._flat_states(list(slot)) for slot in zip(*states))
        return self._flat(states)
