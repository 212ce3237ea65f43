"""The program that validates a GPU: it fails without one, writes rows at once, and goes on where it was."""

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from scripts import validate_gpu

ROOT = Path(__file__).resolve().parents[2]


def program(out: Path, *arguments: str) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, ROOT / "scripts/validate_gpu.py", "--out", out, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def test_without_a_device_it_fails(tmp_path):
    result = program(tmp_path)
    assert result.returncode == 2 and "no CUDA device" in result.stdout and "--dry-run" in result.stdout


def test_where_triton_cannot_launch_it_fails_at_once(tmp_path, monkeypatch, capsys):
    from triton.runtime import driver

    def build():
        raise RuntimeError("Failed to find C compiler.")

    monkeypatch.setattr(validate_gpu, "has_device", lambda: True)
    monkeypatch.setattr(sys.modules["triton.runtime.driver"], "_create_driver", build)
    monkeypatch.setattr(driver, "_default", None)
    monkeypatch.setattr(driver, "_active", None)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    assert validate_gpu.main(["--out", str(tmp_path)]) == 2
    words = capsys.readouterr().out
    assert "C compiler and Python's headers" in words and "Failed to find C compiler" in words


@pytest.mark.interpreter
def test_a_dry_run_writes_its_files_and_goes_on(tmp_path):
    stages = "--dry-run", "--minutes", "4", "--commit", "abc123", "--stage", "peaks", "traces"
    result = program(tmp_path, *stages)
    assert result.returncode == 0, (tmp_path / "log.txt").read_text()[-2000:]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["commit"] == "abc123" and summary["dry run"] and "torch" in summary["facts"]
    assert summary["stages"]["peaks"] == {"ok": 5} and summary["stages"]["traces"] == {"ok": 1}
    assert (tmp_path / "trace.json.gz").stat().st_size > 1000 and not (tmp_path / "failures.jsonl").exists()
    before = (tmp_path / "bench.jsonl").read_text()
    assert program(tmp_path, *stages).returncode == 0
    assert (tmp_path / "bench.jsonl").read_text() == before


@pytest.fixture
def stages(monkeypatch):
    """The stages of a dry run in this process."""
    from scripts.benchmarks import gpu_stages

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return gpu_stages


def test_every_clause_has_its_items(stages, tmp_path):
    """What comes in which order, dry and on a GPU."""
    dry = {
        stage: [name for name, _ in stages.items(stage, stages.Setting(tmp_path, True, 2))]
        for stage in validate_gpu.STAGES
    }
    for part in (
        "operator ",
        "training attention",
        "captured LSTM with",
        "captured BERT with",
        "mixed with bfloat16",
        "kernel ",
        "tiles shared out, descriptors, float32",
        "tiles shared out, pointers, bfloat16",
    ):
        assert any(part in name for name in dry["correct"]), part
    assert sum("compute-sanitizer" in name for name in dry["correct"]) == 2 * len(stages.SANITIZED)
    assert dry["tune"][0] == "compile side by side, bfloat16"
    for part in ("LSTM LM", "GPT-2 decoding", "ResNet-50 v1", "BERT-base", "LeNet"):
        assert any(part in name for name in dry["networks"]), part


