"""The Transformer-XL program on the first words of a real text."""

import pytest

from scripts.language_model.transformer_xl import main


def test_memory_goes_on_from_stretch_to_stretch(data, programs, tmp_path):
    arguments = ["--data-dir", data, "--dataset", "sherlockholmes", "--words", 1500, "--units", 16, "--num-layers", 2]
    arguments += [
        "--hidden-size",
        16,
        "--num-heads",
        2,
        "--bptt",
        10,
        "--mem-len",
        12,
        "--batch-size",
        4,
        "--epochs",
        2,
    ]
    arguments += ["--lr", 0.01, "--output_dir", tmp_path / "model"]
    programs(main, *arguments, into="whole")
    whole = programs.record("whole")
    rows = whole["epochs"]
    assert rows[1]["loss"] < rows[0]["loss"] and rows[1]["dev_perplexity"] < 0.9 * whole["vocabulary"]
    programs.interrupted(main, *arguments, rows=2, into="again")
    programs(main, *arguments, "--resume", into="again")
    assert programs.record("again") == whole
    texts = [*map(str, arguments), "--eval-only"]
    best = min(row["dev_perplexity"] for row in rows)
    assert main(texts)["dev_perplexity"] == pytest.approx(best, rel=1e-5)
    assert main([*texts, "--mem-len", "1"])["dev_perplexity"] != pytest.approx(best, rel=1e-4)
