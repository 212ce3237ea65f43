"""The worked examples of CONTRIBUTING.md run, one after the other, in a process of their own."""

import os
import re
import subprocess
import sys

import pytest

HOW_TO = ("pointwise operator", "kernel", "network", "data set", "pass of the graph compiler", "converter to ONNX")


def test_the_six_examples_run(root, tmp_path):
    pytest.importorskip("onnx", reason="needs onnx")
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## An? (.*?)\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    assert tuple(sections) == HOW_TO
    program = ""
    for title, section in sections.items():
        (block,) = re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)
        program += f"{block}\nprint({title!r})\n"
    program += (
        "import numpy as np, onnxruntime\n"
        "session = onnxruntime.InferenceSession('rows.onnx')\n"
        "values = dict(data=np.array([[1, 2], [3, 4]], 'f'), indices=np.array([1, 0, 1], 'f'))\n"
        "print(session.run(None, values)[0].tolist())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.stdout.splitlines() == [*HOW_TO, "[[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]"], result.stderr
