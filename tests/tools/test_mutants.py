"""Faults are put where they decide something, their tests are found, and what comes of them is told right."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import golden, mutation_tests
from tests.tools.mutation_sites import mutations

ROOT = Path(__file__).resolve().parents[2]
SOURCE = '''"""Text."""

LIMIT = 3


def clipped(x: int = 1, *, low=-2) -> int:
    """x, at most 3."""
    if x > LIMIT and not low:
        raise ValueError(f"{x + 1} is above {3 + 4}")
    print("a" + "b", 5)
    return min(x, LIMIT)


def __repr__():
    return 1 + 2
'''


def test_faults_are_small_and_where_they_decide_something():
    found = mutations("core/a.py", SOURCE)
    assert [f"{m.before} -> {m.after}" for m in found] == [
        "3 -> (4)", "-2 -> (2)", "2 -> (3)", "1 -> (2)", "x > LIMIT and not low -> (x > LIMIT or not low)",
        "x > LIMIT -> (x >= LIMIT)", "not low -> (low)", "return min(x, LIMIT) -> return None",
    ]  # fmt: skip
    assert found[4].scope == ("clipped",) and found[4].line == 8
    for fault in found:
        changed = fault.apply(SOURCE.encode()).decode()
        assert changed != SOURCE
        ast.parse(changed)


def test_alike_faults_have_keys_of_their_own():
    keys = [m.key for m in mutations("core/a.py", "def f(a):\n    return a + 1, a - 1\n")]
    assert len(set(keys)) == len(keys) and "core/a.py f: 1 -> (2) (2)" in keys


def test_tests_of_a_module_are_found_by_what_they_mention():
    for path, scope, expected in (
        ("core/metric/regression.py", "PearsonCorrelation", "tests/core/test_metric.py"),
        ("core/files/atomic.py", "replacing", "tests/core/files/test_atomic.py"),
        ("gluon/data/dataloader.py", "DataLoader", "tests/gluon/data/test_dataloader.py"),
        ("core/ops/output.py", "_softmax_output_gradient", "tests/core/test_loss_operators.py"),
        ("core/kernels/triton/_anchors.py", "write_proposals", "tests/core/kernels/triton/test_boxes.py"),
        ("core/contrib/onnx/onnx2mx/layers.py", "_pooling", "tests/core/contrib/test_onnx_operators.py"),
    ):
        fault = next(m for m in mutations(path, (ROOT / path).read_text()) if scope in m.scope)
        assert expected in mutation_tests.test_files(ROOT, fault)


@pytest.mark.slow
def test_killed_and_surviving_faults_are_told_apart(tmp_path):
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").write_text("")
    shutil.copytree(ROOT / "tests" / "tools", tmp_path / "tests" / "tools")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests" / "tools" / "mutants_equivalent.tsv").write_text("")
    (tmp_path / "core" / "halves.py").write_text(
        "def half(x):\n    return x / 2\n\n\ndef forever(n):\n    while n:\n        n -= n\n    return 7\n"
    )
    (tmp_path / "tests" / "test_halves.py").write_text(
        "import sys\nimport time\nfrom core.halves import forever, half\n\n\n"
        "def test_broken():\n    assert half(4) == 3\n\n\n"
        "def test_half():\n    assert half(4) == 2\n\n\ndef test_forever():\n    forever(3)\n"
    )
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    report = tmp_path / "report.json"
    command = ["-m", "tests.tools.mutants", "--count", "99", "--limit", "10", "--jobs", "2", "--report", str(report)]
    answers = os.environ | {"MXTEST_REFERENCE": str(golden.folder())}  # which the small checkout lacks
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=200, env=answers
    )
    assert done.returncode == 0, done.stderr
    results = {row["mutant"].partition(": ")[2]: row["result"] for row in json.loads(report.read_text())["mutants"]}
    assert results == {
        "return x / 2 -> return None": "killed",
        "x / 2 -> (x * 2)": "killed",
        "2 -> (3)": "killed",
        "n -= n -> pass": "timeout",
        "n -> (not n)": "survived",
        "return 7 -> return None": "survived",
        "7 -> (8)": "survived",
    }
    assert "killed 4 of 7 that change a result (57.1 %)" in done.stdout
    assert (tmp_path / "core" / "halves.py").read_text().endswith("return 7\n")
