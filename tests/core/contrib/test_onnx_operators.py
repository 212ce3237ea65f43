"""Each conversion to ONNX, run by onnxruntime on two batch sizes, and back again,
against what the symbol computes here.
"""

import numpy as np
import pytest

import core as mx

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

sym = mx.sym
x, y = sym.var("x"), sym.var("y")
IMAGE, ROWS, STEPS = (2, 4, 8, 6), (2, 6), (5, 2, 6)

# name: (symbol, shapes of the inputs by name[, keywords: dtypes, "same" batch at axis])
CASES = {
    "conv": (sym.Convolution(x, kernel=(3, 3), num_filter=4, num_group=2, stride=(2, 1), pad=(1, 0)), {"x": IMAGE}),
    "conv_dilated": (sym.Convolution(x, kernel=(3, 2), num_filter=5, dilate=(2, 1), no_bias=True), {"x": IMAGE}),
    "conv_1d": (sym.Convolution(x, kernel=(3,), num_filter=5, pad=(1,)), {"x": (2, 4, 8)}),
    "deconv": (sym.Deconvolution(x, kernel=(4, 4), num_filter=3, stride=(2, 2), pad=(1, 1), adj=(1, 0)), {"x": IMAGE}),
    "max_pool": (sym.Pooling(x, kernel=(2, 3), stride=(2, 2), pad=(0, 1), pool_type="max"), {"x": IMAGE}),
    "max_pool_full": (
        sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full"),
        {"x": IMAGE},
    ),
    "avg_pool": (sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg"), {"x": IMAGE}),
    "avg_pool_inside": (
        sym.Pooling(x, kernel=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False),
        {"x": IMAGE},
    ),
    "avg_pool_full": (
        sym.Pooling(x, kernel=(3, 2), stride=(2, 2), pool_type="avg", pooling_convention="full"),
        {"x": IMAGE},
    ),
    "sum_pool": (sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="sum"), {"x": IMAGE}),
    "global_avg": (sym.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg"), {"x": IMAGE}),
    "global_max": (sym.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="max"), {"x": IMAGE}),
    "adaptive": (sym.contrib.AdaptiveAvgPooling2D(x, output_size=(4, 3)), {"x": IMAGE}),
    "adaptive_uneven": (sym.contrib.AdaptiveAvgPooling2D(x, output_size=(3, 4)), {"x": IMAGE}),
    "batch_norm": (sym.BatchNorm(x, fix_gamma=False, eps=1e-3), {"x": IMAGE}),
    "batch_norm_fixed": (sym.BatchNorm(x), {"x": ROWS}),
    "batch_norm_relu": (sym.contrib.BatchNormWithReLU(x, fix_gamma=False), {"x": IMAGE}),
    "batch_norm_sync": (sym.contrib.SyncBatchNorm(x, key="0", fix_gamma=False), {"x": IMAGE}),
    "batch_norm_last": (sym.BatchNorm(x, axis=-1, fix_gamma=False), {"x": IMAGE}),
    "layer_norm": (sym.LayerNorm(x), {"x": STEPS}),
    "layer_norm_channels": (sym.LayerNorm(x, axis=1), {"x": IMAGE}),
    "instance_norm": (sym.InstanceNorm(x), {"x": IMAGE}),
    "group_norm": (sym.GroupNorm(x, num_groups=2), {"x": IMAGE}),
    "l2_instance": (sym.L2Normalization(x), {"x": IMAGE}),
    "l2_channel": (sym.L2Normalization(x, mode="channel"), {"x": IMAGE}),
    "lrn": (sym.LRN(x, nsize=3, alpha=1e-2), {"x": IMAGE}),
    "dense": (sym.FullyConnected(x, num_hidden=5), {"x": IMAGE}),
    "dense_last_axis": (sym.FullyConnected(x, num_hidden=5, flatten=False), {"x": STEPS}),
    "dense_plain": (sym.FullyConnected(x, num_hidden=5, no_bias=True), {"x": ROWS}),
    "embedding": (sym.Embedding(x, input_dim=7, output_dim=3), {"x": (2, 4)}, "indices"),
    "dropout": (sym.Dropout(x, p=0.5), {"x": ROWS}),
    **{
        f"activation_{k}": (sym.Activation(x, act_type=k), {"x": ROWS})
        for k in ("relu", "sigmoid", "tanh", "softrelu", "softsign", "mish", "log_sigmoid")
    },
    **{
        f"leaky_{k}": (sym.LeakyReLU(x, act_type=k, slope=0.3), {"x": IMAGE})
        for k in ("leaky", "prelu", "elu", "selu", "gelu")
    },
    "softmax": (sym.softmax(x, axis=1, temperature=2.0), {"x": IMAGE}),
    "softmax_length": (
        sym.softmax(x, sym.Cast(y, dtype="int32"), use_length=True, axis=-1),
        {"x": (2, 3, 5), "y": (2, 3)},
        "lengths",
    ),
    "softmin": (sym.softmin(x), {"x": ROWS}),
    "log_softmax": (sym.log_softmax(x, axis=1), {"x": IMAGE}),
    "softmax_output": (sym.SoftmaxOutput(x), {"x": ROWS}),
    "softmax_activation": (sym.SoftmaxActivation(x, mode="channel"), {"x": IMAGE}),
    "softmax_activation_rows": (sym.SoftmaxActivation(x), {"x": IMAGE}),
    "arithmetic": (((x + y) * x - 2) / (y * y + 1) + (3 - x) ** 2 - x % 0.7, {"x": ROWS, "y": ROWS}),
    "broadcast": (
        sym.broadcast_maximum(sym.broadcast_mul(x, y), sym.broadcast_sub(x, y)),
        {"x": IMAGE, "y": (2, 1, 8, 1)},
    ),
    "comparisons": ((x > y) + (x <= 0.1) * 2 + sym.broadcast_not_equal(x, y), {"x": ROWS, "y": ROWS}),
    "logic": (sym.broadcast_logical_and(x > 0, y > 0) + sym.logical_not(x > 0), {"x": ROWS, "y": ROWS}),
    "where": (sym.where(x > 0, x, y * 2), {"x": ROWS, "y": ROWS}),
    "where_rows": (sym.where(y > 0, x, x * 2), {"x": ROWS, "y": (2,)}),
    "functions": (
        sym.exp(x)
        + sym.log1p(sym.abs(x))
        + sym.sqrt(sym.abs(y))
        + sym.erf(x)
        + sym.sin(x) * sym.arctan(y)
        + sym.square(x)
        + sym.rsqrt(sym.abs(x) + 1)
        + sym.cbrt(y)
        + sym.sign(x)
        + sym.floor(3 * x)
        + sym.rint(3 * y)
        + sym.expm1(y)
        + sym.log2(sym.abs(x) + 1)
        + sym.trunc(4 * x)
        + sym.reciprocal(y + 9)
        + sym.sigmoid(x)
        + sym.smooth_l1(y, scalar=2.0)
        + sym.hard_sigmoid(x)
        + sym.softsign(y),
        {"x": ROWS, "y": ROWS},
    ),
    "clip": (sym.clip(x, a_min=-0.3, a_max=0.2), {"x": ROWS}),
    "add_n": (sym.add_n(x, y, x), {"x": ROWS, "y": ROWS}),
    "reshape": (sym.Reshape(x, shape=(0, -4, 2, 2, -1)), {"x": IMAGE}),
    "reshape_merge": (sym.Reshape(x, shape=(-3, 0, -1)), {"x": IMAGE}),
    "flatten": (sym.Flatten(x), {"x": IMAGE}),
    "axes": (sym.squeeze(sym.expand_dims(sym.transpose(x, axes=(0, 2, 3, 1)), axis=1), axis=1), {"x": IMAGE}),
    "swap_axes": (sym.SwapAxis(x, dim1=1, dim2=2), {"x": IMAGE}),
    "join": (sym.Concat(sym.stack(x, y, axis=1), sym.expand_dims(x, axis=1), dim=1), {"x": ROWS, "y": ROWS}),
    "split": (sym.Group(list(sym.SliceChannel(x, num_outputs=2, axis=1))), {"x": IMAGE}),
    "split_squeezed": (sym.SliceChannel(x, num_outputs=4, axis=1, squeeze_axis=True)[2], {"x": IMAGE}),
    "slices": (
        sym.slice_axis(sym.slice(x, begin=(None, 1), end=(None, None), step=(1, 2)), axis=2, begin=1, end=-1),
        {"x": IMAGE},
    ),
    "slice_like": (sym.slice_like(x, y, axes=(1, 2)), {"x": IMAGE, "y": (2, 3, 5, 6)}),
    "reverse": (sym.reverse(x, axis=1), {"x": ROWS}),
    "repeat": (sym.repeat(sym.tile(x, reps=(1, 2)), repeats=2, axis=1), {"x": ROWS}),
    "pad": (sym.Pad(x, mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 0, 1), constant_value=0.5), {"x": IMAGE}),
    "pad_reflect": (sym.Pad(x, mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 0, 1)), {"x": IMAGE}),
    "depth_space": (sym.space_to_depth(sym.depth_to_space(x, block_size=2), block_size=2), {"x": IMAGE}),
    "up_sampling": (sym.UpSampling(x, scale=2, sample_type="nearest"), {"x": IMAGE}),
    "bilinear": (sym.contrib.BilinearResize2D(x, height=5, width=9), {"x": IMAGE}),
    "broadcast_to": (
        sym.broadcast_axis(x, axis=2, size=3) + sym.broadcast_to(y, shape=(0, 4, 3)),
        {"x": (2, 4, 1), "y": (2, 1, 1)},
    ),
    "broadcast_like": (sym.broadcast_like(x, y), {"x": (2, 1), "y": ROWS}),
    "like": (sym.ones_like(x) * 3 + sym.zeros_like(x) + sym.full_like(x, fill_value=2.0), {"x": ROWS}),
    "arange_like": (sym.broadcast_add(x, sym.contrib.arange_like(x, axis=1)), {"x": ROWS}),
    "reductions": (
        sym.Concat(
            *[
                sym.expand_dims(f(x, axis=a), axis=1)
                for f, a in ((sym.sum, 1), (sym.mean, 1), (sym.max, 1), (sym.min, 1), (sym.prod, 1), (sym.norm, 1))
            ],
            dim=1,
        ),
        {"x": ROWS},
    ),
    "reduce_exclude": (sym.mean(x, axis=(0, 2), exclude=True, keepdims=True), {"x": IMAGE}),
    "arg": (sym.argmax(x, axis=1) + sym.argmin(x, axis=1), {"x": ROWS}),
    "top_k": (sym.topk(x, k=3, ret_typ="value"), {"x": ROWS}),
    "top_k_places": (sym.topk(x, k=2, axis=1), {"x": IMAGE}),
    "sort": (sym.sort(x, is_ascend=False) + sym.argsort(x), {"x": ROWS}),
    "cumsum": (sym.cumsum(x, axis=1), {"x": ROWS}),
    "batch_dot": (sym.batch_dot(x, y, transpose_b=True), {"x": (2, 3, 4), "y": (2, 5, 4)}),
    "gemm2": (sym.linalg.gemm2(x, y, transpose_a=True, alpha=0.5), {"x": (2, 4, 3), "y": (2, 4, 5)}),
    "dot": (sym.dot(x, sym.var("w", shape=(6, 3))), {"x": ROWS}),
    "take": (sym.take(sym.var("w", shape=(9, 3)), x), {"x": (2, 4)}, "indices"),
    "pick": (sym.pick(x, y, axis=1), {"x": ROWS, "y": (2,)}, "lengths"),
    "one_hot": (sym.one_hot(x, depth=7, on_value=2, off_value=-1), {"x": (2, 4)}, "indices"),
    "sequence_mask": (sym.SequenceMask(x, y, use_sequence_length=True, value=-1), {"x": STEPS, "y": (2,)}, "lengths 1"),
    "sequence_last": (sym.SequenceLast(x, y, use_sequence_length=True), {"x": STEPS, "y": (2,)}, "lengths 1"),
    "sequence_reverse": (sym.SequenceReverse(x, y, use_sequence_length=True), {"x": STEPS, "y": (2,)}, "lengths 1"),
    "self_attention": (
        sym.contrib.interleaved_matmul_selfatt_valatt(
            x, sym.softmax(sym.contrib.interleaved_matmul_selfatt_qk(x, heads=2)), heads=2
        ),
        {"x": (5, 2, 24)},
        "1",
    ),
    "encoder_decoder_attention": (
        sym.contrib.interleaved_matmul_encdec_valatt(
            y, sym.softmax(sym.contrib.interleaved_matmul_encdec_qk(x, y, heads=2)), heads=2
        ),
        {"x": (5, 2, 8), "y": (3, 2, 16)},
        "1",
    ),
    "fused_attention": (
        sym.op._attention(
            sym.Reshape(x, shape=(0, 2, 5, 4)),
            sym.Reshape(x * 2, shape=(0, 2, 5, 4)),
            sym.Reshape(x + 1, shape=(0, 2, 5, 4)),
            y,
        ),
        {"x": (2, 40), "y": (2,)},
        "lengths",
    ),
    "causal_attention": (
        sym.op._attention(*[sym.Reshape(x + i, shape=(0, 2, 5, 4)) for i in range(3)], causal=True),
        {"x": (2, 40)},
    ),
    "div_sqrt_dim": (sym.contrib.div_sqrt_dim(x), {"x": ROWS}),
    "cast": (sym.Cast(sym.Cast(x * 9, dtype="int32"), dtype="float32"), {"x": ROWS}),
    "box_decode": (sym.contrib.box_decode(x, sym.var("w", shape=(1, 5, 4)), std0=0.1, std3=0.2), {"x": (2, 5, 4)}),
    "roi_align": (
        sym.contrib.ROIAlign(
            x, sym.var("w", shape=(3, 5), init="rois"), pooled_size=(2, 2), spatial_scale=0.5, sample_ratio=2
        ),
        {"x": IMAGE},
    ),
    "multi_box_prior": (
        sym.broadcast_add(
            sym.contrib.MultiBoxPrior(x, sizes=(0.5, 0.2), ratios=(1, 2)),
            sym.mean(x, axis=(1, 2, 3), keepdims=True).reshape((-1, 1, 1)),
        ),
        {"x": IMAGE},
    ),
    "numpy": (sym.np.sum((x.as_np_ndarray() @ y.as_np_ndarray()) / 2, axis=1), {"x": (2, 3, 4), "y": (2, 4, 3)}),
}


