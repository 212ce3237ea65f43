"""Work of any kind in threads: what the toolkits' `utils.parallel` offer."""

from __future__ import annotations

import queue
import threading

__all__ = ["Parallel", "Parallelizable"]


class Parallelizable:
    """Work that `Parallel` does: subclasses define `forward_backward`."""

    def forward_backward(self, x):
        """What is done with one input; gives the result."""
        raise NotImplementedError(f"{type(self).__name__} must define forward_backward")


class Parallel:
    """`num_workers` threads that call `parallizable.forward_backward`; without workers `put` does so itself.

    serial_init: the first `num_workers` inputs are worked on by `put`, since blocks must not be initialised by two
    threads. An error in a worker is raised by `get`.
    """

    def __init__(self, num_workers, parallizable, serial_init=True):
        self._parallizable, self._num_serial = parallizable, num_workers if serial_init else 0
        self._inputs, self._outputs = queue.Queue(), queue.Queue()
        worker = (self._inputs, self._outputs, parallizable.forward_backward)
        self._threads = [threading.Thread(target=_serve, args=worker, daemon=True) for _ in range(num_workers)]
        for thread in self._threads:
            thread.start()

    def put(self, x):
        """Gives an input to a worker."""
        if self._num_serial > 0 or not self._threads:
            self._num_serial -= 1
            self._outputs.put((self._parallizable.forward_backward(x), None))
        else:
            self._inputs.put((x,))

    def get(self):
        """The next result, in the order in which they are ready; waits for it."""
        result, error = self._outputs.get()
        if error is not None:
            raise error
        return result

    def __del__(self):
        for _ in getattr(self, "_threads", ()):  # an error in the constructor leaves none
            self._inputs.put(None)


def _serve(inputs, outputs, work):
    while (given := inputs.get()) is not None:
        try:
            outputs.put((work(*given), None))
        except (Exception, SystemExit) as error:  # `get` raises it
            outputs.put((None, error))
