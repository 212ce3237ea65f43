"""What type checkers say of users' programs: nothing of a right one, and each mistake of a wrong one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MISTAKES = """\
import core as mx
from core import nd, optimizer
from gluon import nn

a = nd.ones((2, 3))
nd.dots(a, a)
nn.Dense(2, activations="relu")
optimizer.SGD(lr=1)
n: int = nd.relu(a)
"""
WORDS = {6: "dots", 7: "activations", 8: "lr", 9: "int"}  # by line


def run(command, root, folder):
    environment = {**os.environ, "MYPYPATH": str(root), "PYTHONPATH": str(root)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def mypy(root, folder):
    """(line, message) of each error, by file."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    result = run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), "right.py", "wrong.py"], root, folder
    )
    errors = [line.split(":", 3) for line in result.stdout.splitlines() if ": error: " in line]
    return [(Path(name).name, int(line), message) for name, line, _, message in errors]


def pyright(root, folder):
    """The same of pyright, which Microsoft's editor asks."""
    program = shutil.which("pyright", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if program is None:
        pytest.skip("pyright is not installed: pip install pyright, or npm install pyright")
    (folder / "pyrightconfig.json").write_text(
        json.dumps({"extraPaths": [str(root)], "include": ["right.py", "wrong.py"]})
    )
    result = run([program, "--outputjson", "--pythonpath", sys.executable], root, folder)
    found = json.loads(result.stdout)["generalDiagnostics"]
    return [
        (Path(e["file"]).name, e["range"]["start"]["line"] + 1, e["message"]) for e in found if e["severity"] == "error"
    ]


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_a_checker_finds_each_mistake_and_nothing_else(checker, root, tmp_path):
    (tmp_path / "right.py").write_text((root / "tests" / "support" / "typed_program.py").read_text())
    (tmp_path / "wrong.py").write_text(MISTAKES)
    errors = checker(root, tmp_path)
    assert {(name, line) for name, line, _ in errors} == {("wrong.py", line) for line in WORDS}, errors
    for _, line, message in errors:
        assert WORDS[line] in message


def test_the_right_program_runs(root, tmp_path):
    result = run([sys.executable, str(root / "tests" / "support" / "typed_program.py")], root, tmp_path)
    assert result.returncode == 0, result.stderr
