"""Where the modules of GluonCV that are cut another way here, and their names, are found.

`from gluoncv.model_zoo.yolo.darknet import get_darknet` works as it does with GluonCV, though Darknet has a module of
its own beside YOLO's and `get_darknet` stands with its like.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types

_ZOO, _LENT = "gluoncv.model_zoo", "gluon.model_zoo.vision"
_ACTIONS, _BODIES, _RCNN = f"{_ZOO}.action_recognition", f"{_ZOO}.center_net.bodies", f"{_ZOO}.rcnn"
_PARAMETRIC, _DEPTH = f"{_ZOO}.parametric", f"{_ZOO}.monodepthv2.monodepth2"

# A module of GluonCV -> the modules of ours that hold its names, in this order. Those of ours that have names of their
# own besides are listed too. Builders of networks of the zoo are found in each of them.
HOMES = {
    _ZOO: [
        _LENT, f"{_ZOO}.ssd", f"{_ZOO}.rcnn", f"{_ZOO}.mobilenet", f"{_ZOO}.alpha_pose", f"{_ZOO}.siamrpn.siam_net",
        _DEPTH, f"{_LENT}.inception", f"{_ZOO}.resnest", f"{_ZOO}.resnetv1b", _PARAMETRIC,
    ],
    f"{_ZOO}.model_zoo": [_ZOO, _LENT, f"{_ZOO}.mobilenet", f"{_LENT}.inception", _PARAMETRIC],
    **{
        f"{_ZOO}.{lent}": [_PARAMETRIC, f"{_LENT}.{lent}", f"{_ZOO}.se_resnet"]
        for lent in ("alexnet", "densenet", "inception", "resnet", "squeezenet", "vgg")
    },
    f"{_ZOO}.model_store": ["gluon.model_zoo.model_store"],
    f"{_ZOO}.mobilenet": [_PARAMETRIC, f"{_LENT}.mobilenet"],
    f"{_ZOO}.se_resnet": [_PARAMETRIC, _LENT],
    **{
        f"{_ZOO}.{own}": [_PARAMETRIC]
        for own in ("dla", "hrnet", "mobilenetv3", "nasnet", "resnext", "shufflenet", "wideresnet", "xception")
    },
    f"{_ZOO}.cifarresnet": [f"{_ZOO}.cifar_resnet", _PARAMETRIC],
    f"{_ZOO}.cifarwideresnet": [f"{_ZOO}.cifar_resnet", _PARAMETRIC],
    f"{_ZOO}.cifarresnext": [f"{_ZOO}.resnext", _PARAMETRIC],
    f"{_ZOO}.senet": [f"{_ZOO}.resnext", _PARAMETRIC],
    f"{_ZOO}.residual_attentionnet": [f"{_ZOO}.residual_attention", _PARAMETRIC],
    f"{_ZOO}.pruned_resnet": [],
    f"{_ZOO}.pruned_resnet.resnetv1b_pruned": [f"{_ZOO}.resnetv1b"],
    f"{_ZOO}.quantized": [],
    f"{_ZOO}.quantized.quantized": [],
    # segmentation
    f"{_ZOO}.attention": [f"{_ZOO}.danet"],
    f"{_ZOO}.deeplabv3b_plus": [f"{_ZOO}.deeplabv3_plus"],
    # detection
    **{f"{_ZOO}.ssd{part}": [] for part in ("", ".presets", ".resnet_v1b_ssd")},
    f"{_ZOO}.ssd.ssd": [f"{_ZOO}.ssd.presets"],
    f"{_ZOO}.yolo": [f"{_ZOO}.darknet", _PARAMETRIC],
    f"{_ZOO}.yolo.darknet": [f"{_ZOO}.darknet", _PARAMETRIC],
    f"{_ZOO}.yolo.yolo3": [],
    f"{_ZOO}.center_net": [f"{_ZOO}.center_net.center_net"],
    f"{_ZOO}.center_net.center_net": [],
    **{
        f"{_ZOO}.center_net.{part}": [_BODIES, f"{_ZOO}.center_net.builders"]
        for part in ("deconv_dla", "deconv_resnet", "duc_mobilenet")
    },
    f"{_RCNN}.rcnn": [f"{_RCNN}.faster_rcnn", f"{_RCNN}.presets"],
    **{
        f"{_RCNN}.{kind}{part}": [f"{_RCNN}.{kind}", f"{_RCNN}.presets", f"{_RCNN}.rcnn_target"]
        for kind in ("faster_rcnn", "mask_rcnn")
        for part in ("", f".{kind}", ".predefined_models", ".rcnn_target", ".data_parallel")
    },
    f"{_RCNN}.faster_rcnn.doublehead_rcnn": [f"{_RCNN}.faster_rcnn", f"{_RCNN}.presets"],
    **{f"{_RCNN}.rpn.{part}": [f"{_RCNN}.rpn.rpn", "gluoncv.nn.bbox"] for part in ("anchor", "bbox_clip", "proposal")},
    # poses
    f"{_ZOO}.alpha_pose.fast_pose": [f"{_ZOO}.alpha_pose", "gluon.contrib.nn"],
    f"{_ZOO}.alpha_pose.utils": [f"{_ZOO}.alpha_pose"],
    **{
        f"{_ZOO}.simple_pose.{part}": [f"{_ZOO}.simple_pose", _PARAMETRIC]
        for part in ("mobile_pose", "pose_target", "simple_pose_resnet")
    },
    # videos
    _ACTIONS: [],
    **{
        f"{_ACTIONS}.actionrec_{body}": [f"{_ACTIONS}.actionrec"]
        for body in ("inceptionv1", "inceptionv3", "resnetv1b", "vgg16")
    },
    **{f"{_ACTIONS}.i3d_inception{version}": [f"{_ACTIONS}.i3d_inception"] for version in ("v1", "v3")},
    f"{_ACTIONS}.i3d_slow": [f"{_ACTIONS}.i3d_resnet"],
    **{f"{_ACTIONS}.{part}": [] for part in ("c3d", "i3d_resnet", "p3d", "r2plus1d", "slowfast")},
    f"{_ZOO}.siamrpn": [f"{_ZOO}.siamrpn.siam_net"],
    **{f"{_ZOO}.siamrpn.{part}": [f"{_ZOO}.siamrpn.siam_net"] for part in ("siam_alexnet", "siam_rpn")},
    f"{_ZOO}.smot.utils": [f"{_ZOO}.smot.track", f"{_ZOO}.smot.general_detector"],
    # depth
    f"{_ZOO}.monodepthv2": [_DEPTH],
    f"{_ZOO}.monodepthv2.layers": [_DEPTH],
    **{
        f"{_ZOO}.monodepthv2.{part}": [_DEPTH]
        for part in ("depth_decoder", "monodepth2_posenet", "pose_decoder", "resnet_encoder")
    },
}  # fmt: skip

# A name of GluonCV -> ours, where these differ.
RENAMED = {
    f"{_ZOO}.{theirs}": f"{_ZOO}.{ours}"
    for theirs, ours in (
        ("Block", "resnext.ResNextBlock"),
        ("cifarwideresnet.CIFARBasicBlockV2", "cifar_resnet.CIFARWideBlock"),
        ("model_store.pretrained_model_list", "model_zoo.pretrained_model_list"),
        ("rcnn.faster_rcnn.data_parallel.ForwardBackwardTask", "rcnn.losses.FasterRCNNTask"),
        ("rcnn.faster_rcnn.ForwardBackwardTask", "rcnn.losses.FasterRCNNTask"),
        ("rcnn.mask_rcnn.data_parallel.ForwardBackwardTask", "rcnn.losses.MaskRCNNTask"),
        ("rcnn.mask_rcnn.ForwardBackwardTask", "rcnn.losses.MaskRCNNTask"),
        ("resnext.Block", "resnext.ResNextBlock"),
        ("senet.SEBlock", "resnext.SENetBlock"),
        ("siam_alexnet.alexnetlegacy", "siamrpn.siam_net.AlexNetLegacy"),
        ("siamrpn.siam_alexnet.alexnetlegacy", "siamrpn.siam_net.AlexNetLegacy"),
        ("siamrpn.alexnetlegacy", "siamrpn.siam_net.AlexNetLegacy"),
        ("siamrpn.siam_rpn.RPN", "siamrpn.siam_net.DepthwiseRPN"),
        ("xception.get_xcetption", "xception.xception"),
        ("xception.get_xcetption_71", "xception.xception71"),
        ("get_xcetption", "xception.xception"),
        ("get_xcetption_71", "xception.xception71"),
        *(
            (f"{place}SE_ResNetV{version}", f"se_resnet.ResNetV{version}")
            for place in ("", "se_resnet.")
            for version in (1, 2)
        ),
    )
}


def install() -> None:
    """From now on the modules and names are found; the modules of ours in `HOMES` have been imported."""
    sys.meta_path.append(_Finder())
    for name in HOMES:
        module, parent = sys.modules.get(name), sys.modules.get(name.rpartition(".")[0])
        if module is not None:
            _extend(module)
        if parent is not None and not hasattr(parent, "__path__"):
            parent.__path__ = []  # it is one file here and a package there


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of `HOMES` that are none of ours."""

    def find_spec(self, fullname, path=None, target=None):
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if fullname in HOMES else None

    def create_module(self, spec):
        return types.ModuleType(spec.name, f"{spec.name} of GluonCV, whose contents are elsewhere here.")

    def exec_module(self, module):
        _extend(module)


def _extend(module: types.ModuleType) -> None:
    """Lets a module find names that are held elsewhere."""
    own = vars(module).get("__getattr__")

    def __getattr__(name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return _find(module.__name__, name)
        except AttributeError:
            if own is None:
                raise
            return own(name)

    module.__getattr__ = __getattr__


def _find(place: str, name: str):
    """What `place` holds under `name` in GluonCV; AttributeError."""
    full = f"{place}.{name}"
    if full in HOMES:
        return importlib.import_module(full)
    if full in RENAMED:
        home, _, ours = RENAMED[full].rpartition(".")
        return getattr(importlib.import_module(home), ours)
    for home in HOMES[place]:
        held = vars(importlib.import_module(home))
        if name in held:
            return held[name]
    from gluoncv.model_zoo.model_zoo import by_identifier

    return by_identifier(name, place)
