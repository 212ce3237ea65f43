"""Every name that programs written for MXNet were counted to use."""

import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import core as mx
from core.ops.registry import TABLE
from tests.tools import golden

REFERENCE = golden.folder() / "out"
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


MODULES = {
    "mxnet.amp": "init",
    "mxnet.amp.loss_scaler": "LossScaler",
    "mxnet.gluon.probability.block": "StochasticBlock",
    "mxnet.gluon.probability.distributions": "Normal",
    "mxnet.gluon.probability.distributions.gamma": "Gamma",
    "mxnet.gluon.probability.distributions.divergence": "kl_divergence",
    "mxnet.optimizer.adamW": "AdamW",
    "mxnet.contrib.amp.lists.symbol_fp16": "FP16_FUNCS",
    "mxnet.contrib.ndarray": "boolean_mask",
    "mxnet.contrib.svrg_optimization.svrg_optimizer": "_SVRGOptimizer",
    "mxnet.contrib.symbol": "foreach",
    "mxnet.contrib.tensorboard": "LogMetricsCallback",
    "mxnet.error": "register",
    "mxnet.executor_manager": "DataParallelExecutorManager",
    "mxnet.gluon.data.vision.transforms.image": "ToTensor",
    "mxnet.kvstore.kvstore_server": "KVStoreServer",
    "mxnet.misc": "FactorScheduler",
    "mxnet.ndarray.gen_contrib": "boolean_mask",
    "mxnet.ndarray.gen_linalg": "gemm2",
    "mxnet.ndarray.gen_op": "FullyConnected",
    "mxnet.ndarray.numpy": "zeros",
    "mxnet.ndarray.numpy.linalg": "norm",
    "mxnet.ndarray.numpy_extension": "softmax",
    "mxnet.ndarray.utils": "load",
    "mxnet.numpy.utils": "pi",
    "mxnet.numpy_extension.utils": "save",
    "mxnet.symbol.gen_op": "FullyConnected",
    "mxnet.symbol.numpy._symbol": "Symbol",
}


def test_modules_that_are_cut_another_way_are_imported():
    program = "import core, importlib; core.install_as_mxnet()\n" + "".join(
        f"assert getattr(importlib.import_module({module!r}), {name!r}) is not None, {module!r}\n"
        for module, name in MODULES.items()
    )
    program += """
from mxnet.contrib.symbol import while_loop
from mxnet.ndarray.utils import zeros
import mxnet as mx
from mxnet.ndarray import ndarray
from mxnet.gluon.nn import basic_layers
assert ndarray.empty is mx.nd.empty and basic_layers.BatchNorm is mx.gluon.nn.BatchNorm
assert zeros is mx.nd.zeros and mx.contrib.symbol.while_loop is while_loop
try:
    import mxnet.tvmop
except ModuleNotFoundError as error:
    assert "mxnet.tvmop is not part of this project" in str(error)
for refused in (mx.executor_manager.DataParallelExecutorManager, mx.kvstore.server.KVStoreServer):
    try:
        refused(None)
    except mx.MXNetError as error:
        assert refused.__name__ in str(error)
    else:
        raise AssertionError(refused)
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_arguments_by_the_names_of_both_versions():
    x = mx.nd.array(source_array=[1.0, 2.0])
    assert mx.nd.power(base=x, exp=2).asnumpy().tolist() == [1, 4]
    assert type(mx.nd.from_numpy(np.ones(2, "float32"), array_cls=mx.np.ndarray)) is mx.np.ndarray
    assert mx.nd.from_dlpack(dlpack=x).asnumpy().tolist() == [1, 2]
    dense = mx.gluon.nn.Dense(2, in_units=2)
    dense.initialize(device=mx.cpu())
    dense.load_dict({"weight": mx.nd.ones((2, 2)), "bias": mx.nd.zeros(2)}, device=mx.cpu())
    assert dense.weight.data(device=mx.cpu()).asnumpy().sum() == 4
    assert dense.weight.grad(device=mx.cpu()).shape == (2, 2)
    pixels = mx.nd.array(np.arange(12).reshape(2, 2, 3), dtype="uint8")
    mirrored = mx.gluon.data.vision.transforms.RandomFlipLeftRight(p=1)(pixels)
    assert (mirrored.asnumpy() == pixels.asnumpy()[:, ::-1]).all()


def test_operators_are_found_by_the_functions_that_call_them():
    from core.numpy_op_signature import _get_builtin_op

    assert _get_builtin_op("_np_sum") is mx.np.sum and _get_builtin_op("_npx_relu") is mx.npx.relu
    assert _get_builtin_op("_npi_random_uniform") is mx.np.random.uniform and _get_builtin_op("_npi_nosuch") is None
    assert str(_get_builtin_op("_np_cumsum").__signature__) == "(a, axis=None, dtype=None, out=None)"


def test_registered_operators_of_np_are_documented_functions():
    import core._numpy_op_doc as documented
    from core.numpy_op_signature import _get_builtin_op

    names = {name for name in mx.operator.get_all_registered_operators() if name.startswith("_np_")}
    assert "_np_sum" in names
    for name in names - {"_np_function"}:  # by which symbols keep functions that are no operators
        assert inspect.signature(getattr(documented, name)) == _get_builtin_op(name).__signature__


def test_dir_shows_functions_beside_operators():
    assert {"foreach", "rand_zipfian", "box_nms"} <= set(dir(mx.nd.contrib)) & set(dir(mx.sym.contrib))
    assert {"normal", "normal_like"} <= set(dir(mx.nd.random)) & set(dir(mx.sym.random))
    assert not {"TABLE", "wrapper"} & set(dir(mx.sym.random))


def test_arrays_can_be_written_and_values_are_not_read_in_traces():
    assert mx.nd.ones(2).writable
    net = mx.gluon.nn.HybridLambda(lambda F, x: x.asnumpy())
    net.hybridize()
    with pytest.raises(mx.base.NotImplementedForSymbol):
        net(mx.nd.ones(2))
    with mx.autograd.record():
        y = mx.nd.ones(2) * 2
    with pytest.raises(TypeError, match="variables are arrays"):
        mx.autograd.grad(y, 3)


def test_svrg_assigns_full_gradients_and_steps_by_the_others():
    from core.contrib.svrg_optimization.svrg_optimizer import _SVRGOptimizer

    names = {0: "weight", 1: "weight_full"}
    chosen = _SVRGOptimizer("sgd", learning_rate=0.5, param_idx2name=names)
    for index, expected in ((0, 0.0), (1, 2.0)):
        weight, grad = mx.nd.ones(3), mx.nd.full(3, 2.0)
        chosen.update(index, weight, grad, chosen.create_state(index, weight))
        assert weight.asnumpy().tolist() == [expected] * 3


def test_names_are_shown_before_they_are_looked_up():
    """What a program looked up before is no other than what it finds in `dir`, and `np` has no names of `np.linalg`."""
    code = """
from core import np, npx, sym
missing = {"constraint_check", "from_numpy", "index_add", "nonzero", "relu", "savez", "waitall"} - set(dir(npx))
print(missing, "Custom" in dir(sym), [name for name in ("eig", "qr", "solve") if hasattr(np, name)])
before = set(dir(npx))
print([name for name in before if not hasattr(npx, name)], set(dir(npx)) - before - {"control_flow", "files"})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set() True []\n[] set()\n"
