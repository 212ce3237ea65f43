"""`nd.op`: every operator of the table by name, and `Custom`."""

from typing import Any

from core import late_names
from core.ndarray._namespace import listing, lookup

_of_the_table = lookup(("",), "nd.op")


def __getattr__(name: str) -> Any:
    try:
        return late_names.find(__name__, name)
    except AttributeError:
        return _of_the_table(name)


def __dir__() -> list[str]:
    return sorted([*listing(("",))(), "Custom"])
