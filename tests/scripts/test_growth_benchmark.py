"""The benchmark of growth prints exponents, and says which costs are above their law."""

import json
import math

import pytest

from scripts.benchmarks import growth


def test_every_cost_prints_its_exponents(capsys):
    names = [name for name in growth.COSTS if name not in ("box_nms", "save_memory")]
    assert growth.main(["--quick", *names]) == 0
    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    assert [name for name, *_ in lines] == names
    for name, sizes, values, slope, law, shares, _, kept in lines:
        cost = growth.COSTS[name]
        assert len(values.split(", ")) == len(sizes.split(", ")) == len(cost.sizes) and float(law) == cost.law
        assert math.isfinite(float(slope)) and bool(shares) == (cost.reference is not None) and kept in ("yes", "no")


def test_costs_above_their_law_or_bar_are_told(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(growth, "seconds", lambda work, timer: work())
    rows = {
        "squares": growth.Cost("squares", 1, (10, 100), lambda size: lambda: size**2),
        "lines": growth.Cost("lines", 1, (10, 100), lambda size: lambda: size, bar=100),
        "long": growth.Cost("long", 1, (10, 100), lambda size: lambda: size, bar=99),
        "slower": growth.Cost("slower", 1, (10, 100), lambda n: lambda: n, bar=1, reference=lambda n: lambda: 20.0),
        "quicker": growth.Cost("quicker", 1, (10, 100), lambda n: lambda: n, bar=5, reference=lambda n: lambda: 20.0),
    }
    monkeypatch.setattr(growth, "COSTS", rows)
    assert growth.main(["--logs", str(tmp_path), *rows]) == 1
    found = json.loads((tmp_path / "benchmarks" / "growth.json").read_text())["rows"]
    assert [row["kept"] for row in found] == ["no", "yes", "no", "no", "yes"]
    assert found[0]["exponent"] == pytest.approx(2) and found[3]["over the other way"] == "0.5, 5"
    assert growth.main(["--logs", str(tmp_path), "lines", "quicker"]) == 0


def test_the_peak_counts_what_is_given_back():
    assert 90 < growth.peak(lambda: bytearray(100 << 20)) < 140


def test_rows_that_are_not_there():
    with pytest.raises(SystemExit):
        growth.main(["nothing"])
