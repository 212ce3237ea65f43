"""Kernels on tensors without memory give the shapes, dtypes and layouts of those that compute."""

from __future__ import annotations

import importlib

import pytest
import torch

from core import kernels
from core.kernels import meta
from core.kernels.formula import CONSTRUCTORS, Expr, Formula, sigmoid
from core.kernels.row_program import Result, RowProgram

F32 = torch.float32


def t(*shape, dtype=F32, last=False):
    x = torch.ones(shape).to(dtype)
    return x.contiguous(memory_format=torch.channels_last) if last else x


X, W, C = t(2, 4, 6, 6), t(6, 4, 3, 3), t(4)
HOW = (2, 2), (1, 1), (1, 1), 1
PRODUCT = Expr("input", 0) * Expr("input", 1)
ROWS = RowProgram(
    (Result(PRODUCT, "whole", (2, 3, 4), "float32"), Result(PRODUCT, "column", (4,), "float16"), Result(CONSTRUCTORS["row_max"](PRODUCT), "row", (2, 3), "float32")),
    (2, 3, 4), 1,
)  # fmt: skip
SAMPLES = {
    "conv.conv": [(X, W, t(6), *HOW), (t(2, 4, 6, 6, last=True), W, None, *HOW), (X, t(4, 1, 3, 3), None, *HOW[:3], 4), (X, W, None, *HOW, "relu", t(2, 6, 3, 3))],
    "conv.pack": [(W, (2, 4, 6, 6), *HOW)],
    "conv.code_conv": [(t(2, 4, 6, 6, dtype=torch.uint8), t(6, 4, 3, 3, dtype=torch.int8), t(6), *HOW)],
    "conv.pack_codes": [(t(6, 4, 3, 3, dtype=torch.int8), (2, 4, 6, 6), *HOW, True)],
    "conv.conv_data_grad": [(t(2, 6, 3, 3), W, (2, 4, 6, 6), *HOW)],
    "conv.conv_weight_grad": [(t(2, 6, 3, 3), X, (6, 4, 3, 3), *HOW)],
    "conv.conv_bias_grad": [(t(2, 6, 3, 3),)],
    "pool.max_pool": [(X, (3, 3), (2, 2), ((1, 1), (1, 2))), (t(2, 3, 7), (2,), (2,), ((0, 1),))],
    "pool.avg_pool": [(X, (2, 2), (2, 2), ((0, 0), (0, 0)), True)],
    "pool.max_pool_grad": [(t(2, 4, 3, 3), t(2, 4, 3, 3, dtype=torch.int64), (2, 4, 6, 6), (2, 2), (2, 2), ((0, 0), (0, 0)))],
    "pool.avg_pool_grad": [(t(2, 4, 3, 3), (2, 4, 6, 6), (2, 2), (2, 2), ((0, 0), (0, 0)), True)],
    "norm.batch_norm": [(X, C, C, 1, 1e-5), (t(2, 4, 6, 6, last=True), C, None, 1, 1e-5), (t(3, 4, dtype=torch.float64), None, None, 1, 0.1)],
    "norm.batch_norm_inference": [(X, C, C, C, C, 1, 1e-5)],
    "norm.batch_norm_grad": [(X, X, C, C, C, 1)],
    "norm.batch_norm_inference_grad": [(X, X, C, C, C, 1, 1e-5)],
    "norm.move_statistics": [(C.clone(), C.clone(), C, C, 0.9, 1e-5)],
    "norm.layer_norm": [(t(2, 3, 4), C, C, 2, 1e-5), (t(2, 4, 3), C, C, 1, 1e-5)],
    "norm.layer_norm_grad": [(t(2, 3, 4), t(2, 3, 4), C, t(2, 3, 1), t(2, 3, 1), 2)],
    "norm.group_norm": [(X, C, C, 2, 1e-5)],
    "norm.group_norm_grad": [(X, X, C, t(2, 2), t(2, 2), 2)],
    "matmul.matmul": [(t(2, 3, 4), t(2, 4, 5)), (t(4, 3), t(5, 4), True, True), (t(2, 3, 4), t(4, 5))],
    "matmul.linear": [(t(2, 3, 4), t(5, 4), t(5)), (t(2, 4, dtype=torch.bfloat16), t(5, 4, dtype=torch.bfloat16))],
    "matmul.pack": [(t(5, 4), 3)],
    "softmax.softmax": [(X, 1)],
    "softmax.onednn_softmax": [(X, 1)],
    "softmax.log_softmax": [(X, 3)],
    "softmax.softmax_grad": [(X, X, 1)],
    "softmax.log_softmax_grad": [(X, X, 1)],
    "softmax.masked_softmax": [(X, t(2, 6, 6, dtype=torch.int32), 1), (t(2, 3, dtype=torch.float16), t(2, dtype=torch.int64), 1)],
    "softmax.cross_entropy": [(X, t(2, 4, 6), 3)],
    "softmax.cross_entropy_grad": [(t(2, 4, 6), X, t(2, 4, 6), 3)],
    "reduce.sum": [(X, (0, 2), False), (X, (1,), True, torch.float64)],
    "reduce.mean": [(X, (2, 3), True), (t(3, 4, dtype=torch.int32), (0,), False)],
    "reduce.max": [(X, (1,), False)],
    "reduce.min": [(X, (0, 1, 2, 3), False)],
    "boxes.priors": [(X, (0.5, 0.3), (1.0, 2.0, 0.5), False, (-1.0, -1.0), (0.5, 0.5))],
    "boxes.proposals": [(t(2, 12, 4, 4), t(2, 24, 4, 4), t(2, 3), 20, 7, 0.7, 4, (2, 4), (0.5, 1, 2), 4, False)],
    "reduce.argmax": [(X, 1, False), (X, -1, True, F32)],
    "reduce.argmin": [(t(3, 4, dtype=torch.int32), 0, False)],
    "index.pick": [(X, t(2, 6, 6), 1, False), (t(2, 3), t(2), -1, True), (t(2, 3), t(1), 1, False)],
    "index.embedding": [(t(2, 3, dtype=torch.int64), t(5, 4))],
    "index.embedding_grad": [(t(2, 3, 4), t(2, 3, dtype=torch.int64), (5, 4))],
    "index.clipped": [(t(2, 3), 5), (t(2, 3, dtype=torch.int64), 5)],
    "index.wrapped": [(t(2, 3), 5)],
    "index.wrapped_negative": [(t(2, 3), 5)],
    "index.one_hot": [(t(2, 3), 5, 1.0, 0.0, F32), (t(0, dtype=torch.int64), 5, 3.0, 1.0, torch.int32)],
    "index.sequence_reverse": [(t(4, 2, 3), None), (t(4, 2, 3), t(2))],
    "vision.resize_bilinear": [(X, (3, 5), True), (t(0, 4, 6, 6), (3, 5), False)],
    "vision.roi_align": [(X, t(3, 5), (2, 2), 1.0, 2, False, False), (X, t(3, 4), (2, 2), 1.0, 0, True, True)],
    "vision.roi_align_grad": [(t(3, 4, 2, 2), t(3, 5), (2, 2), 1.0, 2, False, False, (2, 4, 6, 6))],
    "deformable.columns": [(X, t(2, 18, 6, 6), None, (3, 3), (1, 1), (1, 1), (1, 1), 1), (X, t(2, 36, 6, 6), t(2, 18, 6, 6), (3, 3), (1, 1), (1, 1), (1, 1), 2)],
    "deformable.columns_grad": [(t(2, 4, 9, 36), X, t(2, 36, 6, 6), t(2, 18, 6, 6), (3, 3), (1, 1), (1, 1), (1, 1), 2), (t(2, 4, 9, 36), X, t(2, 18, 6, 6), None, (3, 3), (1, 1), (1, 1), (1, 1), 1)],
    "pointwise.pointwise_rows": [(ROWS, [t(2, 3, 4), t(4)])],
    "random.dropout": [(X, 0.5, 3)],
}  # fmt: skip


