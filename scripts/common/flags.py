"""The parser of the programs: flags as they stand in published command lines, however they are spelled."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


class Parser(argparse.ArgumentParser):
    """An argument parser whose help is `description` as it is written.

    `--batch_size` and `--batch-size` are the same flag, `-seed` is `--seed`, a dash that a word processor made long is
    two hyphens, and a flag may be cut short where only one begins so; published commands have all of these.

    >>> parser = Parser("Adds.")
    >>> _ = parser.add_argument("--batch-size", type=int)
    >>> parser.parse_args(["--batch_size", "8"]).batch_size
    8
    """

    def __init__(self, description: str | None = None, **settings):
        super().__init__(description=description, formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None):
        given = sys.argv[1:] if args is None else args
        return super().parse_known_args([self._as_declared(str(word)) for word in given], namespace)

    def _as_declared(self, word: str) -> str:
        """A word of the command line; a flag as it was added."""
        flag, equals, value = word.partition("=")
        declared = self._option_string_actions
        if flag[:1] not in ("-", "—", "–") or flag in declared:
            return word
        spelled = _plain(flag)
        by_spelling = {_plain(option): option for option in declared}
        if spelled in by_spelling and len(spelled) > 1:
            return by_spelling[spelled] + equals + value
        if flag.startswith("-") and not flag.startswith("--"):
            return word  # a number, or a letter with its value
        begun = {id(action): option for option, action in declared.items() if _plain(option).startswith(spelled)}
        return next(iter(begun.values())) + equals + value if len(begun) == 1 and spelled else word


def _plain(flag: str) -> str:
    return flag.lstrip("-—–").replace("_", "-")
