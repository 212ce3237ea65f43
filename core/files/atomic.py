"""Atomic writes: after a crash at any moment the old file or the new one is there, whole.

An empty file is filled in place instead: programs make one with `tempfile.NamedTemporaryFile`, save to its name, and
read from the file that they hold open.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from typing import IO


@contextlib.contextmanager
def replacing(path: str | os.PathLike, mode: str = "wb", **kwargs) -> Iterator[IO]:
    """A file to write that takes the place of `path` when the block ends, and vanishes if the block raises.

    `mode` is "wb" or "w" (with `encoding=...`). Pipes and devices are written directly. Raises OSError as `open` does.
    """
    writer = AtomicFile(path, mode, **kwargs)
    try:
        yield writer.file
    except BaseException:
        writer.discard()
        raise
    writer.commit()


def write_bytes(path: str | os.PathLike, data: bytes) -> None:
    """Replaces the content of `path` by `data` atomically."""
    with replacing(path) as file:
        file.write(data)


class AtomicFile:
    """The two ends of `replacing` for writers that live longer than a block: `commit()` or `discard()` once."""

    def __init__(self, path: str | os.PathLike, mode: str = "wb", **kwargs):
        self.path = os.path.realpath(os.fspath(path))  # a link goes on to point at the new content
        self._mode_bits = None
        self._temporary = None
        self._is_filled = False
        with contextlib.suppress(FileNotFoundError):
            status = os.stat(self.path)
            if not stat.S_ISREG(status.st_mode):
                self.file = open(self.path, mode, **kwargs)  # noqa: SIM115
                return
            self._mode_bits = stat.S_IMODE(status.st_mode)
            self._is_filled = status.st_size == 0
        self._temporary = f"{self.path}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
        try:
            self.file = open(self._temporary, mode.replace("w", "x"), **kwargs)  # noqa: SIM115
        except OSError as error:
            error.filename = self.path  # the name that the caller knows
            raise

    def commit(self) -> None:
        """Makes the written content the file's content, on the disk when this returns."""
        if self._temporary is None:
            self.file.close()
            return
        try:
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()
            if self._is_filled:
                self._fill()
            else:
                if self._mode_bits is not None:
                    os.chmod(self._temporary, self._mode_bits)
                os.replace(self._temporary, self.path)
        except BaseException:
            self.discard()
            raise
        sync_folder(os.path.dirname(self.path))

    def _fill(self) -> None:
        with open(self._temporary, "rb") as written, open(self.path, "wb") as target:
            shutil.copyfileobj(written, target)
            target.flush()
            os.fsync(target.fileno())
        os.unlink(self._temporary)

    def discard(self) -> None:
        """Forgets what was written; the old file, if any, stays."""
        self.file.close()
        if self._temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._temporary)


def sync_folder(folder: str) -> None:
    """Makes the rename itself durable, where the file system lets a folder be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
