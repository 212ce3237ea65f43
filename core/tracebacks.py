"""Tracebacks that end at the user's line: what a program prints of an error leaves out the frames of this project.

The error keeps them all, for debuggers and programs that look; MXNET_FULL_TRACEBACK=1, or
`mx.util.set_full_traceback(True)`, prints them too.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType

_ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = tuple(f"{_ROOT / name}{os.sep}" for name in ("core", "gluon", "gluoncv", "gluonnlp"))
_full = os.environ.get("MXNET_FULL_TRACEBACK", "0") not in ("", "0")


def set_full_traceback(active: bool = True) -> bool:
    """Whether printed tracebacks show the frames of this project; returns what was before."""
    global _full
    before, _full = _full, bool(active)
    return before


def install() -> None:
    """Shortens what Python, and IPython where it runs, print of errors, unless the program prints them its own way."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _show)


@contextlib.contextmanager
def shortened(error: BaseException) -> Iterator[str]:
    """The error for a while with the user's frames alone, without causes that no line of the user's had a part in.

    Gives a line that says how many frames are left out, "" for none.
    """
    kept, count = _of_user(error.__traceback__)
    if _full or not count or kept is None:  # an error of our own threads stays whole
        yield ""
        return
    before = error.__traceback__, error.__cause__, error.__suppress_context__
    origin = error.__cause__ or error.__context__
    hides = origin is not None and _of_user(origin.__traceback__)[0] is None
    error.__traceback__ = kept
    error.__cause__ = None if hides else before[1]
    error.__suppress_context__ = hides or before[2]
    try:
        yield f"({count} frames inside of the library are left out: MXNET_FULL_TRACEBACK=1 shows them)\n"
    finally:
        error.__traceback__, error.__cause__, error.__suppress_context__ = before


def _of_user(traceback: TracebackType | None) -> tuple[TracebackType | None, int]:
    """A traceback without the frames of this project, and how many those are."""
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    kept, chain = [t for t in frames if not _is_ours(t.tb_frame)], None
    for t in reversed(kept):
        chain = TracebackType(chain, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return chain, len(frames) - len(kept)


def _is_ours(frame: FrameType) -> bool:
    if frame.f_code.co_filename == "<string>":  # generated, by core.dispatch or core.kernels
        return frame.f_globals.get("__name__", "core").partition(".")[0] == "core"
    return frame.f_code.co_filename.startswith(_FOLDERS)


def _print(kind, error, traceback) -> None:
    with shortened(error) as line:
        sys.stderr.write(line)
        sys.__excepthook__(kind, error, error.__traceback__)


def _show(shell, kind, error, traceback, tb_offset=None) -> None:
    with shortened(error) as line:
        sys.stderr.write(line)
        shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)
