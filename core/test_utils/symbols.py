"""Checks of symbols: values, gradients against expectations and finite differences, agreement of contexts, dtypes."""

from __future__ import annotations

import time

import numpy as np

from core import ndarray as nd
from core import symbol as sym_face
from core.ndarray import NDArray
from core.symbol import Symbol
from core.test_utils.arrays import create_sparse_array
from core.test_utils.compare import (
    assert_almost_equal,
    default_numeric_eps,
    get_tolerance,
    get_tols,
)
from core.test_utils.environment import default_context

_FLOATS = (np.float16, np.float32, np.float64)


def simple_forward(sym, ctx=None, is_train=False, **inputs):
    """The outputs of a symbol for NumPy arrays by name: a NumPy array, or a list of several."""
    executor = sym.bind(ctx or default_context(), args={name: nd.array(value) for name, value in inputs.items()})
    outputs = [output.asnumpy() for output in executor.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def numeric_grad(executor, location, aux_states=None, eps=1e-4, use_forward_train=True, dtype=np.float32):
    """Gradients of the sum of the first output by central differences over `eps`, by name.

    location, aux_states: NumPy arrays by name; the executor's arrays are changed.
    """

    def total():
        for name, value in (aux_states or {}).items():
            executor.aux_dict[name][:] = nd.array(value, dtype=dtype)
        return executor.forward(is_train=use_forward_train)[0].asnumpy()

    def put(name, value):
        target = executor.arg_dict[name]
        nd.array(value, dtype=dtype).tostype(target.stype).copyto(target)

    grads = {name: np.zeros(value.shape, dtype=dtype) for name, value in location.items()}
    for name, value in location.items():
        location[name] = np.ascontiguousarray(value)
        put(name, value)
    for name, value in location.items():
        if value.dtype.kind != "f":
            continue
        moved = value.copy()
        for i in range(value.size):
            ends = []
            for step in (eps / 2, -eps / 2):
                moved.flat[i] = value.flat[i] + step
                put(name, moved)
                ends.append(total())
            grads[name].flat[i] = (ends[0] - ends[1]).sum() / eps
            moved.flat[i] = value.flat[i]
        put(name, value)
    return grads


def check_numeric_gradient(sym, location, aux_states=None, numeric_eps=None, rtol=None, atol=None, grad_nodes=None,
                           use_forward_train=True, ctx=None, grad_stype_dict=None, dtype=np.float32):  # fmt: skip
    """Raises AssertionError where gradients differ from finite differences.

    location: values of the arguments, by name or in order. grad_nodes: the arguments whose gradients are checked, or
    their grad_req by name. The outputs are weighed with random numbers.
    """
    if dtype not in _FLOATS:
        raise AssertionError(f"gradients are checked in float16, float32 or float64, not {dtype}")
    ctx = ctx or default_context()
    location = _parse_location(sym, location, ctx, dtype)
    aux_states = _parse_aux_states(sym, aux_states, ctx, dtype)
    values = {name: array.asnumpy() for name, array in location.items()}
    states = None if aux_states is None else {name: array.asnumpy() for name, array in aux_states.items()}
    if grad_nodes is None:
        grad_nodes = sym.list_arguments()
    requests = dict(grad_nodes) if isinstance(grad_nodes, dict) else dict.fromkeys(grad_nodes, "write")
    shape = sym.infer_shape(**{name: array.shape for name, array in location.items()})[1][0]
    out = sym_face.make_loss(sym.as_nd_ndarray() * sym_face.var("__random_proj"))
    location["__random_proj"] = nd.array(np.random.rand(*shape) + 0.1, ctx=ctx, dtype=dtype)
    before = {name: np.random.normal(0, 0.01, size=location[name].shape) for name in (*requests, "__random_proj")}
    grads = {name: nd.array(value, ctx=ctx, dtype=dtype) for name, value in before.items()}
    for name, stype in (grad_stype_dict or {}).items():
        if name in grads and stype not in (None, "default"):
            grads[name] = nd.zeros(grads[name].shape, ctx, dtype, stype=stype)
    executor = out.bind(ctx, location, grads, requests, aux_states)
    output = executor.forward(is_train=True)[0]
    eps = get_tolerance(output, numeric_eps, default_numeric_eps())
    executor.backward()
    found = {name: array.asnumpy() for name, array in executor.grad_dict.items() if array is not None}
    expected = numeric_grad(executor, values, states, eps, use_forward_train, dtype)
    for name, request in requests.items():
        _compare_gradient(name, request, expected[name], found[name], before[name], rtol, atol, False, "NUMERICAL")


def check_symbolic_forward(sym, location, expected, rtol=None, atol=None, aux_states=None, ctx=None, equal_nan=False,
                           dtype=np.float32):  # fmt: skip
    """Raises AssertionError where outputs differ from `expected`, a list or a dictionary by name; gives the outputs."""
    ctx = ctx or default_context()
    location = _parse_location(sym, location, ctx, dtype)
    aux_states = _parse_aux_states(sym, aux_states, ctx, dtype)
    names = sym.list_outputs()
    if isinstance(expected, dict):
        expected = [expected[name] for name in names]
    executor = sym.bind(ctx, location, grad_req="null", aux_states=aux_states)
    outputs = executor.forward(is_train=False)
    for name, wanted, output in zip(names, expected, outputs):
        titles = (f"EXPECTED_{name}", f"FORWARD_{name}")
        assert_almost_equal(wanted, output, rtol, atol, titles, equal_nan=equal_nan)
    return outputs


def check_symbolic_backward(sym, location, out_grads, expected, rtol=None, atol=None, aux_states=None, grad_req="write",
                            ctx=None, grad_stypes=None, equal_nan=False, dtype=np.float32):  # fmt: skip
    """Raises AssertionError where gradients differ from `expected`, in order or by name; gives the gradients.

    out_grads: gradients of the outputs. grad_req: for all arguments, in order or by name.
    """
    ctx = ctx or default_context()
    location = _parse_location(sym, location, ctx, dtype)
    aux_states = _parse_aux_states(sym, aux_states, ctx, dtype)
    names = sym.list_arguments()
    if isinstance(expected, (list, tuple)):
        expected = dict(zip(names, expected))
    before = {name: np.random.normal(size=value.shape) for name, value in sorted(expected.items())}
    grads = {}
    for name, value in before.items():
        stype = grad_stypes[name] if name in (grad_stypes or ()) else None
        if stype not in (None, "default"):
            grads[name] = create_sparse_array(value.shape, stype, density=0.0)
        else:
            grads[name] = nd.array(value, ctx=ctx, dtype=expected[name].dtype if dtype == "asnumpy" else dtype)
    if isinstance(grad_req, str):
        grad_req = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, (list, tuple)):
        grad_req = dict(zip(names, grad_req))
    executor = sym.bind(ctx, location, grads, grad_req, aux_states)
    executor.forward(is_train=True)
    if isinstance(out_grads, dict):
        out_grads = {name: _array(value, ctx, dtype) for name, value in out_grads.items()}
    elif out_grads is not None:
        out_grads = [_array(value, ctx, dtype) for value in out_grads]
    executor.backward(out_grads)
    for name, wanted in expected.items():
        _compare_gradient(
            name, grad_req[name], wanted, grads[name].asnumpy(), before[name], rtol, atol, equal_nan, "EXPECTED"
        )
    return grads


