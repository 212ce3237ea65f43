"""Automatic names of blocks and symbols: a hint with a number, in scopes with a prefix."""

from __future__ import annotations

from core.current import Current


def current() -> NameManager:
    """The manager of this thread."""
    return NameManager.current


class NameManager(metaclass=Current):
    """Counts names by hint; as a context manager it takes the place of the `current` one."""

    def __init__(self):
        self._counter: dict[str, int] = {}
        self._before: list[NameManager] = []

    def get(self, name: str | None, hint: str) -> str:
        """`name`, or the hint with its next number where there is none."""
        if name:
            return name
        count = self._counter.get(hint, 0)
        self._counter[hint] = count + 1
        return f"{hint}{count}"

    def __enter__(self):
        self._before.append(NameManager.current)
        NameManager.current = self
        return self

    def __exit__(self, *_):
        NameManager.current = self._before.pop()


class Prefix(NameManager):
    """Puts a prefix before every name."""

    def __init__(self, prefix: str):
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        return self._prefix + super().get(name, hint)
