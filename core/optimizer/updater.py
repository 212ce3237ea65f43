"""`Updater`: an optimizer together with the states of the parameters that it has met."""

from __future__ import annotations

from core import ndarray as nd


class Updater:
    """`updater(index, grad, weight)` updates a weight in place; lists update several.

    `states` holds the state of each index, made when it is first met.
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
                self.states[i] = self.sync_state_context(self.states[i], w.context)
            self.states_synced[i] = True

    def sync_state_context(self, state, context):
        """The state on `context`."""
        if isinstance(state, nd.NDArray):
            return state.as_in_context(context)
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(part, context) for part in state)
        return state


def get_updater(optimizer):
    """An `Updater` for the optimizer."""
    return Updater(optimizer)
