"""Points at which operators of the table are differentiated: operands and attributes, by operator.

Pointwise formulas, reductions and the like get their samples from their table entry and a few shapes; operators
that need particular operands or attributes have them written down in `GIVEN`.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np

from core.ops.registry import TABLE, Operator


@dataclass(frozen=True)
class Draw:
    """An operand to be drawn and differentiated: `low` to `high`, of either sign if `signed`."""

    shape: tuple
    low: float = 0.2
    high: float = 0.9
    signed: bool = True


@dataclass(frozen=True)
class Free:
    """An operand of given values that is differentiated too; `symmetric`: along symmetric directions."""

    values: object
    symmetric: bool = False


@dataclass
class Sample:
    """Operands (a shape: drawn; an array: held fixed; None: left out) and attributes of one application."""

    operands: tuple
    attrs: dict = field(default_factory=dict)
    training: bool = True
    distance: float = 1e-5  # of the difference quotient; a long one for a linear operator with float32 results


def S(*operands, training=True, distance=1e-5, **attrs) -> Sample:
    return Sample(operands, attrs, training, distance)


def samples(op: Operator) -> list[Sample]:
    """The samples of an operator; none where the sweep does not know it."""
    if op.name in GIVEN:
        return GIVEN[op.name]
    if op.formula is not None:
        return _pointwise(op)
    return []


def draw(op: Operator, sample: Sample) -> tuple[list, list[int], list]:
    """(values, positions of those to differentiate, a direction for each of these), the same at every call."""
    random = np.random.default_rng(zlib.crc32(f"{op.name} {sample.attrs}".encode()))
    values, moved, directions = [], [], []
    for k, operand in enumerate(sample.operands):
        if isinstance(operand, tuple):
            operand = Draw(operand)
        if isinstance(operand, Draw):
            value = random.uniform(operand.low, operand.high, operand.shape)
            if operand.signed:
                value = value * random.choice([-1.0, 1.0], operand.shape)
        elif isinstance(operand, Free):
            value = np.asarray(operand.values, dtype=np.float64)
        else:
            values.append(operand)
            continue
        values.append(np.asarray(value))
        direction = random.standard_normal(values[-1].shape)
        if isinstance(operand, Free) and operand.symmetric:
            direction = direction + np.swapaxes(direction, -1, -2)
        moved.append(k)
        directions.append(direction)
    return values, moved, directions


# ---------------------------------------------------------------------------------------------- pointwise

POSITIVE = {  # formulas that are defined, or differentiable, for positive operands alone
    "sqrt", "_square_root_flat", "rsqrt", "log", "log2", "log10", "broadcast_power", "_power", "_power_scalar",
    "_rpower_scalar", "_npi_power", "_npi_power_scalar", "_npi_rpower_scalar",
}  # fmt: skip
BEYOND_ONE = {"arccosh"}
ATTRS = {"_clip": {"a_min": -0.5, "a_max": 0.5}, "_npi_nan_to_num": {"nan": 0.0, "posinf": 1.0, "neginf": -1.0}}
SHAPES = [(2, 3), (1,), (2, 1, 3), (0, 3)]
BROADCAST = [((2, 3), (1, 3)), ((2, 1), (1, 3)), ((1,), (1,)), ((2, 0), (1, 1)), ((2, 1, 3), (1, 4, 1))]


def _pointwise(op: Operator) -> list[Sample]:
    low, high = (1.2, 2.0) if op.name in BEYOND_ONE else (0.2, 0.9)
    signed = op.name not in POSITIVE | BEYOND_ONE
    attrs = ATTRS.get(op.name) or {a: 0.35 for a in op.attrs if a != "is_int"}
    count = len(op.inputs)
    spread = op.name.startswith(("broadcast_", "_npi_")) and count == 2
    shapes = [(s,) * count for s in SHAPES] + (BROADCAST if spread else [])
    return [S(*(Draw(s, low, high, signed) for s in given), **attrs) for given in shapes]


def _ints(*values, dtype="float64"):
    return np.asarray(values, dtype=dtype)


def _spd(n, seed=0):
    a = np.random.default_rng(seed).standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


def _regular(n, seed=0):
    return np.random.default_rng(seed).standard_normal((n, n)) + 2.0 * np.eye(n)


def _reduction(*axes, **more):
    given = [S((2, 3, 4), axis=a, **more) for a in axes]
    return [
        *given,
        S((2, 3), **more),
        S((1, 3), axis=0, **more),
        S((0, 3), axis=1, **more),
        S((2, 1, 3), axis=1, **more),
    ]


_AXES = [(), 1, (0, 2), -1]
_WINDOW = {"kernel": (2, 2), "stride": (2, 1), "pad": (1, 0)}
_SPREAD = {"stride": (2, 1), "dilate": (1, 2), "pad": (1, 0), "groups": 2}
_ROIS = _ints([0, 0, 0, 5, 5], [1, 1, 2, 4, 6])
_ROTATED = _ints([0, 3, 3, 4, 3, 30], [1, 4, 3, 3, 4, 60])
_MASK = _ints([1, 0, 1], [0, 1, 1])
_POINTS = Draw((1, 2, 3, 3), 0.05, 0.7)
_NORMS = {"eps": 1e-3}
_MOVING = (np.array([0.1, -0.2, 0.3]), np.array([0.8, 1.1, 0.9]))

CONVOLUTION = [
    S(
        (2, 4, 5, 6),
        (6, 2, 2, 2),
        (6,),
        kernel=(2, 2),
        num_filter=6,
        stride=(2, 1),
        dilate=(1, 2),
        pad=(1, 0),
        num_group=2,
    ),
    S((1, 2, 5), (3, 2, 3), kernel=(3,), num_filter=3, no_bias=True),
    S((1, 2, 3, 3, 3), (2, 2, 2, 2, 2), (2,), kernel=(2, 2, 2), num_filter=2),
    S((0, 2, 5, 5), (3, 2, 3, 3), (3,), kernel=(3, 3), num_filter=3),
]
POOLING = [
    S((1, 2, 6, 4), **{**_WINDOW, "kernel": (3, 2)}, pool_type=kind, pooling_convention=convention)
    for kind in ("max", "avg", "sum")
    for convention in ("valid", "full")
] + [
    S((1, 2, 5), kernel=(3,), pool_type="lp", p_value=2),
    S((1, 2, 4, 4), **_WINDOW, pool_type="avg", count_include_pad=False),
    S((2, 3, 4, 2), pool_type="max", global_pool=True),
    S((2, 3, 4, 2), pool_type="avg", global_pool=True),
    S((1, 1, 1, 1), kernel=(1, 1), pool_type="max"),
]
SOFTMAX = [S((2, 3)), S((2, 3, 4), axis=1), S((2, 3), temperature=2.0), S((3, 1)), S((0, 3))]
BATCH_NORM = [
    S((2, 3, 4), (3,), (3,), *_MOVING, fix_gamma=False, **_NORMS),
    S((2, 3, 4), (3,), (3,), *_MOVING, fix_gamma=True, **_NORMS),
    S((2, 3, 4), (3,), (3,), *_MOVING, fix_gamma=False, use_global_stats=True, **_NORMS),
    S((2, 3, 4), (3,), (3,), *_MOVING, fix_gamma=False, training=False, **_NORMS),
    S((4, 3), (3,), (3,), *_MOVING, fix_gamma=False, **_NORMS),
]
RNN = [
    S((3, 2, 2), (count,), (1 + both, 2, 3), *state, mode=mode, state_size=3, num_layers=1, bidirectional=both,
      state_outputs=True)
    for mode, gates, cell in (("rnn_tanh", 1, False), ("rnn_relu", 1, False), ("gru", 3, False), ("lstm", 4, True))
    for both in (False, True)
    for count in [(1 + both) * gates * (3 * 2 + 3 * 3 + 6)]
    for state in [[(1 + both, 2, 3)] if cell else []]
] + [
    S((2, 1, 1), (32,), (2, 1, 1), (2, 1, 1), mode="lstm", state_size=1, num_layers=2),
]  # fmt: skip

GIVEN: dict[str, list[Sample]] = {
    # sums and means
    **{n: _reduction(*_AXES) + [S((2, 3), axis=1, keepdims=True), S((2, 3, 4), axis=1, exclude=True)]
       for n in ("sum", "mean", "prod", "max", "min", "nansum", "nanprod", "square_sum")},
    **{n: _reduction(None, 1, (0, 2), -1) + [S((2, 3), axis=1, keepdims=True)]
       for n in ("_np_sum", "_np_prod", "_npi_mean", "_np_max", "_np_min")},
    "norm": [S((2, 3, 4), ord=o, axis=a) for o in (1, 2) for a in (None, 1, (0, 2))] + [S((1, 3), axis=0), S((0, 3), axis=1)],
    "cumsum": [S((2, 3)), S((2, 3, 4), axis=1), S((1, 3), axis=0), S((0, 3), axis=1)],
    "moments": [S((2, 3)), S((2, 3, 4), axes=(0, 2)), S((1, 3), axes=(0,), keepdims=True)],
    "L2Normalization": [S((2, 3, 4), mode=m) for m in ("instance", "channel", "spatial")],
    # places
    "Reshape": [S((2, 3, 4), shape=(4, -1)), S((2, 3, 4), shape=(0, -3)), S((1,), shape=(1, 1)), S((0, 3), shape=(0, 3, 1)), S((2, 6), target_shape=(3, 4))],
    "Flatten": [S((2, 3, 4)), S((1, 5)), S((0, 3, 2))],
    "reshape_like": [S((2, 6), (3, 4)), S((0, 3), (1, 0)), S((1, 1), (1,)), S((2, 6, 3), (5, 2, 3), lhs_begin=1, lhs_end=2, rhs_begin=1, rhs_end=3)],
    "_reshape_to": [S((2, 3), shape=(3, 2)), S((0, 3), shape=(3, 0))],
    "_npi_reshape": [S((2, 3), newshape=(3, -1)), S((1,), newshape=())],
    "_npx_reshape": [S((2, 3), newshape=(-1,)), S((2, 3, 4), newshape=(-2, -1))],
    "expand_dims": [S((2, 3), axis=1), S((0, 3), axis=0)],
    "squeeze": [S((2, 1, 3), axis=1), S((1, 3, 1))],
    "transpose": [S((2, 3, 4), axes=(2, 0, 1)), S((2, 3)), S((1, 0, 2))],
    "_np_transpose": [S((2, 3, 4), axes=(-1, 0, 1)), S((2, 3)), S((1, 0, 2), axes=(0, -1, 1))],
    "SwapAxis": [S((2, 3, 4), dim1=0, dim2=2)],
    "reverse": [S((2, 3, 4), axis=(0, 2)), S((1, 3), axis=0)],
    "_npi_rot90": [S((2, 3), k=k) for k in (1, 2, 3)],
    "depth_to_space": [S((1, 8, 2, 3), block_size=2)],
    "space_to_depth": [S((1, 2, 4, 6), block_size=2)],
    "broadcast_to": [S((1, 3), shape=(2, 3)), S((1, 1), shape=(0, 3))],
    "broadcast_axis": [S((1, 3), axis=0, size=4), S((1, 3, 1), axis=(0, 2), size=(2, 2))],
    "broadcast_like": [S((1, 3), (2, 3)), S((1, 3), (5, 2), lhs_axes=(0,), rhs_axes=(1,))],
    "_sum_to": [S((2, 3), shape=(1, 3)), S((4, 2, 3), shape=(3,)), S((2, 0), shape=(1, 1))],
    "_broadcast_from": [S((1, 3), shape=(2, 3)), S((3,), shape=(0, 3))],
    "_repeat_over": [S((2,), axes=(1,), shape=(2, 3)), S((1, 3), axes=(0,), shape=(2, 3)), S((1,), axes=(0, 1), shape=(0, 3))],
    "_slice_view": [S((4, 5), key=(slice(1, 4, 2), 2)), S((4, 5), key=(None, slice(0, 0)))],
    "_put_part": [S((2, 5), key=(slice(1, 4, 2),), shape=(4, 5))],
    "slice": [S((3, 4), begin=(0, 1), end=(2, 4)), S((3, 4), begin=(2, None), end=(None, None), step=(-1, 2))],
    "_slice_assign": [S((3, 4), (2, 2), begin=(0, 1), end=(2, 3)), S((3, 4), (2, 1), begin=(0, 3), end=(3, None), step=(2, -4)), S((3, 4), (0, 4), begin=(1,), end=(1,))],
    "_slice_assign_scalar": [S((3, 4), scalar=2.0, begin=(0, 1), end=(2, 3)), S((3, 4), scalar=2.0, begin=(0, 3), end=(3, None), step=(2, -2))],
    "_scatter_elemwise_div": [S((2, 3), (2, 3))],
    "_sparse_retain": [S((3, 2), _ints(0, 2))],
    "cast_storage": [S((2, 3), stype="default")],
    "slice_axis": [S((3, 4), axis=1, begin=1, end=3), S((3, 4), axis=0, begin=-2, end=None)],
    "slice_like": [S((3, 4), (2, 3)), S((3, 4), (2, 3), axes=(1,))],
    "_rnn_param_concat": [S((3,), (2,), dim=0)],
    "Concat": [S((2, 3), (2, 1), dim=1), S((2, 3), (0, 3), dim=0), S((1, 2), dim=0)],
    "stack": [S((2, 3), (2, 3), axis=1), S((0, 3), (0, 3), axis=0)],
    "SliceChannel": [S((2, 4), num_outputs=2), S((2, 2, 3), num_outputs=2, axis=1, squeeze_axis=True)],
    "_split_v2": [S((2, 5), indices=(0, 2), axis=1), S((4, 2), axis=0, sections=2), S((2, 3), axis=0, sections=2, squeeze_axis=True)],
    "tile": [S((2, 3), reps=(2, 1, 2)), S((1,), reps=(3,)), S((0, 3), reps=(2, 2))],
    "repeat": [S((2, 3), repeats=2, axis=1), S((2, 3), repeats=3)],
    "Pad": [S((1, 2, 4, 5), mode=m, pad_width=(0, 0, 0, 0, 1, 2, 2, 0)) for m in ("constant", "edge", "reflect")],
    "_pad": [S((1, 2, 4, 5), mode=m, pad_width=(0, 0, 0, 0, 1, 2, 2, 0)) for m in ("constant", "edge", "reflect")],
    "_fold_places": [S((3, 2), places=(0, 2, 0), axis=0, length=4)],
    "_take_places": [S((4, 2), places=(0, 2, 0), axis=0)],
    "_bridge": [S((2, 3)), S((0,))],
    "Cast": [S((2, 3), dtype="float64")],
    "amp_cast": [S((2, 3), dtype="float64")],
    "amp_multicast": [S((2, 3), (2,), num_outputs=2)],
    "add_n": [S((2, 3), (2, 3), (2, 3)), S((1,)), S((0, 3), (0, 3))],
    "diag": [S((3, 4)), S((3, 4), k=-1), S((3,), k=1), S((2, 3, 3), axis1=1, axis2=2)],
    "khatri_rao": [S((2, 3), (4, 3)), S((2, 1), (1, 1), (3, 1))],
    "_identity_with_attr_like_rhs": [S((2, 3), (2, 3))],
    # choices
    "clip": [S(shape, a_min=low, a_max=high) for shape in ((2, 3), (1,), (0, 3)) for low, high in ((-0.5, 0.5), (0.3, 0.7), (0.5, -0.5))],
    "where": [S(_MASK, (2, 3), (2, 3)), S(_ints(1, 0), (2, 3), (2, 3))],
    "_is_true": [S(_MASK)],
    "_npi_where": [S(_MASK, (2, 3), (2, 3)), S(_MASK, (1, 3), (2, 1))],
    "_npi_where_rscalar": [S(_MASK, (2, 3), scalar=0.5)],
    "_npi_where_lscalar": [S(_MASK, (2, 3), scalar=0.5)],
    "take": [S((4, 3), _ints([0, 2], [0, 3])), S((4, 3), _ints(-1, 5), axis=1, mode="wrap"), S((1, 3), _ints(0, 0))],
    "_take_grad": [S((2, 3), _ints(0, 2), shape=(4, 3), axis=0, mode="clip")],
    "batch_take": [S((3, 4), _ints(0, 3, 1))],
    "pick": [S((3, 4), _ints(0, 3, 1)), S((3, 4), _ints(0, 2, 1, 1), axis=0, keepdims=True)],
    "_pick_grad": [S((3,), _ints(0, 3, 1), shape=(3, 4), axis=1)],
    "gather_nd": [S((3, 4), _ints([0, 2, 0], [1, 3, 1])), S((3, 4), _ints([2, 0])), S((3, 4), _ints([0, -1], [-3, 2]))],
    "scatter_nd": [S((2,), _ints([0, 2], [1, 3]), shape=(3, 4)), S((1, 4), _ints([-1]), shape=(3, 4)), S((0, 1), np.zeros((1, 0)), shape=(3, 1))],
    "_scatter_nd_add": [S((3,), _ints([0, 2, 0], [1, 3, 1]), shape=(3, 4))],
    "_gather_part": [S((4, 3), _ints(0, 2, 0, dtype="int64"), key=("$",))],
    "_set_places": [S((4, 3), (2, 3), _ints(0, 2, dtype="int64"), key=("$",))],
    "_scatter_part_add": [S((3, 3), _ints(0, 2, 0, dtype="int64"), key=("$",), shape=(4, 3))],
    "_put_rows": [S((3, 2), _ints(2, -1, 0), shape=(4, 2))],
    "_take_rows": [S((4, 2), _ints(2, -1, 0), shape=(3, 2))],
    "_scatter_along": [S((2, 2), _ints([0, 2], [1, 1], dtype="int64"), shape=(2, 3), axis=1)],
    "_put_along": [S((2, 4), _ints([0, 2], [1, 3], dtype="int64"), (2, 2), axis=1), S((3, 2), _ints([2, 0], dtype="int64"), (1, 2), axis=0)],
    "_gather_along": [S((2, 3), _ints([0, 2], [1, 1], dtype="int64"), axis=1)],
    "sort": [S((2, 4)), S((2, 4), axis=0, is_ascend=False), S((1, 1)), S((0, 3), axis=1)],
    "topk": [S((2, 4), k=2, ret_typ="value"), S((3, 2), k=1, ret_typ="value", axis=0, is_ascend=True)],
    "_contrib_boolean_mask": [S((3, 2), _ints(1, 0, 1))],
    "fill_element_0index": [S((3, 4), (3,), _ints(0, 3, 1))],
    "_contrib_index_copy": [S((4, 2), _ints(0, 2, dtype="int64"), (2, 2))],
    "SequenceMask": [S((3, 2, 2), _ints(1, 3), use_sequence_length=True, value=0.5), S((3, 2))],
    "SequenceLast": [S((3, 2, 2), _ints(1, 3), use_sequence_length=True), S((3, 2, 2))],
    "SequenceReverse": [S((3, 2, 2), _ints(2, 3), use_sequence_length=True), S((3, 2, 2))],
    "_sequence_reverse": [S((3, 2, 2), _ints(2, 3))],
    "Embedding": [S(_ints([0, 2], [2, 3]), (4, 3), input_dim=4, output_dim=3), S(_ints(0, 1), (2, 5), input_dim=2, output_dim=5)],
    "_contrib_SparseEmbedding": [S(_ints([0, 2], [2, 3]), (4, 3), input_dim=4, output_dim=3), S(_ints(0, 1), (2, 5), input_dim=2, output_dim=5)],
    "_csr_dot": [S((3,), _ints(0, 2, 1, dtype="int64"), _ints(0, 2, 2, 3, dtype="int64"), (4, 2))],
    "_embedding_grad": [S((2, 2, 3), _ints([0, 2], [2, 3]), shape=(4, 3))],
    "Crop": [S((1, 2, 4, 5), offset=(1, 2), h_w=(2, 3), num_args=1), S((1, 2, 4, 5), (1, 1, 2, 2), center_crop=True, num_args=2)],
    # products
    "FullyConnected": [S((2, 3), (4, 3), (4,), num_hidden=4), S((2, 2, 3), (4, 6), num_hidden=4, no_bias=True),
                       S((2, 2, 3), (4, 3), (4,), num_hidden=4, flatten=False), S((0, 3), (4, 3), (4,), num_hidden=4)],
    "_matmul": [S((2, 3), (3, 4)), S((5, 3, 2), (4, 3), transpose_a=True, transpose_b=True), S((2, 0), (0, 3))],
    "_npi_matmul": [S((2, 3), (3, 4)), S((3,), (3, 2)), S((2, 1, 2, 3), (4, 3, 2)), S((2, 3), (3,))],
    "batch_dot": [S((2, 3, 4), (2, 4, 2)), S((2, 4, 3), (2, 2, 4), transpose_a=True, transpose_b=True), S((0, 2, 3), (0, 3, 1))],
    "dot": [S((2, 3), (3, 4)), S((3,), (3,)), S((2, 3, 4), (4, 2)), S((3, 2), (4, 3), transpose_a=True, transpose_b=True)],
    "_linalg_gemm": [S((2, 3, 4), (2, 4, 2), (2, 3, 2), alpha=0.5, beta=2.0), S((3, 2), (4, 3), (2, 4), transpose_a=True, transpose_b=True)],
    "_linalg_gemm2": [S((3, 4), (4, 2), alpha=0.5), S((3, 2), (4, 3), transpose_a=True, transpose_b=True)],
    "_linalg_syrk": [S((2, 3), alpha=0.5), S((2, 3), transpose=True)],
    "_linalg_trmm": [S(Free(_regular(3)), (3, 3), rightside=r, transpose=t, lower=w, alpha=0.5)
                     for r in (False, True) for t in (False, True) for w in (False, True)],
    "_linalg_trsm": [S(Free(_regular(3)), (3, 3), rightside=r, transpose=t, lower=w, alpha=0.5)
                     for r in (False, True) for t in (False, True) for w in (False, True)],
    "_triangular_solve": [S(Free(_regular(3)), (3, 3), rightside=r, transpose=t, lower=w)
                          for r in (False, True) for t in (False, True) for w in (False, True)],
    "_linalg_potrf": [S(Free(_spd(3), symmetric=True)), S(Free(_spd(3), symmetric=True), lower=False)],
    "_linalg_potri": [S(Free(_regular(3))), S(Free(_regular(3)), lower=False)],
    "_linalg_inverse": [S(Free(_regular(3))), S(Free(np.stack([_regular(2, 1), _regular(2, 2)])))],
    "_linalg_det": [S(Free(_regular(3))), S(Free(np.stack([_regular(2, 1), _regular(2, 2)])))],
    "_linalg_slogdet": [S(Free(_regular(3)))],
    "_linalg_sumlogdiag": [S(Draw((2, 3, 3), signed=False))],
    "_linalg_gelqf": [S(Free(_regular(4)[:2])), S(Free(_regular(3)))],
    "_linalg_syevd": [S(Free(_spd(3), symmetric=True))],
    "_linalg_extractdiag": [S((2, 3, 3)), S((3, 3), offset=1)],
    "_linalg_makediag": [S((2, 3)), S((3,), offset=-1)],
    "_linalg_extracttrian": [S((2, 3, 3)), S((3, 3), offset=1, lower=False)],
    "_linalg_maketrian": [S((2, 6)), S((3,), offset=1, lower=False)],
    "_triangle": [S((2, 3, 3)), S((3, 4), lower=False, offset=1)],
    "_npi_pinv": [S(Free(_regular(3)), np.array(1e-9)), S(Free(_regular(4)[:, :2]), np.array(1e-9))],
    "_npi_solve": [S(Free(_regular(3)), (3, 2))],
    "_npi_qr": [S(Free(_regular(3))), S(Free(_regular(4)[:, :2])), S(Free(_regular(4)[:2]))],
    "_npi_svd": [S(Free(_regular(3)[:2]))],
    "_contrib_interleaved_matmul_selfatt_qk": [S((3, 2, 12), heads=2)],
    "_contrib_interleaved_matmul_selfatt_valatt": [S((3, 2, 12), (4, 3, 3), heads=2), S((3, 2, 6), (2, 3, 3), heads=1)],
    "_contrib_interleaved_matmul_encdec_qk": [S((3, 2, 4), (2, 2, 8), heads=2)],
    "_contrib_interleaved_matmul_encdec_valatt": [S((2, 2, 8), (4, 3, 2), heads=2), S((2, 2, 4), (2, 3, 2), heads=1)],
    "_attention": [S((2, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 4), None), S((2, 1, 3, 4), (2, 1, 3, 4), (2, 1, 3, 4), None, causal=True),
                   S((2, 1, 2, 4), (2, 1, 3, 4), (2, 1, 3, 4), _ints(1, 3), scale=0.3)],
    "_cache_write": [S((2, 1, 5, 3), (2, 1, 2, 3), _ints(0, 3, dtype="int32"))],
    "_dropout_attention": [S((2, 1, 3, 4), (2, 1, 3, 4), (2, 1, 3, 4), p=0.4)],
    # layers
    "Convolution": CONVOLUTION,
    "_sg_mkldnn_conv": [S((1, 2, 4, 4), (3, 2, 2, 2), (3,), None, None, None, None, (1, 3, 3, 3), kernel=(2, 2), num_filter=3, with_sum=True)],
    "_sg_mkldnn_fully_connected": [S((2, 3), (4, 3), (4,), num_hidden=4, with_eltwise=True, act_type="sigmoid")],
    "Deconvolution": [S((1, 4, 3, 4), (4, 2, 3, 2), (4,), kernel=(3, 2), num_filter=4, num_group=2, stride=(2, 1), pad=(1, 0),
                        adj=(1, 0), no_bias=False), S((2, 2, 4), (2, 3, 2), kernel=(2,), num_filter=3, dilate=(2,)),
                      S((1, 2, 4), (2, 1, 3), kernel=(3,), stride=(2,), num_filter=1, target_shape=(8,))],
    "_conv": [S((2, 4, 5, 6), (6, 2, 2, 2), (6,), **_SPREAD)],
    "_conv_data_grad": [S((2, 6, 3, 4), (6, 2, 2, 2), shape=(2, 4, 5, 6), **{**_SPREAD})],
    "_conv_weight_grad": [S((2, 6, 3, 4), (2, 4, 5, 6), shape=(6, 2, 2, 2), **_SPREAD)],
    "_conv_bias_grad": [S((2, 3, 2, 2))],
    "Pooling": POOLING,
    "Pooling_v1": [S((1, 2, 5, 4), **_WINDOW, pool_type=kind) for kind in ("max", "avg", "sum")],
    "_max_of_space": [S((2, 3, 2, 3)), S((1, 2, 4)), S((1, 2, 1, 2, 2))],
    "_max_pool": [S((1, 2, 5, 4), kernel=(2, 2), stride=(2, 1), pad=((1, 1), (0, 0)))],
    "_avg_pool": [S((1, 2, 5, 4), kernel=(2, 2), stride=(2, 1), pad=((1, 1), (0, 0)), count_include_pad=c) for c in (True, False)],
    "_avg_pool_grad": [S((1, 2, 3, 3), shape=(1, 2, 5, 4), kernel=(2, 2), stride=(2, 1), pad=((1, 1), (0, 0)), count_include_pad=True)],
    "softmax": [*SOFTMAX, S((2, 3), _ints(1, 3, dtype="int32"), use_length=True)],
    "log_softmax": SOFTMAX,
    "softmin": SOFTMAX,
    "_softmax": [S((2, 3), axis=1), S((2, 3), axis=0)],
    "_onednn_softmax": [S((2, 3), axis=1), S((2, 3), axis=0)],
    "_log_softmax": [S((2, 3), axis=1), S((2, 3), axis=0)],
    "_softmax_grad": [S((2, 3), (2, 3), axis=1)],
    "_masked_softmax": [S((2, 3), _ints(1, 3), axis=1)],
    "masked_softmax": [S((2, 3), _ints([1, 0, 1], [1, 1, 1])), S((2, 3), _ints([1, 0, 1], [0, 1, 1]), axis=0, temperature=2.0)],
    "masked_log_softmax": [S((2, 3), _ints([1, 1, 1], [1, 1, 1])), S((2, 3), _ints([1, 1, 1], [1, 1, 1]), axis=0)],
    "_npx_index_add": [S((4, 3), _ints([0, 2, 2]), (3, 3)), S((4, 3), _ints([0, 2], [1, 0]), (2,))],
    "_npx_index_update": [S((4, 3), _ints([0, 2]), (2, 3)), S((4, 3), _ints([0, 2], [1, 0]), (2,))],
    "_instance_softmax": [S((2, 3))],
    "SoftmaxActivation": [S((2, 3)), S((2, 3, 2), mode="channel")],
    "softmax_cross_entropy": [S((2, 3), _ints(2, 0))],
    "_cross_entropy": [S((2, 3), _ints(2, 0)), S((2, 3, 2), _ints([2, 0], [1, 1]), axis=1)],
    "_cross_entropy_grad": [S((2,), (2, 3), _ints(2, 0))],
    "_linear_cross_entropy": [S((2, 3), (4, 3), _ints(3, 0), (4,)), S((3, 2), (2, 2), _ints(0, 1, 1), None)],
    "_contrib_linear_cross_entropy": [S((2, 2, 3), (4, 3), _ints([3, 0], [1, 1]), (4,))],
    "_ctc_loss": [S((4, 2, 3), _ints([1, 2], [2, 0]), _ints(2, 1), None, blank=0),
                  S((4, 2, 3), _ints([1, 0], [0, 0]), _ints(2, 2), _ints(3, 4), blank=2)],
    "CTCLoss": [S((4, 2, 3), _ints([1, 2], [2, 2])), S((4, 2, 3), _ints([1, 0], [0, 1]), None, _ints(1, 2), use_label_lengths=True, blank_label="last"),
                S((4, 2, 3), _ints([1, 2], [2, 0]), _ints(3, 4), use_data_lengths=True)],
    "Dropout": [S((4, 5), p=0.4), S((4, 5), p=0.4, training=False), S((4, 5), p=0.4, axes=(0,))],
    "_dropout": [S((4, 5), p=0.4), S((4, 5), p=0.4, axes=(1,))],
    "Activation": [S((2, 3), act_type=t) for t in ("relu", "sigmoid", "tanh", "softrelu", "softsign")],
    "LeakyReLU": [S((2, 3), act_type=t, slope=0.3) for t in ("leaky", "elu", "gelu")]
                 + [S((2, 3, 2), (3,), act_type="prelu")],
    "BatchNorm": [*BATCH_NORM, S((2, 4, 3), (3,), (3,), *_MOVING, fix_gamma=False, axis=2, **_NORMS)],
    "_contrib_SyncBatchNorm": BATCH_NORM,
    "_contrib_BatchNormWithReLU": BATCH_NORM,
    "LayerNorm": [S((2, 3, 4), (4,), (4,), **_NORMS), S((2, 3, 4), (3,), (3,), axis=1, **_NORMS)],
    "GroupNorm": [S((2, 4, 3), (n,), (n,), num_groups=n, **_NORMS) for n in (1, 2)],
    "_group_norm": [S((2, 4, 3), (4,), (4,), num_groups=2, **_NORMS)],
    "InstanceNorm": [S((2, 3, 4), (3,), (3,), **_NORMS)],
    "LRN": [S((2, 5, 2, 2), nsize=3, alpha=0.1), S((0, 5, 2, 3), nsize=3)],
    "RNN": RNN,
    "_contrib_hawkesll": [S(Draw((2, 2), signed=False), Draw((2,), signed=False), Draw((2,), signed=False), Draw((2, 2), signed=False),
                            Draw((2, 3), signed=False), _ints([0, 1, 1], [1, 0, 1], dtype="int32"), _ints(3, 2), _ints(4, 5))],
    # vision
    "_image_to_tensor": [S((4, 3, 2), distance=1.0)],
    "_image_normalize": [S((3, 4, 2), mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7)), S((2, 1, 4, 2), mean=(0.1,), std=(0.5,))],
    "_image_standardize": [S((3, 4, 2), (3, 1, 1), Draw((3, 1, 1), signed=False))],
    "_image_flip_left_right": [S((4, 3, 2))],
    "_image_flip_top_bottom": [S((4, 3, 2))],
    "_image_crop": [S((5, 4, 2), x=1, y=2, width=2, height=3)],
    "ROIPooling": [S((2, 3, 7, 7), _ROIS, pooled_size=(2, 2), spatial_scale=1.0)],
    "_contrib_ROIAlign": [S((2, 4, 7, 7), _ROIS, pooled_size=(2, 2), spatial_scale=0.9, sample_ratio=2, aligned=True),
                          S((2, 4, 7, 7), _ROIS, pooled_size=(2, 2), spatial_scale=1.0, position_sensitive=True)],
    "_contrib_RROIAlign": [S((2, 3, 7, 7), _ROTATED, pooled_size=(2, 2), spatial_scale=1.0, sampling_ratio=2)],
    "BilinearSampler": [S((1, 2, 4, 5), _POINTS)],
    "GridGenerator": [S((2, 6), transform_type="affine", target_shape=(3, 4)), S((1, 2, 3, 3), transform_type="warp")],
    "SpatialTransformer": [S((1, 2, 4, 5), Free([[0.7, 0.1, 0.03, -0.1, 0.6, 0.04]]), target_shape=(3, 2), transform_type="affine",
                             sampler_type="bilinear")],
    "_correlation": [S((1, 2, 5, 6), (1, 2, 5, 6), size=3, reach=2, stride=2, step=2, pad=3, multiply=m) for m in (True, False)],
    "Correlation": [S((1, 2, 5, 5), (1, 2, 5, 5), max_displacement=1, pad_size=1), S((1, 2, 5, 5), (1, 2, 5, 5), max_displacement=1, pad_size=1, is_multiply=False)],
    "_resize_bilinear": [S((1, 2, 3, 4), size=(5, 3), align_corners=a) for a in (True, False)],
    "_resize_bilinear_grad": [S((1, 2, 5, 3), shape=(1, 2, 3, 4), align_corners=True)],
    "_contrib_BilinearResize2D": [S((1, 2, 3, 4), height=5, width=3), S((1, 2, 3, 4), scale_height=2.0, scale_width=0.5, mode="odd_scale")],
    "UpSampling": [S((1, 2, 3, 2), scale=2, sample_type="nearest"), S((1, 2, 3, 2), (1, 1, 6, 4), scale=2, sample_type="nearest", num_args=2),
                   S((1, 2, 3, 2), (1, 2, 6, 4), scale=2, sample_type="nearest", num_args=2, multi_input_mode="sum"),
                   S((1, 2, 3, 2), (2, 1, 4, 4), scale=2, sample_type="bilinear", num_filter=2, num_args=2)],
    "_contrib_AdaptiveAvgPooling2D": [S((1, 2, 5, 4), output_size=(2, 3)), S((1, 2, 3, 3))],
    "_adaptive_avg_pooling_grad": [S((1, 2, 2, 3), shape=(1, 2, 5, 4))],
    "im2col": [S((1, 2, 4, 5), kernel=(2, 2), stride=(2, 1), pad=(1, 0))],
    "col2im": [S((1, 8, 12), output_size=(4, 5), kernel=(2, 2), stride=(2, 1), pad=(1, 0)), S((2, 6, 2), output_size=(1, 6), kernel=(1, 3), dilate=(1, 2)),
               S((1, 3, 9), output_size=(3, 3), kernel=(3, 1), pad=(1, 0))],
    "_contrib_DeformableConvolution": [S((1, 2, 5, 5), Draw((1, 8, 4, 4), 0.1, 0.4), (2, 2, 2, 2), (2,), kernel=(2, 2), num_filter=2),
                                       S((1, 4, 4, 3), Draw((1, 12, 4, 1), 0.1, 0.4), (4, 2, 1, 3), kernel=(1, 3), num_filter=4, num_group=2,
                                         num_deformable_group=2, no_bias=True)],
    "_contrib_PSROIPooling": [S((1, 4, 6, 6), _ints([0, 0, 0, 4, 4], [0, 1, 1, 5, 4]), spatial_scale=1.0, output_dim=1, pooled_size=2),
                              S((1, 3, 6, 6), _ints([0, 0, 0, 4, 4]), spatial_scale=1.0, output_dim=3, pooled_size=1)],
    "_contrib_DeformablePSROIPooling": [S((1, 4, 6, 6), _ints([0, 0, 0, 4, 4], [0, 1, 1, 5, 4]), (2, 2, 2, 2), spatial_scale=1.0,
                                          output_dim=1, group_size=2, pooled_size=2, sample_per_part=2, trans_std=0.1),
                                        S((1, 2, 6, 6), _ints([0, 0, 0, 4, 4]), spatial_scale=1.0, output_dim=2, group_size=1, pooled_size=3, no_trans=True)],
    "_deformable_columns": [S((1, 2, 5, 5), Draw((1, 16, 4, 4), 0.1, 0.4), None, kernel=(2, 2), stride=(1, 1), dilate=(1, 1),
                              pad=(0, 0), groups=2)],
    "_contrib_ModulatedDeformableConvolution": [
        S((1, 2, 5, 5), Draw((1, 8, 4, 4), 0.1, 0.4), (1, 4, 4, 4), (2, 2, 2, 2), (2,), kernel=(2, 2), num_filter=2),
        S((1, 4, 4, 3), Draw((1, 12, 4, 1), 0.1, 0.4), (1, 6, 4, 1), (4, 2, 1, 3), kernel=(1, 3), num_filter=4, num_group=2,
          num_deformable_group=2, no_bias=True)],
    "_contrib_fft": [S((2, 4))],
    "_contrib_ifft": [S((2, 8))],
    "_contrib_count_sketch": [S((2, 4), _ints([0, 2, 1, 2]), _ints([1, -1, 1, 1]), out_dim=3)],
    "_contrib_div_sqrt_dim": [S((2, 3))],
    "_contrib_dynamic_reshape": [S((2, 6), np.array([-1, 4]))],
    "_contrib_sldwin_atten_score": [S((2, 4, 2, 3), (2, 4, 2, 3), np.array([1, 2]), w=1, symmetric=True),
                                    S((1, 5, 1, 2), (1, 5, 1, 2), np.array([2]), w=2, symmetric=False)],
    "_contrib_sldwin_atten_context": [S((2, 4, 2, 3), (2, 4, 2, 3), np.array([1, 2]), w=1, symmetric=True),
                                      S((1, 5, 1, 3), (1, 5, 1, 2), np.array([2]), w=2, symmetric=False)],
    "_contrib_quadratic": [S((2, 3), a=0.5, b=2.0, c=1.0)],
    # densities
    "_random_pdf_uniform": [S(Draw((2, 3), 0.3, 0.6, False), Draw((2,), 0.0, 0.2, False), Draw((2,), 1.0, 2.0, False), is_log=b) for b in (False, True)],
    "_random_pdf_normal": [S((2, 3), (2,), Draw((2,), signed=False), is_log=b) for b in (False, True)],
    **{n: [S(Draw((2, 3), signed=False), Draw((2,), signed=False), Draw((2,), signed=False), is_log=b) for b in (False, True)]
       for n in ("_random_pdf_gamma",)},
    "_random_pdf_exponential": [S(Draw((2, 3), signed=False), Draw((2,), signed=False), is_log=b) for b in (False, True)],
    "_random_pdf_poisson": [S(_ints([0, 1, 3], [2, 2, 1]), Draw((2,), signed=False), is_log=b) for b in (False, True)],
    **{n: [S(_ints([0, 1, 3], [2, 2, 1]), Draw((2,), 1.2, 3.0, False), Draw((2,), signed=False), is_log=b) for b in (False, True)]
       for n in ("_random_pdf_negative_binomial", "_random_pdf_generalized_negative_binomial")},
    "_random_pdf_dirichlet": [S(Free([[[0.2, 0.3, 0.5], [0.1, 0.6, 0.3]]]), Draw((1, 3), 1.2, 3.0, False), is_log=b) for b in (False, True)],
}  # fmt: skip


def differentiable() -> list[str]:
    """Names of the operators of the table that have a gradient: a rule, a formula's, or that of an expression."""
    return sorted(
        name
        for name, op in TABLE.items()
        if op.name == name and (op.rule is not None or op.composite) and not name.startswith("_backward_")
    )
