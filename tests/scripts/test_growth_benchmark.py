"""The benchmark of growth prints exponents, and says which costs are above their law."""

import pytest

from scripts.benchmarks import growth


def test_every_cost_prints_its_exponents(capsys):
    names = [name for name in growth.COSTS if name not in ("box_nms", "save_memory")]
    assert growth.main(["--quick", *names]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == names
    assert all("exponents" in line and f"law {growth.COSTS[name].law:g}" in line for name, line in zip(names, lines))


def test_a_cost_above_its_law_is_told(capsys, monkeypatch):
    monkeypatch.setattr(growth, "seconds", lambda work, quick: work())
    squares = growth.Cost("squares", 1, (10, 100), lambda size: lambda: size**2)
    assert not growth.show(squares, quick=False)
    assert capsys.readouterr().out.endswith("exponents 2.00 (law 1) !\n")
    assert growth.show(growth.Cost("lines", 1, (10, 100), lambda size: lambda: size), quick=False)


def test_the_peak_counts_what_is_given_back():
    assert 90 < growth.peak(lambda: bytearray(100 << 20)) < 140


def test_rows_that_are_not_there():
    with pytest.raises(SystemExit):
        growth.main(["nothing"])
