"""What the user gets from an operator is memory of its own, as in MXNet: no write to it reaches another array."""

import numpy as np
import pytest

import core as mx
from core import nd, storage
from core.context import cpu
from core.dispatch import operator_function
from core.ndarray import NDArray
from core.ops.registry import TABLE
from tests.support.samples import draw, samples

SWEPT = [
    name
    for name, op in TABLE.items()
    if op.formula is None and op.inputs and not op.variadic and not name.startswith("_backward") and samples(op)
]
VIEWS = {"_slice_view"}  # basic indexing


@pytest.mark.parametrize("name", SWEPT)
def test_results_share_no_memory_with_operands(name):
    op = TABLE[name]
    function = operator_function(op, NDArray)
    for sample in samples(op):
        given = [v if v is None else mx.nd.array(v, dtype=np.asarray(v).dtype) for v in draw(op, sample)[0]]
        attrs = op.parse({**sample.attrs})
        results = function(*given, **{k: attrs[k] for k in sample.attrs})
        for r in results if isinstance(results, (list, tuple)) else [results]:
            shared = [v is not None and r.size and storage.same_memory(r._data, v._data) for v in given]
            assert not any(shared) or name in VIEWS, sample.attrs


NEW = [name for name in SWEPT if TABLE[name].memory == "new" and not TABLE[name].composite]


def _laid_out(tensors: list, layout: str) -> list:
    """The same values with other strides."""
    if layout == "transposed":
        return [t if t is None or t.dim() < 2 else t.transpose(0, -1).clone().transpose(0, -1) for t in tensors]
    if layout == "gaps":
        return [t if t is None or not t.dim() else t.repeat_interleave(2, -1)[..., ::2] for t in tensors]
    return tensors


@pytest.mark.parametrize("layout", ["tight", "transposed", "gaps"])
@pytest.mark.parametrize("name", NEW)
def test_records_that_promise_new_memory_keep_it(name, layout):
    op = TABLE[name]
    for sample in samples(op):
        given = [v if v is None else mx.nd.array(v, dtype=np.asarray(v).dtype)._data for v in draw(op, sample)[0]]
        attrs = op.parse(sample.attrs) | ({"key": 1} if op.rng else {})
        for training in (False, True) if op.train else (None,):
            more = {} if training is None else {"training": training}
            given = _laid_out(given, layout)
            results = op.forward(*given, **attrs, **more)
            results = results[0] if op.reserves else results
            for r in results if isinstance(results, (list, tuple)) else [results]:
                assert not any(v is not None and r.numel() and storage.same_memory(r, v) for v in given), sample.attrs


def test_identities_and_views_are_copies_once_one_is_written_to():
    mx.util.reset_np()
    for function in (mx.nd.Dropout, mx.nd.flatten, mx.nd.SequenceMask, lambda x: x.broadcast_to((2, 3)), mx.nd.squeeze):
        x = mx.nd.ones((2, 3))
        y = function(x)
        y += 1
        x[0] = 5
        np.testing.assert_array_equal(x.asnumpy(), [[5, 5, 5], [1, 1, 1]])
        np.testing.assert_array_equal(y.asnumpy(), 2 * np.ones((2, 3)))
    repeated = mx.nd.broadcast_to(mx.nd.ones((1, 3)), shape=(2, 3))
    repeated[0] = 5
    np.testing.assert_array_equal(repeated.asnumpy(), [[5, 5, 5], [1, 1, 1]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.reshape(-1), lambda x: mx.np.expand_dims(x, 0), lambda x: mx.np.roll(x, 3, 1), mx.np.atleast_2d,
        lambda x: mx.np.swapaxes(x, 0, 1), lambda x: mx.np.split(x, 2)[0], lambda x: mx.np.broadcast_to(x, (2, 3)),
        lambda x: mx.npx.dropout(x), lambda x: x.flatten(), lambda x: mx.np.moveaxis(x, 0, 1), mx.np.ravel,
    ],
)  # fmt: skip
def test_functions_of_np_do_not_return_views(function):
    x = mx.np.ones((2, 3))
    function(x)[:] = 0
    assert float(x.sum()) == 6


def test_parts_by_index_and_reshaped_nd_arrays_are_views():
    x = mx.nd.ones((2, 3))
    x[0][:] = 2
    x.reshape((-1,))[5] = 3
    x.reshape((0, -1))[1, 1] = 4
    x.detach()[1, 0] = 6
    np.testing.assert_array_equal(x.asnumpy(), [[2, 2, 2], [6, 4, 3]])
    y = mx.np.ones((2, 3))
    y[0][:] = 2
    mx.np.asarray(y)[1] = 3
    np.testing.assert_array_equal(y.asnumpy(), [[2, 2, 2], [3, 3, 3]])
    assert y.context == cpu()


def test_results_of_hybridized_blocks_share_no_memory_with_inputs():
    for function in (
        lambda F, x: F.Flatten(x), lambda F, x: F.Dropout(x), lambda F, x: F.reshape(x, (-1,)), lambda F, x: F.expand_dims(x, 0),
        lambda F, x: [F.identity(x), F.flatten(x) + 1, F.squeeze(x)],
    ):  # fmt: skip
        net = mx.gluon.nn.HybridLambda(function)
        net.hybridize()
        x = mx.nd.ones((2, 3))
        for _ in range(2):
            results = net(x)
            for y in results if isinstance(results, (list, tuple)) else [results]:
                y[:] = 0
        x.attach_grad()
        with mx.autograd.record(train_mode=False):
            results = net(x)
            total = sum(y.sum() for y in results) if isinstance(results, (list, tuple)) else results.sum()
        total.backward()
        assert x.sum().asscalar() == 6 and x.grad.sum().asscalar() % 6 == 0


def test_memory_of_views_and_of_little_is_not_taken_over():
    """What another array looks into stays where it is: the values are copied there."""

    def held(values):
        array = nd.array(values)
        return (array,)

    many = 1 << 15
    base = nd.zeros((2, many))
    part = base._data[1]
    assert not storage.take_ownership(part, held([1.0] * many))
    assert not storage.take_ownership(nd.zeros((4,))._data, held([1.0] * 4))
    alone = nd.zeros((many,))._data
    assert storage.take_ownership(alone, held([1.0] * many)) and float(alone[-1]) == 1
