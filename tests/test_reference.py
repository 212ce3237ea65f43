"""Answers of the original software: the conformance runner over the sections whose rooms exist.

`reference_pending.txt` names the cases that do not pass, each below the reason; a case that is not named there must
pass, and a case that passes must be taken out of the list, so that the list only shrinks. MXTEST_REFERENCE names the
folder.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
REFERENCE = Path(os.environ.get("MXTEST_REFERENCE", ROOT.parent / "shared" / "reference"))
PENDING = Path(__file__).parent / "reference_pending.txt"
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
    cases = {c["id"]: c for c in json.loads(report.read_text())["cases"]}
    assert cases
    pending = {line for line in PENDING.read_text().splitlines() if line.startswith(f"{section}/")}
    failing = {f"{section}/{name}" for name, c in cases.items() if c["status"] not in ("passed", "skipped")}
    broken = sorted(failing - pending)
    details = [f"{name}: {cases[name.partition('/')[2]]['detail'][:200]}" for name in broken]
    assert not broken, "\n".join(details)
    repaired = sorted(name for name in pending - failing if name.partition("/")[2] in cases)
    assert not repaired, "these pass now; take them out of reference_pending.txt:\n" + "\n".join(repaired)
