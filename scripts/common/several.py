"""Several networks and trainers that learn side by side, kept in one checkpoint as if they were one."""

from __future__ import annotations

from gluon import Trainer
from gluon.block import Block


class Networks(Block):
    """Blocks by name, of which `Run` keeps the parameters; it computes nothing."""

    def __init__(self, **networks: Block):
        super().__init__()
        for name, network in networks.items():
            setattr(self, name, network)


class Trainers:
    """Trainers by name, of which `Run` keeps the states: each in a file of its own beside the first one's."""

    def __init__(self, **trainers: Trainer):
        self._trainers = trainers

    def all(self) -> list[Trainer]:
        """The trainers."""
        return list(self._trainers.values())

    def save_states(self, path: str) -> None:
        """Writes the states of all."""
        for name, trainer in self._trainers.items():
            trainer.save_states(f"{path}.{name}")

    def load_states(self, path: str) -> None:
        """Reads what `save_states` wrote."""
        for name, trainer in self._trainers.items():
            trainer.load_states(f"{path}.{name}")
