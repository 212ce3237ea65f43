"""Refuses to go on when another package named `core` or `gluon` is found before ours.

`gluoncv` and `gluonnlp` run this file by its path, for they cannot import it from a `gluon` that is another one.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def check(asker: str, *packages: str) -> None:
    """Raises ImportError, without running any code of the other package, unless `packages` lie beside this one."""
    for package in packages:
        ours = Path(__file__).resolve().parents[1] / package / "__init__.py"
        spec = find_spec(package)
        found = spec.origin if spec else None
        if found is None or Path(found).resolve() != ours:
            raise ImportError(
                f"{asker} needs its own package `{package}` at {ours.parent}, but `import {package}` finds "
                f"{found or 'nothing'}. Another package or file of that name comes first on sys.path: rename it, or "
                "run from another folder."
            )