def _inputs(shapes, note, batch, axis):
    rng = np.random.default_rng(batch)
    values = {}
    for k, (name, shape) in enumerate(shapes.items()):
        shape = tuple(batch if i == axis else n for i, n in enumerate(shape))
        if note.startswith("indices"):
            values[name] = rng.integers(0, 7, shape).astype("float32")
        elif note.startswith("lengths") and k == 1:
            at = tuple(batch if name == "y" else n for n in shape[:1]) if len(shape) == 1 else shape
            values[name] = rng.integers(1, 6, at).astype("float32")
        else:
            values[name] = rng.uniform(-1, 1, shape).astype("float32")
    return values


def _parameters(symbol, inputs):
    rng = np.random.default_rng(0)
    shapes = {n: v.shape for n, v in inputs.items()}
    arguments, _, states = symbol.infer_shape(**shapes)
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    made = {}
    for name, shape in zip(names, [*arguments, *states], strict=True):
        if name in inputs or name.endswith("_label"):
            continue
        value = rng.uniform(0.5, 1.5, shape) if name.endswith(("var", "gamma")) else rng.uniform(-1, 1, shape)
        if symbol.attr_dict().get(name, {}).get("__init__") == "rois":
            value = np.array([[0, 1, 1, 9, 7], [1, 0, 2, 8, 12], [0, 3, 3, 5, 5]])
        made[name] = mx.nd.array(value)
    return made


