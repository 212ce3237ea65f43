"""`.safetensors` files against the package of that name, and damage."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from core.base import MXNetError
from core.files.safetensors import CODES, read_safetensors, write_safetensors
from tests.support.mutations import mutated, survives

TENSORS = {
    "b.weight": np.arange(6, dtype="float32").reshape(2, 3),
    "a": np.array([True, False]),
    "e": np.zeros((0, 2), "int64"),
    "s": np.float16(2),
}


def test_the_package_reads_what_is_written(tmp_path):
    package = pytest.importorskip("safetensors.numpy")
    write_safetensors(tmp_path / "x", TENSORS, {"format": "np"})
    loaded = package.load_file(tmp_path / "x")
    assert set(loaded) == set(TENSORS)
    for name, value in TENSORS.items():
        np.testing.assert_array_equal(loaded[name], value, strict=True)


def test_what_the_package_writes_is_read(tmp_path):
    package = pytest.importorskip("safetensors.numpy")
    package.save_file({name: np.asarray(value) for name, value in TENSORS.items()}, tmp_path / "x", {"k": "v"})
    loaded, metadata = read_safetensors(tmp_path / "x")
    assert metadata == {"k": "v"} and set(loaded) == set(TENSORS)
    for name, value in TENSORS.items():
        np.testing.assert_array_equal(loaded[name].data, value, strict=True)


@pytest.mark.parametrize("dtype", sorted(set(CODES) - {"bfloat16"}))
def test_every_dtype_comes_back(dtype, tmp_path):
    write_safetensors(tmp_path / "x", {"x": np.ones((2, 2), dtype)})
    np.testing.assert_array_equal(read_safetensors(tmp_path / "x")[0]["x"].data, np.ones((2, 2), dtype), strict=True)


def test_overlapping_tensors_are_refused(tmp_path):
    write_safetensors(tmp_path / "x", {"a": np.zeros(2, "float32"), "b": np.zeros(2, "float32")})
    data = (tmp_path / "x").read_bytes().replace(b"[8,16]", b"[0, 8]")
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(MXNetError, match="tensor 'b' begins at 0, not at 8"):
        read_safetensors(tmp_path / "x")


def test_damage_gives_an_error_or_tensors(tmp_path):
    write_safetensors(tmp_path / "x", TENSORS, {"format": "np"})

    @settings(max_examples=1000, deadline=1000, suppress_health_check=list(HealthCheck))
    @given(mutated((tmp_path / "x").read_bytes()))
    def run(data):
        (tmp_path / "y").write_bytes(data)
        survives(lambda: read_safetensors(tmp_path / "y"))

    run()
