"""Runs the training programs in two processes, with the arguments of their tests, and lets one process go on.

    python -m pytest -p tests.scripts.two_processes tests/scripts -m "slow or not slow"

The first call of a program that has --kv-store takes the place of the rest of its test: `scripts/launch.py` starts two
processes; the first one must write a record, of finite metrics, and two a checkpoint, with which one process ends in the
same numbers. Other tests are left out.
"""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripts.conftest import Programs

ROOT = Path(__file__).resolve().parents[2]
DONE: set[str] = set()


def both(self, main, *arguments, into="run"):
    program = sys.modules[main.__module__].__file__
    name = str(Path(program).relative_to(ROOT / "scripts"))
    if name in DONE:
        pytest.skip(f"{name} has run")
    DONE.add(name)
    folder = self.folder / "two"
    given = [*map(str, arguments), "--log-dir", str(folder), "--save-dir", str(folder / "checkpoints")]
    output = launch(2, program, given)
    if "too few for 2 processes" in output:  # its test has one batch, of which each gets half
        sizes = [k + 1 for k, word in enumerate(given) if re.fullmatch(r"--(total_)?batch[-_]?[sS]ize", word)]
        for k in sizes:
            given[k] = str(int(given[k]) // 2)
        output = launch(2, program, given)
    if "too few for 2 processes" in output:
        pytest.skip(f"{name}: its test has one batch of one sample")
    (path,) = (p for p in folder.rglob("*.json") if p.with_suffix(".log").exists())
    record = json.loads(path.read_text())
    rows = record["epochs"]
    assert rows and all(math.isfinite(v) for row in rows for v in row.values() if isinstance(v, float)), rows
    states = [json.loads(p.read_text()) for p in (folder / "checkpoints").glob("*/state.json")]
    assert states and all(state["processes"] == 2 for state in states), name
    launch(1, program, [*given, "--resume"])
    assert json.loads(path.read_text())["final"] == record["final"]
    pytest.skip(f"{name}: two processes trained, {rows[-1]}")


def launch(count: int, program: str, given: list[str]) -> str:
    command = [sys.executable, str(ROOT / "scripts" / "launch.py"), "-n", str(count), program, *given]
    result = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    output = result.stdout + result.stderr
    assert result.returncode == 0 or "too few for 2 processes" in output, output[-3000:]
    return output


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "programs" in getattr(item, "fixturenames", ())]


Programs.__call__ = both
