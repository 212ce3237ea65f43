"""Where tensors may live: what spares kernels the question, tensor by tensor, where only a CPU has memory."""

from __future__ import annotations

import os


class _State:
    """What holds for the whole process.

    plain: all tensors are in a CPU's memory and kernels come from its backend, so that none is asked where it lives: that
    takes as long as a twentieth of a small operator. Not where torch was built for GPUs, while a backend is forced, and
    no longer once there was a tensor without memory.
    """

    __slots__ = ("_alone", "deterministic", "forced", "plain")

    def __init__(self) -> None:
        self.forced: str | None = None
        self.deterministic = os.environ.get("MXNET_ENFORCE_DETERMINISM") == "1"  # MXNet's variable
        self.plain = self._alone = True

    def force(self, backend: str | None) -> None:
        """Takes kernels from a backend from now on; None: by where tensors live."""
        self.forced, self.plain = backend, backend is None and self._alone

    def note_elsewhere(self) -> None:
        """Called before a tensor is made, or where one may be made, that is in no CPU's memory."""
        self.plain = self._alone = False


state = _State()
