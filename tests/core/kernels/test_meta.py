"""Kernels on tensors without memory give the shapes, dtypes and layouts of those that compute."""

from __future__ import annotations

import importlib

import pytest
import torch

from core import kernels
from core.kernels.contracts import rules
from core.kernels.cpu import rnn
from core.kernels.dispatch import KERNELS
from core.kernels.formula import CONSTRUCTORS, Expr, Formula, sigmoid
from core.kernels.row_program import Result, RowProgram

F32 = torch.float32


def t(*shape, dtype=F32, last=False):
    x = torch.ones(shape).to(dtype)
    return x.contiguous(memory_format=torch.channels_last) if last else x


X, W, C = t(2, 4, 6, 6), t(6, 4, 3, 3), t(4)
HOW = (2, 2), (1, 1), (1, 1), 1
EYE = torch.eye(3).repeat(2, 1, 1)
PRODUCT = Expr("input", 0) * Expr("input", 1)
ROWS = RowProgram(
    (Result(PRODUCT, "whole", (2, 3, 4), "float32"), Result(PRODUCT, "column", (4,), "float16"), Result(CONSTRUCTORS["row_max"](PRODUCT), "row", (2, 3), "float32")),
    (2, 3, 4), 1,
)  # fmt: skip
HEADS = t(2, 3, 4, 5)
RNN_HOW = "gru", 4, 1, True, 0.0, 3, True
RNN = rnn.rnn(t(5, 2, 3), t(2 * 3 * 4 * 9), t(2, 2, 4), None, *RNN_HOW)
SAMPLES = {
    "conv.conv": [(X, W, t(6), *HOW), (t(2, 4, 6, 6, last=True), W, None, *HOW), (X, t(4, 1, 3, 3), None, *HOW[:3], 4), (X, W, None, *HOW, "relu", t(2, 6, 3, 3))],
    "conv.conv_batch_norm": [(X, W, t(6), t(6), t(6), *HOW, 1e-5), (t(2, 4, 6, 6, last=True), W, None, None, None, *HOW, 1e-5)],
    "conv.pack": [(W, (2, 4, 6, 6), *HOW)],
    "conv.quantized_conv": [(t(2, 4, 6, 6, dtype=torch.uint8), t(6, 4, 3, 3, dtype=torch.int8), t(6), *HOW)],
    "conv.requantized_conv": [
        (t(2, 4, 6, 6, dtype=torch.uint8), t(6, 4, 3, 3, dtype=torch.int8), t(6), t(6), *HOW, signed, residual, meaning)
        for signed, residual, meaning in [(True, None, None), (False, t(2, 6, 3, 3, dtype=torch.uint8, last=True), t(1))]
    ],
    "conv.pack_quantized": [(t(6, 4, 3, 3, dtype=torch.int8), (2, 4, 6, 6), *HOW, True)],
    "conv.conv_data_grad": [(t(2, 6, 3, 3), W, (2, 4, 6, 6), *HOW)],
    "conv.conv_weight_grad": [(t(2, 6, 3, 3), X, (6, 4, 3, 3), *HOW)],
    "conv.conv_bias_grad": [(t(2, 6, 3, 3),)],
    "compression.pack_two_bits": [(t(7), t(7), 0.5)],
    "compression.sum_two_bits_": [(t(7), t(7), t(3, 2, dtype=torch.uint8), 1, 0.5)],
    "copies.contiguous": [(t(3, 4),), (t(3, 4).T,)],
    "copies.cast": [(t(3, 4), torch.int32), (t(3, 4).T, torch.float32)],
    "copies.flip": [(t(3, 4).T, (0,))],
    "copies.joined": [([t(3, 4), t(3, 2)], 1)],
    "copies.write_": [(t(3, 4), t(4))],
    "copies.add_": [(t(3, 4), t(4))],
    "copies.divided": [(t(3, 4).T, (1, 0, 3), 0)],
    "copies.roll": [(t(3, 4).T, 1, 0)],
    "fills.fill_": [(t(3, 4).T, 2.0)],
    "fills.evenly": [(1, 2, 5, torch.int64, torch.int32, torch.device("cpu"))],
    "fills.eye": [(3, 4, 1, torch.float16, torch.device("cpu"))],
    "fills.triangle": [(t(2, 3, 4), True, 1)],
    "copies.at_address_": [(C.clone(), torch.tensor([C.data_ptr()]), True)],
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
    "matmul.quantized_linear": [(t(2, 3, 4, dtype=torch.uint8), t(5, 4, dtype=torch.int8), t(5), t(5), True)],
    "matmul.pack_quantized": [(t(4, 4, dtype=torch.int8), 3)],
    "matmul.pack": [(t(5, 4), 3)],
    "softmax.softmax": [(X, 1)],
    "softmax.onednn_softmax": [(X, 1)],
    "softmax.log_softmax": [(X, 3)],
    "softmax.softmax_grad": [(X, X, 1)],
    "softmax.log_softmax_grad": [(X, X, 1)],
    "softmax.masked_softmax": [(X, t(2, 6, 6, dtype=torch.int32), 1), (t(2, 3, dtype=torch.float16), t(2, dtype=torch.int64), 1)],
    "softmax.cross_entropy": [(X, t(2, 4, 6), 3)],
    "softmax.cross_entropy_grad": [(t(2, 4, 6), X, t(2, 4, 6), 3)],
    "linear_loss.linear_cross_entropy": [
        (t(5, 3), t(7, 3), t(7), t(5)), (t(5, 3, dtype=torch.float16), t(7, 3, dtype=torch.float16), None, t(5)),
    ],
    "linear_loss.linear_cross_entropy_grad": [(t(5), t(5, 3), t(7, 3), t(7), t(5), t(5))],
    "reduce.sum": [(X, (0, 2), False), (X, (1,), True, torch.float64)],
    "reduce.mean": [(X, (2, 3), True), (t(3, 4, dtype=torch.int32), (0,), False)],
    "reduce.max": [(X, (1,), False)],
    "reduce.min": [(X, (0, 1, 2, 3), False)],
    "boxes.priors": [(X, (0.5, 0.3), (1.0, 2.0, 0.5), False, (-1.0, -1.0), (0.5, 0.5))],
    "boxes.proposals": [(t(2, 12, 4, 4), t(2, 24, 4, 4), t(2, 3), 20, 7, 0.7, 4, (2, 4), (0.5, 1, 2), 4, False)],
    "reduce.argmax": [(X, 1, False), (X, -1, True, F32)],
    "reduce.argmin": [(t(3, 4, dtype=torch.int32), 0, False)],
    "index.pick": [(X, t(2, 6, 6), 1, False), (t(2, 3), t(2), -1, True), (t(2, 3), t(1), 1, False)],
    **{f"reduce.{n}": [(X, (0, 2), False), (t(2, 0, 3), (1,), True), (t(3, 4, dtype=torch.int32), (), False), (t(3, 4, dtype=torch.float16), (0, 1), True)]
       for n in ("prod", "nansum", "nanprod", "all", "any")},
    "reduce.logsumexp": [(X, (0, 2), False), (X, (), False)],
    "reduce.norm": [(X, 2, (0, 2), False), (t(3, 4, dtype=torch.int32), 1, (1,), True), (t(3, 4, dtype=torch.float16), 2, (), True), (t(0, 3), 2, (0,), False)],
    "reduce.moments": [(X, (0, 2), False), (X, (1,), True), (t(3, 4, dtype=torch.float16), (), False)],
    "reduce.cumsum": [(X, 1), (t(3, 4, dtype=torch.int32), -1, torch.float64)],
    "reduce.cumprod": [(X, 1), (t(3, 4, dtype=torch.int32), -1, torch.float64)],
    "sort.sort": [(X, 1, False), (t(0, 3, dtype=torch.int32), 1, True)],
    "sort.sort_values": [(X, 1, False), (t(3, dtype=torch.bfloat16), 0, True)],
    "sort.topk": [(X, 2, 1, True), (t(80, dtype=torch.int32), 3, 0, False), (X, 0, 3, True)],
    "sort.topk_indices": [(X, 2, 1, True), (t(80), 3, 0, False, F32)],
    "index.index_put": [(X, (t(3, dtype=torch.int64), None), t(1), False)],
    "index.take": [(X, t(2, 3), 1), (t(2, 3), t(dtype=torch.int64) - 1, 0), (t(2, 3, dtype=torch.float16), t(0, dtype=torch.int32), 1)],
    "index.csr_dot": [(t(3), t(3, dtype=torch.int64) - 1, torch.tensor([0, 2, 3]), t(2, 5))],
    "index.take_grad": [(t(2, 2, 3, 6, 6), t(2, 3), 1, (2, 4, 6, 6)), (t(5, 3, dtype=torch.float16), t(5), 0, (4, 3))],
    "index.pick_grad": [(t(2, 6, 6), t(2, 6, 6), 1, (2, 4, 6, 6))],
    "index.gather_nd": [(X, t(2, 5)), (t(3, 4, dtype=torch.int32), t(2, 2, 3)), (t(3), t(1, 0))],
    "index.scatter_nd": [(t(3, 6), t(2, 3), (2, 4, 6)), (t(0, 1), t(1, 0), (3, 1))],
    "index.scatter_nd_add": [(t(3, 6), t(2, 3), (2, 4, 6)), (t(3, dtype=torch.int32), t(1, 3), (4,))],
    "index.gather_along": [(t(2, 3, 1), t(1, 5, 4, dtype=torch.int64), 1), (t(2, 3), t(2, 2), -1)],
    "index.scatter_along_add": [(t(2, 5, 4), t(1, 5, 4, dtype=torch.int64), 1, (2, 3, 1)), (t(2, 2, dtype=torch.float16), t(2, 2), 1, (2, 3))],
    "index.index_get": [(X, (t(3, 1), None, t(5))), (X, (None, t(3, 1), t(5))), (X, (None, t(0, 2))), (t(3, dtype=torch.int32), (t(),))],
    "index.index_put_": [(X.clone(), X.clone(), (t(3), None), t(3, 4, 6, 6), True), (X.clone(), X.clone(), (t(3),), t(6), False)],
    "linalg.cholesky": [(EYE, True)],
    "linalg.inverse": [(EYE,)],
    "linalg.triangular_solve": [(EYE, t(2, 3, 4), True, False, False), (EYE[0], t(2, 4, 3), True, True, True)],
    "linalg.det": [(EYE,), (EYE[0],)],
    "linalg.slogdet": [(EYE,)],
    "linalg.eigh": [(EYE,)],
    "linalg.syevd": [(EYE,)],
    "linalg.eig": [(EYE,)],
    "linalg.pinv": [(t(2, 3, 4), t(1))],
    "linalg.solve": [(EYE, t(2, 3, 4)), (EYE[0], t(3)), (EYE, t(2, 3)), (EYE, t(3, 2))],
    "linalg.qr": [(t(2, 3, 4),), (t(2, 4, 3),), (t(4, 3), True)],
    "linalg.lq": [(t(2, 3, 4),), (t(4, 3),)],
    "linalg.svd": [(t(2, 3, 4),), (t(4, 3),)],
    **{f"optimizer.{n}": [(*(t(3) for _ in range(count)), *[0.1] * more)] for n, count, more in (
        ("sgd_", 2, 1), ("sgd_momentum_", 3, 1), ("nag_", 3, 1), ("signsgd_", 2, 1), ("signum_", 3, 1), ("dcasgd_", 4, 1), ("adam_", 4, 1),
        ("adamw_", 4, 1), ("adamax_", 4, 1), ("nadam_", 4, 4), ("rmsprop_", 3, 1), ("rmspropalex_", 5, 1), ("adagrad_", 3, 1),
        ("adadelta_", 4, 1), ("ftrl_", 4, 1), ("ftml_", 5, 2), ("sgld_", 3, 1))},
    "optimizer.group_adagrad_": [(t(3, 2), t(3, 2), t(3, 1), 0.1)],
    "optimizer.lamb_phase1": [(t(3), t(3), t(3), t(3), 1), (t(3, dtype=torch.float16), t(3, dtype=torch.float16), t(3), t(3), 1)],
    "optimizer.lamb_phase2_": [(t(3), t(3), t(1), t(1), 0.1)],
    "optimizer.sum_squares": [(t(2, 3),), (t(6, dtype=torch.float16), [(0, 2, 1, 1), (2, 6, 1, 1)])],
    "vision.rotated_roi_align": [(X, t(3, 6), (2, 5), 1.0, 2)],
    "vision.rotated_roi_align_grad": [(t(3, 4, 2, 5), t(3, 6), (2, 5), 1.0, 2, (2, 4, 6, 6))],
    "pool.max_pool_gather": [(X, t(2, 4, 3, 3, dtype=torch.int64))],
    "vision.adaptive_avg_pool": [(X, (2, 5))],
    "vision.adaptive_avg_pool_grad": [(t(2, 4, 2, 5), (2, 4, 6, 6)), (t(0, 4, 2, 5), (0, 4, 6, 6))],
    "vision.resize_bilinear_grad": [(t(2, 4, 2, 5), (2, 4, 6, 6), False)],
    "vision.roi_pool_grad": [(t(3, 4, 2, 2), t(3, 4, 2, 2, dtype=torch.int64), (2, 4, 6, 6))],
    "vision.roi_pool_gather": [(X, t(3, 4, 2, 2, dtype=torch.int64))],
    "vision.bilinear_sample": [(X, t(2, 2, 3, 5))],
    "vision.bilinear_sample_grad": [(t(2, 4, 3, 5), X, t(2, 2, 3, 5))],
    "vision.columns": [(X, (2, 3), (2, 1), (1, 2), (1, 0))],
    "vision.columns_grad": [(t(2, 24, 8), (6, 6), (2, 3), (2, 1), (1, 2), (1, 0))],
    "boxes.overlaps": [(t(2, 3, 4), t(5, 4), False), (t(4), t(0, 4), True)],
    "boxes.suppress": [(t(2, 5, 6), 0.5, 0, -1, 2, 1, 0, -1, False, False, True), (t(2, 5, 6), 0.5, 0, 0, 2, 1, -1, -1, True, False, False)],
    "boxes.put_rows": [(t(3, 2), t(3), 5)],
    "boxes.take_rows": [(t(3, 2, dtype=torch.float16), t(4))],
    "boxes.encode": [(t(2, 3), t(2, 3), t(1, 3, 4), t(2, 5, 4), t(4), t(4))],
    "boxes.decode": [(t(2, 3, 4), t(1, 3, 4), (1.0, 1.0, 1.0, 1.0), -1.0, False)],
    "boxes.targets": [(t(1, 5, 4), t(2, 3, 5), t(2, 4, 5), 0.5, -1.0, 3.0, 0.5, (0.1, 0.1, 0.2, 0.2))],
    "boxes.detections": [(t(2, 4, 5), t(2, 20), t(1, 5, 4), True, 0.01, 0.5, False, (0.1, 0.1, 0.2, 0.2), -1)],
    "correlation.correlate": [(t(1, 2, 5, 6), t(1, 2, 5, 6), 3, 2, 2, 2, 3, True), (t(1, 2, 5, 5), t(1, 2, 5, 5), 1, 1, 1, 1, 1, False)],
    "correlation.correlate_grad": [(t(1, 9, 3, 3), t(1, 2, 5, 5), t(1, 2, 5, 5), 1, 1, 1, 1, 0, True)],
    **{f"random.{n}": [((2, 3), *given, kind, torch.device("cpu"), 3)] for n, *given, kind in (
        ("uniform", 0.0, 1.0, F32), ("normal", 0.0, t(3), torch.float16), ("randint", 0, 5, torch.int32), ("bernoulli", 0.5, F32),
        ("exponential", 1.0, torch.float64), ("gamma", t(3), 1.0, F32), ("poisson", t(3), torch.float16),
        ("negative_binomial", 2.0, t(3) / 2, F32), ("generalized_negative_binomial", t(3), t(3), F32))},
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
    "random.multinomial": [(t(2, 3), 5, 3)],
    "random.permutation": [(5, torch.device("cpu"), 3)],
    "attention.attention": [(HEADS, HEADS, HEADS, 0.5, False, None, 0.0, None), (HEADS, HEADS, HEADS, 0.5, True, t(2, dtype=torch.int32), 0.5, 3)],
    "attention.cache_write": [(t(2, 3, 7, 4), t(2, 3, 2, 4), t(2, dtype=torch.int32))],
    "attention.attention_grad": [(HEADS, HEADS, HEADS, HEADS, HEADS, t(2, 3, 4), 0.5, False, None, 0.0, None)],
    "boxes.match": [(t(2, 3, 4), 0.5, False, -1)],
    "ctc.loss": [(t(5, 2, 3), t(2, 2), t(2), None, 0)],
    "ctc.loss_grad": [(t(2), t(5, 2, 3), t(2, 2), t(2), None, 0)],
    "index.check": [(t(3), 5)],
    "rnn.rnn_grad": [(None, t(2, 2, 4), None, t(5, 2, 3), t(2 * 3 * 4 * 9), t(2, 2, 4), None, t(5, 2, 8), RNN[3], *RNN_HOW)],
    "vision.roi_pool": [(X, t(3, 5), (2, 2), 1.0), (X, t(0, 5), (2, 2), 1.0)],
}  # fmt: skip
DEPENDS_ON_VALUES = {
    "index.nonzero": (X,),
    "linalg.lstsq": (t(3, 2), t(3, 1), None),
    "sort.unique": (X,),
}