def check_speed(sym, location=None, ctx=None, N=20, grad_req=None, typ="whole", **kwargs):
    """Seconds of a forward pass (`typ="forward"`), or of both passes ("whole"): the mean of N. Shapes in `kwargs`."""
    if typ not in ("whole", "forward"):
        raise ValueError(f"typ is 'whole' or 'forward', got {typ!r}")
    ctx = ctx or default_context()
    shapes = kwargs if location is None else {name: value.shape for name, value in location.items()}
    executor = sym.simple_bind(ctx, grad_req or "write", **shapes)
    if location is None:
        location = {name: np.random.normal(size=array.shape) for name, array in executor.arg_dict.items()}
    for name, value in location.items():
        executor.arg_dict[name][:] = value.astype(executor.arg_dict[name].dtype)

    def run():
        outputs = executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(outputs)

    run()
    nd.waitall()
    begin = time.time()
    for _ in range(N):
        run()
    nd.waitall()
    return (time.time() - begin) / N


def check_consistency(sym, ctx_list, scale=1.0, grad_req="write", arg_params=None, aux_params=None, rtol=None,
                      atol=None, raise_on_err=True, ground_truth=None, equal_nan=False, use_uniform=False,
                      rand_type=np.float64):  # fmt: skip
    """Raises AssertionError where a symbol gives different values or gradients on several
    contexts or in several dtypes.

    ctx_list: keywords of `simple_bind` (`ctx`, shapes, `type_dict`) for each. ground_truth: what to compare with, by
    name; by default what the most exact dtype gives. Returns it.
    """
    if len(ctx_list) < 2:
        raise AssertionError("check_consistency compares at least two contexts")
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    executors = [s.simple_bind(grad_req=grad_req, **settings) for s, settings in zip(symbols, ctx_list, strict=True)]
    outputs, arguments = symbols[0].list_outputs(), symbols[0].list_arguments()
    for s in symbols:
        if (s.list_outputs(), s.list_arguments()) != (outputs, arguments):
            raise AssertionError("the symbols have different arguments or outputs")
    values, states = dict(arg_params or {}), dict(aux_params or {})
    _draw_missing(values, executors[0].arg_dict, scale, use_uniform, rand_type)
    for executor in executors:
        _fill(executor, values, states, grad_req)
        executor.forward(is_train=False)
    kinds = [np.dtype(e.outputs[0].dtype) for e in executors]
    best = int(np.argmax([kind.itemsize for kind in kinds]))
    found = [dict(zip(outputs, e.outputs)) for e in executors]

    def compare():
        truth = found[best] if ground_truth is None else ground_truth
        for i, kind in enumerate(kinds):
            if i == best:
                continue
            for name, array in found[i].items():
                names = f"{name} of {ctx_list[i]}", f"{name} of {ctx_list[best]}"
                try:
                    _compare_kinds(array, truth[name], kind, names, rtol, atol, equal_nan)
                except AssertionError as error:
                    if raise_on_err:
                        raise
                    print(error)
        return truth

    truth = compare()
    if grad_req != "null":
        smallest = min(kinds, key=lambda kind: kind.itemsize)
        for executor in executors:
            executor.forward(is_train=True)
        heads = [o.astype(smallest).asnumpy() for o in executors[0].outputs]
        for executor in executors:
            executor.backward([nd.array(h, executor._ctx, o.dtype) for h, o in zip(heads, executor.outputs)])
        found = [
            dict(zip(outputs, e.outputs)) | {n: g for n, g in e.grad_dict.items() if g is not None} for e in executors
        ]
        truth = {**truth, **compare()}
    return truth


