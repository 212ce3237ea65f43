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
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    install_as_mxnet()
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
