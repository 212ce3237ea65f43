"""Every operator of the table gives the same numbers, types, shapes and errors whichever way a program reaches it.

The samples of the table (`tests.support.samples`) are run operator by operator, hybridized, hybridized with
`static_alloc`, bound as a symbol, read back from the symbol's JSON, and exported and imported: outputs, gradients of
the sum of the outputs, what is written to states, and the random numbers drawn.
"""

from __future__ import annotations

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd
from core.base import MXNetError
from core.ops.registry import TABLE
from core.symbol import Symbol
from core.symbol.compose import compose
from core.util import np_shape
from tests.support.samples import draw, samples

NAMES = sorted({op.name for op in TABLE.values() if samples(op)})
AGREEMENT = {"rtol": 2e-6, "atol": 1e-6}  # of what is computed by another formula in a file
# Attributes that no text stands for: indices of arrays, which files hold as the operators `slice` and `_slice_assign`.
UNWRITTEN = {"_slice_view", "_put_part"}
# The shapes of their results depend on values.
BY_VALUE = {"_contrib_boolean_mask", "_contrib_dynamic_reshape"}
# In a file: these of the kernels that give the same numbers are what other programs know, which round otherwise.
REWRITTEN = {"_attention", "_dropout_attention", "_onednn_softmax"}


