"""Runs a program written for MXNet on this project: `python -m core.mxnet SCRIPT ARGS`."""

from __future__ import annotations

import os
import runpy
import sys

from core.alias import install_as_mxnet


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit("usage: python -m core.mxnet SCRIPT [ARGS ...]")
    del sys.argv[0]
    script = sys.argv[0]
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, which `python -m` puts there and `python SCRIPT` does not
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if home not in map(os.path.abspath, sys.path):
        sys.path.append(home)  # after a gluoncv or gluonnlp of the program's own
    install_as_mxnet()
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
