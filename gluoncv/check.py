"""Whether the software beneath is of a version that a program asks for."""

from __future__ import annotations

import re

import core


def _require_mxnet_version(mx_version: str, max_mx_version: str = "2.0.0") -> None:
    """RuntimeError unless the version of MXNet whose behaviour this is lies in [mx_version, max_mx_version)."""
    _within("mxnet", core.__version__, mx_version, max_mx_version)


def _require_pytorch_version(torch_version: str, max_torch_version: str = "2.0.0") -> None:
    """ImportError: GluonCV's networks of PyTorch are not here."""
    raise ImportError(
        f"GluonCV's networks of PyTorch (>={torch_version},<{max_torch_version}) are not here: those of "
        "gluoncv.model_zoo are"
    )


def _deprecate_python2() -> None:
    """Nothing: only Python 3 reads this."""


def _within(name, version, least, below):
    if not _numbers(least) <= _numbers(version) < _numbers(below):
        raise RuntimeError(f"{name} >={least},<{below} is asked for, this is {version}")


def _numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)]
