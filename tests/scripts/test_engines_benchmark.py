"""The benchmark beside inference engines: one small case with what is installed."""

import json

import pytest

from scripts.benchmarks import engines


@pytest.fixture(autouse=True)
def started(forked_contenders):
    """Contenders do not import the packages again."""


def test_a_small_case_is_timed(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    rows = engines.main(
        ["--only", "MobileNet 1.0, batch 1", "--small", "--rounds", "1", "--threads", "1", "--logs", str(tmp_path)]
    )
    found = {row["contender"]: row for row in reversed(rows)}  # the first of several
    assert {engines.OURS, engines.BFLOAT16, engines.INT8, engines.RUNTIME} <= set(found)
    assert found[engines.INT8]["ratio"] == found[engines.INT8]["ms"] / found[engines.OURS]["ms"]
    assert found[engines.INT8]["bar"] == 0.5
    assert json.loads((tmp_path / "benchmarks" / "engines.json").read_text())["rows"] == rows


def test_what_a_node_costs_is_told(tmp_path):
    given = ["--only", engines.NODE, "--rounds", "1", "--threads", "1", "--logs", str(tmp_path)]
    (row,) = engines.main(given)
    assert row["network"] == "a node of a plan" and 0 < row["ms"] < 0.1 and row["ratio"] == row["ms"] / 1.5e-3


def test_unknown_cases_are_refused(capsys):
    with pytest.raises(SystemExit):
        engines.main(["--only", "VGG"])
    assert "fits none of: ResNet-50 v1, batch 1" in capsys.readouterr().err


def test_rows_of_other_cases_are_kept_if_they_were_made_alike(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(engines, "node", lambda args: [{"network": engines.NODE, "ms": 1e-3}])
    given = ["--only", engines.NODE, "--rounds", "1", "--threads", "1", "--logs", str(tmp_path), "--keep"]
    log = tmp_path / "benchmarks" / "engines.json"
    engines.main(given)
    facts = json.loads(log.read_text())
    facts["rows"].append(facts["rows"][0] | {"network": "MobileNet 1.0, batch 1"})
    log.write_text(json.dumps(facts))
    assert [row["network"] for row in engines.main(given)] == ["MobileNet 1.0, batch 1", engines.NODE]
    assert "MobileNet" in log.with_suffix(".log").read_text()
    for other in ({"commit": "0" * 40}, {"how": facts["how"] | {"rounds": 2}}):
        log.write_text(json.dumps(facts | other))
        assert [row["network"] for row in engines.main(given)] == [engines.NODE]
        assert f"has another {next(iter(other))}" in capsys.readouterr().out
