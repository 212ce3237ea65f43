"""The recorded answers of the original software as one small file, and as a folder again.

`python -m tests.tools.golden FOLDER` packs a folder of answers (see its README.md) into tests/golden.tar.xz, and without
a folder the program prints where the answers are. Tests use
the folder that MXTEST_REFERENCE names, or ../shared/reference, or else what this file unpacks into build/.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import lzma
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT / "tests" / "golden.tar.xz"
LARGEST = 3_000_000  # bytes of the archive


def pack(folder: Path, archive: Path = ARCHIVE) -> None:
    """Writes the archive: the same bytes for the same files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            data = _loose(path) if path.suffix == ".npz" else path.read_bytes()
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    archive.write_bytes(lzma.compress(buffer.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def unpacked(archive: Path = ARCHIVE) -> Path:
    """The folder that the archive holds, which is made once."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:12]
    target = ROOT / "build" / f"golden-{digest}"
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=target.parent))
        with tarfile.open(archive, mode="r:xz") as tar:
            tar.extractall(made, filter="data")
        try:
            os.rename(made, target)
        except OSError:  # another process was first
            shutil.rmtree(made)
    return target


def folder() -> Path:
    """The recorded answers: the folder that MXTEST_REFERENCE names, ../shared/reference, or what the archive holds."""
    named = os.environ.get("MXTEST_REFERENCE")
    beside = ROOT.parent / "shared" / "reference"
    return Path(named) if named else beside if beside.is_dir() else unpacked()


def _loose(path: Path) -> bytes:
    """An .npz without compression of its own, which the archive's would not get through."""
    buffer = io.BytesIO()
    with np.load(path, allow_pickle=False) as arrays:
        np.savez(buffer, **{name: arrays[name] for name in arrays.files})
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="what is packed")
    given = parser.parse_args().folder
    if given is None:
        print(folder())
        return
    pack(given)
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
