"""`Updater`: an optimizer together with the states of the parameters that it has met."""

from __future__ import annotations

import os
import tempfile

from core import graph
from core import ndarray as nd
from core.base import MXNetError
from core.dtypes import dtype_name
from core.files import read_states, write_states
from core.optimizer.states import from_plain, to_plain


class Updater:
    """`updater(index, grad, weight)` updates a weight in place; lists update several.

    `states` holds the state of each index, made when it is first met.

    >>> updater = optimizer.get_updater(optimizer.SGD(learning_rate=0.5))
    >>> weight = nd.array([1, 2])
    >>> updater(0, nd.array([1, 1]), weight)
    >>> weight
    [0.5 1.5]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.states = {}
        self.states_synced = {}
        self.aggregate_updates = optimizer.aggregate_num > 0

    def __call__(self, index, grad, weight):
        if not isinstance(index, (list, tuple)):
            index, grad, weight = [index], [grad], [weight]
        if not weight:
            return
        graph.values_changed()
        self.prepare(index, weight)
        optimizer, states = self.optimizer, self.states
        if not self.aggregate_updates:
            for i, g, w in zip(index, grad, weight):
                optimizer.update_multi_precision(i, w, g, states[i])
            return
        by_dtype = {}
        for i, g, w in zip(index, grad, weight):
            by_dtype.setdefault(w.dtype, []).append((i, w, g, states[i]))
        size = optimizer.aggregate_num
        for rows in by_dtype.values():
            for start in range(0, len(rows), size):
                optimizer.update_multi_precision(*map(list, zip(*rows[start : start + size])))

    def prepare(self, index, weight):
        """Makes the states that are missing, and moves loaded ones to the weights' context."""
        self.optimizer._set_current_context(weight[0].context.device_id)
        for i, w in zip(index, weight):
            if i not in self.states:
                self.states[i] = self.optimizer.create_state_multi_precision(i, w)
            elif not self.states_synced[i]:
                self._check(i, w)
                self.states[i] = self.sync_state_context(self.states[i], w.context)
            self.states_synced[i] = True

    def _check(self, index, weight):
        """MXNetError where loaded states are not those of the weight: kernels trust their shapes."""
        given = _kinds(self.states[index])
        wanted = _kinds(self.optimizer.create_state_multi_precision(index, weight))
        if given and wanted and given != wanted:
            raise MXNetError(
                f"the states loaded for parameter {index} are {given}, but {type(self.optimizer).__name__} keeps "
                f"{wanted} for its weight of shape {weight.shape}: were they saved for other parameters, or these in "
                "another order?"
            )

    def sync_state_context(self, state, context):
        """The state on `context`."""
        if isinstance(state, nd.NDArray):
            return state.as_in_context(context)
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(part, context) for part in state)
        return state

    def get_states(self, dump_optimizer=False):
        """The states, and with `dump_optimizer` the optimizer, as bytes (see `core.files.states`)."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "states")
            self.save(path, dump_optimizer)
            with open(path, "rb") as file:
                return file.read()

    def set_states(self, states):
        """Takes over bytes of `get_states`, or of MXNet's."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "states")
            with open(path, "wb") as file:
                file.write(states)
            self.load(path)

    def save(self, path, dump_optimizer=False):
        """Writes the states to a file, atomically."""
        write_states(path, *to_plain(self.states, self.optimizer if dump_optimizer else None))

    def load(self, path):
        """Reads a file of `save`, or a pickle of MXNet's, which is read as data and never executed."""
        self.states, self.optimizer = from_plain(*read_states(path), self.optimizer)
        self.states_synced = dict.fromkeys(self.states, False)


def _kinds(state) -> list[tuple[tuple[int, ...], str]]:
    """Shape and dtype of every array in a state."""
    if isinstance(state, (tuple, list)):
        return [kind for part in state for kind in _kinds(part)]
    return [(state.shape, dtype_name(state.dtype))] if isinstance(state, nd.NDArray) else []


def get_updater(optimizer):
    """An `Updater` for the optimizer.

    >>> updater = optimizer.get_updater(optimizer.SGD(learning_rate=0.5))
    >>> weight = nd.array([1, 2])
    >>> updater(0, nd.array([1, 1]), weight)
    >>> weight
    [0.5 1.5]
    <NDArray 2 @cpu(0)>
    """
    return Updater(optimizer)
