"""Refuses to go on when another package named `core` stands in front of ours."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def check_core() -> None:
    """Raises ImportError, without running any code of the other package, unless `core` lies beside `gluon`."""
    ours = Path(__file__).resolve().parents[1] / "core" / "__init__.py"
    spec = find_spec("core")
    found = spec.origin if spec else None
    if found is None or Path(found).resolve() != ours:
        raise ImportError(
            f"gluon needs its own package `core` at {ours.parent}, but `import core` finds {found or 'nothing'}. "
            "Another package or file of that name comes first on sys.path: rename it, or run from another folder."
        )
