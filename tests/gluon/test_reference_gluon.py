"""The recorded answers of MXNet for Gluon, group by group (the model zoo is in test_model_zoo)."""

import json
import os
import subprocess
import sys

import pytest

GROUPS = (
    "gluon_loss", "gluon_nn", "gluon_np", "gluon_rnn", "gluon_rnn_conv", "initializer", "lr_scheduler", "metric",
    "optimizer", "trainer",
)  # fmt: skip


@pytest.mark.parametrize("group", GROUPS)
def test_group(group, reference, root, tmp_path):
    report = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, reference / "check.py", "gluon", "--only", f"^{group}/", "--json", report],
        env={**os.environ, "PROJECT": str(root)},
        capture_output=True,
        timeout=300,
    )
    cases = json.loads(report.read_text())["cases"]
    assert cases
    wrong = [case for case in cases if case["status"] not in ("passed", "skipped")]
    assert not wrong, wrong[:5]
