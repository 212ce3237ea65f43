"""Flags that command lines for GluonCV hold and that have no effect here: refused with what serves,
or taken for what they are.
"""

from __future__ import annotations

import argparse
import sys


def add_refused_argument(parser: argparse.ArgumentParser, flag: str, instead: str) -> None:
    """Adds a flag of the original that ends the program with the words of what serves here."""

    class Refused(argparse.Action):
        def __call__(self, parser, namespace, values, option_string=None):
            parser.error(f"{option_string} is not here: {instead}")

    parser.add_argument(flag, action=Refused, nargs=0, default=argparse.SUPPRESS, help=f"not here: {instead}")


def add_replaced_argument(parser: argparse.ArgumentParser, flag: str, instead: str) -> None:
    """Adds a flag of the original for which something else serves here: it says so, and the program goes on."""

    class Replaced(argparse.Action):
        def __call__(self, parser, namespace, values, option_string=None):
            print(f"{parser.prog}: {option_string} is not here: {instead}", file=sys.stderr)

    parser.add_argument(flag, action=Replaced, nargs=0, default=argparse.SUPPRESS, help=f"a warning: {instead}")


def add_idle_arguments(
    parser: argparse.ArgumentParser, switches: tuple[str, ...], values: tuple[str, ...] = (), why: str = ""
) -> None:
    """Adds flags without and with a value that have no effect in the original either.

    `why` says what to know of that.
    """
    said = "accepted, and without effect as in GluonCV" + (f": {why}" if why else "")
    for flag in switches:
        parser.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help=said)
    for flag in values:
        parser.add_argument(flag, metavar="VALUE", default=argparse.SUPPRESS, help=said)
