"""Every operator of the table applied once, on operands with elements: for comparing backends of kernels, and devices."""

from __future__ import annotations

import contextlib

import numpy as np
import torch

import core.mxnet
import core.symbol.numpy_functions  # noqa: F401  (every function of np)
from core import autograd, random
from core.context import cpu
from core.kernels import formula as fx
from core.kernels.formula import CONSTRUCTORS, Expr
from core.kernels.row_program import Result, RowProgram
from core.ndarray import NDArray
from core.ops.registry import TABLE
from core.storage import device
from tests.support.samples import Draw, S, draw, samples

INTEGERS = {"bitwise", "shift", "gcd", "lcm"}
# Each backend has its own random numbers, and packs weights in its own order.
OWN = {
    "Dropout",
    "_dropout",
    "_dropout_again",
    "_dropout_attention",
    "_shuffle",
    "_multinomial",
    "_plan_conv_weight",
    "_plan_integer_conv",
    "_plan_integer_conv_weight",
    "_plan_integer_linear_weight",
    "_plan_linear_weight",
}


def numbers(*v, dtype="float64"):
    return np.asarray(v, dtype=dtype)


UNIT = Draw((2, 3), signed=False)
THREE = (3,)
POSITIVE = Draw((3,), signed=False)
HALF = numbers(1, 2, 3, dtype="float16")
CODES = numbers([1, 2], [3, 4], dtype="int8")
LOW, HIGH = numbers(-1.0), numbers(1.0)
BOXES = numbers([0, 0, 0.5, 0.5], [0.2, 0.2, 0.9, 0.9], [0.4, 0.1, 0.6, 0.8])
SCORES = Expr("input", 0) * Expr("input", 1)
EXPONENTIALS = fx.exp(SCORES - CONSTRUCTORS["row_fmax"](SCORES))
SOFTMAX = RowProgram(
    (Result(EXPONENTIALS / CONSTRUCTORS["row_sum"](EXPONENTIALS), "whole", (2, 3), "float32"),), (2, 3), 1
)
MORE = {  # operators without a gradient, or with one that is not the derivative
    "IdentityAttachKLSparseReg": S(UNIT, THREE),
    **{n: S((3, 2), (3, 2)) for n in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput")},
    "MakeLoss": S((2, 3)),
    "make_loss": S((2, 3)),
    "SVMOutput": S((3, 4), numbers(0, 2, 1)),
    "SoftmaxOutput": S((3, 4), numbers(0, 2, 1)),
    "_adamw_update": S(THREE, THREE, THREE, POSITIVE, numbers(1.0), lr=0.1, eta=1.0),
    "adam_update": S(THREE, THREE, THREE, POSITIVE, lr=0.1),
    "ftml_update": S(THREE, THREE, POSITIVE, POSITIVE, THREE, lr=0.1, t=1),
    "ftrl_update": S(THREE, THREE, THREE, POSITIVE, lr=0.1),
    "nag_mom_update": S(THREE, THREE, THREE, lr=0.1, momentum=0.9),
    "rmsprop_update": S(THREE, THREE, POSITIVE, lr=0.1),
    "rmspropalex_update": S(THREE, THREE, Draw((3,), 1, 2, signed=False), THREE, THREE, lr=0.1),
    "sgd_mom_update": S(THREE, THREE, THREE, lr=0.1, momentum=0.9),
    "sgd_update": S(THREE, THREE, lr=0.1),
    "signsgd_update": S(THREE, THREE, lr=0.1),
    "signum_update": S(THREE, THREE, THREE, lr=0.1),
    "lamb_update_phase1": S(THREE, THREE, THREE, POSITIVE, t=1, wd=0.1),
    "lamb_update_phase2": S(THREE, THREE, numbers(1.0), numbers(2.0), lr=0.1),
    "multi_sgd_update": S(THREE, THREE, (2,), (2,), lrs=(0.1, 0.2), wds=(0, 0), num_weights=2),
    "multi_sgd_mom_update": S(THREE, THREE, THREE, lrs=(0.1,), wds=(0,), momentum=0.9, num_weights=1),
    "multi_sum_sq": S(THREE, (2, 2), num_arrays=2),
    "preloaded_multi_sgd_update": S(THREE, THREE, numbers(0.1), numbers(0.0), num_weights=1),
    "_contrib_group_adagrad_update": S((3, 2), (3, 2), Draw((3, 1), signed=False), lr=0.1),
    "all_finite": S(THREE),
    "multi_all_finite": S(THREE, (2,), num_arrays=2),
    "_multi_lamb_update": S(
        THREE, THREE, THREE, POSITIVE, learning_rates=(0.1,), wds=(0,), step_count=(1,), num_tensors=1
    ),
    "_multi_adamw_update": S(
        THREE, THREE, THREE, POSITIVE, numbers(1.0), lrs=(0.1,), wds=(0,), etas=(1.0,), num_weights=1
    ),
    "_contrib_MultiBoxPrior": S((1, 2, 2, 3), sizes=(0.5, 0.3), ratios=(1, 2)),
    "_contrib_MultiBoxTarget": S(
        BOXES[None], numbers([[1, 0.1, 0.1, 0.5, 0.5], [0, 0.3, 0.3, 0.8, 0.9]]), (1, 3, 3), negative_mining_ratio=2.0
    ),
    "_contrib_MultiBoxDetection": S(Draw((1, 3, 3), signed=False), (1, 12), BOXES[None]),
    **dict.fromkeys(
        ("_contrib_MultiProposal", "_contrib_Proposal"),
        S(
            Draw((1, 4, 2, 2), signed=False),
            (1, 8, 2, 2),
            numbers([32, 32, 1]),
            rpn_pre_nms_top_n=6,
            rpn_post_nms_top_n=3,
            scales=(2,),
            ratios=(0.5, 1),
            rpn_min_size=1,
        ),
    ),
    "_contrib_bipartite_matching": S(Draw((2, 3, 4), signed=False), threshold=0.3),
    "_contrib_box_decode": S((1, 3, 4), BOXES[None]),
    "_contrib_box_encode": S(
        numbers([1, 0, 1]),
        numbers([0, 1, 1]),
        BOXES[None],
        BOXES[None, :2],
        numbers(0, 0, 0, 0),
        numbers(0.1, 0.1, 0.2, 0.2),
    ),
    "_contrib_box_iou": S(BOXES, BOXES[:2]),
    "_contrib_box_nms": S(
        np.concatenate([numbers([0], [1], [0]), numbers([0.9], [0.8], [0.7]), BOXES], 1)[None],
        overlap_thresh=0.1,
        id_index=0,
    ),
    "_contrib_allclose": S(THREE, THREE),
    "_contrib_arange_like": S(THREE),
    "_arange_like": S(THREE, length=3),
    **{
        n: S(THREE)
        for n in (
            "_contrib_isfinite",
            "_contrib_isinf",
            "_contrib_isnan",
            "_contrib_round_ste",
            "_contrib_sign_ste",
            "ones_like",
            "zeros_like",
            "shape_array",
            "size_array",
        )
    },
    "_contrib_gradientmultiplier": S(THREE, scalar=2.0),
    "_contrib_index_array": S((2, 3)),
    "full_like": S(THREE, fill_value=2.0),
    "_contrib_quantize_v2": S((2, 3), out_type="int8"),
    "_contrib_quantize": S(UNIT, numbers(0.0), numbers(1.0)),
    "_contrib_quantize_asym": S((2, 3)),
    "_contrib_intgemm_maxabsolute": S((2, 3)),
    "_contrib_intgemm_prepare_data": S((2, 3), numbers(0.8)),
    "_contrib_intgemm_prepare_weight": S((2, 3), numbers(0.8)),
    "_contrib_intgemm_take_weight": S(CODES, numbers(1, 0, 1)),
    "_contrib_intgemm_fully_connected": S((3, 2), CODES, numbers(0.1), (2,), num_hidden=2),
    "_contrib_sldwin_atten_mask_like": S(
        (2, 4, 2, 3), numbers(1, 2, dtype="int64"), numbers(4, 2, dtype="int64"), w=1, symmetric=True
    ),
    "_sliding_window": S((2, 4, 2, 3), numbers(1, 2, dtype="int64"), w=1, symmetric=True),
    "_contrib_dequantize": S(numbers(1, 2, -3, dtype="int8"), numbers(-1.0), numbers(1.0)),
    "_contrib_requantize": S(numbers(1000, 2000, dtype="int32"), numbers(-1.0), numbers(1.0)),
    "_histogram": S((2, 3), bin_cnt=4, range=(-1, 1)),
    "_image_adjust_lighting": S(Draw((4, 4, 3), signed=False), alpha=(0.1, 0.1, 0.1)),
    "_image_resize": S(Draw((4, 4, 3), signed=False), size=(2, 3)),
    "_npi_all": S((2, 3)),
    "_npi_any": S((2, 3)),
    "_npi_argmax": S((2, 3), axis=1),
    "_npi_argmin": S((2, 3), axis=1),
    "argmax": S((2, 3), axis=1),
    "argmin": S((2, 3), axis=1),
    "argmax_channel": S((2, 3)),
    "argsort": S((2, 3)),
    "_npi_std": S((2, 3), axis=1),
    "_npi_var": S((2, 3), axis=1),
    "_npx_nonzero": S(numbers([1, 0, 2], [0, 3, 0])),
    "_ravel_multi_index": S(numbers([1, 0], [0, 2]), shape=(2, 3)),
    "_unravel_index": S(numbers(1, 4), shape=(2, 3)),
    "one_hot": S(numbers(1, 0, 2), depth=3),
    "_shuffle": S((4, 2)),
    "_npi_eigh": S(numbers([2, 1], [1, 3])),
    "_npi_eig": S(numbers([2, 0], [0, 3])),
    "_sample_uniform": S(numbers(0, 1), numbers(1, 2), shape=(2,)),
    "_sample_normal": S(numbers(0, 1), numbers(1, 2), shape=(2,)),
    "_sample_multinomial": S(numbers([0.2, 0.8]), shape=(3,)),
    "_sample_gamma": S(numbers(1, 2), numbers(1, 2), shape=(2,)),
    "mp_sgd_update": S(HALF, HALF, THREE, lr=0.1),
    "mp_sgd_mom_update": S(HALF, HALF, THREE, THREE, lr=0.1, momentum=0.9),
    "mp_nag_mom_update": S(HALF, HALF, THREE, THREE, lr=0.1, momentum=0.9),
    "multi_mp_sgd_update": S(HALF, HALF, THREE, lrs=(0.1,), wds=(0,), num_weights=1),
    "_contrib_quantized_fully_connected": S(
        numbers([1, 2], [3, 4], dtype="int8"),
        numbers([1, 2], [3, 4], dtype="int8"),
        None,
        numbers(0.0),
        numbers(1.0),
        numbers(0.0),
        numbers(1.0),
        num_hidden=2,
        no_bias=True,
    ),
    "_contrib_quantized_flatten": S(CODES, LOW, HIGH),
    "_contrib_quantized_act": S(CODES, LOW, HIGH, act_type="relu"),
    "_contrib_quantized_concat": S(CODES, CODES, LOW, HIGH, LOW, HIGH),
    "_contrib_quantized_elemwise_add": S(CODES, CODES, LOW, HIGH, LOW, HIGH),
    "_contrib_quantized_elemwise_mul": S(CODES, CODES, LOW, HIGH, LOW, HIGH),
    "_contrib_quantized_embedding": S(numbers(1, 0), CODES, LOW, HIGH, input_dim=2, output_dim=2),
    "_contrib_quantized_pooling": S(CODES[None, None], LOW, HIGH, kernel=(2, 1), pool_type="avg"),
    "_contrib_quantized_batch_norm": S(
        CODES, *[Draw((2,), signed=False)] * 4, LOW, HIGH, min_calib_range=-1.0, max_calib_range=1.0
    ),
    "_contrib_quantized_conv": S(
        CODES[None, None], CODES[None, None], None, *[LOW, HIGH] * 2, kernel=(2, 2), num_filter=1, no_bias=True
    ),
    "_mp_adamw_update": S(HALF, HALF, THREE, POSITIVE, THREE, numbers(1.0), lr=0.1, eta=1.0),
    "_multi_mp_adamw_update": S(
        HALF, HALF, THREE, POSITIVE, THREE, numbers(1.0), lrs=(0.1,), wds=(0,), etas=(1.0,), num_weights=1
    ),
    "_multi_mp_lamb_update": S(
        HALF, HALF, THREE, POSITIVE, THREE, learning_rates=(0.1,), wds=(0,), step_count=(1,), num_tensors=1
    ),
    "mp_lamb_update_phase1": S(HALF, HALF, THREE, POSITIVE, THREE, t=1, wd=0.1),
    "mp_lamb_update_phase2": S(HALF, THREE, numbers(1.0), numbers(2.0), THREE, lr=0.1),
    "multi_mp_sgd_mom_update": S(HALF, HALF, THREE, THREE, lrs=(0.1,), wds=(0,), momentum=0.9, num_weights=1),
    "preloaded_multi_mp_sgd_update": S(HALF, HALF, THREE, numbers(0.1), numbers(0.0), num_weights=1),
    "preloaded_multi_mp_sgd_mom_update": S(HALF, HALF, THREE, THREE, numbers(0.1), numbers(0.0), num_weights=1),
    "preloaded_multi_sgd_mom_update": S(THREE, THREE, THREE, numbers(0.1), numbers(0.0), num_weights=1),
    "reset_arrays": S(THREE, (2, 2), num_arrays=2),
    "_batch_norm_update": S(THREE, POSITIVE, THREE, POSITIVE, momentum=0.9, eps=1e-3),
    "_npx_constraint_check": S(numbers(1, 1, dtype="bool")),
    "_max_pool_gather": S(
        (1, 1, 2, 2), np.array([[[[3]]]]), kernel=(2, 2), stride=(1, 1), pad=((0, 0), (0, 0))
    ),
    "_roi_pooling_gather": S((1, 1, 2, 2), np.array([[[[3]]], [[[-1]]]])),
    "_copyto": S(THREE, context=cpu(), origin=cpu()),
    "_multinomial": S(numbers([0.2, 0.8]), count=3),
    "_plan_ones_": S(THREE),
    "_plan_conv_batch_norm": S((1, 2, 3, 3), (2, 2, 2, 2), (2,), (2,), (2,), stride=(1, 1), dilate=(1, 1), pad=(0, 0), groups=1, eps=1e-3),
    "_plan_conv": S((1, 2, 3, 3), (2, 2, 2, 2), (2,), stride=(1, 1), dilate=(1, 1), pad=(0, 0), groups=1, activation="relu"),
    "_quantized": S((2, 3), numbers(100.0), low=-128.0, high=127.0, nan=127.0, out_type="int8"),
    "_integer_conv": S(CODES[None, None], CODES[None, None], numbers(3.0), stride=(1, 1), dilate=(1, 1), pad=(0, 0), groups=1),
    "_plan_integer_conv": S(CODES[None, None], CODES[None, None], numbers(3.0), numbers(0.5), stride=(1, 1), dilate=(1, 1), pad=(0, 0), groups=1, signed=True),
    "_integer_linear": S(CODES, CODES, numbers(0.5), numbers(3.0, 1.0), rectify=True),
    "_plan_integer_linear_weight": S(CODES, rows=2),
    "_plan_batch_norm": S((2, 3, 2), (3,), (3,), (3,), numbers(0.5, 1.5, 2.0)),
    "_plan_max_pool": S(CODES[None, None], kernel=(2, 2), stride=(1, 1), pad=((0, 0), (0, 0))),
    "_plan_integer_conv_weight": S(CODES[None, None], shape=(1, 1, 2, 2), stride=(1, 1), dilate=(1, 1), pad=(0, 0), groups=1, signed=True),
    "_plan_conv_weight": S((2, 2, 2, 2), shape=(1, 2, 3, 3), stride=(1, 1), dilate=(1, 1), pad=(0, 0), groups=1, exact=True),
    "_plan_linear": S((2, 3), (4, 3), (4,), activation="relu"),
    "_plan_linear_weight": S((4, 3), rows=2),
    "_plan_rows": S((2, 3), (3,), program=SOFTMAX),
    **{f"_sample_{n}": S(numbers(1, 2), shape=(2,)) for n in ("exponential", "poisson")},
    **{f"_sample_{n}": S(numbers(1, 2), numbers(0.5, 0.6), shape=(2,)) for n in
       ("negative_binomial", "generalized_negative_binomial")},
    **{f"_random_{n}_like": S(THREE) for n in ("uniform", "normal", "gamma", "exponential", "poisson")},
    "_random_negative_binomial_like": S(THREE, k=2, p=0.4),
    "_random_generalized_negative_binomial_like": S(THREE, mu=2.0, alpha=0.4),
}  # fmt: skip


def filled(op):
    """The first sample without an empty operand."""
    for sample in samples(op) or ([MORE[op.name]] if op.name in MORE else []):
        shapes = [getattr(o, "shape", o if isinstance(o, tuple) else ()) for o in sample.operands]
        if not any(0 in shape for shape in shapes):
            return sample
    return None


NAMES = [name for name, op in sorted(TABLE.items()) if op.name == name and filled(op) is not None]


def applied(op, sample, ctx=None, watcher=None):
    """Outputs and gradients, computed in a context (the CPU by default) under a context manager."""
    ctx, watcher = ctx or cpu(), watcher or contextlib.nullcontext()
    random.seed(7)
    values, moved, _ = draw(op, sample)
    arrays = [None if v is None else NDArray._wrap(tensor(op, v).to(device(ctx)), ctx) for v in values]
    with watcher, autograd.record(train_mode=sample.training):
        for k in moved:
            arrays[k].attach_grad()
        results = op(*arrays, **sample.attrs)
        results = results if isinstance(results, (list, tuple)) else [results]
        taped = [r for r in results if r._entry is not None]
        heads = [NDArray._wrap(torch.full(r.shape, 0.7, dtype=r._data.dtype, device=device(ctx)), ctx) for r in taped]
    gradients = []
    if taped and moved:
        with watcher:
            gradients = autograd.grad(taped, [arrays[k] for k in moved], heads, train_mode=sample.training)
    return [x._data for x in (*results, *gradients)]


def tensor(op, value):
    t = torch.tensor(np.asarray(value))
    if any(word in op.name for word in INTEGERS):
        return t.to(torch.int32)
    return t.float() if t.dtype is torch.float64 else t
