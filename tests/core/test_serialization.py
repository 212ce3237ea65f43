"""`nd.save` and `nd.load` against files that MXNet wrote."""

import tracemalloc

import numpy as np
import pytest

import core as mx
from core import nd
from core.base import MXNetError
from core.ndarray import NDArray
from core.serialization import load_frombuffer
from tests.support.places import by_id, recorded

CASES = [case for case in recorded("params") if "container" in case and not case.get("stype")]


@pytest.mark.parametrize("case", by_id(CASES))
def test_files_of_mxnet(case, tmp_path):
    path = case["folder"] / case["file"]
    with mx.util.np_shape(case.get("np_shape", False)):
        loaded = mx.nd.load(str(path))
        assert isinstance(loaded, dict if case["container"] == "dict" else list)
        items = loaded.items() if isinstance(loaded, dict) else enumerate(loaded)
        for key, array in items:
            assert isinstance(array, NDArray)
            np.testing.assert_array_equal(array.asnumpy(), case["values"][f"value:{key}"], strict=True)
        mx.nd.save(str(tmp_path / "again"), loaded)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_bfloat16_keeps_its_bits(tmp_path):
    array = mx.nd.array([1.0, -2.5, 3e38, 1e-30], dtype="bfloat16")
    mx.nd.save(str(tmp_path / "x"), {"x": array})
    loaded = mx.nd.load(str(tmp_path / "x"))["x"]
    assert loaded.dtype is array.dtype
    np.testing.assert_array_equal(loaded.asnumpy(), array.asnumpy())


def test_numpy_arrays_and_npz(tmp_path):
    path = str(tmp_path / "x")
    with mx.util.np_shape(True):
        arrays = {"s": mx.np.array(3.5), "e": mx.np.zeros((0, 3)), "i": mx.np.array([1, 2], dtype="int64")}
        for write in (lambda: mx.npx.save(path, arrays), lambda: mx.npx.savez(path, **arrays)):
            write()
            loaded = mx.npx.load(path)
            assert list(loaded) == list(arrays) and all(type(a) is mx.np.ndarray for a in loaded.values())
            for name, array in arrays.items():
                np.testing.assert_array_equal(loaded[name].asnumpy(), array.asnumpy(), strict=True)
    (tmp_path / "x").write_bytes((tmp_path / "x").read_bytes().replace(b"NUMPY", b"XXXXX"))
    with pytest.raises(MXNetError, match=r"x', member 's': damaged"):
        mx.npx.load(path)
    with pytest.raises(MXNetError, match="cannot open"):
        mx.npx.load(str(tmp_path / "absent"))


def test_forms_and_errors(tmp_path):
    path = str(tmp_path / "x")
    mx.nd.save(path, mx.nd.ones((2,)))
    (one,) = mx.nd.load(path)
    (same,) = load_frombuffer((tmp_path / "x").read_bytes())
    assert one.asnumpy().tolist() == same.asnumpy().tolist() == [1, 1]
    with pytest.raises(ValueError, match="a str"):
        mx.nd.save(path, "text")
    with pytest.raises(TypeError, match="a list"):
        mx.nd.save(path, [[1, 2]])
    with pytest.raises(MXNetError, match="cannot open"):
        mx.nd.load(str(tmp_path / "absent"))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_arrays_are_written_without_a_copy_of_them(dtype, tmp_path):
    arrays = {
        "whole": nd.ones((64, 1 << 17), dtype=dtype),
        "turned": nd.arange(1 << 23, dtype=dtype).reshape((64, -1)).T,
    }
    tracemalloc.start()
    nd.save(tmp_path / "a.params", arrays)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 24 << 20  # of 64 MB in float32
    for name, array in nd.load(tmp_path / "a.params").items():
        np.testing.assert_array_equal(array.asnumpy(), arrays[name].asnumpy())