def _draw_missing(values: dict, arguments: dict, scale: float, use_uniform: bool, dtype) -> None:
    """Random numbers for those of the arguments that have no values yet."""
    for name, array in sorted(arguments.items()):
        if name not in values:
            draw = np.random.uniform(-0.92 * scale, 0.92 * scale, array.shape) if use_uniform else np.random.normal(
                size=array.shape, scale=scale
            )  # fmt: skip
            values[name] = draw.astype(dtype)


def _fill(executor, values: dict, states: dict, grad_req: str) -> None:
    """Sets the arguments and states of an executor, states that are not given and gradients that are added to to 0."""
    for name, array in executor.arg_dict.items():
        value = values[name]
        array[:] = nd.array(value, dtype=array.dtype, ctx=array.context) if np.ndim(value) else value
    for name, array in executor.aux_dict.items():
        array[:] = states.get(name, 0)
    if grad_req == "add":
        for array in executor.grad_arrays:
            array[:] = 0


def _compare_kinds(array, wanted, kind: np.dtype, names: tuple[str, str], rtol, atol, equal_nan: bool) -> None:
    """AssertionError where an array that was computed in dtype `kind` is not what is wanted; None wants nothing."""
    if wanted is None:
        return
    tolerance = rtol, atol
    if kind.itemsize < np.dtype(array.dtype).itemsize:
        tolerance = get_tols(array.astype(kind), wanted, rtol, atol)
    assert_almost_equal(array, wanted, *tolerance, names=names, equal_nan=equal_nan)


