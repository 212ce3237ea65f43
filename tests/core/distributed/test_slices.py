"""Checkpoints in slices: written by some processes, read by others, and refused where they are not whole."""

import json

import numpy as np
import pytest

from core.base import MXNetError
from core.kvstore import slices
from tests.support import ranks

ARRAYS = {
    "weight": np.arange(35, dtype=np.float32).reshape(5, 7),
    "half": np.arange(11, dtype=np.float16),
    "one": np.array([3], np.int64),
}


def save(rank, folder, gap=0):
    mine = {}
    for name, array in ARRAYS.items():
        begin, end = slices.part(array.shape)
        mine[name] = slices.Slice(array.shape, begin, array.reshape(-1)[begin : end - gap * (name == "weight")])
    slices.save(folder, mine)


def load(rank, folder):
    return slices.load(folder, {name: slices.part(shape) for name, shape in slices.shapes(folder).items()})


@pytest.mark.parametrize(("writers", "readers"), [(3, 2), (2, 3), (1, 3), (3, 1)])
def test_any_number_of_processes_reads_what_others_wrote(tmp_path, writers, readers):
    assert ranks.run(writers, save, tmp_path) == [None] * writers
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob("slice-*"))]
    assert len(sizes) == writers
    parts = ranks.run(readers, load, tmp_path)
    for name, array in ARRAYS.items():
        joined = np.concatenate([part[name] for part in parts if part[name].size])
        assert joined.dtype == array.dtype
        np.testing.assert_array_equal(joined, array.reshape(-1))


def test_missing_elements_are_told_on_every_process(tmp_path):
    for text in ranks.run(2, save, tmp_path, 1):
        assert "MXNetError" in text and "the slices of 'weight' hold element 17 not once; one begins at 18" in text
    with pytest.raises(MXNetError, match=r"no whole checkpoint: it has no index\.json"):
        slices.load(tmp_path, {"weight": (0, 35)})


def test_damage_is_refused(tmp_path):
    save(0, tmp_path)
    with pytest.raises(MXNetError, match="has no array 'bias'; it has half, one, weight"):
        slices.load(tmp_path, {"bias": (0, 1)})
    with pytest.raises(MXNetError, match="elements 0 to 36"):
        slices.load(tmp_path, {"weight": (0, 36)})
    file, index = tmp_path / "slice-0000-of-0001.safetensors", tmp_path / "index.json"
    whole, table = file.read_bytes(), index.read_text()
    file.write_bytes(whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
    with pytest.raises(MXNetError, match="damaged"):
        slices.load(tmp_path, {"weight": (0, 35)})
    file.write_bytes(whole)
    for bad in (
        table[:-9],
        "[]",
        table.replace("slice-0000", "../slice-0000"),
        table.replace("[5, 7]", "[5, 8]"),
        "{}" * 2,
    ):
        index.write_text(bad)
        with pytest.raises(MXNetError):
            slices.load(tmp_path, {"weight": (0, 35)})
    entry = json.loads(table)
    entry["weight"]["slices"] = [["slice-0000-of-0001.safetensors", 0, 10], ["slice-0000-of-0001.safetensors", 10, 25]]
    index.write_text(json.dumps(entry))
    with pytest.raises(MXNetError, match="does not hold the 10 elements of 'weight'"):
        slices.load(tmp_path, {"weight": (0, 35)})
