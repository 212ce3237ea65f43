"""What MXNet's benchmark/opperf does: it sorts operators by what the registry says of their arguments, makes inputs by the
arguments' names, runs them under the profiler, and reads their times off the text that it gives.

The lists of operators are those that its documentation says it covers; shapes are small.
"""

import importlib
import inspect
import sys

import pytest

import core as mx
from core.ops.registry import TABLE

mx.install_as_mxnet()
importlib.import_module("mxnet")

OPERATORS = sys.modules["mxnet.ndarray.op"]
# Beginnings of the names that it leaves out: internal operators, and those deprecated when it was written
LEFT_OUT = (
    "_", "normal", "uniform", "Flatten", "contrib_CTCLoss", "Pad", "Cast", "Pooling_v1", "Concat", "Reshape",
    "Convolution_v1", "SliceChannel", "Crop", "crop", "onehot_encode", "batch_take",
)  # fmt: skip
UNARY = (
    "BlockGrad abs arccos arccosh arcsin arcsinh arctan arctanh argmax_channel cbrt ceil cos cosh degrees erf erfinv exp "
    "expm1 fix flatten floor gamma gammaln identity log log10 log1p log2 logical_not make_loss negative ones_like radians "
    "rcbrt reciprocal relu rint round rsqrt shuffle sigmoid sign sin sinh size_array softsign sqrt square stop_gradient "
    "tan tanh trunc zeros_like"
).split()
BROADCAST = (
    "add div equal greater greater_equal hypot lesser lesser_equal logical_and logical_or logical_xor maximum minimum minus "
    "mod mul not_equal plus power sub"
).split()
REDUCTION = "max max_axis mean min min_axis nanprod nansum prod sum sum_axis".split()
# Entries of the profiler for operators that programs call by another name
ENTRIES = {
    "broadcast_plus": "broadcast_add", "broadcast_minus": "broadcast_sub", "flatten": "Flatten", "max_axis": "max",
    "Custom": "CustomAddOne", "swapaxes": "SwapAxis", "flip": "reverse", "reshape": "Reshape", "sum_axis": "sum",
    "min_axis": "min", "ctc_loss": "CTCLoss", "identity": "_copy", "stop_gradient": "BlockGrad", "choose_element_0index": "pick",
}  # fmt: skip