def without_memory(value):
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return [without_memory(v) for v in value] if isinstance(value, list) else value


def test_every_kernel_has_a_sample():
    assert set(meta.KERNELS) == {*SAMPLES, "pointwise.pointwise"}


@pytest.mark.parametrize("name", SAMPLES)
def test_results_are_described(name):
    room, function = name.split(".")
    compute = getattr(importlib.import_module(f"core.kernels.cpu.{room}"), function)
    for arguments in SAMPLES[name]:
        expected = compute(*arguments)
        with kernels.without_memory():
            found = getattr(getattr(kernels, room), function)(*map(without_memory, arguments))
        if expected is None:
            assert found is None
            continue
        if isinstance(expected, torch.Tensor):
            expected, found = (expected,), (found,)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert a.is_meta and (a.shape, a.dtype) == (b.shape, b.dtype)


def test_pointwise():
    formula = Formula.of(lambda x, y: sigmoid(x) + y, name="f")
    x, y = without_memory(t(3, 1)), without_memory(t(1, 4))
    found = meta.pointwise(formula, (x, y), (), torch.float64)
    assert (tuple(found.shape), found.dtype) == ((3, 4), torch.float64)
    assert meta.pointwise(Formula.of(lambda x: x, name="same"), (x,), (), F32) is x


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("conv.conv", (X, t(6, 3, 3, 3), None, *HOW)),
        ("conv.conv", (t(2, 4, 1, 1), W, None, (1, 1), (1, 1), (0, 0), 1)),
        ("matmul.linear", (t(2, 3), t(5, 4))),
        ("matmul.matmul", (t(2, 3), t(4, 5))),
        ("norm.batch_norm", (X, t(3), C, 1, 1e-5)),
        ("softmax.masked_softmax", (X, t(2, 4), 3)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(name, arguments):
    with pytest.raises(RuntimeError, match=r"shapes|larger"):
        meta.KERNELS[name](*map(without_memory, arguments))


def test_joined():
    parts = [t(2, 3), t(2, 5)]
    assert meta.joined(list(map(without_memory, parts)), 1).shape == torch.cat(parts, 1).shape
    with pytest.raises(RuntimeError, match="joining"):
        meta.joined([without_memory(t(2, 3)), without_memory(t(3, 5))], 1)


def test_broadcast():
    for shapes in ([(3, 1), (1, 4)], [(2, 3), ()], [(5,), (2, 1), (1, 1, 5)]):
        assert meta.broadcast(shapes) == tuple(torch.broadcast_shapes(*shapes))
    with pytest.raises(RuntimeError, match="broadcast"):
        meta.broadcast([(3,), (4,)])


def test_threads_come_and_go_in_any_order():
    first, second = kernels.without_memory(), kernels.without_memory()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert kernels._direct and kernels.wing() is None
