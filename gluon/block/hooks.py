"""Functions that are called with a block, before or after its forward pass."""

from __future__ import annotations

import itertools

__all__ = ["HookHandle"]


class HookHandle:
    """A registered hook; `detach()` (or leaving a `with` block) takes it away."""

    _ids = itertools.count()

    def __init__(self, hooks=None, hook=None):
        if hooks is not None:
            self.attach(hooks, hook)

    def attach(self, hooks_dict, hook):
        """Registers a hook in a dictionary of hooks."""
        self._hooks = hooks_dict
        self._id = next(HookHandle._ids)
        hooks_dict[self._id] = hook

    def detach(self):
        """Takes the hook away."""
        self._hooks.pop(self._id, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.detach()
