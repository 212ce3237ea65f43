"""Classes by name: what lets `"xavier"`, `"acc"` and `"sgd"` stand for an object."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable

from core.base import BadArgument, MXNetError, nearest

_REGISTRIES: dict[type, dict[str, type]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """A copy of the names registered for `base_class`."""
    return dict(_REGISTRIES.get(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Callable:
    """A decorator `register(klass, name=None)` that files subclasses of `base_class` under their lower-case name."""
    table = _REGISTRIES.setdefault(base_class, {})

    def register(klass: type, name: str | None = None) -> type:
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise TypeError(f"only subclasses of {base_class.__name__} can be registered as {nickname}, got {klass!r}")
        key = (name or klass.__name__).lower()
        if key in table and table[key] is not klass:
            warnings.warn(f"new {nickname} {key!r} ({klass.__module__}) takes the place of {table[key].__module__}'s")
        table[key] = klass
        return klass

    register.__doc__ = f"Registers a {nickname} under its lower-case class name."
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable:
    """A decorator `alias(*names)` that files a class under further names."""
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable:
        def decorate(klass: type) -> type:
            for name in aliases:
                register(klass, name)
            return klass

        return decorate

    return alias


def is_description(what) -> bool:
    """Whether it is a dictionary of keywords, or JSON, rather than a name."""
    return isinstance(what, dict) or (isinstance(what, str) and what.startswith(("[", "{")))


def name_and_keywords(description: dict | str, nickname: str) -> tuple[str, dict]:
    """The name and the keywords that a dictionary, or JSON as in `get_create_func`, holds."""
    found = json.loads(description) if isinstance(description, str) else dict(description)
    return found if isinstance(found, list) else (found.pop(nickname), found)


def get_create_func(base_class: type, nickname: str) -> Callable:
    """A function `create(what, *args, **kwargs)`.

    `what` is an instance (returned as it is), a registered name, a JSON list `["name", {keywords}]` as `dumps` writes
    it, or a dictionary of keywords with the name under `nickname`.
    """
    table = _REGISTRIES.setdefault(base_class, {})

    def create(*args, **kwargs):
        what, args = (args[0], args[1:]) if args else (kwargs.pop(nickname), ())
        if isinstance(what, base_class):
            if args or kwargs:
                raise MXNetError(f"{nickname} is an instance already: no further arguments are accepted")
            return what
        if is_description(what):
            what, kwargs = name_and_keywords(what, nickname)
        if not isinstance(what, str):
            raise TypeError(f"{nickname} is a name or a {base_class.__name__}, got {what!r}")
        klass = table.get(what.lower())
        if klass is None:
            raise BadArgument(f"no {nickname} is registered as {what!r}.{nearest(what.lower(), table)}")
        return klass(*args, **kwargs)

    create.__doc__ = f"Makes a {nickname} from a name, a JSON string, a dictionary or an instance."
    return create
