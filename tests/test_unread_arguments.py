"""Every public argument is used or refused: the source is searched for parameters that no line reads.

A parameter that nothing reads stands in one of the tables below, with the reason. An entry that is no longer needed
fails as well, so that the tables stay short.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("core", "gluon", "gluoncv", "gluonnlp")
PUBLIC_UNDERSCORE = ("__init__", "__call__", "__new__")

# Functions that others call by an agreement on their parameters, of which each reads what it needs:
# pattern of "path name" or of a decorator -> the parameters (all where there are none) and what the agreement is.
INTERFACES = {
    "core/kernels/*": ("", "kernels: one signature for the contract and both backends"),
    "core/ops/facts.py *": ("attrs", "facts of operators are functions of all attributes"),
    "core/ops/relations.py *": ("attrs", "facts of operators are functions of all attributes"),
    "core/ops/storage_types.py *": ("attrs stypes", "facts of operators are functions of attributes and types"),
    "@converts(*": ("", "ONNX converters are called with the network, the node and its attributes"),
    "* *.hybrid_forward": ("F", "blocks are called with the operators"),
    "* *.create_state": ("index weight", "optimizers are asked for the state of each parameter"),
    "core/optimizer/optimizer.py Test.update": ("index", "optimizers are called with the parameter's number"),
    "gluon/contrib/estimator/event_handler.py *": ("estimator args kwargs", "event handlers are called with all there is"),
    "gluon/finetune/handlers.py *": ("estimator args kwargs", "event handlers are called with all there is"),
    "gluoncv/finetune.py PictureClassifier.restored": ("folder", "classifiers that have more than a network read it"),
    "core/kvstore/*": ("key priority", "stores are called with keys and priorities; collectives run in the order of calls"),
    "core/module/python_module.py *": ("", "modules without parameters have the methods of those that have them"),
    "core/module/base_module.py BaseModule.*": ("merge_multi_context data_batch", "modules override these"),
    "core/*operator.py *": ("ctx in_shapes in_dtypes out_grad in_data out_data", "custom operators override these"),
    "gluoncv/nn/sampler.py QuotaSampler*": ("", "methods of a custom operator"),
    "core/numpy/protocol.py array_*": ("self types", "NumPy's protocols (NEP 13, NEP 18)"),
    "core/metric/regression.py Loss.update": ("_", "metrics are called with labels"),
    "gluon/probability/*.log_det_jacobian": ("x y", "transformations are called with both sides"),
    "gluon/probability/constraint.py Constraint.holds": ("value", "constraints override this"),
    "gluon/rnn/* *.state_info": ("batch_size", "cells without states override this"),
    "gluonnlp/model/gpt2.py GPT2Model.state_info": ("args kwargs", "decoders are asked by beam search"),
    "gluoncv/utils/metrics/*Metric.update": ("args kwargs", "metrics are called with labels as well"),
    "gluoncv/model_zoo/smot/* *": (
        "first_frame first_frame_motion_pred_data prev_frame_cache new_frame frame args kwargs",
        "motion models and detectors override these",
    ),
    "gluoncv/data/transforms/presets/rcnn.py MaskRCNNDefaultValTransform.__call__": (
        "label mask", "transforms are called with the whole sample",
    ),
    "gluoncv/data/transforms/presets/*ValTransform.__init__": (
        "num_joints joint_pairs sigma", "constructed as the transforms for training, which draw targets from these",
    ),
    "gluonnlp/base.py *": ("spec args", "stand-ins for numba, which is not used"),
}  # fmt: skip

# Attributes of operators and their like that are files' and programs' business: MXNet takes them, and they change
# no result there either.
EVERYWHERE = {
    "cudnn_off": "which library computes", "cudnn_tune": "which algorithm computes",
    "workspace": "memory that an algorithm may take", "num_args": "how many arrays there are, which is seen",
    "name": "of a node; arrays have none",
}  # fmt: skip

# "path name": {parameter: why nothing reads it}
REASONS: dict[str, dict[str, str]] = {
    "core/contrib/amp/__init__.py init": {"layout_optimization": "convolutions have the layout that they like anyway"},
    "core/contrib/quantization.py quantize_model": {"label_names": "ranges are found without labels"},
    "core/contrib/quantization.py quantize_graph": {"ctx": "nothing is computed before ranges are collected"},
    "core/image/detection.py ImageDetIter.draw_next": {"window_name": "of the window that `waitKey`, refused, opens"},
    "core/module/module.py Module.init_params": {"allow_extra": "MXNet passes names over that it does not know, too"},
    **{
        f"core/notebook/callback.py LiveBokehChart.{name}": {"param": "figures are those that the logger was told"}
        for name in ("batch_cb", "eval_cb")
    },
    **{
        f"gluon/contrib/collectives.py {name}": {"priority": "all processes call the operations in one order"}
        for name in ("allreduce", "allgather", "broadcast", "broadcast_")
    },
    "gluon/contrib/collectives.py init": {
        "_": "communicators are those of a launcher", "__": "communicators are those of a launcher",
    },
    "gluon/contrib/collectives.py mpi_built": {"_": "the answer is the same for any argument"},
    "gluon/contrib/collectives.py broadcast_parameters": {"prefix": "arrays need no names to travel"},
    "gluon/contrib/collectives.py byteps_push_pull": {"version": "BytePS counts the rounds of its servers"},
    "gluon/contrib/collectives.py DistributedTrainer.__init__": {
        "gradient_predivide_factor": "the mean is the same whenever it is divided",
        "num_groups": "sums travel in buckets of one size", "prefix": "arrays need no names to travel",
    },
    "core/notebook/callback.py PandasLogger.epoch_cb": {"_": "epochs are timed, whatever they trained"},
    "core/cached_op.py CachedOp.__init__": {
        "flags": "how MXNet's memory planner works", "thread_safe": "every call is",
    },
    "core/ndarray/ndarray.py NDArray.__init__": {"writable": "arrays can be written, as the property says"},
    "core/numpy/manipulation.py shares_memory": {"max_work": "the answer is exact, and found at once"},
    **{
        f"core/numpy/statistics.py {name}": {"stable": "the order of equal elements is kept in any case"}
        for name in ("sort", "argsort")
    },
    **{
        f"core/numpy/statistics.py {name}": {"overwrite_input": "a permission, of which no use needs to be made"}
        for name in ("percentile", "quantile", "median")
    },
    "core/ops/boxes.py multi_box_target": {"minimum_negative_samples": "MXNet has it and does not look at it"},
    "core/ops/boxes.py multi_box_detection": {"background_id": "MXNet has it and does not look at it"},
    "core/ops/contrib.py arange_like": {"ctx": "the result lies where the data are, in MXNet as well"},
    "core/ops/contrib.py gradient_multiplier": {"is_int": "how MXNet writes the number into files"},
    "core/ops/contrib.py sync_batch_norm": {
        "ndev": "one process has one batch, see `SyncBatchNorm`", "key": "of MXNet's exchange between threads",
    },
    **{
        f"core/ops/{place}": {
            "min_calib_range": "a hint for quantization of the next layer", "max_calib_range": "as min_calib_range",
        }
        for place in ("contrib.py batch_norm_with_relu", "norm.py batch_norm")
    },
    "core/ops/control_flow.py foreach": dict.fromkeys(
        ("data", "in_data_locs", "in_state_locs", "num_out_data", "remain_locs"), "executors run loops by core.graph"
    ),
    "core/ops/control_flow.py while_loop": dict.fromkeys(
        ("data", "cond_input_locs", "func_input_locs", "func_var_locs", "max_iterations", "num_out_data"),
        "executors run loops by core.graph",
    ),
    "core/ops/control_flow.py cond": dict.fromkeys(
        ("data", "cond_input_locs", "else_input_locs", "then_input_locs"), "executors run branches by core.graph"
    ),
    "core/ops/control_flow.py gradient": dict.fromkeys(("data", "wrt"), "executors run gradients by core.graph"),
    "core/ops/create.py arange": {"infer_range": "MXNet deprecated it, and it changes nothing there"},
    "core/ops/deformable.py modulated_deformable_convolution": {"im2col_step": "images that are unfolded at a time"},
    "core/ops/output.py softmax_output": {"label": "the gradient reads it"},
    "core/ops/output.py logistic_regression_output": {"label": "the gradient reads it"},
    "core/ops/output.py svm_output": {"label": "the gradient reads it"},
    "core/ops/output.py identity_kl": {"moving_avg": "the gradient reads it"},
    "core/ops/parts.py identity_like": {"rhs": "its shape alone tells symbols the other one"},
    "core/ops/quantized.py dequantize": {"out_type": "there is no other than float32"},
    "core/ops/quantized.py quantized_conv": {"min_bias": "ranges of codes are symmetric, the other end tells"},
    "core/ops/quantized.py quantized_pooling": {"p_value": "of l_p pooling, which is refused"},
    "core/ops/quantized.py quantized_batch_norm": dict.fromkeys(
        ("fix_gamma", "momentum", "output_mean_var", "use_global_stats"), "of training; there is inference alone"
    ),
    "core/ops/quantized.py quantized_embedding": {
        "dtype": "weights are codes", "sparse_grad": "codes have no gradient",
    },
    "core/ops/random.py gamma_of_shape": {"alpha": "the gradient reads it"},
    "core/ops/softmax.py masked_softmax": {"normalize": "the maximum is subtracted always; the result is the same"},
    "core/ops/softmax.py masked_log_softmax": {"normalize": "the maximum is subtracted always; the result is the same"},
    "core/ops/sparse.py sparse_embedding": {
        "deterministic": "sums are in one order always", "sparse_grad": "its gradient is sparse always",
    },
    "core/ops/spectral.py fft": {"compute_size": "rows that are transformed at a time"},
    "core/ops/spectral.py ifft": {"compute_size": "rows that are transformed at a time"},
    "core/ops/spectral.py count_sketch": {"processing_batch_size": "rows that are sketched at a time"},
    "core/ops/vision.py spatial_transformer": {
        "sampler_type": "there is no other than bilinear", "transform_type": "there is no other than affine",
    },
    **{
        f"core/symbol/control_flow.py {name}": dict.fromkeys(arguments, "of one interface: other kinds of nodes read it")
        for name, arguments in {
            "Control.compute": ("inputs", "node"), "Control.shaped": ("inputs", "node"), "WhileLoop.shaped": ("test",),
            "Gradient.shaped": ("function",),
        }.items()
    },
    "core/symbol/symbol.py Symbol.bind": {"shared_exec": "whose memory may be used; results are the same"},
    "core/symbol/symbol.py Symbol.optimize_for": dict.fromkeys(
        ("args", "aux", "backend", "ctx", "kwargs", "shape_dict", "skip_infer", "stype_dict", "type_dict"),
        "graphs are compiled when they run; an unknown backend changes nothing in MXNet either",
    ),
    "core/test_utils/compare.py compare_optimizer": {"ntensors": "the list of shapes tells it"},
    "gluon/block/hybrid_block.py HybridBlock.optimize_for": {"partition_if_dynamic": "for backends, of which none is"},
    "gluon/data/batchify.py Pad.__init__": {"use_shared_mem": "the loader puts batches into shared memory"},
    "gluon/data/batchify.py Append.__init__": {"use_shared_mem": "the loader puts batches into shared memory"},
    "gluon/data/dataloader.py DataLoader.__init__": {"try_nopython": "whether MXNet 2 may load in C++"},
    "gluon/rnn/rnn_cell.py DropoutCell.unroll": {"valid_length": "MXNet's masks nothing: what is padding stays so"},
    "gluon/rnn/sequence.py zeros": {"_": "`state_info` has entries that are not for arrays, as __layout__"},
    "gluoncv/data/transforms/pose.py transformBox": {"resW": "follows from the other sides"},
    "gluoncv/data/transforms/pose.py alpha_pose_image_cropper": {"scores": "GluonCV cuts out all boxes, too"},
    **{
        f"gluoncv/model_zoo/{name}.__init__": dict.fromkeys(("pretrained_base", "root"), "no such weights were published")
        for name in (
            "action_recognition/c3d.py C3D", "action_recognition/p3d.py P3D", "action_recognition/r2plus1d.py R2Plus1D",
            "action_recognition/slowfast.py SlowFast", "fastscnn.py FastSCNN",
        )
    },
    "gluoncv/model_zoo/center_net/center_net.py CenterNet.__init__": dict.fromkeys(
        ("norm_kwargs", "norm_layer"), "heads have no normalisation; GluonCV drops them"
    ),
    "gluoncv/model_zoo/deeplabv3_plus.py DeepLabV3Plus.__init__": {"backbone": "Xception always, in GluonCV as well"},
    "gluoncv/model_zoo/deeplabv3_plus.py DeepLabWV3Plus.__init__": {
        "backbone": "WiderResNet38 always, in GluonCV as well",
        **dict.fromkeys(("pretrained_base", "root"), "no such weights were published"),
    },
    "gluoncv/model_zoo/dla.py Tree.hybrid_forward": {"residual": "GluonCV passes it and computes it anew"},
    "gluoncv/model_zoo/monodepthv2/layers.py BackprojectDepth.hybrid_forward": {
        "id_coords": "a parameter of GluonCV's files that it does not read",
    },
    "gluoncv/model_zoo/rcnn/rcnn_target.py RCNNTargetSampler.__init__": dict.fromkeys(
        ("max_num_gt", "num_image", "num_proposal"), "seen from the arrays"
    ),
    "gluoncv/model_zoo/rcnn/rcnn_target.py MaskTargetGenerator.__init__": {"num_rois": "seen from the arrays"},
    "gluoncv/model_zoo/rcnn/rpn/rpn.py RPNProposal.__init__": {"minimal_opset": "no rare operator is used either way"},
    "gluoncv/nn/coder.py NormalizedBoxCenterDecoder.__init__": {"minimal_opset": "no rare operator is used either way"},
    "gluoncv/model_zoo/resnetv1b.py BasicBlockV1b.__init__": {"last_gamma": "of bottlenecks alone, as in GluonCV"},
    "gluoncv/model_zoo/resnetv1b.py BottleneckV1b.__init__": {"previous_dilation": "of basic blocks alone"},
    "gluoncv/model_zoo/smot/smot_tracker.py SMOTTracker.__init__": {"tracktor": "process_frame_sequence takes it"},
    "gluoncv/utils/viz/image.py cv_plot_image": {"canvas_name": "of a window; the picture is given back instead"},
    "gluonnlp/model/parser.py BiaffineParser.save_parameters": {"deduplicate": "no two parameters are one"},
}  # fmt: skip


@pytest.fixture(scope="module")
def unread() -> dict[str, set[str]]:
    return {f"{path} {name}": missing for path, name, missing in _unread(PACKAGES)}


def test_every_argument_is_read_or_has_a_reason(unread):
    left = {}
    for function, missing in unread.items():
        rest = missing - REASONS.get(function, {}).keys()
        if rest:
            left[function] = sorted(rest)
    assert not left, "arguments that nothing reads:\n" + "\n".join(f"{k} {v}" for k, v in left.items())


def test_reasons_are_needed_still(unread):
    needless = {
        function: sorted(reasons.keys() - unread.get(function, set()))
        for function, reasons in REASONS.items()
        if reasons.keys() - unread.get(function, set())
    }
    assert not needless, f"these arguments are read now: {needless}"
    assert all(len(reason) > 10 for reasons in REASONS.values() for reason in reasons.values())


def test_the_search_finds_what_is_not_read(tmp_path):
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "a.py").write_text(
        "def used(a, b=1, *c, **d):\n    return a, b, c, d\n"
        "def lost(a, b=1, *c, **d):\n    return (lambda b: b)(a)\n"
        "def nested(a, b):\n    def inner():\n        return b\n    return inner\n"
        "def refused(a):\n    raise NotImplementedError\n"
        "def _private(a):\n    return 1\n"
        "@operator('x')\ndef op(data, *, scale: Float = 1, other: Float = 2):\n    return data\n"
        "def later(attrs):\n    return attrs['scale']\n"
        "class Thing:\n    def __init__(self, a, b):\n        self.a = a\n    def method(self, c, cudnn_off=False): pass\n"
        "    def call(self, c, cudnn_off=False):\n        return 1\n"
    )
    found = {name: missing for _, name, missing in _unread(("core",), tmp_path)}
    assert found == {
        "lost": {"b", "c", "d"}, "nested": {"a"}, "op": {"other"}, "Thing.__init__": {"b"}, "Thing.call": {"c"},
    }  # fmt: skip


def _unread(packages, root: Path = ROOT) -> Iterator[tuple[str, str, set[str]]]:
    """(path, name, parameters) of public functions, methods and constructors with parameters that nothing reads."""
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text)
            attributes = _attributes(tree)
            where = path.relative_to(root).as_posix()
            for name, function, is_method in _public(tree, "", False):
                missing = _parameters(function, is_method) - _read(function) - EVERYWHERE.keys()
                if any(
                    "operator(" in ast.unparse(d) or "composite(" in ast.unparse(d) for d in function.decorator_list
                ):
                    missing -= attributes  # gradients and shapes read the attributes of their operator
                missing -= _agreed(f"{where} {name}", function)
                if missing and not _is_abstract(function):
                    yield where, name, missing


def _public(node, prefix: str, is_method: bool) -> Iterator[tuple[str, ast.FunctionDef, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from _public(child, f"{prefix}{child.name}.", True)
        elif isinstance(child, ast.FunctionDef):
            if not child.name.startswith("_") or child.name in PUBLIC_UNDERSCORE:
                yield prefix + child.name, child, is_method
        elif isinstance(child, ast.If | ast.Try | ast.With):
            yield from _public(child, prefix, is_method)


def _parameters(function: ast.FunctionDef, is_method: bool) -> set[str]:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    if is_method and not any(ast.unparse(d) == "staticmethod" for d in function.decorator_list):
        named = named[1:]
    return {a.arg for a in [*named, *filter(None, (given.vararg, given.kwarg))]}


def _read(function: ast.FunctionDef) -> set[str]:
    """Names that the body reads, those of functions inside left out that have a parameter of the name themselves."""
    found: set[str] = set()

    def visit(node, hidden: frozenset) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store) and node.id not in hidden:
            found.add(node.id)
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            given = node.args
            own = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
            for default in [*given.defaults, *filter(None, given.kw_defaults)]:
                visit(default, hidden)
            hidden |= {a.arg for a in own}
            for part in node.body if isinstance(node.body, list) else [node.body]:
                visit(part, hidden)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, hidden)

    for statement in function.body:
        visit(statement, frozenset())
    return found


def _attributes(tree: ast.Module) -> set[str]:
    """What a module reads as `attrs.NAME`, `attrs["NAME"]` or `attrs.get("NAME")`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "attrs":
            found.add(node.attr)
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "attrs":
            found |= {part.value for part in ast.walk(node.slice) if isinstance(part, ast.Constant)}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "attrs.get":
            found |= {part.value for part in node.args if isinstance(part, ast.Constant)}
    return found


def _is_abstract(function: ast.FunctionDef) -> bool:
    """Whether a body says nothing but its docstring, `pass`, `...` or an error."""
    return all(
        isinstance(s, ast.Raise | ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in function.body
    )


def _agreed(function: str, node: ast.FunctionDef) -> set[str]:
    decorators = [f"@{ast.unparse(d)}" for d in node.decorator_list]
    found: set[str] = set()
    for pattern, (parameters, _) in INTERFACES.items():
        if any(fnmatch(name, pattern) for name in (function, *decorators)):
            found |= set(parameters.split()) if parameters else _parameters(node, False)
    return found