SQUARE, COLUMN, TALL = (6, 6), (10, 1), (10, 6)
PICTURE, WIDE = (2, 3, 8, 8), (2, 3, 12, 5)
VECTORS = {
    "low": [0.0, 2.5], "high": [1.0, 3.7], "mu": [2.0, 2.5], "sigma": [1.0, 3.7], "alpha": [0.5, 2.5], "beta": [1.0, 0.7],
    "lam": [1.0, 8.5], "k": [20, 49], "p": [0.4, 0.77], "shape": (6,),
}  # fmt: skip
NORMED = {"gamma": (3,), "beta": (3,)}
UPDATE = {
    "lr": 0.1,
    "wd": 0.1,
    "beta1": 0.5,
    "beta2": 0.5,
    "epsilon": 1e-8,
    "gamma1": 0.5,
    "gamma2": 0.5,
    "t": 1,
    "rescale_grad": 0.4,
}
# Inputs, by name, of operators whose arguments do not say what they need: shapes of arrays, and attributes
INPUTS = {
    "FullyConnected": [
        {"data": PICTURE, "weight": (4, 192), "bias": (4,), "num_hidden": 4, "flatten": True},
        {"data": PICTURE, "weight": (4, 8), "bias": (4,), "num_hidden": 4, "flatten": False},
    ],
    "Dropout": [{"data": PICTURE, "p": 0.5, "mode": "always"}, {"data": TALL, "p": 0.5, "mode": "always"}],
    "BatchNorm": [{"data": shape, **NORMED, "moving_mean": (3,), "moving_var": (3,)} for shape in (PICTURE, WIDE)],
    "L2Normalization": [{"data": PICTURE, "mode": mode, "eps": 0.01} for mode in ("channel", "instance", "spatial")],
    "LayerNorm": [{"data": (3, 4), **NORMED, "axis": 0}],
    "InstanceNorm": [{"data": PICTURE, **NORMED}],
    "GroupNorm": [{"data": PICTURE, "gamma": (1,), "beta": (1,), "num_groups": 1}],
    "Embedding": [{"data": SQUARE, "weight": (16, 9), "input_dim": 16, "output_dim": 9}],
    "Correlation": [{"data1": PICTURE, "data2": PICTURE}, {"data1": WIDE, "data2": WIDE, "kernel_size": 3, "stride1": 2}],
    "SpatialTransformer": [
        {"data": PICTURE, "loc": (2, 6), "transform_type": "affine", "sampler_type": "bilinear", "target_shape": (4, 6)}
    ],
    "im2col": [
        {"data": (2, 3, 8), "kernel": (3,), "stride": (1,), "dilate": (1,), "pad": (1,)},
        {"data": PICTURE, "kernel": (3, 3), "stride": (1, 1), "dilate": (1, 1), "pad": (1, 1)},
    ],
    "col2im": [
        {"data": (2, 12, 8), "output_size": (8,), "kernel": (3,), "stride": (1,), "pad": (1,)},
        {"data": (2, 6, 8), "output_size": (4, 2, 3), "kernel": (1, 1, 1), "stride": (1, 1, 3)},
    ],
    "LRN": [{"data": PICTURE, "alpha": 0.001, "beta": 0.2, "nsize": 3}],
    "SoftmaxOutput": [{"data": PICTURE, "label": (2, 8, 8), "multi_output": True}, {"data": TALL, "label": (10,)}],
    "LinearRegressionOutput": [{"data": PICTURE, "label": PICTURE, "grad_scale": 0.5}],
    "LogisticRegressionOutput": [{"data": PICTURE, "label": PICTURE}],
    "MAERegressionOutput": [{"data": PICTURE, "label": PICTURE}],
    "SVMOutput": [{"data": TALL, "label": (10,), "margin": 0.5, "regularization_coefficient": 0.5}],
    "SoftmaxActivation": [{"data": TALL}],
    "softmin": [{"data": TALL, "axis": 0, "dtype": kind} for kind in ("float16", "float32", "float64")],
    "softmax": [{"data": TALL, "axis": 0, "dtype": kind} for kind in ("float16", "float32", "float64")],
    "log_softmax": [{"data": TALL, "axis": 0, "dtype": kind} for kind in ("float16", "float32", "float64")],
    "Activation": [{"data": TALL, "act_type": act} for act in ("relu", "sigmoid", "softrelu", "softsign", "tanh")],
    "LeakyReLU": [{"data": TALL, "act_type": act} for act in ("leaky", "elu", "selu", "gelu")],
    "hard_sigmoid": [{"data": TALL, "alpha": 0.001, "beta": 0.2}],
    "dot": [{"lhs": SQUARE, "rhs": SQUARE}, {"lhs": (8, 1), "rhs": (4, 8), "transpose_a": True, "transpose_b": True}],
    "batch_dot": [{"lhs": (2, 4, 4), "rhs": (2, 4, 4)}, {"lhs": (2, 8, 3), "rhs": (2, 8, 3), "transpose_b": True}],
    "Convolution": [
        {"data": (2, 3, 9), "weight": (4, 3, 3), "bias": (4,), "kernel": (3,), "stride": (1,), "dilate": (1,), "pad": (0,),
         "num_filter": 4, "layout": "NCW"},
        {"data": PICTURE, "weight": (4, 3, 3, 3), "bias": (4,), "kernel": (3, 3), "stride": (1, 1), "dilate": (1, 1),
         "pad": (0, 0), "num_filter": 4, "layout": "NCHW"},
    ],
    "Deconvolution": [
        {"data": (2, 3, 9), "weight": (3, 4, 3), "bias": (4,), "kernel": (3,), "stride": (1,), "pad": (0,), "adj": (0,),
         "num_filter": 4, "no_bias": False, "layout": "NCW"},
        {"data": PICTURE, "weight": (3, 4, 3, 3), "bias": (4,), "kernel": (3, 3), "stride": (1, 1), "pad": (0, 0),
         "num_filter": 4, "no_bias": False, "layout": "NCHW"},
    ],
    "Pooling": [
        {"data": data, "kernel": (3,) * rank if rank > 1 else 3, "pool_type": kind, "global_pool": whole, "stride": 1 if rank == 1 else (1, 1),
         "pad": 1 if rank == 1 else (0, 0)}
        for data, rank in (((2, 3, 9), 1), (PICTURE, 2)) for kind in ("avg", "max", "sum") for whole in (0, 1)
    ],
    "ROIPooling": [{"data": PICTURE, "rois": (2, 5), "pooled_size": (2, 2), "spatial_scale": 0.5}],
    "RNN": [
        {"data": (4, 2, 4), "parameters": (7,), "state": (1, 2, 1), "mode": "rnn_relu", "state_size": 1, "num_layers": 1,
         "p": 0.5}
    ],
    **{f"random_{name}": [{"shape": shape, "dtype": kind} for shape in (SQUARE, TALL) for kind in ("float32", "float64")]
       for name in ("exponential", "gamma", "generalized_negative_binomial", "negative_binomial", "normal", "poisson", "uniform")},
    "random_randint": [{"low": 0, "high": 5, "shape": SQUARE, "dtype": kind} for kind in ("int32", "int64")],
    "sample_multinomial": [{"data": [[0.25, 0.75], [0.5, 0.5]], "shape": (4,), "dtype": "int32"}],
    "GridGenerator": [
        {"data": (2, 2, 6, 6), "transform_type": "warp"},
        {"data": (2, 6), "transform_type": "affine", "target_shape": (6, 6)},
    ],
    "BilinearSampler": [{"data": (2, 2, 6, 6), "grid": (2, 2, 6, 6)}],
    "linalg_maketrian": [{"A": (6, 15)}],
    "linalg_potrf": [{"A": [[1, 0], [0, 1]]}, {"A": [[2, -1, 0], [-1, 2, -1], [0, -1, 2]]}],
    "moments": [{"data": TALL, "axes": [0, 1]}],
    "norm": [{"data": TALL, "axis": axis} for axis in (0, (0, 1))],
    "cast": [{"data": TALL, "dtype": kind} for kind in ("float32", "int32")],
    "amp_cast": [{"data": TALL, "dtype": kind} for kind in ("float32", "float16")],
    "amp_multicast": [{"args": [TALL], "num_outputs": 1}],
    "depth_to_space": [{"data": (1, 4, 2, 4), "block_size": 2}, {"data": (2, 25, 10, 5), "block_size": 5}],
    "space_to_depth": [{"data": (1, 4, 2, 4), "block_size": 2}, {"data": (2, 25, 10, 5), "block_size": 5}],
    "swapaxes": [{"data": TALL, "dim1": 0, "dim2": 1}],
    "SwapAxis": [{"data": TALL, "dim1": 0, "dim2": 1}],
    "squeeze": [{"data": (1, 4, 4), "axis": 0}, {"data": (3, 1, 4, 4), "axis": 1}],
    "clip": [{"data": TALL, "a_min": 0.1, "a_max": 0.9}],
    "multi_lars": [{"lrs": TALL, "weights_sum_sq": TALL, "grads_sum_sq": TALL, "wds": TALL, "eta": 0.5, "eps": 1e-8}],
    "cast_storage": [{"data": TALL, "stype": kind} for kind in ("default", "csr", "row_sparse")],
    "fill_element_0index": [{"lhs": TALL, "mhs": (10,), "rhs": (10,)}],
    "choose_element_0index": [{"data": SQUARE, "index": (1, 6), "axis": 0}],
    "pick": [{"data": SQUARE, "index": (1, 6), "axis": 0}],
    "slice": [{"data": TALL, "begin": 0, "end": 1}],
    "slice_axis": [{"data": TALL, "axis": 0, "begin": 0, "end": 1}],
    "slice_like": [{"data": TALL, "shape_like": (5, 3)}],
    "take": [{"a": TALL, "indices": (1, 1), "axis": 0}],
    "one_hot": [{"indices": (1, 1), "depth": 0}],
    "where": [{"condition": (10,), "x": TALL, "y": TALL}],
    "ravel_multi_index": [{"data": (2, 6), "shape": (6, 6)}],
    "gather_nd": [{"data": TALL, "indices": (1, 1)}],
    "CTCLoss": [{"data": (8, 4, 5), "label": (4, 4)}],
    "ctc_loss": [{"data": (8, 4, 5), "label": (4, 4)}],
    "softmax_cross_entropy": [{"data": SQUARE, "label": (6,)}],
    "split": [{"data": SQUARE, "num_outputs": 2}, {"data": COLUMN, "num_outputs": 1}],
    "reshape": [{"data": TALL, "shape": (-1, 5)}],
    "reshape_like": [{"lhs": TALL, "rhs": TALL}],
    **{name: [{"data": (1, 6), "axis": 0, "size": 2}] for name in ("broadcast_axis", "broadcast_axes")},
    "broadcast_to": [{"data": (1, 6), "shape": (5, 6)}],
    "broadcast_like": [{"lhs": (1, 6), "rhs": (5, 6)}],
    "repeat": [{"data": TALL, "repeats": 2, "axis": 0}],
    "tile": [{"data": TALL, "reps": 2}],
    "pad": [{"data": (1, 4, 2, 4), "mode": "constant", "pad_width": (0, 0, 0, 0, 1, 1, 1, 1)}],
    "expand_dims": [{"data": TALL, "axis": 0}],
    "lamb_update_phase2": [{"weight": TALL, "g": TALL, "r1": (1, 6), "r2": (1, 6), "lr": 0.1}, {"weight": COLUMN, "g": COLUMN, "r1": (1, 1), "r2": (1, 1), "lr": 0.1}],
    **{name: [{"data": (4, 3, 5)}] for name in ("SequenceReverse", "SequenceLast", "SequenceMask")},
    "concat": [{f"args{k}": SQUARE for k in range(3)}],
    "stack": [{f"args{k}": SQUARE for k in range(3)}],
    "khatri_rao": [{"args0": SQUARE, "args1": SQUARE}],
    "add_n": [{"args": SQUARE}, {"args": COLUMN}],
    "ElementWiseSum": [{"args": SQUARE}],
    "UpSampling": [{"args": PICTURE, "scale": 2, "sample_type": "nearest"}],
    **{name: [{"args": shape, "num_arrays": 1} for shape in (SQUARE, COLUMN)]
       for name in ("reset_arrays", "multi_all_finite", "multi_sum_sq")},
    "Custom": [{"args": shape, "op_type": "CustomAddOne"} for shape in (SQUARE, COLUMN)],
}  # fmt: skip
# Arguments that are arrays where a shape or numbers in lists are given for them
ARRAYS = {
    *"lhs rhs data sample mu sigma lam alpha beta gamma k p low high weight bias moving_mean moving_var weight32 grad mean var "
    "mom n d v z g delta indices shape_like y x condition a index label grid A B C r1 r2 rois lrs wds weights_sum_sq "
    "grads_sum_sq mhs data1 data2 loc parameters state".split()
}
# Whose backward pass is timed, too
WITH_BACKWARD = (
    "FullyConnected Dropout BatchNorm SoftmaxOutput LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput "
    "SVMOutput L2Normalization LayerNorm InstanceNorm Correlation SpatialTransformer im2col col2im GroupNorm RNN LRN dot batch_dot "
    "Convolution Deconvolution Pooling ROIPooling tanh sqrt broadcast_add broadcast_mul broadcast_hypot sum mean max prod "
    "LeakyReLU Activation softmax log_softmax"
).split()


