"""What a class takes when it is made: its own arguments, and those that it hands on to its bases as `**kwargs`."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable

from core.base import nearest


def spelled_out(kind: type) -> list[inspect.Parameter]:
    """The arguments of a class without `self`, with those of its bases in the place of `**kwargs`.

    A `**kwargs` is left at the end where what takes it is no `__init__` of a base.
    """
    by_code = {}  # of copies (`name_own_init`) the original
    for base in kind.__mro__:
        init = vars(base).get("__init__")
        if inspect.isfunction(init):
            by_code[init.__code__] = init
    inits = list(by_code.values())
    found: dict[str, inspect.Parameter] = {}
    given: set[str] = set()
    for init in inits:
        parameters = list(inspect.signature(init).parameters.values())[1:]
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        count, keywords, hands_on = _handed_on(init)
        for p in parameters:
            if p.kind is not p.VAR_KEYWORD and p.name not in found and p.name not in given:
                found[p.name] = p if not found or init is inits[0] else p.replace(kind=p.KEYWORD_ONLY)
        last = next((p for p in parameters if p.kind is p.VAR_KEYWORD), None)
        if last is None or last.name == "unknown":
            return _ordered(found)
        if not hands_on:
            return [*_ordered(found), last]
        below = inits[inits.index(init) + 1 :]
        if not below:
            return _ordered(found)
        following = [
            p.name
            for p in list(inspect.signature(below[0]).parameters.values())[1:]
            if p.kind is p.POSITIONAL_OR_KEYWORD
        ]
        given |= {*following[:count], *keywords, *positional}
    return _ordered(found)


def unknown_keyword(instance: object, name: str) -> TypeError:
    """The error for a keyword that the class of `instance`, as the user wrote it, does not take."""
    kind = type(instance)
    words = [p.name for p in spelled_out(kind) if p.kind is not p.VAR_KEYWORD]
    return TypeError(f"{kind.__name__} has no argument {name!r}.{nearest(name, words)} It takes: {', '.join(words)}")


def name_own_init(kind: type) -> None:
    """Lets a class that inherits `__init__` from a private one have it as its own: Python's errors name that class."""
    owner = next(base for base in kind.__mro__ if "__init__" in vars(base))
    init = vars(owner)["__init__"]
    if owner is kind or not owner.__name__.startswith("_") or not inspect.isfunction(init):
        return
    own = types.FunctionType(init.__code__, init.__globals__, init.__name__, init.__defaults__, init.__closure__)
    own.__kwdefaults__, own.__annotations__, own.__doc__ = init.__kwdefaults__, init.__annotations__, init.__doc__
    own.__module__, own.__qualname__ = init.__module__, f"{kind.__qualname__}.__init__"
    kind.__init__ = own


def _ordered(found: dict[str, inspect.Parameter]) -> list[inspect.Parameter]:
    return sorted(found.values(), key=lambda p: p.kind)


def _handed_on(init: Callable) -> tuple[int, list[str], bool]:
    """Of the call of `super().__init__`: how many arguments stand by position, the names of the others, and whether
    `**kwargs` go on.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(init)))
    except (OSError, SyntaxError):  # made without a source file
        return 0, [], True
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("__init__"):
            names = [k.arg for k in node.keywords if k.arg is not None]
            return len(node.args), names, len(names) < len(node.keywords)
    return 0, [], False
