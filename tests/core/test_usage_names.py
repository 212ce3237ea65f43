"""Every name that programs written for MXNet were counted to use."""

import importlib
import json
import os
from pathlib import Path

import pytest

import core as mx
from core.ops.registry import TABLE

REFERENCE = Path(os.environ.get("MXTEST_REFERENCE", Path(__file__).parents[3] / "shared" / "reference")) / "out"
USAGE = REFERENCE / "mxnet_usage.json"
SECTIONS = {
    # section of the count: where its names are looked for
    "Operators through F., nd. and sym.": ("core.ndarray", "core.symbol"),
    "np and npx": ("core",),
    "autograd": ("core.autograd",),
    "random": ("core.random",),
    "init": ("core.initializer",),
    "optimizer": ("core.optimizer",),
    "lr_scheduler": ("core.lr_scheduler",),
    "util": ("core.util",),
    "context": ("core.context",),
    "gluon.loss": ("gluon.loss",),
    "recordio": ("core.recordio",),
}
ABSENT = {
    "np._internal",  # not in MXNet 1.9.1 either
    "NDArrayHandle",  # the C library's
}


def names():
    if not USAGE.exists():
        return []
    usage = json.loads(USAGE.read_text())
    return [(section, name) for section in SECTIONS for name in usage[section] if name not in ABSENT]


def resolves(owner, path: str) -> bool:
    for part in path.split("."):
        found = getattr(owner, part, None)
        if found is None:
            try:
                found = importlib.import_module(f"{owner.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
        owner = found
    return True


def test_every_name_that_programs_use_exists():
    if not USAGE.exists():
        pytest.skip(f"no {USAGE}: set MXTEST_REFERENCE")
    missing = [
        f"{section}: {name}"
        for section, name in names()
        if not any(resolves(importlib.import_module(place), name) for place in SECTIONS[section])
    ]
    assert not missing


def test_array_methods_that_programs_use_exist():
    if not USAGE.exists():
        pytest.skip(f"no {USAGE}: set MXTEST_REFERENCE")
    kinds = (mx.nd.NDArray, mx.np.ndarray, mx.nd.sparse.CSRNDArray, mx.nd.sparse.RowSparseNDArray)
    usage = json.loads(USAGE.read_text())["Array methods (by name only)"]
    assert not [name for name in usage if not any(hasattr(kind, name) for kind in kinds)]


def test_old_names_of_scalar_operators():
    for old, new in {
        "_PlusScalar": "_plus_scalar",
        "_RMinusScalar": "_rminus_scalar",
        "_GreaterEqualScalar": "_greater_equal_scalar",
    }.items():
        assert TABLE[old] is TABLE[new]


def test_a_cached_op_calls_a_symbol_with_arrays_in_order():
    a, b = mx.sym.var("a"), mx.sym.var("b")
    f = mx.nd.CachedOp(a * 2 + b)
    assert f(mx.nd.ones((2,)), mx.nd.array([1, 2])).asnumpy().tolist() == [3, 4]
    with pytest.raises(ValueError, match="2 inputs"):
        f(mx.nd.ones((2,)))


def test_looking_for_a_name_that_is_not_there_is_cheap_and_its_message_helps():
    assert not hasattr(mx.nd, "FulyConnected")
    with pytest.raises(AttributeError, match="Did you mean 'FullyConnected'"):
        mx.nd.FulyConnected  # noqa: B018
    with pytest.raises(
        mx.MXNetError, match=r"Convolution has no attribute 'kernal'. Did you mean 'kernel'\?.*num_filter"
    ):
        mx.nd.Convolution(mx.nd.ones((1, 1, 3, 3)), kernal=(3, 3), num_filter=1)


def test_numpys_host_functions_take_and_give_arrays():
    x = mx.np.array([[3.0, 1.0], [2.0, 4.0]])
    assert mx.np.nanmax(x) == 4 and isinstance(mx.np.cov(x), mx.np.ndarray)
    x.attach_grad()
    with mx.autograd.record(), pytest.raises(ValueError, match="record"):
        mx.np.nanmax(x)
