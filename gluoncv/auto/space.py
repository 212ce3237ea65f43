"""Settings that are searched: in place of a value, the values that it may have."""

from __future__ import annotations

from typing import Any

__all__ = ["Categorical", "Int", "Real", "Space"]


class Space:
    """What a setting may be. `suggest(name, trial)` draws one for a trial of optuna's."""

    def suggest(self, name: str, trial) -> Any:
        raise NotImplementedError


class Categorical(Space):
    """One of the given values: Categorical("resnet18_v1b", "mobilenetv3_small")."""

    def __init__(self, *data):
        if not data:
            raise ValueError("Categorical takes one value or more")
        self.data = data

    def suggest(self, name, trial):
        return trial.suggest_categorical(name, self.data)


class Real(Space):
    """A number between two; log: as many below their geometric mean as above it."""

    def __init__(self, lower: float, upper: float, log: bool = False):
        _check(lower, upper, log)
        self.lower, self.upper, self.log = float(lower), float(upper), log

    def suggest(self, name, trial):
        return trial.suggest_float(name, self.lower, self.upper, log=self.log)


class Int(Space):
    """A whole number between two, both included; log: as of `Real`."""

    def __init__(self, lower: int, upper: int, log: bool = False):
        _check(lower, upper, log)
        self.lower, self.upper, self.log = int(lower), int(upper), log

    def suggest(self, name, trial):
        return trial.suggest_int(name, self.lower, self.upper, log=self.log)


def _check(lower, upper, log):
    if not lower <= upper or (log and lower <= 0):
        raise ValueError(f"a range goes upwards, with log=True from above 0, given {lower} to {upper}")
