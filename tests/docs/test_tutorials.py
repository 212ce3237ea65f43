"""Tutorials are programs: each runs in a process of its own, in an empty folder, without network."""

import os
import sys
from pathlib import Path

import pytest

from tests.support import forked

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
# What the others need is installed for the tests, or skipped by the tutorial with a reason.
QUICK = {"ten_minutes", "hybridize", "from_mxnet", "own_operators"}


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=p.stem, marks=() if p.stem in QUICK else pytest.mark.slow) for p in TUTORIALS],
)
def test_tutorial_runs(path, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    settings = {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg", "MXNET_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = forked.run([sys.executable, path], cwd=tmp_path, env=os.environ | settings, timeout=500)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def test_the_site_has_every_tutorial():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [path.stem for path in TUTORIALS if f"\ntutorials/{path.stem}\n" not in index] == []


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_begins_with_its_title_and_keeps_what_it_shows_short(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# %% [markdown]" and lines[1].startswith("# # ")
    assert len(lines) < 220