def without_memory(value):
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, torch.device):
        return torch.device("meta")
    return type(value)(map(without_memory, value)) if isinstance(value, (list, tuple)) else value


def test_every_kernel_has_a_sample():
    for family in kernels.FAMILIES:
        getattr(kernels, family)
    assert set(KERNELS) == {*SAMPLES, *DEPENDS_ON_VALUES, "pointwise.pointwise", "rnn.rnn"}


@pytest.mark.parametrize("name", DEPENDS_ON_VALUES)
def test_shapes_that_depend_on_values_are_refused(name):
    with pytest.raises(NotImplementedError, match="depends on values"):
        KERNELS[name].contract(*map(without_memory, DEPENDS_ON_VALUES[name]))


@pytest.mark.parametrize("name", SAMPLES)
def test_results_are_described(name):
    family, function = name.split(".")
    compute = getattr(importlib.import_module(f"core.kernels.cpu.{family}"), function)
    for arguments in SAMPLES[name]:
        expected = compute(*arguments)
        found = getattr(getattr(kernels, family), function)(*map(without_memory, arguments))
        if expected is None:
            assert found is None
            continue
        if isinstance(expected, torch.Tensor):
            expected, found = (expected,), (found,)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            described(a, b)


def described(found, expected):
    assert (found is None) == (expected is None)
    assert found is None or (found.is_meta and (found.shape, found.dtype) == (expected.shape, expected.dtype))


