"""Figure 1: what is measured of the classification zoo, and its picture."""

import json

import pytest

from gluoncv.model_zoo import get_model_list
from scripts.benchmarks import classification_zoo

pytest.importorskip("matplotlib")


def test_published_networks_are_in_the_zoo_and_have_a_family():
    rows = classification_zoo.published()
    assert len(rows) > 70 and {row["network"] for row in rows} <= set(get_model_list())
    assert len({row["network"] for row in rows}) == len(rows)
    assert all(classification_zoo.family(row["network"]) for row in rows)
    accuracies = {row["network"]: row["top-1"] for row in rows}
    assert accuracies["resnet50_v1d"] == 79.15 and accuracies["mobilenet1.0"] == 73.28  # Guo et al., 2020, table 1
    with pytest.raises(ValueError, match="begins with none of the families"):
        classification_zoo.family("lenet")


def test_networks_are_measured_and_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(
        classification_zoo, "published",
        lambda: [
            {"network": "mobilenet0.25", "top-1": 52.91, "pixels": 64},
            {"network": "squeezenet1.1", "top-1": 54.96, "pixels": 224},
        ],
    )  # fmt: skip
    rows = classification_zoo.main(["--passes", "1", "--warm-up", "1", "--log-dir", str(tmp_path)])
    record = json.loads((tmp_path / "benchmarks" / "classification_zoo.json").read_text())
    assert record["rows"] == rows and [row["ms"] for row in rows] == sorted(row["ms"] for row in rows)
    sizes = {row["network"]: row["MiB"] * 2**20 / 4 for row in rows}
    assert sizes["squeezenet1.1"] == 1235496  # parameters: torchvision's count for the same network
    assert all(row["pictures/s"] == pytest.approx(1000 / row["ms"]) for row in rows)
    assert (tmp_path / "benchmarks" / "classification_zoo.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(SystemExit, match=r"fits none of: mobilenet0\.25"):
        classification_zoo.main(["--only", "resnet", "--log-dir", str(tmp_path)])


def test_the_frontier_has_no_network_that_another_beats():
    rows = [
        {"network": name, "pictures/s": speed, "top-1": accuracy}
        for name, speed, accuracy in (("a", 10, 70), ("b", 20, 60), ("c", 15, 55), ("d", 5, 80), ("e", 5, 79))
    ]
    assert [row["network"] for row in classification_zoo.frontier(rows)] == ["b", "a", "d"]
