"""The quickstart reaches its accuracy and leaves what it promises."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "quickstart.py"


def test_quickstart_reads_98_percent_of_the_digits(tmp_path):
    command = [sys.executable, SCRIPT, "--log-dir", tmp_path, "--save-dir", tmp_path / "checkpoints"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert "made the same predictions" in result.stdout
    folder = tmp_path / "quickstart"
    record = json.loads((folder / "lenet_digits.json").read_text())
    assert record["final"]["test_accuracy"] >= 0.98
    assert [row["epoch"] for row in record["epochs"]] == list(range(1, 31))
    assert (folder / "lenet_digits.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "lenet_digits.log").read_text() == result.stdout
