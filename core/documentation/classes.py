"""Docstrings of classes: what their source says, and between that and its examples the arguments that they take.

`help` shows `**kwargs` where a class hands keywords on to its bases; here they are spelled out, with their types where they
are annotated, their defaults and, where the prose does not speak of them, what they mean by the sections `# MODULE.*` of
the texts (the nearest module counts) and `# classes.*`. All of it is made when a docstring is read, not on import.
"""

from __future__ import annotations

import inspect
import re

from core import late_names
from core.documentation import block, item, sections
from core.signatures import spelled_out

_PACKAGES = frozenset({"core", "gluon", "gluoncv", "gluonnlp"})


class Docstring:
    """The `__doc__` of a class, rendered when it is read."""

    def __init__(self, source: str):
        self.source = source

    def __get__(self, instance, owner) -> str:
        return of_class(owner, self.source)


def complete(namespace: dict) -> None:
    """Shows users what a namespace has: the docstrings of our public classes tell their arguments, and `dir` leaves out
    what is private or imported.
    """
    namespace.setdefault("__dir__", lambda: late_names.offered(namespace))
    for name, value in namespace.items():
        if isinstance(value, type) and not name.startswith("_") and not issubclass(value, BaseException):
            source = vars(value).get("__doc__")
            if isinstance(source, str) and value.__module__.partition(".")[0] in _PACKAGES:
                value.__doc__ = Docstring(source)


def of_class(cls: type, source: str) -> str:
    """The docstring of a class whose source has `source`."""
    prose, mark, example = inspect.cleandoc(source).partition(">>> ")
    prose = prose.rstrip()
    arguments = [
        item(_head(p), None if _speaks_of(prose, p.name) else meaning(cls.__module__, p.name))
        for p in spelled_out(cls)
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if not arguments:
        return inspect.cleandoc(source)
    parts = [prose, block("Parameters", arguments), block("Examples", [mark + example] if mark else [])]
    return "\n\n".join(part for part in parts if part)


def meaning(module: str, name: str) -> str | None:
    """What the argument `name` means in the classes of `module`, by the texts; None where none says."""
    parts = module.split(".")
    for section in (*(".".join(parts[:k]) + ".*" for k in range(len(parts), 0, -1)), "classes.*"):
        if section in sections() and name in sections()[section].parameters:
            return sections()[section].parameters[name]
    return None


def _head(p: inspect.Parameter) -> str:
    kind = [] if p.annotation is p.empty else [p.annotation if isinstance(p.annotation, str) else _shown(p.annotation)]
    kind += ["keyword only"] if p.kind is p.KEYWORD_ONLY else []
    kind += [] if p.default is p.empty else [f"default {_shown(p.default)}"]
    return f"{p.name} : {', '.join(kind)}" if kind else p.name


def _shown(value: object) -> str:
    """A value as source has it, a class or function by its name."""
    text = getattr(value, "__name__", None) or repr(value)
    return text if " at 0x" not in text else f"{type(value).__name__}(...)"


def _speaks_of(prose: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", prose) is not None