def _eval(symbol, values):
    states = set(symbol.list_auxiliary_states())
    if symbol.list_arguments() and any(n.endswith("_label") for n in symbol.list_arguments()):
        label = next(n for n in symbol.list_arguments() if n.endswith("_label"))
        values = {**values, label: mx.nd.zeros((next(iter(values.values())).shape[0],))}
    arguments = {n: v for n, v in values.items() if n in symbol.list_arguments()}
    executor = symbol.bind(
        mx.cpu(), arguments, grad_req="null", aux_states={n: v for n, v in values.items() if n in states}
    )
    return [o.asnumpy() for o in executor.forward()]


@pytest.mark.parametrize("name", CASES)
def test_operator_in_onnxruntime_and_back(name, tmp_path):
    symbol, shapes, note = (*CASES[name], "")[:3]
    axis = 1 if note.endswith("1") else 0
    first = _inputs(shapes, note, 2, axis)
    parameters = _parameters(symbol, first)
    free = [tuple("n" if i == (0 if len(s) == 1 else axis) else e for i, e in enumerate(s)) for s in shapes.values()]
    path = str(tmp_path / "model.onnx")
    order = [n for n in symbol.list_inputs() if n in shapes]
    by_name = dict(zip(shapes, free, strict=True))
    mx.contrib.onnx.export_model(
        symbol,
        parameters,
        [first[n].shape for n in order],
        onnx_file_path=path,
        dynamic=True,
        dynamic_input_shapes=[by_name[n] for n in order],
    )
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    back, arguments, states = mx.contrib.onnx.import_model(path)
    for batch in (2, 3):
        values = _inputs(shapes, note, batch, axis)
        arrays = {n: mx.nd.array(v) for n, v in values.items()}
        expected = _eval(symbol, {**arrays, **parameters})
        for got in (session.run(None, values), _eval(back, {**arrays, **arguments, **states})):
            assert len(got) == len(expected)
            for a, b in zip(got, expected, strict=True):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