@pytest.fixture(autouse=True)
def forgotten(tmp_path):
    yield
    mx.profiler.set_config(profile_all=True, filename=str(tmp_path / "trace.json"))
    mx.profiler.dump()


class CustomAddOne(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + 1)


@mx.operator.register("CustomAddOne")
class CustomAddOneProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["in"]

    def create_operator(self, ctx, shapes, dtypes):
        return CustomAddOne()


def registered() -> dict:
    """What it measures: names of operators and their arguments."""
    names = (name for name in mx.operator.get_all_registered_operators() if not name.startswith(LEFT_OUT))
    return {name: mx.operator.get_operator_arguments(name) for name in names}


def by_arguments(count: int, *names: str) -> set[str]:
    return {name for name, args in registered().items() if args.narg == count and {*names} <= {*args.names}}


def inputs_of(name: str) -> list[dict]:
    """Inputs of an operator, or such as follow from its arguments' names."""
    if name in INPUTS:
        return INPUTS[name]
    args = mx.operator.get_operator_arguments(name)
    known = VECTORS if name.startswith("sample_") else UPDATE
    made = []
    for shape in (SQUARE,) if "A" in args.names else (SQUARE, COLUMN, TALL):
        whole = {arg: shape for arg, kind in zip(args.names, args.types, strict=True) if kind.startswith("NDArray")}
        made.append(
            whole
            | {arg: known[arg] for arg in args.names if arg in known}
            | ({"axis": 0} if "axis" in args.names else {})
        )
    return made


