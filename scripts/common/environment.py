"""Where and with what a run was made: facts for its record."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from core.context import Context, num_gpus

# The folder of the programs, and the checkout, None where they came with a wheel
ROOT = Path(__file__).resolve().parents[2]
CHECKOUT = ROOT if (ROOT / "pyproject.toml").is_file() else None


def command() -> str:
    """The command line, with the script relative to the checkout; `gluon train TASK ...` as it is."""
    if sys.argv[0].startswith("gluon "):
        return f"{sys.argv[0]} {shlex.join(sys.argv[1:])}"
    script = Path(sys.argv[0]).resolve()
    shown = script.relative_to(ROOT) if script.is_relative_to(ROOT) else Path(script.name)
    return shlex.join(["python", shown.as_posix(), *sys.argv[1:]])


def commit() -> str | None:
    """The commit of the checkout, with "+changes" when its sources differ from it; None outside git."""
    if CHECKOUT is None:  # a wheel may lie in an environment within somebody's repository
        return None
    try:
        name = _git("rev-parse", "--short=12", "HEAD")
        changes = _git("status", "--porcelain", "--", "core", "gluon", "gluoncv", "gluonnlp", "scripts")
    except (OSError, subprocess.CalledProcessError):
        return None
    return name + ("+changes" if changes else "")


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that decide numbers and speed."""
    found = {"python": platform.python_version()}
    for library in ("torch", "triton", "numpy"):
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:  # triton, off Linux
            continue
    return found


def device(context: Context | None = None) -> str:
    """The processor and its threads, and the GPU where one is used."""
    count = threads()
    name = f"{_processor()}, {count} thread{'s' * (count != 1)}"
    if context is not None and context.device_type == "gpu":
        name += f", gpu {context.device_id} of {num_gpus()}"
    return name


def threads() -> int:
    """How many threads a CPU kernel uses."""
    return int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))


def checksums(files: Iterable[Path], root: Path | None = None) -> dict[str, str]:
    """SHA-256 of each file, by its name, or by its path from `root` on where several files have one name."""
    names = {file: Path(file).relative_to(root).as_posix() if root else Path(file).name for file in files}
    return {name: hashlib.sha256(Path(file).read_bytes()).hexdigest() for file, name in names.items()}


def now() -> str:
    """The time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