# name: (symbol, shapes of its inputs, others in which the dynamic lengths differ)
OPEN = {
    "reshape_like": (sym.reshape_like(x, y), [(2, 6, 4), (2, 4, 6)], [(5, 9, 4), (5, 4, 9)]),
    "reshape_like_a_part": (
        sym.reshape_like(x, y, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2),
        [(6, 4), (2, 3, 7)],
        [(20, 4), (4, 5, 7)],
    ),
    "axes_joined": (sym.Reshape(x, shape=(-3, 0)), [(2, 3, 4)], [(4, 5, 6)]),
    "axis_divided": (sym.Reshape(x, shape=(0, -4, 2, -1, 0)), [(2, 6, 4)], [(4, 8, 6)]),
    "broadcast_like": (sym.broadcast_like(x, y), [(1, 3, 1), (2, 3, 4)], [(1, 3, 1), (5, 3, 7)]),
    "broadcast_like_axes": (
        sym.broadcast_like(x, y, lhs_axes=(0,), rhs_axes=(2,)),
        [(1, 3), (2, 3, 4)],
        [(1, 3), (5, 3, 7)],
    ),
    "slice_like": (sym.slice_like(x, y), [(5, 6), (2, 4)], [(9, 6), (3, 5)]),
    "repeat": (sym.repeat(x, repeats=3, axis=1), [(2, 3)], [(4, 5)]),
    "sequence_mask": (sym.SequenceMask(x, y * 0 + 2, use_sequence_length=True), [(3, 2, 4), (2,)], [(6, 5, 4), (5,)]),
    "sequence_last": (
        sym.SequenceLast(x, y * 0 + 2, use_sequence_length=True, axis=1),
        [(2, 3, 4), (2,)],
        [(5, 6, 4), (5,)],
    ),
    "sort": (sym.sort(x, axis=0), [(3, 2)], [(5, 4)]),
    "ranks": (sym.topk(x, axis=1, k=0), [(2, 3)], [(4, 5)]),
    "places": (sym.contrib.arange_like(x, start=1.0, step=0.5), [(2, 3)], [(4, 5)]),
    "resized_by_a_factor": (
        sym.contrib.BilinearResize2D(x, scale_height=2.0, scale_width=2.0, align_corners=False),
        [(1, 2, 4, 5)],
        [(3, 2, 6, 7)],
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_operators_over_lengths_that_are_dynamic(name, tmp_path):
    symbol, *shapes = OPEN[name]
    path, names = str(tmp_path / "model.onnx"), symbol.list_arguments()
    free = [tuple(n if n == m else None for n, m in zip(*pair, strict=True)) for pair in zip(*shapes, strict=True)]
    mx.contrib.onnx.export_model(symbol, {}, shapes[0], onnx_file_path=path, dynamic=True, dynamic_input_shapes=free)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    read = {value.name for value in session.get_inputs()}
    for given in shapes:
        values = {n: np.random.default_rng(0).random(s, np.float32) for n, s in zip(names, given, strict=True)}
        (expected,) = _eval(symbol, {n: mx.nd.array(v) for n, v in values.items()})
        (found,) = session.run(None, {n: v for n, v in values.items() if n in read})
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