def check_gluon_hybridize_consistency(net_builder, data_l, numpy_func=None, test_grad=True, rtol=1e-4, atol=1e-4):
    """Raises AssertionError where a block gives other outputs or gradients once it is hybridized.

    net_builder(): the block, without randomness, made of the same parameters each time. numpy_func: what it is to
    compute.
    """
    from core import autograd, initializer
    from core.util import np_array, np_shape

    with np_shape(True), np_array(True):
        saved, truth = None, None
        for hybrid in (False, True):
            inputs = [array.copy() for array in data_l]
            for array in inputs:
                array.attach_grad()
            net = net_builder()
            if hybrid:
                net.hybridize()
            net.initialize(initializer.Xavier())
            net(*inputs)
            params = net._collect_params_with_prefix()
            if saved is None:
                saved = {name: p.data().copy() for name, p in params.items()}
            for name, p in params.items():
                p.set_data(saved[name])
            with autograd.record(test_grad):
                out = net(*inputs)
            grads = {}
            if test_grad:
                out.backward(out)
                grads = {name: p.grad().asnumpy() for name, p in params.items() if p.grad_req != "null"}
                grads |= {f"input {i}": array.grad.asnumpy() for i, array in enumerate(inputs)}
            found = {"output": out.asnumpy(), **grads}
            truth = truth or found
            for name, value in found.items():
                assert_almost_equal(value, truth[name], rtol, atol, (f"hybridized {name}", name))
        if numpy_func is not None:
            assert_almost_equal(numpy_func(*(a.asnumpy() for a in data_l)), truth["output"], rtol, atol)


def _parse_location(sym, location, ctx, dtype=np.float32):
    """Arrays by argument, from NumPy arrays by name or in order."""
    names = sym.list_arguments()
    if isinstance(location, dict):
        if set(location) != set(names):
            raise ValueError(f"the values are for {sorted(location)}, but the arguments are {sorted(names)}")
    elif isinstance(location, (list, tuple)):
        location = dict(zip(names, location))
    else:
        raise AssertionError(f"values of arguments are a list or a dictionary, got {type(location).__name__}")
    return {name: _array(value, ctx, dtype) for name, value in sorted(location.items())}


def _parse_aux_states(sym, aux_states, ctx, dtype=np.float32):
    """Arrays by auxiliary state, from NumPy arrays by name or in order; None stays."""
    if aux_states is None:
        return None
    names = sym.list_auxiliary_states()
    if not isinstance(aux_states, dict):
        aux_states = dict(zip(names, aux_states))
    elif set(aux_states) != set(names):
        raise ValueError(f"the values are for {sorted(aux_states)}, but the auxiliary states are {sorted(names)}")
    return {name: _array(value, ctx, dtype) for name, value in aux_states.items()}


def _array(value, ctx, dtype):
    if isinstance(value, NDArray):
        return value
    value = np.asarray(value)
    return nd.array(value, ctx=ctx, dtype=value.dtype if dtype == "asnumpy" else dtype)


def _compare_gradient(name, request, expected, found, before, rtol, atol, equal_nan, title):
    wanted = {"write": expected, "add": expected, "null": before}.get(request)
    if wanted is None:
        raise ValueError(f"grad_req {request!r} of {name!r} is not one of write, add, null")
    got = found - before if request == "add" else found
    names = (f"{title}_{name}", f"BACKWARD_{name}")
    # What is subtracted from a gradient has the same dtype as the gradient, whatever NumPy made of it.
    assert_almost_equal(wanted, np.asarray(got, found.dtype), rtol, atol, names, equal_nan=equal_nan)
