"""The programs in README.md run as they stand, on a small network without published weights.

Of setting up, it has two commands; what else there is, the site has.
"""

import importlib
import re
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from core import kernels
from gluoncv import model_zoo

BLOCKS = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8"), re.S)


def named(call):
    (block,) = (block for block in BLOCKS if call in block)
    return compile(block, "README.md", "exec")


def test_what_a_gpu_does_not_compute_is_listed():
    text = (Path(__file__).parents[1] / "docs" / "on_a_gpu.md").read_text(encoding="utf-8")
    listed = text.partition("## What a GPU does not compute")[2].partition("\n## ")[0]
    names = {kernel.partition(".")[2] for kernel in kernels.ON_CPU_ONLY}
    assert names <= set(re.findall(r"\w+", listed)), f"not listed: {names}"
    pytest.importorskip("triton")
    assert f"{importlib.import_module('core.kernels.triton.linalg').MOST} rows or columns" in " ".join(listed.split())


def test_it_is_short_and_sets_up_by_two_commands():
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 160
    assert set(re.findall(r"^make \w+", text, re.M)) == {"make quickstart", "make test"}


def test_links_lead_to_files():
    root = Path(__file__).parents[1]
    links = re.findall(r"\]\((?!http)([^)#]+)", (root / "README.md").read_text(encoding="utf-8"))
    assert links and [link for link in links if not (root / link).exists()] == []


def test_ten_lines():
    scope = {}
    exec(named("Trainer("), scope)
    assert scope["objective"].shape == (32,)


def test_from_published_weights_to_files(monkeypatch, tmp_path):
    def untrained(name, pretrained, get_model=model_zoo.get_model):
        assert pretrained and get_model(name) is not None
        net = get_model("cifar_resnet20_v1")
        net.initialize()
        return net

    monkeypatch.setattr(model_zoo, "get_model", untrained)
    monkeypatch.chdir(tmp_path)
    scope = {}
    exec(named("get_model("), scope)
    assert scope["again"](scope["x"]).shape == scope["y"].shape == (1, 5)
    assert {path.name for path in tmp_path.iterdir()} == {"flowers-symbol.json", "flowers-0000.params", "flowers.onnx"}
