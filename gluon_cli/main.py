"""Reads the command line, runs a command, prints its answer.

A command is a module of this package with `add(commands)`, which enters its arguments and the function that runs it.
Such a function takes the arguments and gives an `Answer`; it imports what it needs, so that `gluon --help` is quick.
Exit codes: 0 done, 1 not done, which a line on the standard error explains, 2 a wrong command line, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from gluon_cli import bench, completion, convert, doctor, export, pictures, predict, texts, train, zoo
from gluon_cli.programs import add_shared_arguments
from gluon_cli.unimported import value

COMMANDS = (zoo, predict, pictures, texts, train, export, convert, bench, doctor, completion)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of `gluon` with these arguments, by default those of the process."""
    args = parser().parse_args(argv)
    try:
        answer = args.run(args)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if args.traceback or not _expected(error):
            raise
        if args.json:
            print(json.dumps({"error": str(error)}, ensure_ascii=False))
        notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
        print(f"gluon {args.command}: {error}{notes}", file=sys.stderr)
        return 1
    try:
        print(json.dumps(answer.value, indent=1, ensure_ascii=False) if args.json else answer.text)
        sys.stdout.flush()
    except BrokenPipeError:  # `gluon list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return answer.code


def parser() -> argparse.ArgumentParser:
    """The command line of all commands."""
    shared = argparse.ArgumentParser(add_help=False)
    add_shared_arguments(shared)
    made = argparse.ArgumentParser(
        prog="gluon", description="Networks for pictures and texts: find, use, train and export them.",
        epilog="Exit codes: 0 done, 1 not done, 2 wrong command line, 130 interrupted.",
    )  # fmt: skip
    made.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in COMMANDS:
        module.add(lambda name, _module=module, **settings: commands.add_parser(name, parents=[shared], **settings))
    return made


class _Version(argparse.Action):
    """Prints the version; read from its file, it is known also where PyTorch is not installed."""

    def __call__(self, parser, *_):
        print(f"gluon {value('gluon', 'version', '__version__')}")
        parser.exit()


def _expected(error: Exception) -> bool:
    """Whether an error is of what was asked for: files, names, settings, packages that are not installed.

    Files that lack parameters raise AssertionError, as in MXNet.
    """
    from core.base import MXNetError

    return isinstance(error, (MXNetError, OSError, ValueError, ImportError, AssertionError))
