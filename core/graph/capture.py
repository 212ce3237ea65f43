"""CUDA graphs: a plan that computes the same from the same places again and again is handed to the GPU as a whole.

A launch of a kernel costs several microseconds of the CPU, a replay of a captured graph costs one launch for all of
them. Its kernels read and write fixed addresses: inputs are copied to buffers of their own before, results are copied
from theirs after a replay, and where a parameter has moved the graph is captured anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

from core import storage
from core.graph.ir import Graph

WARM = 2  # calls before the capture: autotuning and lazy loading of kernels happen in them
MOST = 4  # captures after which a plan whose arrays keep moving is run kernel by kernel


def capturable(graph: Graph, flags: dict) -> bool:
    """Whether a plan may be captured: on a GPU, in prediction, without random keys, with static_alloc and static_shape."""
    on_gpu = bool(graph.outputs) and all(
        v.ctx.device_type == "gpu" for v in (*graph.inputs, *graph.held, *graph.outputs)
    )
    wanted = flags.get("static_alloc") and flags.get("static_shape")
    return bool(on_gpu and wanted) and not (graph.heads or graph.draws or graph.writes)


class Captured:
    """Stands for the `run` of a forward part: captures it after some calls, and replays it from then on.

    What cannot be captured (a step that waits for the GPU, or computes on the CPU) is told of once and run as before.
    """

    def __init__(self, run: Callable):
        self._run, self._calls, self._captures = run, 0, 0
        self._replay: Callable | None = None

    def __call__(self, inputs: list, held: list, prepared: tuple, keys: list) -> tuple:
        self._calls += 1
        if self._calls <= WARM or self._captures > MOST:
            return self._run(inputs, held, prepared, keys)
        places = [t.data_ptr() for t in (*held, *prepared)]
        if self._replay is None or places != self._places:
            self._capture(inputs, held, prepared)
            if self._replay is None:
                return self._run(inputs, held, prepared, keys)
            self._places = places
        for target, source in zip(self._inputs, inputs, strict=True):
            target.copy_(source)
        self._replay()
        return tuple(storage.copy_to(t) for t in self._results), ()

    def _capture(self, inputs: list, held: list, prepared: tuple) -> None:
        self._captures += 1
        self._inputs = [storage.copy_to(t) for t in inputs]
        # The tensors are kept, so that no other takes their addresses.
        self._read = held, prepared
        try:
            self._replay, (self._results, _) = storage.capture(lambda: self._run(self._inputs, held, prepared, []))
        except RuntimeError as error:
            self._replay, self._captures = None, MOST + 1
            warnings.warn(
                f"a hybridized block is not captured as a CUDA graph and runs kernel by kernel: {str(error).splitlines()[0]}",
                stacklevel=2,
            )
