"""`gluon doctor`: whether everything is in place, and what to install for what is not."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from gluon_cli.answer import Answer, columns
from gluon_cli.unimported import value


def add(command) -> None:
    """Enters the command."""
    doctor = command(
        "doctor", help="check the installation",
        description="Checks what is installed. Exit code 1 where something that every program needs does not work.",
    )  # fmt: skip
    doctor.set_defaults(run=run)


def run(args: Namespace) -> Answer:
    """One line for each check: ok, missing (an extra), or wrong."""
    rows = [{"check": check, "state": state, "found": found} for check, state, found in checks()]
    shown = [(row["state"], row["check"], row["found"]) for row in rows]
    return Answer(rows, columns(shown), int(any(row["state"] == "wrong" for row in rows)))


def checks() -> Iterator[tuple[str, str, str]]:
    """(what, "ok", "missing" or "wrong", what was found)."""
    yield "python", "ok" if sys.version_info >= (3, 11) else "wrong", f"{platform.python_version()}, 3.11 or newer"
    yield "system", "ok", f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    for name in ("torch", "numpy", "tqdm", "pillow", "sentencepiece", "triton"):
        needed = name != "triton" or sys.platform == "linux"
        yield _package(name, "wrong" if needed else "missing", name)
    if find_spec("torch") and find_spec("numpy"):
        yield from _computes()
    for package, (extra, purpose) in value("core", "extras", "EXTRAS").items():
        advice = f"for {purpose}: pip install 'gluon-triton[{extra}]'"
        yield _package(package, "missing", {"sklearn": "scikit-learn"}.get(package, package), advice)
    if find_spec("torch") and find_spec("numpy"):
        yield _home()


def _package(name, otherwise, distribution, advice="not installed"):
    try:
        return name, "ok", version(distribution)
    except PackageNotFoundError:
        return name, otherwise, advice


def _computes():
    """Devices, and whether a gradient comes out right."""
    try:
        import core
        from core import autograd, nd

        x = nd.array([1.0, 2.0])
        x.attach_grad()
        with autograd.record():
            y = (x * x).sum()
        y.backward()
        right = x.grad.asnumpy().tolist() == [2.0, 4.0]
        yield "core", "ok" if right else "wrong", os.path.dirname(core.__file__)
        count = core.context.num_gpus()
    except Exception as error:
        yield "core", "wrong", f"{type(error).__name__}: {error}"
        return
    yield "devices", "ok", f"{count} GPUs" if count else "the CPU, no GPU"


def _home():
    from core.base import data_dir

    home = os.path.expanduser(data_dir())
    try:
        os.makedirs(home, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        return "weights' folder", "wrong", f"{home} cannot be written: {error}; MXNET_HOME names another"
    return (
        "weights' folder",
        "ok",
        f"{home}{', no downloads: MXNET_OFFLINE' if os.environ.get('MXNET_OFFLINE') else ''}",
    )
