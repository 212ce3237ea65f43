"""The encoder of a language model learns to tell reviews apart."""

import json

import pytest

from scripts.sentiment_analysis.finetune_lm import main


@pytest.mark.parametrize("bucket", [[], ["--bucket_type", "fixed", "--bucket_num", 2], ["--bucket_type", "sorted"]])
def test_reviews_are_told_apart(data, programs, tmp_path, monkeypatch, bucket):
    monkeypatch.setenv("GLUONNLP_VERIFY", "0")
    lines = (data / "sst" / "stsa.binary.dev").read_text(encoding="utf8").splitlines()
    rated = [[text, 9 if label == "1" else 2] for label, text in (line.split(" ", 1) for line in lines)]
    for part, some in (("train", rated[:120]), ("test", rated[120:160])):
        (tmp_path / f"{part}.json").write_text(json.dumps(some))
    given = ["--data-dir", tmp_path, "--no_pretrained", "--tokenizer", "blanks", "--longest", 12, "--min_freq", 2]
    given += ["--epochs", 4, "--valid_ratio", 0.1, "--lr", 0.001, "—save-prefix", tmp_path / "net", *bucket]
    final = programs(main, *given)
    rows = programs.record()["epochs"]
    assert rows[-1]["loss"] < rows[0]["loss"] and 0 <= final["test_accuracy"] <= 1
    assert final["valid_accuracy"] == rows[-1]["valid_accuracy"]
    assert (tmp_path / "net.params").is_file()
