"""Folders, archives, and packages that only some need."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from core.base import MXNetError
from core.extras import how_to_install
from core.files.archives import Archive
from core.util import makedirs

__all__ = [
    "PathTree", "import_try_install", "makedirs", "temporary_filename", "try_import", "try_import_colorama",
    "try_import_cv2", "try_import_dali", "try_import_decord", "try_import_gdfDownloader", "try_import_html5lib",
    "try_import_mmcv", "try_import_munkres", "try_import_rarfile", "try_import_skimage", "untar", "unzip",
]  # fmt: skip


# ---------------------------------------------------------------------------------------------- packages


def try_import(package, message=None, fromlist=None):
    """The package, as `import` gives it; ImportError with `message` where it is absent."""
    try:
        return __import__(package, fromlist=fromlist or ())
    except ImportError as error:
        raise ImportError(message or str(error)) from error


def _importer(package, distribution):
    def import_it():
        return try_import(package, f"{package} is required, you can install it by `pip install {distribution}`")

    import_it.__name__ = import_it.__qualname__ = f"try_import_{package}"
    import_it.__doc__ = f"The package {package}; ImportError that says how to install it where it is absent."
    return import_it


try_import_cv2 = _importer("cv2", "opencv-python")
try_import_munkres = _importer("munkres", "munkres")
try_import_colorama = _importer("colorama", "colorama")
try_import_mmcv = _importer("mmcv", "mmcv")
try_import_rarfile = _importer("rarfile", "rarfile")
try_import_html5lib = _importer("html5lib", "html5lib")
try_import_gdfDownloader = _importer("googleDriveFileDownloader", "googleDriveFileDownloader")
try_import_skimage = _importer("skimage", "scikit-image")


def try_import_decord():
    """The package decord; ImportError that says what reads videos here where it is absent.

    The data sets and `gluoncv.model_zoo` read videos by PyAV, which the extra `video` installs; decord is for programs
    of GluonCV that call it themselves.
    """
    return try_import(
        "decord",
        "decord is not among the packages that gluon-triton installs: data sets read videos by PyAV, which "
        f"`{how_to_install('av')}` installs. For a program that calls decord itself: `pip install decord`",
    )


def try_import_dali():
    """NVIDIA DALI, with `Pipeline`; ImportError where it is absent."""
    dali = try_import(
        "nvidia.dali", "DALI is required, see NVIDIA's instructions", fromlist=["pipeline", "ops", "types"]
    )
    dali.Pipeline = dali.pipeline.Pipeline
    return dali


def import_try_install(package, extern_url=None):
    """The package, installed by pip for this user first where it is absent, from `extern_url` if given."""
    try:
        return __import__(package)
    except ImportError:
        subprocess.run([sys.executable, "-m", "pip", "install", "--user", extern_url or package], check=True)
        importlib.invalidate_caches()
        return __import__(package)


# ---------------------------------------------------------------------------------------------- archives and folders


def unzip(zip_file_path, root="./", strict=False, max_ratio=None):
    """Unpacks a zip file below `root`, unless its last file is there (always with `strict`); gives its folder.

    max_ratio: how many times its size it may unpack to, by default 100 (`MXNET_MAX_UNPACK_RATIO`), 0 for no limit.
    MXNetError for damage, for what would lie outside of `root`, and beyond the limit.
    """
    return _unpacked(Archive(zip_file_path, max_ratio), root, strict)


def untar(tar_file_path, root="./", strict=False, max_ratio=None):
    """`unzip` of a .tar.gz file."""
    return _unpacked(Archive(tar_file_path, max_ratio), root, strict)


def _unpacked(archive, root, strict):
    root, names = os.path.expanduser(root), archive.names()
    if not names:
        raise MXNetError(f"{archive.path!r} is an empty archive")
    if strict or not os.path.exists(os.path.join(root, names[-1])):
        archive.extract(root)
    return os.path.join(root, os.path.commonpath(names))


@contextlib.contextmanager
def temporary_filename(suffix=None):
    """A context with the name of an empty file, which is removed at the end."""
    handle, name = tempfile.mkstemp(suffix=suffix)
    os.close(handle)
    try:
        yield name
    finally:
        os.unlink(name)


class PathTree:
    """`str()` of it is a drawing of the folder `root` and what is below, `max_depth` levels deep."""

    def __init__(self, root, max_depth=1):
        self._lines = [f"{Path(root).name}/", *_branches(Path(root), max_depth)]

    def __str__(self):
        return "\n".join(self._lines)


def _branches(folder, depth, indent=""):
    entries = sorted(folder.iterdir(), key=lambda path: str(path).lower())
    for entry in entries:
        last = entry is entries[-1]
        yield f"{indent}{'└──' if last else '├──'} {entry.name}{'/' if entry.is_dir() else ''}"
        if entry.is_dir() and depth > 1:
            yield from _branches(entry, depth - 1, indent + ("    " if last else "│   "))
