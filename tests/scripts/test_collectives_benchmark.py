"""The benchmark of collectives, on a tiny network: it runs under the launcher, and sums begin within the backward pass."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_sums_begin_within_the_backward_pass(tmp_path):
    program = [ROOT / "scripts/benchmarks/collectives.py", "--small", "--logs", tmp_path]
    subprocess.run([sys.executable, ROOT / "scripts/launch.py", "-n", "2", *map(str, program)], check=True, timeout=200)
    (row,) = json.loads((tmp_path / "benchmarks" / "collectives.json").read_text())["rows"]
    assert row["processes"] == 2
    assert 0 < row["the first begins at"] <= row["the last begins at"] < 1
    assert 0 < row["MB within"] <= row["MB of all"]
    rows = json.loads((tmp_path / "benchmarks" / "gradient_sums.json").read_text())["rows"]
    assert [row["kind"] for row in rows] == ["no sums", "dist_sync", "dist_sync, 2bit"]
    assert all(row["backward s"] > 0 and row["step s"] > 0 for row in rows)


@pytest.mark.slow
def test_seconds_are_computed_and_measured(tmp_path):
    program = [ROOT / "scripts/benchmarks/scaling.py", "--width", 64, "--batch", 8, "--logs", tmp_path]
    subprocess.run([sys.executable, ROOT / "scripts/launch.py", "-n", "2", *map(str, program)], check=True, timeout=200)
    rows = json.loads((tmp_path / "benchmarks" / "scaling.json").read_text())["rows"]
    assert [row["kind"] for row in rows] == ["dist_sync", "stage 1", "stage 2", "stage 3"]
    assert all(row["measured s"] > 0 and row["computed s"] >= row["alone s"] for row in rows)
