"""Values of files of this project, also where PyTorch, which its packages import, is not installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any


def value(package: str, module: str, name: str) -> Any:
    """What `package/module.py` calls `name`; the module imports nothing of this project."""
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None  # this is a part of the same project
    return run_path(str(Path(spec.origin).with_name(f"{module}.py")))[name]
