"""Runs a program written for MXNet on this project: `python -m core.mxnet SCRIPT ARGS`, or `-m MODULE ARGS`.

`--numpy` before them begins in NumPy mode, which programs for MXNet 2 expect. The program finds packages `core` and
`gluon` of its own, and what NumPy has removed since it was written.
"""

from __future__ import annotations

import os
import runpy
import sys

from core.alias import install_as_mxnet
from core.program_packages import share_names
from core.removed_from_numpy import restore

USAGE = """usage: python -m core.mxnet [--numpy] SCRIPT [ARGS ...]
       python -m core.mxnet [--numpy] -m MODULE [ARGS ...]"""
HELP = f"""{USAGE}

Runs a program written for MXNet on this project: in the program, `import mxnet`, `from mxnet.gluon import nn` and so on
give it, in processes that the program starts too, and what NumPy has removed since is there again.

  --numpy     begin in NumPy mode, as programs for MXNet 2 expect (npx.set_np())
  -m MODULE   run a module, as python -m does: python -m core.mxnet -m pytest tests
  -h, --help  this text

Everything behind SCRIPT or MODULE goes to the program."""


def main() -> None:
    """Runs the program or module that the command line names, with this project in the place of MXNet."""
    del sys.argv[0]
    if sys.argv[:1] in (["-h"], ["--help"]):
        print(HELP)
        return
    numpy = sys.argv[:1] == ["--numpy"]
    if numpy:
        del sys.argv[0]
    is_module = sys.argv[:1] == ["-m"]
    if is_module:
        del sys.argv[0]
    if not sys.argv:
        raise SystemExit(USAGE)
    program = sys.argv[0]
    if is_module:
        share_names(os.getcwd())
    else:
        if not os.path.exists(program):
            raise SystemExit(f"python -m core.mxnet: there is no script {program!r}; a module is run by -m {program}")
        if not sys.flags.safe_path:
            del sys.path[0]  # the current folder, which `python -m` puts there and `python SCRIPT` does not
        folder = os.path.dirname(os.path.abspath(program))
        share_names(folder)
        sys.path.insert(0, folder)
    _extend_path()
    restore()
    install_as_mxnet(numpy)
    if is_module:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program, run_name="__main__")


def _extend_path() -> None:
    """Lets the program, and processes that it starts, find this project and the alias;
    after packages of the program's own.
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [home, os.path.join(home, "core", "started")]
    known = [os.path.abspath(place) for place in sys.path]
    sys.path += [folder for folder in folders if folder not in known]
    os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), *folders])


if __name__ == "__main__":
    main()
