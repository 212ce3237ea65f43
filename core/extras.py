"""Packages that not every user needs: which extra of this project installs each, and errors that say so.

It imports nothing of this project: `gluon doctor` reads it where PyTorch is not installed.
"""

from __future__ import annotations

import importlib
from types import ModuleType

# Package, as `import` names it, or the distribution where nothing is imported of it -> (the extra, what it is for)
EXTRAS = {
    "matplotlib": ("cv", "drawing detections and curves"),
    "scipy": ("cv", "some metrics and initializers"),
    "pycocotools": ("cv", "COCO's data and metrics"),
    "av": ("video", "reading videos"),
    "sacrebleu": ("bleu", "BLEU as it is published"),
    "onnx": ("onnx", "writing and reading ONNX"),
    "onnxruntime": ("onnxruntime", "running ONNX"),
    "openvino": ("openvino", "computing predictions by OpenVINO"),
    "onednn-cpu-gomp": ("onednn", "faster predictions on x86 processors"),
    "graphviz": ("plot", "plots of networks"),
    "optuna": ("auto", "searching settings"),
    "huggingface_hub": ("hub", "weights by name from the hub"),
    "sklearn": ("test", "the digits of the quickstart"),
}


def load(module: str, purpose: str) -> ModuleType:
    """A module of a package of `EXTRAS`; ImportError says what needs it and how to install it.

    >>> from core.extras import load
    >>> load("matplotlib.colors", "drawing").to_hex("red")
    '#ff0000'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name != package:  # it is there, and lacks something itself
            raise
        raise ImportError(f"{purpose} needs the package {package}: {how_to_install(package)}") from None


def how_to_install(package: str) -> str:
    """The command that installs a package of `EXTRAS`."""
    return f"pip install 'gluon-triton[{EXTRAS[package][0]}]'"
