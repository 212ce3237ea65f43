"""The program that times sparse training against the original: small runs of ours."""

from types import SimpleNamespace

import pytest

from scripts.benchmarks import sparse
from tests.support import forked


def test_every_program_runs_small(tmp_path, monkeypatch):
    monkeypatch.delenv("MXTEST_MXNET_PYTHON", raising=False)
    monkeypatch.setattr(sparse, "subprocess", SimpleNamespace(run=forked.run))
    rows = sparse.main(["--small", "--steps", "1", "--rounds", "1", "--threads", "1", "--logs", str(tmp_path)])
    assert [row["program"] for row in rows] == list(sparse.PROGRAMS)
    assert all(row["ours s"] > 0 and row["ours MB"] > row["ours, above import MB"] > 0 for row in rows)


def test_unknown_programs_are_refused(capsys):
    with pytest.raises(SystemExit):
        sparse.main(["spare"])
    assert "unknown programs spare; linear, factorization" in capsys.readouterr().err
