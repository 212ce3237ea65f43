"""The whole operator table in the Triton backend: torch only moves memory, and the answers are those of the CPU backend.

Each operator is applied to the first of its samples (see `tests.support.samples`) that has elements, in float32 or the
type that the sample names, and differentiated; those without samples there to one from `MORE`. Parts of gradients are
reached by what they are parts of. An operator that is not recorded is in `UNRECORDED`, with the reason.
"""

import importlib
import sys

import pytest
import torch

import core.mxnet
import core.symbol.numpy_functions  # noqa: F401  (every function of np)
from core import kernels
from core.ops.registry import TABLE
from tests.core.kernels.triton.test_memory_only import ALLOWED, Recorder
from tests.core.ops.test_sweep import WITHIN
from tests.support.once import NAMES, OWN, applied, filled

# Copies of parts, to places, and between devices: `core.kernels.shape`, which both backends share, and `core.storage`.
REARRANGED = {"_to_copy"}
ON_CPU_ONLY = {name.partition(".")[0] for name in kernels.ON_CPU_ONLY}  # families
EXCEPTED = {importlib.import_module(f"core.kernels.cpu.{family}").__file__ for family in ON_CPU_ONLY}
_PART = "part of another operator's gradient, which is recorded: "
_GRAPH = "a node of graphs that runs subgraphs of other operators"
_EMPTY = "makes an array from nothing: tests/core/kernels/triton/test_fills.py"
_DRAWS = "draws from nothing: its sampler is recorded with _sample_* and _random_*_like, which call it"
_HOST = "changes a picture on the host, in NumPy"
UNRECORDED = {
    **{part: _PART + whole for part, whole in WITHIN.items()},
    "_dropout_again": _PART + "Dropout",
    "_write_state": _PART + "IdentityAttachKLSparseReg",
    **dict.fromkeys(("_gamma_of_shape", "_gamma_slope"), "both backends are compared with quantiles: tests/core/ops/test_gamma_slope.py"),
    **dict.fromkeys(("_plan_rnn", "_plan_rnn_grad"), "RNN on vectors of its parameters, by the same kernels"),
    **dict.fromkeys(("_plan_growing_concat", "_plan_grown_concat"), "parts of plans for CPUs: tests/core/graph/test_passes.py"),
    **dict.fromkeys(("_plan_stretch", "_plan_stretch_weight"), "parts of plans for CPUs: tests/core/graph/test_stretches.py"),
    **dict.fromkeys(("_foreach", "_while_loop", "_cond", "_gradient", "_loop", "_loop_grad", "_np_function"), _GRAPH),
    **dict.fromkeys(("_arange", "_eye", "_full", "_linspace", "_ones", "_zeros"), _EMPTY),
    **dict.fromkeys([f"_random_{n}" for n in ("bernoulli", "exponential", "gamma", "generalized_negative_binomial",
                     "negative_binomial", "normal", "poisson", "randint", "uniform")], _DRAWS),
    **dict.fromkeys([f"_image_random_{n}" for n in ("brightness", "color_jitter", "contrast", "crop", "flip_left_right",
                     "flip_top_bottom", "hue", "lighting", "resized_crop", "saturation")], _HOST),
}  # fmt: skip


def test_every_operator_is_recorded_or_left_out_for_a_reason():
    own = {name for name, op in TABLE.items() if op.name == name and not name.startswith("_backward_")}
    assert own - set(NAMES) == set(UNRECORDED) & own
    assert set(UNRECORDED) - set(TABLE) == set()


@pytest.mark.parametrize("name", NAMES)
def test_torch_only_moves_memory_and_the_backends_agree(name):
    op, sample = TABLE[name], filled(TABLE[name])
    watcher = Watcher()
    with kernels.using("triton"):
        found = applied(op, sample, watcher=watcher)
    called = watcher.called
    assert called <= ALLOWED | REARRANGED, sorted(called - ALLOWED - REARRANGED)
    if name not in OWN and not name.startswith(("_random_", "_sample_")):
        for mine, true in zip(found, applied(op, sample), strict=True):
            torch.testing.assert_close(mine, true, rtol=1e-4, atol=1e-5, equal_nan=True)


class Watcher(Recorder):
    """Leaves out what the CPU's functions do for kernels that Triton has not by decree."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_filename not in EXCEPTED:
            frame = frame.f_back
        if frame is None:
            return super().__torch_dispatch__(function, types, args, kwargs)
        return function(*args, **(kwargs or {}))
