"""Answers of the original software: the conformance runner over the sections whose rooms exist,
all of whose cases must pass.

MXTEST_REFERENCE names the folder.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
REFERENCE = Path(os.environ.get("MXTEST_REFERENCE", ROOT.parent / "shared" / "reference"))
SECTIONS = ["ops", "gluon", "files", "gluonnlp_data"]


@pytest.mark.parametrize("section", SECTIONS)
def test_section(section, tmp_path):
    runner = REFERENCE / "check.py"
    if not runner.exists():
        pytest.skip(f"no reference answers at {REFERENCE}; set MXTEST_REFERENCE")
    report = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, str(runner), section, "--json", str(report)],
        env={**os.environ, "PROJECT": str(ROOT), "OMP_NUM_THREADS": "1"}, cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    cases = json.loads(report.read_text())["cases"]
    assert cases
    broken = sorted((c["id"], c["detail"][:200]) for c in cases if c["status"] not in ("passed", "skipped"))
    assert not broken, "\n".join(": ".join(case) for case in broken)
