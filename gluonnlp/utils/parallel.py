"""Forward and backward passes in threads, one for each device."""

from __future__ import annotations

import queue
import threading

__all__ = ["Parallelizable", "Parallel"]


class Parallelizable:
    """What `Parallel` runs."""

    def forward_backward(self, x):
        """Does the work for one input and gives the result."""
        raise NotImplementedError


class Parallel:
    """Runs `parallizable.forward_backward` in `num_workers` threads; results come in the order they are ready.

    serial_init: the first `num_workers` inputs are worked on in the calling thread, so that parameters
    can be initialized on first use.  An exception is raised by the `get` that would have its result.
    """

    def __init__(self, num_workers, parallizable, serial_init=True):
        self._inputs, self._outputs = queue.Queue(), queue.Queue()
        self._parallizable = parallizable
        self._serial = num_workers if serial_init else 0
        self._threads = [
            threading.Thread(target=_work, args=(self._inputs, self._outputs, parallizable), daemon=True)
            for _ in range(num_workers)
        ]
        for thread in self._threads:
            thread.start()

    def put(self, x):
        """Hands over an input."""
        if self._serial > 0 or not self._threads:
            self._serial -= 1
            self._outputs.put((self._parallizable.forward_backward(x), None))
        else:
            self._inputs.put((x,))

    def get(self):
        """The next result; waits for it."""
        result, error = self._outputs.get()
        if error is not None:
            raise error
        return result

    def __del__(self):
        for _ in getattr(self, "_threads", ()):
            self._inputs.put(None)


def _work(inputs, outputs, parallizable):
    while (item := inputs.get()) is not None:
        try:
            outputs.put((parallizable.forward_backward(*item), None))
        except Exception as error:  # it belongs to the thread that asks for the result
            outputs.put((None, error))