@pytest.mark.parametrize("name", NAMES)
def test_every_way_to_an_operator_gives_the_same(name, tmp_path):
    op = TABLE[name]
    found = samples(op)
    for sample, flags in zip(found[:: max(1, len(found) // 2)], ({}, {"static_alloc": True, "static_shape": True})):
        case = Case(op, sample)
        with np_shape(case.has_empty):
            check(case, flags, tmp_path)


def check(case: Case, flags: dict, folder) -> None:
    eager = outcome(case.eager)
    assert_same(outcome(lambda: case.hybridized(**flags)), eager, f"{case}: hybridized {flags}")
    if isinstance(eager, type):
        return
    symbol = case.symbol()
    visible = {k: v for k, v in eager.items() if case.is_visible(k, len(symbol.list_outputs()))}
    assert_same(outcome(lambda: case.bound(symbol)), visible, f"{case}: bound")
    plain = {k: v for k, v in visible.items() if k.startswith(("output", "predicted"))}
    assert_same(outcome(lambda: case.bound(symbol, "null")), plain, f"{case}: bound without gradients")
    read = mx.sym.load_json(symbol.tojson(remove_amp_cast=False))
    assert read.list_inputs() == symbol.list_inputs() and read.list_outputs() == symbol.list_outputs()
    if case.op.name not in UNWRITTEN:
        nearly = case.op.name in REWRITTEN
        assert_same(outcome(lambda: case.bound(read)), visible, f"{case}: bound after JSON", nearly)
        predicted = {k: v for k, v in visible.items() if k.startswith("predicted")}
        if case.op.name not in ("amp_cast", "amp_multicast"):  # which files leave out
            assert_same(outcome(lambda: case.imported(folder)), predicted, f"{case}: exported", nearly)
    outputs = [visible[k] for k in visible if k.startswith("output")]
    if case.op.name not in BY_VALUE and (case.has_empty or all(v.size for v in outputs)):
        for infer in (symbol.infer_shape, symbol.infer_shape_partial):
            assert infer(**case.shapes)[1] == [v.shape for v in outputs], f"{case}: {infer.__name__}"
    assert [np.dtype(t) for t in symbol.infer_type(**case.types)[1]] == [v.dtype for v in outputs], case


class Case:
    """One sample, in float32."""

    def __init__(self, op, sample):
        self.op, self.sample = op, sample
        self.values, self.moved, _ = draw(op, sample)
        self.values = [None if v is None else np.asarray(v) for v in self.values]
        self.values = [v.astype("float32") if v is not None and v.dtype == "float64" else v for v in self.values]
        given = [v for v in self.values if v is not None]
        self.has_empty = any(0 in v.shape or v.shape == () for v in given)
        self.shapes = {f"x{k}": v.shape for k, v in self.given()}
        self.types = {f"x{k}": v.dtype for k, v in self.given()}

    def __str__(self):
        return f"{self.op.name}{[None if v is None else v.shape for v in self.values]} {self.sample.attrs}"

    def given(self):
        return [(k, v) for k, v in enumerate(self.values) if v is not None]

    def arrays(self):
        return {k: mx.nd.array(v, dtype=v.dtype) for k, v in self.given()}

    @staticmethod
    def is_visible(key: str, outputs: int) -> bool:
        return not key.startswith(("output", "predicted")) or int(key.split()[1]) < outputs

    def compose(self, F, inputs):
        """The operator applied to arrays or symbols."""
        inputs = dict(zip([k for k, _ in self.given()], inputs, strict=True))
        if F is mx.nd:
            return listed(self.op(*[inputs.get(k) for k in range(len(self.values))], **self.sample.attrs))
        slots = dict(zip(self.op.inputs, [inputs.get(k) for k in range(len(self.values))], strict=False))
        named = {slot: x for slot, x in slots.items() if x is not None}
        symbols = list(inputs.values()) if self.op.variadic else named
        return compose(self.op, self.op.name, symbols, self.sample.attrs, Symbol)

    def symbol(self) -> Symbol:
        return self.compose(mx.sym, [mx.sym.var(f"x{k}") for k, _ in self.given()])

    def run(self, function) -> dict[str, np.ndarray]:
        """Outputs and gradients while recording, what was written, and outputs of new arrays without recording."""
        arrays = self.arrays()
        for k in self.moved:
            arrays[k].attach_grad()
        mx.random.seed(7)
        with autograd.record(train_mode=self.sample.training):
            results = listed(function(*arrays.values()))
        taped = [r for r in results if r._entry is not None]
        found = {f"output {i}": r.asnumpy() for i, r in enumerate(results)}
        if taped:
            autograd.backward(taped, train_mode=self.sample.training)
        found |= {f"gradient {k}": arrays[k].grad.asnumpy() for k in self.moved}
        found |= {f"written {k}": x.asnumpy() for k, x in arrays.items()}
        return found | self.predictions(function)

    def predictions(self, function) -> dict[str, np.ndarray]:
        mx.random.seed(9)
        with autograd.predict_mode():
            return {f"predicted {i}": r.asnumpy() for i, r in enumerate(listed(function(*self.arrays().values())))}

    def eager(self):
        return self.run(lambda *arrays: self.compose(mx.nd, arrays))

    def hybridized(self, **flags):
        net = Net(self)
        net.hybridize(**flags)
        return self.run(net)

    def bound(self, symbol, request: str = "write"):
        found = {}
        for step in ("train", "predict"):
            arrays = {f"x{k}": x for k, x in self.arrays().items()}
            states = {n: arrays[n] for n in symbol.list_auxiliary_states()}
            arguments = {n: arrays[n] for n in symbol.list_arguments()}
            gradients = {f"x{k}": arrays[f"x{k}"].zeros_like() for k in self.moved}
            bound = {n: g for n, g in gradients.items() if n in arguments} if request != "null" else None
            executor = symbol.bind(mx.cpu(), arguments, bound, request, aux_states=states)
            if step == "predict":
                mx.random.seed(9)
                found |= {f"predicted {i}": r.asnumpy() for i, r in enumerate(executor.forward())}
                continue
            mx.random.seed(7)
            outputs = executor.forward(is_train=self.sample.training)
            found |= {f"output {i}": r.asnumpy() for i, r in enumerate(outputs)}
            if request != "null":
                executor.backward(is_train=self.sample.training)
                found |= {f"gradient {n[1:]}": g.asnumpy() for n, g in gradients.items()}
                found |= {f"written {n[1:]}": x.asnumpy() for n, x in arrays.items()}
        return found

    def imported(self, folder):
        net = Net(self)
        net.hybridize()
        self.predictions(net)
        net.export(str(folder / "net"))
        names = ["data"] if len(self.given()) == 1 else [f"data{i}" for i in range(len(self.given()))]
        block = gluon.SymbolBlock.imports(str(folder / "net-symbol.json"), names, str(folder / "net-0000.params"))
        return self.predictions(block)


class Net(gluon.HybridBlock):
    def __init__(self, case: Case):
        super().__init__()
        self._case = case

    def hybrid_forward(self, F, *inputs):
        return self._case.compose(F, inputs)


def listed(results) -> list:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def outcome(function):
    """What it gives, or the class of MXNetError that it raises."""
    try:
        return function()
    except (MXNetError, TypeError) as error:
        return type(error)


def assert_same(found, expected, what: str, nearly: bool = False) -> None:
    if isinstance(expected, type) or isinstance(found, type):
        assert found is expected, what
        return
    assert found.keys() == expected.keys(), what
    for key, value in expected.items():
        assert (found[key].shape, found[key].dtype) == (value.shape, value.dtype), f"{what}, {key}"
        if nearly:
            np.testing.assert_allclose(found[key], value, err_msg=f"{what}, {key}", **AGREEMENT)
        else:
            np.testing.assert_array_equal(found[key], value, err_msg=f"{what}, {key}")
