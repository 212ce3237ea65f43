"""The networks for videos that GluonCV 0.10 has for PyTorch beside those for MXNet, and those of torchvision.

GLUONCV_TORCH names the folder that holds `gluoncv` 0.10.5 of PyPI (`pip install --no-deps --target FOLDER gluoncv`).
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

import torchvision

from core import nd
from tests.twins.vision import TWINS, Twin


def original(module):
    """A module of GluonCV's action_recognition for PyTorch, under another name than that of our package."""
    folder = Path(os.environ["GLUONCV_TORCH"]) / "gluoncv" / "torch" / "model_zoo" / "action_recognition"
    for name, path in (("gluoncv_original", folder.parents[1]), ("gluoncv_original.model_zoo", folder.parent),
                       ("gluoncv_original.model_zoo.action_recognition", folder)):  # fmt: skip
        if name not in sys.modules:
            sys.modules[name] = ModuleType(name)
            sys.modules[name].__path__ = [str(path)]
    # What non_local.py takes from a module that imports much more.
    utils = sys.modules.setdefault("gluoncv_original.utils.utils", ModuleType("gluoncv_original.utils.utils"))
    utils.constant_init = utils.normal_init = lambda *args, **kwargs: None
    found = importlib.import_module(f"gluoncv_original.model_zoo.action_recognition.{module}")
    for value in vars(found).values():
        if hasattr(value, "inflate_weights"):
            value.inflate_weights = lambda self: None  # which wants published weights
    return found


class _Settings:
    """Settings of GluonCV's: the given ones, and off for all others; sections are the settings themselves."""

    def __init__(self, classes):
        self.NUM_CLASSES, self.NUM_SEGMENT, self.NUM_CROP = classes, 1, 1

    def __getattr__(self, name):
        return self if name in ("CONFIG", "MODEL", "DATA", "INFERENCE", "TRAIN", "TEST") else False


CLASSES = {"kinetics400": 400, "kinetics700": 700, "ucf101": 101, "hmdb51": 51, "sthsthv2": 174, "custom": 400}


def _gluoncv(name, module, function, shape, **keywords):
    classes = CLASSES[name.rpartition("_")[2]]
    TWINS[name] = Twin(
        "gluoncv-torch", lambda: getattr(original(module), function)(_Settings(classes)), f"gluoncv.torch {function}", shape, keywords,
    )  # fmt: skip


CLIP = (1, 3, 16, 64, 64)
if "GLUONCV_TORCH" in os.environ:
    for depth in (50, 101):
        _gluoncv(f"i3d_resnet{depth}_v1_kinetics400", "i3d_resnet", f"i3d_resnet{depth}_v1_kinetics400", CLIP)
        for n in (5, 10):
            name = f"i3d_nl{n}_resnet{depth}_v1_kinetics400"
            _gluoncv(name, "i3d_resnet", name, CLIP)
    for data in ("sthsthv2", "custom", "ucf101", "hmdb51"):
        nclass = {"nclass": 400} if data == "custom" else {}
        _gluoncv(f"i3d_resnet50_v1_{data}", "i3d_resnet", "i3d_resnet50_v1_kinetics400", CLIP, **nclass)
    _gluoncv("i3d_slow_resnet101_f16s4_kinetics700", "i3d_slow", "i3d_slow_resnet101_f16s4_kinetics700", CLIP)
    for name in (
        "slowfast_16x8_resnet101_50_50_kinetics400", "slowfast_16x8_resnet101_kinetics400",
        "slowfast_4x16_resnet101_kinetics400", "slowfast_4x16_resnet50_custom", "slowfast_4x16_resnet50_kinetics400",
        "slowfast_8x8_resnet101_kinetics400", "slowfast_8x8_resnet50_kinetics400",
    ):  # fmt: skip
        frames, step = map(int, name.split("_")[1].split("x"))
        keywords = {"nclass": 400} if "custom" in name else {}
        _gluoncv(name, "slowfast", name, (1, 3, 64 if frames == 16 else 32, 64, 64), **keywords)
        # Theirs takes the slow path's frames from the fast one's, ours is given both, one behind the other.
        TWINS[name] = TWINS[name]._replace(
            ours=lambda net, x, step=step // 2: net(nd.concat(x, x[:, :, ::step], dim=2))
        )
    for depth in (18, 34, 50, 101, 152):
        name = f"r2plus1d_resnet{depth}_kinetics400"
        _gluoncv(name, "r2plus1dv1", f"r2plus1d_v1_resnet{depth}_kinetics400", CLIP)


def _frames(name, twin, size, classes, settings=None, **keywords):
    TWINS[name] = Twin(
        "torchvision",
        lambda: getattr(torchvision.models, twin)(weights=None, num_classes=classes, **(settings or {})),
        f"torchvision {twin}", size, keywords,
    )  # fmt: skip


for data, classes in CLASSES.items():
    if data == "kinetics700":
        continue
    custom = {"nclass": 400} if data == "custom" else {}
    depths = (18, 34, 50, 101, 152) if data in ("kinetics400", "sthsthv2") else (18, 50) if custom else (50,)
    for depth in depths:
        _frames(f"resnet{depth}_v1b_{data}", f"resnet{depth}", 64, classes, **custom)
    if not custom:
        off = {"init_weights": False, "transform_input": False}
        _frames(f"vgg16_{data}", "vgg16", 224, classes)
        _frames(f"inceptionv1_{data}", "googlenet", 224, classes, {"aux_logits": False, **off})
        _frames(f"inceptionv3_{data}", "inception_v3", 299, classes, off)
