"""Gradients of every operator of the sweep under variations that its table entry generates.

Each sample (see `tests.support.samples`) is varied in one thing at a time: an attribute, the size of an axis (0 or 1),
or an operand that broadcasts (see `tests.support.variations`). The operator refuses what does not fit with an error
that is made for users; of what it takes, first and second derivatives are the central differences. Every attribute
takes two values or more and every operator meets axes of sizes 0 and 1: what does not is in `RIGID`, with the reason.
"""

import numpy as np
import pytest
import torch

from core.base import MXNetError
from core.ops.registry import TABLE
from tests.core.ops.test_sweep import SWEPT, TWICE, WIDE, Point, close, inner
from tests.support.samples import samples
from tests.support.variations import KEPT, shape, variations

_PART = "called by other operators alone, with what fits; varied through them"
PARTS = {
    "_adaptive_avg_pooling_grad", "_avg_pool_grad", "_conv_data_grad", "_conv_weight_grad", "_correlation",
    "_cross_entropy_grad", "_ctc_loss", "_deformable_columns", "_embedding_grad", "_fold_places", "_gather_along",
    "_put_part", "_put_rows", "_resize_bilinear_grad",
}  # fmt: skip
VARIED = [name for name in SWEPT if name not in PARTS]

_DECREE = "MXNet differentiates the result alone, not the statistics"
_NOT_ITS_OWN = "the gradient is MXNet's, which is not the derivative"
_OUTSIDE = "values that mean nothing there: labels that are the blank, regions of an image that is not there"
EXEMPT = {
    **{(n, "output_mean_var"): _DECREE for n in
       ("BatchNorm", "_contrib_SyncBatchNorm", "_contrib_BatchNormWithReLU", "LayerNorm", "GroupNorm")},
    ("LeakyReLU", "act_type"): _NOT_ITS_OWN,
    ("SoftmaxActivation", "mode"): _NOT_ITS_OWN,
    ("CTCLoss", "blank_label"): _OUTSIDE,
    ("_contrib_ROIAlign", "broadcast"): _OUTSIDE,
    ("Reshape", "size 1"): "elements that do not fill the shape are dropped: no gradient, as in MXNet",
}  # fmt: skip

ONCE = dict.fromkeys((("_attention", "dropout"), ("RNN", "p")), "the second derivative with dropout is refused")

_ONE = "one value is accepted alone"
_GPU = "channels-last layouts are for GPUs"
_FIXED = "accepted and of no effect: there is nothing to choose"
_INNER = "an index, a name or what another operator gives, not an attribute of users"
_CODES = "for networks of eight-bit codes, which have no gradient"
_EMPTY = "refused: there is nothing to compute"
RIGID = {
    "axis": dict.fromkeys(("SequenceReverse", "_contrib_boolean_mask"), _ONE),
    "order": dict.fromkeys(("_npi_reshape", "_npx_reshape"), _ONE),
    "sampler_type": {"SpatialTransformer": _ONE},
    "transform_type": {"SpatialTransformer": _ONE},
    "layout": dict.fromkeys(("Convolution", "Deconvolution", "Pooling", "_contrib_DeformableConvolution",
                             "_contrib_ModulatedDeformableConvolution", "_sg_mkldnn_conv"), _GPU),
    "cudnn_tune": dict.fromkeys(("Convolution", "Deconvolution"), _FIXED),
    "forward_stype": dict.fromkeys(("batch_dot", "dot"), _FIXED),
    "key": dict.fromkeys(("_contrib_SyncBatchNorm", "_gather_part", "_scatter_part_add", "_set_places"), _INNER),
    "groups": {"_conv": _INNER},
    "mode": dict.fromkeys(("_pick_grad", "_take_grad"), _INNER),
    "pad": dict.fromkeys(("_avg_pool", "_max_pool"), _INNER),
    "quantized": dict.fromkeys(("_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"), _CODES),
    **{a: {"_sg_mkldnn_conv": "varied in Convolution and BatchNorm"} for a in ("kernel", "num_group", "with_bn")},
    "no_bias": dict.fromkeys(("_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"), "the sample has a bias"),
    "use_sequence_length": {"RNN": "the sample has no lengths, which a CPU ignores, as in MXNet"},
    "use_length": dict.fromkeys(("log_softmax", "softmin"), "MXNet's has no input of lengths"),
    "size 0": dict.fromkeys(("RNN", "_contrib_DeformablePSROIPooling", "_contrib_PSROIPooling",
                             "depth_to_space", "space_to_depth"), _EMPTY),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIED)
def test_gradients_of_variations_are_the_central_differences(name):
    met = {}  # of each attribute the values, and the sizes of axes, that were taken
    for what, point in points(name, met):
        if (name, what) in EXEMPT:
            continue
        for k, direction, g in zip(point.moved, point.directions, point.gradients(point.tensors()), strict=True):
            close(inner(g, direction), point.slope(point.objective, k, direction), point.describe(k))
        if name in TWICE and (name, what) not in ONCE:
            for k, direction, g in zip(point.moved, point.directions, point.second()[0], strict=True):
                close(inner(g, direction), point.slope(point.first, k, direction), f"second: {point.describe(k)}")
    rigid = {a for a in TABLE[name].attrs if a not in KEPT and len(met[a]) < 2}
    rigid |= {f"size {n}" for n in (0, 1) if n not in met["sizes"]}
    assert rigid == {what for what, names in RIGID.items() if name in names}


STEP = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}  # from 1 to the next number
FEW = 8


@pytest.mark.parametrize("name", VARIED)
def test_gradients_in_half_precision_are_off_by_few_steps(name):
    """Steps of the type are those of the gradient, and what a step of the operands moves it by in float64."""
    random = np.random.default_rng(0)
    for what, point in points(name):
        if (name, what) in EXEMPT:
            continue
        for dtype in set(STEP) - set(WIDE.get(name, ())):
            low = [t.to(dtype) if t is not None and t.is_floating_point() else t for t in point.tensors()]
            moved = [t is not None and t.dtype == dtype for t in low]
            exact = [t.double() if m else t for t, m in zip(low, moved, strict=True)]
            near = [
                t * (1 + STEP[dtype] * torch.from_numpy(random.choice([-1.0, 1.0], t.shape))) if m else t
                for t, m in zip(exact, moved, strict=True)
            ]
            found = [point.gradients(tensors) for tensors in (low, exact, near)]
            for k, g, e, n in zip(point.moved, *found, strict=True):
                step = STEP[dtype] * (1 + e.norm()) + (n - e).norm()
                assert g.dtype == dtype and (g.double() - e).norm() <= FEW * step, f"{dtype}: {point.describe(k)}"


def points(name, met=None):
    """(what is varied, point) of each variation that the operator takes, where its results are finite."""
    op, met = TABLE[name], {} if met is None else met
    seen = set()
    for a in [*op.attrs, "sizes"]:
        met[a] = set()
    for base in samples(op):
        note(op, base, met)
        for what, sample in variations(op, base):
            if repr(sample) in seen:
                continue
            seen.add(repr(sample))
            point = Point(op, sample)
            try:
                with np.errstate(all="ignore"):
                    value = point.objective(point.tensors())
            except (MXNetError, ValueError, TypeError):
                continue
            if np.isfinite(value):
                note(op, sample, met)
                yield what, point


def note(op, sample, met):
    for a, (_, default) in op.attrs.items():
        met[a].add(repr(sample.attrs.get(a, default)))
    met["sizes"] |= {n for o in sample.operands if o is not None for n in shape(o)}
