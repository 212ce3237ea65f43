"""Attributes that symbols made inside a `with AttrScope(...)` block get."""

from __future__ import annotations

from collections import defaultdict

from core.current import Current


def current() -> AttrScope:
    """The innermost scope of this thread."""
    return AttrScope.current


class AttrScope(metaclass=Current):
    """Gives every symbol made inside the block these attributes.

    Scopes nest, inner values win; `current` is the innermost. Values are strings (ValueError otherwise), for instance
    `AttrScope(ctx_group="stage1", lr_mult="0.1")`.
    """

    _subgraph_names: defaultdict[str, int] = defaultdict(int)  # how many loops and branches have taken each name

    def __init__(self, **kwargs):
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"attributes are strings, but {key} is {value!r}")
        self._own = kwargs
        self._attr = self._own
        self._before: list[AttrScope] = []

    @classmethod
    def subgraph_name(cls, name: str) -> str:
        """A name that no subgraph of a loop or branch has yet."""
        count = cls._subgraph_names[name]
        cls._subgraph_names[name] += 1
        return f"{name}{count}"

    def get(self, attr: dict | None = None) -> dict[str, str]:
        """The scope's attributes, overridden by those given."""
        return {**self._attr, **(attr or {})}

    def __enter__(self):
        before = AttrScope.current
        self._before.append(before)
        self._attr = {**before._attr, **self._own}
        AttrScope.current = self
        return self

    def __exit__(self, *_):
        AttrScope.current = self._before.pop()