def arrays(inputs: dict, attach: bool) -> dict:
    """Inputs with arrays in the place of shapes and of lists."""
    found = {}
    for name, value in inputs.items():
        if (name in ARRAYS or name.startswith("args")) and isinstance(value, (tuple, list)):
            value = mx.nd.normal(shape=value) if isinstance(value, tuple) else mx.nd.array(value, dtype="float32")
            if attach:
                value.attach_grad()
            value.wait_to_read()
        found[name] = value
    return found


def profiled(function, given: dict, backward: bool, runs: int = 2) -> dict[str, float]:
    """The mean times in ms, forward and backward, that the profiler's text says of `function`, and memory in kB."""
    mx.profiler.set_config(profile_all=True, aggregate_stats=True)
    mx.profiler.set_state("run")
    positional = [value for name, value in given.items() if name.startswith("args")]
    named = {name: value for name, value in given.items() if not name.startswith("args")}
    for _ in range(runs):
        if not backward:
            function(*positional, **named)
        else:
            with mx.autograd.record():
                result = function(*positional, **named)
            result.backward()
        mx.nd.waitall()
    mx.profiler.set_state("stop")
    entry = ENTRIES.get(function.__name__, function.__name__)
    return read("Custom Operator" if function is OPERATORS.Custom else "operator", entry, mx.profiler.dumps(reset=True))


