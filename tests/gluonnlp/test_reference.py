"""The recorded answers of GluonNLP 0.10 for everything that is not a network."""

import os
import subprocess
import sys

GROUPS = "batchify|embedding|metrics_losses|optimizer_init|sampler|sampling|scripts|transforms|utils/gluonnlp.(data|utils)|vocab"


def test_recorded_answers(reference, root, tmp_path):
    command = [sys.executable, str(reference / "check.py"), "gluonnlp_data", "--only", f"^({GROUPS})", "-j", "1"]
    result = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PROJECT": str(root)}, capture_output=True, text=True, timeout=600
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-2000:]
    assert "gluonnlp_data/vocab" in result.stdout
