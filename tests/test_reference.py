"""Answers of the original software: all cases of these sections must pass (see `tests.tools.golden`)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.tools import golden

ROOT = Path(__file__).parent.parent
SECTIONS = ["ops", "gluon", "files", "gluonnlp_data"]


@pytest.mark.parametrize("section", SECTIONS)
def test_section(section, tmp_path):
    runner = golden.folder() / "check.py"
    report = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, str(runner), section, "--json", str(report)],
        env={**os.environ, "PROJECT": str(ROOT), "OMP_NUM_THREADS": "1"}, cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    cases = json.loads(report.read_text())["cases"]
    assert cases
    broken = sorted((c["id"], c["detail"][:200]) for c in cases if c["status"] not in ("passed", "skipped"))
    assert not broken, "\n".join(": ".join(case) for case in broken)


def test_the_archive_is_small_and_holds_the_answers(tmp_path):
    assert golden.ARCHIVE.stat().st_size < golden.LARGEST
    held, origin = golden.unpacked(), golden.folder()
    files = sorted(path.relative_to(held) for path in held.rglob("*") if path.is_file())
    recorded = sorted(p.relative_to(origin) for p in origin.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    assert [file for file in files if "__pycache__" not in file.parts] == recorded and len(recorded) > 600
    for file in recorded:
        if file.suffix != ".npz":
            assert (held / file).read_bytes() == (origin / file).read_bytes(), file
            continue
        with np.load(held / file) as ours, np.load(origin / file) as theirs:
            assert ours.files == theirs.files
            for name in ours.files:
                np.testing.assert_array_equal(ours[name], theirs[name], err_msg=f"{file} {name}")


def test_an_archive_is_packed_the_same_again(tmp_path):
    folder = tmp_path / "answers"
    (folder / "out").mkdir(parents=True)
    np.savez_compressed(folder / "out" / "a.npz", x=np.arange(3), y=np.ones((2, 2), "f"))
    (folder / "README.md").write_text("words")
    for name in ("first", "second"):
        golden.pack(folder, tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
