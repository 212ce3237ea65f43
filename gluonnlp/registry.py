"""Classes that can be built by name: one small table used for embeddings, subword functions and datasets."""

from __future__ import annotations

from core.base import nearest

from .base import UnknownKey

__all__ = ["Registry"]


class Registry(dict):
    """Classes under their lower-case names, in the order of registration.

    `kind` says in error messages what is registered, `base` what a registered class must derive from.
    """

    def __init__(self, kind: str, base: type | None = None):
        super().__init__()
        self.kind, self.base = kind, base

    def register(self, class_: type) -> type:
        """Decorator: files a class under its own name, lower case."""
        if self.base is not None and not issubclass(class_, self.base):
            raise TypeError(f"{class_.__name__} cannot be registered as {self.kind}: not a {self.base.__name__}.")
        self[class_.__name__.lower()] = class_
        return class_

    def find(self, name: str) -> type:
        """The class called `name` in any case; KeyError names the nearest one."""
        try:
            return self[name.lower()]
        except KeyError:
            known = ", ".join(self)
            raise UnknownKey(
                f"There is no {self.kind} called {name!r}.{nearest(name.lower(), self)} Known are: {known}"
            ) from None

    def create(self, name, **kwargs):
        """An object of the class called `name`; an object of the right class is given back as it is."""
        if self.base is not None and isinstance(name, self.base):
            return name
        return self.find(name)(**kwargs)
