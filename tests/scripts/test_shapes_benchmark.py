"""The benchmark of lengths that vary, on tiny networks: what it times is there, and few plans are made."""

import numpy as np
import pytest

from scripts.benchmarks import shapes


def test_every_part_gives_its_rows(tmp_path):
    given = ["--small", "--tokens", "3", "--prompt", "4", "--rounds", "1", "--logs", str(tmp_path)]
    rows = shapes.main(["decode", "bert", "train", *given])
    parts = {row["case"].split(",")[0].split(" ")[0] for row in rows}
    assert parts == {"GPT-2", "BERT-base", "LSTM", "Transformer"}
    assert all(row["ours"] > 0 and row["theirs"] > 0 and row["plans"] <= 3 for row in rows)
    assert (tmp_path / "benchmarks" / "shapes.json").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:static_shape=True promises few shapes")
def test_a_promise_that_is_broken_makes_no_more_plans(tmp_path):
    rows = shapes.main(["static", "--small", "--logs", str(tmp_path)])
    assert len(rows) == 2 and all(row["ratio"] > 0 and row["bar"] == 1 and row["plans"] <= 3 for row in rows)


@pytest.mark.slow
def test_the_memory_of_an_epoch_is_that_of_a_process(tmp_path):
    held = np.ones(1 << 28)  # 2 GB of the process that starts them, which are none of theirs
    rows = shapes.main(["memory", "--small", "--logs", str(tmp_path)])
    assert len(rows) == 2 and held.nbytes / 2**20 > 2000
    assert all(100 < row["ours"] < 1500 and 0.5 < row["ratio"] < 2 and row["plans"] <= 3 for row in rows)
