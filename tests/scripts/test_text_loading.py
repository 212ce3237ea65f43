"""The program that shows by the profiler's table how little training on text waits for its batches."""

from scripts.benchmarks.text_loading import main


def test_loading_does_not_bound_training(data, tmp_path):
    rows = main(["--data", str(data), "--batches", "3", "--log-dir", str(tmp_path)])
    assert [row["program"] for row in rows] == ["textCNN, TREC", "Transformer, Multi30k"]
    assert all(0 < row["share"] < 0.1 for row in rows)
    assert (tmp_path / "benchmarks" / "text_loading.json").exists()