@pytest.mark.parametrize("mode", ["gru", "lstm"])
def test_recurrent_networks_keep_nothing(mode):
    gates, cell = (4, t(2, 2, 4)) if mode == "lstm" else (3, None)
    arguments = t(5, 2, 3), t(2 * gates * 4 * 9), t(2, 2, 4), cell, mode, 4, 1, True, 0.0, 3, False
    *found, reserve = kernels.rnn.rnn(*map(without_memory, arguments))
    assert reserve == ()
    for a, b in zip(found, rnn.rnn(*arguments), strict=False):
        described(a, b)


def test_pointwise():
    formula = Formula.of(lambda x, y: sigmoid(x) + y, name="f")
    x, y = without_memory(t(3, 1)), without_memory(t(1, 4))
    found = kernels.pointwise.pointwise(formula, (x, y), (), torch.float64)
    assert (tuple(found.shape), found.dtype) == ((3, 4), torch.float64)
    assert kernels.pointwise.pointwise(Formula.of(lambda x: x, name="same"), (x,), (), F32) is x


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
        KERNELS[name].contract(*map(without_memory, arguments))


def test_joined():
    parts = [t(2, 3), t(2, 5)]
    assert rules.joined(list(map(without_memory, parts)), 1).shape == torch.cat(parts, 1).shape
    with pytest.raises(RuntimeError, match="joining"):
        rules.joined([without_memory(t(2, 3)), without_memory(t(3, 5))], 1)


def test_broadcast():
    for shapes in ([(3, 1), (1, 4)], [(2, 3), ()], [(5,), (2, 1), (1, 1, 5)]):
        assert rules.broadcast(shapes) == tuple(torch.broadcast_shapes(*shapes))
    with pytest.raises(RuntimeError, match="broadcast"):
        rules.broadcast([(3,), (4,)])
