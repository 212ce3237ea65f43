"""Folders of recorded data, and the conditions under which marked tests run.

Tests ask for the fixtures `reference`, `data` and `weights`: folders named by MXTEST_REFERENCE, MXTEST_DATA and
MXTEST_WEIGHTS (default: beside the checkout, under ../shared). Recorded answers are in the checkout as well
(tests/golden.tar.xz). A test whose folder, interpreter or device is absent is skipped, and the summary prints why.
"""

import gc
import importlib.util
import os
import random
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import core as mx
from tests.support.interpreter import unusable
from tests.tools import golden

ROOT = Path(__file__).resolve().parents[1]
# These take longest, and come first: of processes that share the files none is left with a long one at the end.
LONG = [
    ROOT / "tests" / name for name in ("test_reference.py", "scripts", "core/kernels/triton", "gluoncv/test_auto.py")
]

SEED = 1129  # not one that tests themselves take: what they draw twice would be the same

# Examples are the same in every run, and may take long on a busy machine: a change decides what fails. `make hostile`
# draws others.
if importlib.util.find_spec("hypothesis") and "MXTEST_MUTATIONS" not in os.environ:
    from hypothesis import settings

    settings.register_profile("repeatable", derandomize=True)
    settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    """What a test draws does not depend on which ones ran before it in the same process."""
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)
    mx.random.seed(SEED)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def reference() -> Path:
    """Recorded answers of the original software (see `tests.tools.golden`)."""
    return golden.folder()


@pytest.fixture(scope="session")
def stubs() -> ModuleType:
    """The program that writes type stubs."""
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "packaging" / "stubs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def data() -> Path:
    """Real data sets in the formats that their users know."""
    return _folder("MXTEST_DATA", "data")


@pytest.fixture(scope="session")
def weights() -> Path:
    """Published checkpoints."""
    return _folder("MXTEST_WEIGHTS", "weights")


@pytest.fixture(scope="session")
def mxnet_python() -> str:
    """An interpreter that has the original MXNet; for tests marked `mxnet`."""
    return os.environ["MXTEST_MXNET_PYTHON"]


@pytest.fixture
def hub_server(monkeypatch, tmp_path) -> Iterator[Any]:
    """A hub on this machine instead of Hugging Face's, nothing fetched yet, and no server of MXNet's at `NOWHERE`."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="huggingface_hub is not installed")
    from tests.gluon.hub_server import NOWHERE, hub

    for name in ("MXNET_OFFLINE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MXNET_GLUON_REPO", NOWHERE)
    with hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def numpy_semantics() -> Iterator[None]:
    """NumPy mode, as `npx.set_np()` switches it on, for one test."""
    from core import npx

    npx.set_np()
    yield
    npx.reset_np()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests live as long as the run: collections of garbage leave them out, of which each took a second."""
    gc.disable()
    result = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return result


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: next((k for k, path in enumerate(LONG) if item.path.is_relative_to(path)), len(LONG)))
    for marker, (holds, reason) in _conditions(items).items():
        for item in items:
            if not holds and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def _conditions(items: list[pytest.Item]) -> dict[str, tuple[bool, str]]:
    """For each marker whether its tests can run here, and the reason to print if not."""
    wanted = {mark.name for item in items for mark in item.iter_markers()}
    return {
        "gpu": ("gpu" not in wanted or _has_gpu(), "needs a CUDA device"),
        "mxnet": (
            bool(os.environ.get("MXTEST_MXNET_PYTHON")),
            "needs MXTEST_MXNET_PYTHON, an interpreter with MXNet 1.9.1",
        ),
        "node": (shutil.which("node") is not None, "needs node.js"),
        "interpreter": (unusable() is None, unusable()),
    }


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _folder(variable: str, name: str) -> Path:
    path = Path(os.environ.get(variable) or ROOT.parent / "shared" / name)
    if not path.is_dir():
        pytest.skip(f"{path} is absent; {variable} names the folder")
    return path
