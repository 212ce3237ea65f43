"""The programs in README.md run as they stand, on a small network without published weights.

That of a user's kernel needs a GPU or Triton's interpreter: tests/core/test_rtc.py runs the same.
"""

import re
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from gluoncv import model_zoo

BLOCKS = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8"), re.S)


def named(call):
    (block,) = (block for block in BLOCKS if call in block)
    return compile(block, "README.md", "exec")


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