def read(begin: str, entry: str, text: str) -> dict[str, float]:
    """Figures of the text, which it reads line by line: storage until the calls of the library begin, then operators."""
    storage = operators = False
    found = {}
    for line in text.splitlines():
        if line.startswith("Device Storage"):
            storage = True
        elif line.startswith(begin):
            operators = True
        elif line.startswith("MXNET_C_API"):
            storage = False
        if storage:
            if line.startswith("Memory:"):
                found["memory"] = float(line.split()[-1])
        elif operators and (entry in line or entry[:3] + " " in line):
            found["backward" if "_backward" in line.split()[0] else "forward"] = float(line.split()[-1])
    return found


def test_operators_are_sorted_by_what_the_registry_says_of_their_arguments():
    assert by_arguments(1, "data") >= {*UNARY}
    assert by_arguments(4, "data", "axis", "exclude", "keepdims") >= {*REDUCTION}
    assert {name for name in by_arguments(2, "lhs", "rhs") if name.startswith("broadcast_")} >= {
        f"broadcast_{n}" for n in BROADCAST
    }
    assert {n for n in by_arguments(2, "lhs", "rhs") if n.startswith("elemwise_")} == {
        f"elemwise_{n}" for n in ("add", "sub", "mul", "div")
    }
    assert mx.operator.get_operator_arguments("Custom") == (2, ["data", "op_type"], ["NDArray-or-Symbol[]", "string"])
    for name in registered():
        function = getattr(OPERATORS, name)
        assert hasattr(mx.nd, function.__name__) and inspect.signature(function)


SAMPLED = "exponential gamma generalized_negative_binomial negative_binomial normal poisson uniform".split()
LINALG = (
    "potri gemm2 extractdiag trsm gelqf gemm sumlogdiag makediag syrk trmm extracttrian slogdet det inverse".split()
)
OTHERS = (
    "mp_sgd_update signum_update rmspropalex_update ftml_update rmsprop_update sgd_mom_update signsgd_update mp_sgd_mom_update "
    "ftrl_update sgd_update adam_update mp_nag_mom_update nag_mom_update lamb_update_phase1 sort argsort argmax argmin topk "
    "transpose flip reverse all_finite cumsum smooth_l1 MakeLoss diag shape_array "
    "elemwise_add elemwise_sub elemwise_mul elemwise_div"
).split()


@pytest.mark.parametrize(
    "name",
    [
        *UNARY, *(f"broadcast_{name}" for name in BROADCAST), *REDUCTION, *(f"sample_{name}" for name in SAMPLED),
        *(f"linalg_{name}" for name in LINALG), *OTHERS, *INPUTS,
    ],
)  # fmt: skip
def test_an_operator_is_measured(name):
    function, backward = getattr(OPERATORS, name), name in WITH_BACKWARD
    for inputs in inputs_of(name):
        found = profiled(function, arrays(inputs, backward), backward)
        assert found["memory"] > 0
        op = TABLE.get(name)
        if op is None or op.special is None:  # otherwise the entry is that of what it comes down to
            assert found["forward"] >= 0
            assert ("backward" in found) == (backward and op.rule is not None)  # expressions of others have their rules
