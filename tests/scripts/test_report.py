"""The report follows from the logs alone, and its check notices when it does not."""

import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scripts.common.curves import svg

ROOT = Path(__file__).resolve().parents[2]
RUN = {
    "task": "reading_digits",
    "run": "small",
    "command": "python x.py",
    "commit": "abc",
    "versions": {"python": "3.11"},
    "device": "a processor, 2 threads",
    "seed": 0,
    "data": {},
    "epochs": [{"epoch": 1, "loss": 0.5, "test_accuracy": 0.9}, {"epoch": 2, "loss": 0.25, "test_accuracy": 0.9125}],
    "final": {"test_accuracy": 0.9125},
    "published": "0.93",
    "times": {"seconds": 90},
}
BENCHMARK = RUN | {"task": "benchmarks", "run": "speed", "title": "speed", "rows": [{"what": "ours", "ms": 1.25}]}


@pytest.fixture
def checkout(tmp_path):
    """A folder with a README and two records."""
    shutil.copy(ROOT / "README.md", tmp_path)
    write(tmp_path, RUN)
    write(tmp_path, {key: value for key, value in BENCHMARK.items() if key not in ("epochs", "final")})
    return tmp_path


def test_tables_and_curves_follow_from_the_logs(checkout):
    assert report(checkout, "--check").returncode == 1
    assert report(checkout).returncode == 0
    text = (checkout / "README.md").read_text()
    assert "[small](logs/reading_digits/small.log) ([curves](logs/reading_digits/small.svg))" in text
    assert "| test accuracy 0.9125 | 0.93 | 2 | 1.5 min | a processor, 2 threads |" in text
    assert "| ours | 1.25 |" in text
    assert report(checkout, "--check").returncode == 0


def test_repetitions_are_summarised_by_mean_and_spread(checkout):
    rows = [
        {"repeat": repeat, "epoch": epoch, "test_accuracy": accuracy}
        for repeat, accuracies in enumerate([(0.5, 0.8), (0.6, 0.9), (0.7, 0.7)])
        for epoch, accuracy in enumerate(accuracies, 1)
    ]
    write(checkout, RUN | {"epochs": rows, "final": {"test_accuracy": [0.8, 0.9, 0.7]}})
    report(checkout)
    # Mean 0.8, standard deviation sqrt(0.02 / 2) = 0.1; two epochs in each repetition.
    assert "| test accuracy 0.8 ± 0.1 (n = 3) | 0.93 | 2 | 1.5 min |" in (checkout / "README.md").read_text()
    drawn = (checkout / "logs" / "reading_digits" / "small.svg").read_text()
    assert drawn == svg([{"epoch": 1, "test_accuracy": 0.6}, {"epoch": 2, "test_accuracy": 0.8}])


def test_the_check_names_what_differs(checkout):
    report(checkout)
    write(checkout, RUN | {"final": {"test_accuracy": 0.99}})
    result = report(checkout, "--check")
    assert result.returncode == 1
    assert "README.md" in result.stderr
    assert "small.svg" not in result.stderr


def test_a_run_that_has_not_finished_is_not_in_the_tables(checkout):
    write(checkout, {key: value for key, value in RUN.items() if key != "final"})
    report(checkout)
    assert "small.log" not in (checkout / "README.md").read_text()


def test_curves_are_drawn_to_scale():
    rows = [{"epoch": 1, "loss": 4.0}, {"epoch": 2, "loss": 3.0}, {"epoch": 5, "loss": float("nan")}]
    picture = ET.fromstring(svg(rows))
    (line,) = picture.iter("{http://www.w3.org/2000/svg}polyline")
    (first, second) = (tuple(map(float, point.split(","))) for point in line.get("points").split())
    assert first[0] < second[0]
    assert first[1] < second[1]  # larger losses are higher up
    assert svg(rows) == svg(rows)


def report(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, ROOT / "scripts" / "report.py", "--root", root, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def write(root: Path, record: dict) -> None:
    folder = root / "logs" / record["task"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{record['run']}.json").write_text(json.dumps(record))
