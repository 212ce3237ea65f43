"""The benchmark of lengths that vary, on tiny networks: what it times is there, and few plans are made."""

from scripts.benchmarks import shapes


def test_every_part_gives_its_rows(tmp_path):
    rows = shapes.main(["--small", "--tokens", "3", "--prompt", "4", "--rounds", "1", "--logs", str(tmp_path)])
    parts = {row["case"].split(",")[0].split(" ")[0] for row in rows}
    assert parts == {"GPT-2", "BERT-base", "LSTM", "Transformer"}
    assert all(row["ours"] > 0 and row["theirs"] > 0 and row["plans"] <= 3 for row in rows)
    assert (tmp_path / "benchmarks" / "shapes.json").exists()
