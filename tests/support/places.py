"""Where the tests of files find what other programs wrote, and those programs."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.tools import golden

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
REFERENCE = golden.folder() / "out"
DATA = Path(os.environ.get("MXTEST_DATA", SHARED / "data"))
WEIGHTS = Path(os.environ.get("MXTEST_WEIGHTS", SHARED / "weights"))


def recorded(group: str):
    """The cases of a group of files that MXNet wrote, each with the arrays that belong to it."""
    folder = REFERENCE / "mxnet_files"
    if not folder.is_dir():
        return []
    arrays = np.load(folder / "manifest.npz")
    cases = [
        c for c in json.loads((folder / "manifest.json").read_text())["cases"] if c["id"].split("/")[0] in group.split()
    ]
    for case in cases:
        case["folder"], prefix = folder, case["id"] + "|"
        case["values"] = {key[len(prefix) :]: arrays[key] for key in arrays.files if key.startswith(prefix)}
    return cases


def by_id(cases):
    """Parametrization by case; one skipped entry with its reason when the recorded files are absent."""
    if not cases:
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no recorded files under {REFERENCE}"))]
    return [pytest.param(case, id=case["id"]) for case in cases]


def run_program(python: str, program: str, *arguments) -> str:
    """The output of a program run by another Python, such as the one with MXNet 1.9.1 (fixture `mxnet_python`)."""
    run = subprocess.run([python, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout
