"""The report follows from the logs alone, and its check notices when it does not."""

import json
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gluon.finetune.curves import svg
from scripts import report as program

ROOT = Path(__file__).resolve().parents[2]
RUN = {
    "task": "reading_digits",
    "run": "small",
    "command": "python x.py",
    "commit": "HEAD",
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
    """A checkout with a page of results and two records of its commit."""
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "results.md", tmp_path / "docs")
    shutil.copy(ROOT / "README.md", tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "docs", "README.md")
    git(tmp_path, "commit", "-qm", "first")
    write(tmp_path, RUN)
    write(tmp_path, {key: value for key, value in BENCHMARK.items() if key not in ("epochs", "final")})
    return tmp_path


def git(root: Path, *arguments: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    return subprocess.run(
        ["git", *who, *arguments], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_tables_and_curves_follow_from_the_logs(checkout):
    assert report(checkout, "--check").returncode == 1
    assert report(checkout).returncode == 0
    text = (checkout / "docs" / "results.md").read_text()
    assert "[small](../logs/reading_digits/small.log) ([curves](../logs/reading_digits/small.svg))" in text
    assert "| test accuracy 0.9125 | 0.93 | generated | 2 | 1.5 min | a processor, 2 threads |" in text
    assert "![curves of small](../logs/reading_digits/small.svg)" in text
    assert "| ours | 1.25 |" in text
    assert report(checkout, "--check").returncode == 0


def test_epochs_are_those_asked_for_where_a_run_has_no_row_for_each(checkout):
    write(checkout, {key: value for key, value in RUN.items() if key != "epochs"} | {"arguments": {"epochs": 4}})
    assert report(checkout).returncode == 0
    assert "| 0.93 | generated | 4 | 1.5 min |" in (checkout / "docs" / "results.md").read_text()


def test_repetitions_are_summarised_by_mean_and_spread(checkout):
    rows = [
        {"repeat": repeat, "epoch": epoch, "test_accuracy": accuracy}
        for repeat, accuracies in enumerate([(0.5, 0.8), (0.6, 0.9), (0.7, 0.7)])
        for epoch, accuracy in enumerate(accuracies, 1)
    ]
    write(checkout, RUN | {"epochs": rows, "final": {"test_accuracy": [0.8, 0.9, 0.7]}})
    report(checkout)
    # Mean 0.8, standard deviation sqrt(0.02 / 2) = 0.1; two epochs in each repetition.
    assert (
        "| test accuracy 0.8 ± 0.1 (n = 3) | 0.93 | generated | 2 | 1.5 min |"
        in (checkout / "docs" / "results.md").read_text()
    )
    drawn = (checkout / "logs" / "reading_digits" / "small.svg").read_text()
    assert drawn == svg([{"epoch": 1, "test_accuracy": 0.6}, {"epoch": 2, "test_accuracy": 0.8}])


@pytest.mark.parametrize("commit", ["+changes", "deadbeef0123", None])
def test_logs_that_nobody_can_repeat_are_refused(checkout, commit):
    commit = git(checkout, "rev-parse", "HEAD")[:12] + commit if commit == "+changes" else commit
    write(checkout, RUN | {"run": "lost", "commit": commit})
    for options in ((), ("--check",)):
        result = report(checkout, *options)
        assert result.returncode == 1 and f"logs/reading_digits/lost.json ({commit}) were not made" in result.stderr
    label(checkout, "reading_digits/lost.json\tcommit\tof a commit that is gone")
    assert report(checkout).returncode == 0
    assert "| test accuracy 0.9125 (of a commit that is gone) |" in (checkout / "docs" / "results.md").read_text()


def test_labels_are_needed(checkout):
    label(checkout, "reading_digits/small.json\tcommit\tgone")
    assert "for a commit that is in this history: take the lines out" in report(checkout).stderr
    label(checkout, "reading_digits/other.json\tnote\tof nothing")
    assert "logs that are not there: logs/reading_digits/other.json" in report(checkout).stderr


def test_notes_stand_beside_the_figures(checkout):
    label(checkout, "reading_digits/small.json\tnote\tof easy digits", "benchmarks/speed.json\tnote\ton a busy day")
    report(checkout)
    text = (checkout / "docs" / "results.md").read_text()
    assert "| test accuracy 0.9125 (of easy digits) |" in text
    assert " (on a busy day); [log](../logs/benchmarks/speed.log)" in text


def test_data_are_named(checkout):
    files = {f"{k}.txt": str(k) * 64 for k in range(5)}
    for data, said in (
        ({"rendered": "8 pictures, seed 0"}, "rendered: 8 pictures, seed 0"),
        (files, "0.txt, 1.txt, 3 more files"),
        ({"0.txt": "0" * 64}, "0.txt"),
    ):
        write(checkout, RUN | {"data": data})
        report(checkout)
        assert f"| 0.93 | {said} | 2 |" in (checkout / "docs" / "results.md").read_text()


def test_a_part_of_the_history_is_told(checkout, tmp_path_factory):
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "second")
    shallow = tmp_path_factory.mktemp("shallow") / "clone"
    git(checkout, "clone", "-q", "--depth", "1", f"file://{checkout}", str(shallow))
    assert "fetch-depth: 0" in report(shallow, "--check").stderr
    shutil.rmtree(shallow / ".git")
    assert "is no git checkout" in report(shallow, "--check").stderr


def test_logs_of_this_checkout_can_be_repeated_or_say_so():
    result = report(ROOT, "--check")
    assert "were not made from a commit" not in result.stderr and "take the lines out" not in result.stderr


def test_the_check_names_what_differs(checkout):
    report(checkout)
    write(checkout, RUN | {"final": {"test_accuracy": 0.99}})
    result = report(checkout, "--check")
    assert result.returncode == 1
    assert "docs/results.md" in result.stderr
    assert "small.svg" not in result.stderr


def test_a_run_that_has_not_finished_is_not_in_the_tables(checkout):
    write(checkout, {key: value for key, value in RUN.items() if key != "final"})
    report(checkout)
    assert "small.log" not in (checkout / "docs" / "results.md").read_text()


def test_curves_are_drawn_to_scale():
    rows = [{"epoch": 1, "loss": 4.0}, {"epoch": 2, "loss": 3.0}, {"epoch": 5, "loss": float("nan")}]
    picture = ET.fromstring(svg(rows))
    (line,) = picture.iter("{http://www.w3.org/2000/svg}polyline")
    (first, second) = (tuple(map(float, point.split(","))) for point in line.get("points").split())
    assert first[0] < second[0]
    assert first[1] < second[1]  # larger losses are higher up
    assert svg(rows) == svg(rows)


def report(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    try:
        program.main(["--root", str(root), *arguments])
    except SystemExit as refused:
        return subprocess.CompletedProcess([], 1, "", str(refused))
    return subprocess.CompletedProcess([], 0, "", "")


def label(root: Path, *lines: str) -> None:
    (root / "logs" / "labels.tsv").write_text("".join(f"{line}\n" for line in lines))


def write(root: Path, record: dict) -> None:
    if record.get("commit") == "HEAD":
        record = record | {"commit": git(root, "rev-parse", "HEAD")[:12]}
    folder = root / "logs" / record["task"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{record['run']}.json").write_text(json.dumps(record))


def test_readme_says_what_a_gpu_did(checkout):
    """From the files of the program that validates one, of a commit in this history."""
    assert report(checkout).returncode == 0
    assert "No kernel has run on a GPU yet" in (checkout / "README.md").read_text()
    folder = checkout / "logs" / "gpu" / "h100"
    folder.mkdir(parents=True)
    summary = {
        "commit": git(checkout, "rev-parse", "--short", "HEAD"),
        "dry run": False,
        "facts": {"gpu": "NVIDIA H100", "torch": "2.11", "triton": "3.6"},
        "peaks": {"copy, bytes a second": 3e12, "product in bfloat16, FLOP a second": 7e14},
        "stages": {"correct": {"ok": 9, "wrong": 1}, "networks": {}},
    }
    timed = {"stage": "kernels", "family": "softmax", "right": "yes", "status": "ok"}
    rows = [
        timed | {"item": "softmax: a, bfloat16", "of torch": 2.0, "of floor": 0.9},
        timed | {"item": "softmax: b, bfloat16", "of torch": 0.5, "of floor": 0.9},
        timed | {"item": "softmax: a, float32", "of torch": float("nan"), "of floor": 0.7},
        {"stage": "networks", "item": "training LeNet", "ms": {"ours": 3.0, "PyTorch": 1.5, "torch.compile": None}},
    ]
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "bench.jsonl").write_text("".join("\n" + json.dumps(row) for row in rows))
    assert report(checkout).returncode == 0
    text = (checkout / "README.md").read_text()
    assert "**NVIDIA H100**, torch 2.11, Triton 3.6" in text and "copy 3 TB/s; product in bfloat16 700 TFLOP/s" in text
    assert "Items by stage: correct 9 ok, 1 wrong;" in text
    assert "| softmax | bfloat16 | 2 | 1.00 | 0.50 | 0.90 | 0.90 |" in text
    assert "| softmax | float32 | 1 |  |  | 0.70 | 0.70 |" in text
    assert "| training LeNet | 3 |  | 1.5 |  |  |  |" in text
    for other in ({"commit": "abc123"}, {"dry run": True}):
        (folder / "summary.json").write_text(json.dumps(summary | other))
        assert "is not in this history" in report(checkout, "--check").stderr