def test_a_tool_that_is_not_there_is_skipped_with_a_reason(stages, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = stages.sanitize("matmul", "memcheck", stages.Setting(tmp_path, False, 1))
    assert found == {"status": "skipped", "error": "compute-sanitizer is not on the path"}
    tool = tmp_path / "compute-sanitizer"
    for status, expected in (0, "ok"), (9, "wrong"), (1, "failed"):
        tool.write_text(f"#!/bin/sh\necho '========= ERROR SUMMARY: 2 errors'\nexit {status}\n")
        tool.chmod(0o755)
        assert stages.sanitize("matmul", "memcheck", stages.Setting(tmp_path, False, 1))["status"] == expected


def test_a_dry_run_compiles_in_two_processes(stages, tmp_path):
    """For Hopper, with nothing there that could launch."""
    found = stages.compile_cases("bfloat16", stages.Setting(tmp_path, True, 2))
    assert found["processes"] == 2 and found["cases"] >= 4 and found["left"] == []


def test_bits_that_differ_are_wrong(stages):
    import torch

    numbers = iter(torch.arange(4.0))
    assert stages.repeated(lambda: [torch.tensor([1.0, float("nan")])]) == {}
    assert stages.repeated(lambda: [next(numbers)])["status"] == "wrong"


def test_an_item_whose_process_ends_has_failed(tmp_path, monkeypatch):
    """A process that dies at its second item is started again behind it."""
    script = tmp_path / "stage.py"
    script.write_text(f"""
import json, os, sys; from pathlib import Path; sys.path.insert(0, {str(ROOT)!r})
from scripts import validate_gpu as v
out = Path({str(tmp_path)!r}); done = {{row["item"] for row in v.rows_of(out)}}
for item in ("a", "b", "c"):
    if item not in done:
        (out / "begun-0.json").write_text(json.dumps({{"stage": "correct", "item": item}}))
        if item == "b": os._exit(7)
        v.add_row(out, {{"stage": "correct", "item": item, "status": "ok"}}); (out / "begun-0.json").unlink()
""")
    monkeypatch.setattr(validate_gpu, "__file__", str(script))
    validate_gpu.oversee("correct", tmp_path, Namespace(commit="c", jobs=1, dry_run=True), 60)
    rows = {row["item"]: row["status"] for row in validate_gpu.rows_of(tmp_path)}
    assert rows == {"a": "ok", "b": "failed", "c": "ok"}
    failures = [json.loads(line) for line in (tmp_path / "failures.jsonl").read_text().splitlines() if line]
    assert [row["error"] for row in failures] == ["the process ended with 7"]


def test_an_item_beyond_the_time_is_left_to_the_next_run(tmp_path, monkeypatch):
    script = tmp_path / "stage.py"
    script.write_text(f"""
import time; from pathlib import Path
(Path({str(tmp_path)!r}) / "begun-0.json").write_text('{{"stage": "tune", "item": "slow"}}'); time.sleep(60)
""")
    monkeypatch.setattr(validate_gpu, "__file__", str(script))
    validate_gpu.oversee("tune", tmp_path, Namespace(commit="c", jobs=1, dry_run=True), 4)
    assert validate_gpu.rows_of(tmp_path) == [] and not (tmp_path / "begun-0.json").exists()


def test_processes_share_the_items_of_a_stage(tmp_path, monkeypatch):
    """Each goes on behind its own that broke; one that cannot begin is said and not tried again."""
    script = tmp_path / "stage.py"
    script.write_text(f"""
import json, os, sys; from pathlib import Path; sys.path.insert(0, {str(ROOT)!r})
from scripts import validate_gpu as v
at = sys.argv.index("--part"); part, parts = int(sys.argv[at + 1]), int(sys.argv[at + 2])
out = Path({str(tmp_path)!r}); done = {{row["item"] for row in v.rows_of(out)}}
if part == 2: sys.exit(1)
for item in list("abcdef")[part::parts]:
    if item not in done:
        begun = out / f"begun-{{part}}.json"; begun.write_text(json.dumps({{"stage": "correct", "item": item}}))
        if item == "b": os._exit(7)
        v.add_row(out, {{"stage": "correct", "item": item, "status": "ok"}}); begun.unlink()
        if item == "d": sys.exit(v.BROKEN)
""")
    monkeypatch.setattr(validate_gpu, "__file__", str(script))
    validate_gpu.oversee("correct", tmp_path, Namespace(commit="c", jobs=3, dry_run=True), 60)
    rows = {row["item"]: row["status"] for row in validate_gpu.rows_of(tmp_path)}
    assert rows == {"a": "ok", "d": "ok", "b": "failed", "e": "ok", "start": "failed"}


def test_half_a_row_spoils_no_other(tmp_path):
    validate_gpu.add_row(tmp_path, {"stage": "peaks", "item": "a", "status": "ok"})
    with (tmp_path / "bench.jsonl").open("a") as file:
        file.write('\n{"stage": "peaks", "it')
    validate_gpu.add_row(tmp_path, {"stage": "peaks", "item": "b", "status": "ok"})
    assert [row["item"] for row in validate_gpu.rows_of(tmp_path)] == ["a", "b"]
