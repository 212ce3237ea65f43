"""Text and JSON files that others wrote: mistakes in them become errors that name the file."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator

from core.base import MXNetError
from core.files.reader import DamagedFile

# What programs run into that take a file for what it should be.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, SyntaxError)


@contextlib.contextmanager
def reading(path: str | os.PathLike, what: str = "the file") -> Iterator[None]:
    """Within the block the content of `path` is read: an accident with it is raised as `DamagedFile`.

    Errors that are raised on purpose (MXNetError), and those of the file system, pass.
    """
    try:
        yield
    except MXNetError:
        raise
    except DAMAGE as error:
        raise DamagedFile(f"{os.fspath(path)!r}: {what} is damaged: {type(error).__name__}: {error}") from error


def read_json(path: str | os.PathLike, what: str = "the file"):
    """The value in a JSON file; OSError where it cannot be opened, DamagedFile where it is not JSON."""
    with open(path, "rb") as file, reading(path, what):
        return json.loads(file.read().decode("utf-8-sig"))
