"""Blocks of symbols run as plans, as MXNet's did by CachedOp, and users see nothing of it."""

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd, sym
from gluon import nn


def array(*shape):
    return nd.array(np.random.RandomState(0).standard_normal(shape).astype("float32"))


@pytest.fixture
def files(tmp_path):
    """A small network, and what it was exported to."""
    mx.random.seed(0)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(), nn.Dense(4))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    net(array(2, 3, 8, 8))
    return net, net.export(str(tmp_path / "net"))


def imported(files):
    symbols, parameters = files
    return gluon.SymbolBlock.imports(symbols, ["data"], parameters)


def test_imported_networks_run_as_plans_without_being_asked(files):
    net, written = files
    block, x = imported(written), array(2, 3, 8, 8)
    found = block(x)
    assert block._compiled is not None and len(block.plan_of(x).forward.steps) < 9
    np.testing.assert_allclose(found.asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-6)
    block.hybridize(False)
    np.testing.assert_allclose(block(x).asnumpy(), found.asnumpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(mx.MXNetError, match="not hybridized"):
        block.plan_of(x)


def test_parts_of_a_network_and_other_shapes(files):
    _, (symbols, parameters) = files
    internals = sym.load(symbols).get_internals()
    names = [name for name in internals.list_outputs() if name.endswith("_output")]
    block = gluon.SymbolBlock(sym.Group([internals[name] for name in names]), sym.var("data"))
    block.load_parameters(parameters, ignore_extra=True)
    for rows in (8, 8, 8, 8, 10, 12):
        x = array(2, 3, 8, rows) if rows == 8 else array(rows, 3, 8, 8)
        planned = block(x)
        block.hybridize(False)
        wanted = block(x)
        block.hybridize()
        for one, other in zip(planned, wanted, strict=True):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)


def test_shapes_are_inferred_and_parameters_initialized(files):
    _, (symbols, _) = files
    block = gluon.SymbolBlock.imports(symbols, ["data"])
    with pytest.raises(RuntimeError, match="has not been initialized"):
        block(array(2, 3, 8, 8))
    block.initialize()
    assert block(array(2, 3, 8, 8)).shape == (2, 4)
    assert all(min(p.shape) > 0 for p in block.collect_params().values())


def test_hooks_are_called_once_and_see_arrays(files):
    block, seen = imported(files[1]), []
    block.register_forward_pre_hook(lambda net, inputs: seen.append(inputs[0].shape))
    block.register_forward_hook(lambda net, inputs, out: seen.append(out.shape))
    for _ in range(3):
        block(array(2, 3, 8, 8))
    assert seen == [(2, 3, 8, 8), (2, 4)] * 3


def test_a_summary_is_made_of_a_network_that_nobody_hybridized(files, capsys):
    block = imported(files[1])
    block.summary(array(2, 3, 8, 8))
    assert "SymbolBlock" in capsys.readouterr().out
    block.hybridize()
    with pytest.raises(AssertionError, match="is hybridized"):
        block.summary(array(2, 3, 8, 8))


def test_casts_changed_parameters_and_gradients(files):
    block, x = imported(files[1]), array(2, 3, 8, 8)
    before = block(x).asnumpy()
    for p in block.collect_params().values():
        if "dense" in p.name and p.name.endswith("bias"):
            p.set_data(p.data() + 1)
    np.testing.assert_allclose(block(x).asnumpy(), before + 1, rtol=1e-4, atol=1e-5)
    with autograd.record():
        block(x).sum().backward()
    grads = {name: p.grad().asnumpy() for name, p in block.collect_params().items() if p.grad_req != "null"}
    block.hybridize(False)
    with autograd.record():
        block(x).sum().backward()
    for name, grad in grads.items():
        wanted = block.collect_params()[name].grad().asnumpy()
        np.testing.assert_allclose(grad, wanted, rtol=1e-4, atol=1e-5 * max(abs(wanted).max(), 1), err_msg=name)
    again = imported(files[1])
    again.cast("float64")
    assert again(x.astype("float64")).dtype == np.float64


def test_results_whose_shape_depends_on_values():
    x, mask = sym.var("x"), sym.var("mask")
    block = gluon.SymbolBlock(sym.contrib.boolean_mask(x, mask), [x, mask])
    for kept in ([1, 0, 1], [0, 0, 1]):
        assert block(array(3, 2), nd.array(kept)).shape == (sum(kept), 2)


def test_operators_are_shown_as_by_hybridized_blocks(files):
    block, seen = imported(files[1]), []
    block.register_op_hook(lambda name, operator, array: seen.append(name))
    block(array(2, 3, 8, 8))
    assert any("conv" in name for name in seen)
