"""GluonCV: networks for pictures and videos."""

from pathlib import Path as _Path
from runpy import run_path as _run_path

_run_path(str(_Path(__file__).resolve().parents[1] / "gluon" / "_check_packages.py"))["check"](
    "gluoncv", "core", "gluon"
)

from gluoncv import data, homes, loss, model_zoo, nn, utils  # noqa: E402

# The original whose names and behaviour these are.
__version__ = "0.10.5"

homes.install()
