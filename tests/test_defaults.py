"""Defaults of what is public are those of the original software, as the recorded signatures say."""

import ast
import importlib
import inspect
import json
import re
from functools import cache

import pytest

from tests.tools import golden

API = golden.folder() / "out"
PATHS = {"root", "embedding_root", "segmenter_root", "slf4j_root"}  # found by the environment at each call
# Defaults that are written in another way, and mean the same.
OTHERWISE = {
    ("None", "float32"), ("NCW", "None"), ("NCHW", "None"), ("NCDHW", "None"),  # what None stands for
    ("DeformableConvolution", "None"), ("ModulatedDeformableConvolution", "None"),  # the operator's own name
    ("draw_next", "None"), ("{}", "None"),
    ("1e-15", "None"),  # pinv has two names for one number
}  # fmt: skip
# Names that a module of the original imports from elsewhere, kernels of gradients, and helpers within its networks.
ABSENT = r"""mx\.npx\.image\. mx\.nd\.contrib\.(backward_|quantized_rnn|uniform) mx\.nd\.sparse\.gs_retain
    mx\.(autograd|rnn|rtc|random|init|initializer|contrib\.quantization)\.(NDArray|Symbol|DataBatch|DataIter|Context|Module)\b
    mx\.rnn\.save_checkpoint mx\.rtc\.Cuda mx\.optimizer\.NDabs mx\.image\.detection\.CastAug mx\.test_utils\.np_symbol
    mx\.model\.DataParallelExecutorManager mx\.contrib\.onnx\.export_model_$ mx\.contrib\.autograd\.zeros_like
    gluoncv\.utils\.download\.download gluoncv\.model_zoo\.dla\.(conv3x3|Bottleneck) gluoncv\.model_zoo\.nasnet\.AvgPoolPad
    gluoncv\.model_zoo\.hrnet\.(OrigHRBottleneck|HighResolutionBaseNet) gluoncv\.model_zoo\.icnet\.ConvBnRelu
    gluoncv\.model_zoo\.mobilenetv3\.make_divisible gluoncv\.model_zoo\.nasnet\.BranchSeparablesStem
    gluoncv\.model_zoo\.residual_attentionnet\.AttentionModule_ gluoncv\.model_zoo\.shufflenet\.shuffleUnit
    gluoncv\.model_zoo\.wideresnet\.bnrelu gluoncv\.model_zoo\.xception\.Block gluoncv\.model_zoo\.siamrpn\.\w+\.Anchors
    gluoncv\.model_zoo\.action_recognition\.\w+\.(conv\dx\dx\d|make_res_layer)
    gluoncv\.model_zoo\.action_recognition\.i3d_resnet\.BasicBlock gluoncv\.model_zoo\.rcnn\.\S+\.BBoxClipToImageProp
    gluoncv\.model_zoo\.pruned_resnet\.resnetv1b_pruned\.prune_gluon_block"""
# The original's own defaults are of nothing that it has.
DIFFERENT = {
    "gluoncv.model_zoo.monodepthv2.monodepth2_posenet.get_monodepth2posenet": "there are posenets of two trainings",
    "gluonnlp.model.distilbert_6_768_12": "'distil_book_corpus_wiki_en_uncased' is no name of a data set",
    "gluoncv.model_zoo.wideresnet.IdentityResidualBlock": "0 and None both drop nothing",
}


def _recorded() -> dict[str, str]:
    """Signatures by name."""
    found: dict[str, str] = {}
    seen = set()
    if not API.is_dir():
        return found
    for space, names in json.loads((API / "mxnet_api.json").read_text())["namespaces"].items():
        for name, row in names.items():
            found[f"{space}.{name}"] = row.get("signature")
            for method, text in row.get("methods", {}).items():
                # Many spaces have the same classes, and many classes the methods of their bases.
                if (key := ("" if row["bases"] else name, method, text)) not in seen:
                    found[f"{space}.{name}.{method}"] = text
                    seen.add(key)
    for file, row in (
        ("gluoncv_api.md", r"- `(?:class )?(\w+)(\(.*?\))`"),
        ("gluonnlp_api.md", r"\| (\w+) \| `(\(.*?\))` \|"),
    ):
        module = ""
        for part in re.finditer(rf"(?sm)^## ([\w.]+)$|^{row}", (API / file).read_text()):
            module = part[1] or module
            if part[2]:
                found[f"{module}.{part[2]}"] = part[3]
    return found


def _defaults(signature: str) -> dict:
    """The defaults of a signature that are plain values."""
    try:
        given = ast.parse(f"def f{re.sub('=<.*?>(?=[,)])', '=f', signature)}: pass").body[0].args
    except SyntaxError:
        return {}
    positional = [*given.posonlyargs, *given.args]
    pairs = [*zip(reversed(positional), reversed(given.defaults)), *zip(given.kwonlyargs, given.kw_defaults)]
    found = {}
    for argument, default in pairs:
        try:
            found[argument.arg] = ast.literal_eval(default)
        except (ValueError, TypeError):
            continue
    return {name: value for name, value in found.items() if name not in PATHS}


@cache
def _object(name: str):
    first, *rest = name.split(".")
    if first == "mx":
        first = rest.pop(0) if rest[0] == "gluon" else "core"
    found, path = importlib.import_module(first), first
    for part in rest:
        path = f"{path}.{part}"
        found = getattr(found, part, None) or importlib.import_module(path)
    return found


def _same(recorded, ours) -> bool:
    if (str(recorded), str(ours)) in OTHERWISE:
        return True
    if isinstance(recorded, (list, tuple)):
        return tuple(recorded) == (tuple(ours) if isinstance(ours, (list, tuple)) else (ours,) * len(recorded))
    return type(recorded) is type(ours) and recorded == ours


def _cases() -> dict[str, dict]:
    absent = re.compile("|".join(ABSENT.split()))
    plain = {name: _defaults(text) for name, text in _recorded().items() if text and name not in DIFFERENT}
    return {name: defaults for name, defaults in plain.items() if defaults and not absent.match(name)}


CASES = _cases()


@pytest.mark.skipif(not CASES, reason="needs the recorded signatures")
@pytest.mark.parametrize("name", sorted(CASES))
def test_defaults(name):
    parameters = inspect.signature(_object(name)).parameters
    for argument, recorded in CASES[name].items():
        ours = parameters[argument].default if argument in parameters else inspect.Parameter.empty
        if ours is None or isinstance(ours, (bool, int, float, str, list, tuple)):
            assert _same(recorded, ours), f"{argument}={ours!r}, in the original {recorded!r}"
