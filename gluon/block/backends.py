"""Other libraries that compute the predictions of a block: what `HybridBlock.optimize_for(x, backend=...)` hands it to.

The network goes there as ONNX, for the shapes and dtypes of each call, and again when a parameter has changed. Training
and recorded calls are computed here as ever.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from core import storage
from core.base import MXNetError, nearest
from core.dtypes import dtype_name
from core.extras import load
from core.graph.versions import Versions
from core.ndarray.sealed import Watch
from gluon.block.operators import leaves
from gluon.block.structure import _regroup

OWN = (None, "MKLDNN", "MKLDNN_QUANTIZE", "default", "default_v2")  # MXNet's, whose work plans do


class Delegate:
    """Computes a hybridized block's predictions with another library; options: those of the library."""

    def __init__(self, block, backend: str, options: dict):
        self._block, self._load = block, _loader(backend, options)
        self._runs: dict[tuple, Callable] = {}
        self._state: tuple = ()
        self._watch = Watch([])

    def __call__(self, args: tuple):
        arrays = [x for x in leaves(args) if x is not None]
        if self._changed():
            self._runs.clear()
        signature = tuple([(x.shape, x._data.dtype) for x in arrays])
        run = self._runs.get(signature)
        if run is None:
            run = self._runs[signature] = self._prepared(arrays)
        first = arrays[0]
        results = run([np.asarray(storage.share_numpy(x._data), order="C") for x in arrays])
        found = [type(first)._wrap(storage.of_own(r, first._ctx), first._ctx) for r in results]
        return _regroup(found, self._block._out_format)

    def _changed(self) -> bool:
        """Whether the parameters, or what they hold, are others than at the last call."""
        state = self._block._compiled, Versions.arrays
        if state != self._state:
            self._state, self._watch = state, Watch(self._block._arrays())
        return self._watch.changed()

    def _prepared(self, arrays: list) -> Callable:
        """The function of NumPy arrays that the library makes of the network."""
        from core.contrib.onnx import export_model
        from gluon.block.export import contents

        for x in arrays:
            if x._ctx.device_type != "cpu":
                raise MXNetError(f"backends compute on CPUs, given an array on {x._ctx}")
        symbol, arguments, states = contents(self._block, self._block._called_with)
        with tempfile.TemporaryDirectory() as folder:
            path = export_model(
                symbol, arguments | states, [x.shape for x in arrays], [np.dtype(dtype_name(x.dtype)) for x in arrays],
                str(Path(folder) / "network.onnx"),
            )  # fmt: skip
            return self._load(path)


def delegate(block, backend: str | None, options: dict) -> Delegate | None:
    """What computes predictions in the place of the block's plans; None for names of MXNet's own backends.

    MXNetError for an unknown backend, ImportError where its package is missing.
    """
    return None if backend in OWN else Delegate(block, backend, options)


def _loader(backend: str, options: dict) -> Callable[[str], Callable]:
    known = (*LOADERS, *OWN[1:])
    if backend not in LOADERS:
        raise MXNetError(
            f"there is no backend {backend!r}; known are {', '.join(known)}.{nearest(str(backend), known)}"
        )
    package = load(backend, f"backend={backend!r}")
    return lambda path: LOADERS[backend](package, path, options)


def _openvino(package, path: str, options: dict) -> Callable:
    """options: properties of its CPU device; numbers are float32 unless INFERENCE_PRECISION_HINT says otherwise."""
    compiled = package.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"} | options)
    request = compiled.create_infer_request()

    def run(arrays: list) -> list:
        found = request.infer(arrays, share_inputs=True)
        return [found[output] for output in compiled.outputs]

    return run


def _onnxruntime(package, path: str, options: dict) -> Callable:
    """options: fields of its SessionOptions."""
    chosen = package.SessionOptions()
    for name, value in options.items():
        if not hasattr(chosen, name):
            fields = [n for n in dir(chosen) if not n.startswith("_")]
            raise MXNetError(f"onnxruntime has no option {name!r}.{nearest(name, fields)}")
        setattr(chosen, name, value)
    session = package.InferenceSession(path, chosen, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    return lambda arrays: session.run(None, dict(zip(names, arrays, strict=True)))


LOADERS = {"openvino": _openvino, "onnxruntime": _onnxruntime}
