"""`.params` files against files that MXNet wrote, MXNet itself, and damage."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.base import MXNetError
from core.files.params import DTYPES, Record, dump_params, load_params, numpy_dtype, read_params, write_params
from tests.support.mutations import bounded_memory, mutated, survives
from tests.support.places import WEIGHTS, by_id, recorded, run_program

KINDS = "params save_parameters parameterdict_save export legacy"
CASES = [case for case in recorded(KINDS) if (case.get("file") or case.get("files", ["none"])[-1]).endswith(".params")]
CSR = Record("float64", (2, 3), np.array([1.0, 2, 3]), "csr", (np.array([0, 1, 3]), np.array([1, 0, 2])))
ROWS = Record("float32", (5, 2), np.ones((2, 2), "float32"), "row_sparse", (np.array([1, 4]),))
SAMPLE = dump_params({"w": np.arange(6, dtype="float32").reshape(2, 3), "csr": CSR, "rows": ROWS, "n": np.int64(7)})


@pytest.mark.parametrize("case", by_id(CASES))
def test_files_of_mxnet(case, tmp_path):
    path = case["folder"] / (case.get("file") or case["files"][-1])
    records = read_params(path)
    items = records.items() if isinstance(records, dict) else enumerate(records)
    values = {key[6:]: value for key, value in case["values"].items() if key.startswith("value:")}
    if case["id"] != "export/np_dense":  # recorded under structural names
        assert {str(key) for key, _ in items} == set(values)
        for key, record in records.items() if isinstance(records, dict) else enumerate(records):
            np.testing.assert_array_equal(record.dense(), values[str(key)], strict=True)
    if case["id"].startswith("legacy") or case.get("stype"):
        return  # old layouts are read only; sparse files of MXNet hold undefined bytes
    numpy_shapes = case.get("np_shape", False) or "np_" in case["id"]
    write_params(tmp_path / "again", records, numpy_shapes)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "path", sorted(WEIGHTS.glob("*.params")) or [None], ids=lambda path: path.name if path else "none"
)
def test_published_weights_come_out_byte_for_byte(path, tmp_path):
    if path is None:
        pytest.skip(f"no weights under {WEIGHTS}")
    write_params(tmp_path / "again", read_params(path))
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.mxnet
def test_mxnet_reads_what_is_written(tmp_path, mxnet_python):
    arrays = {
        dtype: np.arange(6).reshape(2, 3).astype(dtype)
        for dtype in ("float16", "float32", "float64", "uint8", "int64", "bool")
    }
    write_params(tmp_path / "x.params", {**arrays, "csr": CSR, "rows": ROWS})
    printed = run_program(
        mxnet_python,
        "import sys, mxnet as mx\n"
        "for k, v in mx.nd.load(sys.argv[1]).items():\n"
        "    print(k, v.stype, v.asnumpy().tolist())",
        tmp_path / "x.params",
    )
    lines = dict(line.split(" ", 1) for line in printed.splitlines())
    for dtype, array in arrays.items():
        assert lines[dtype] == f"default {array.tolist()}"
    assert lines["csr"] == f"csr {CSR.dense().tolist()}"
    assert lines["rows"] == f"row_sparse {ROWS.dense().tolist()}"


@pytest.mark.parametrize("case", by_id([case for case in recorded("params") if case["id"] == "params/bad_files"]))
def test_bad_files_of_the_reference(case, tmp_path):
    good = bytes.fromhex(case["good_hex"])
    for bad in case["cases"]:
        data = {"truncated": good[:-4], "header_only": good[:24]}.get(bad["name"], bytes.fromhex(bad.get("hex") or ""))
        path = tmp_path / bad["name"]
        if bad["name"] != "missing":
            path.write_bytes(data)
        with pytest.raises(MXNetError, match=str(path)):
            read_params(path)


def test_errors_name_the_file_and_the_offset(tmp_path):
    path = tmp_path / "cut.params"
    path.write_bytes(SAMPLE[:70])
    with pytest.raises(MXNetError, match=r"cut\.params.*array 0 of 4.*float32.*at byte 64 of 70"):
        read_params(path)
    with pytest.raises(MXNetError, match="begins with 0x4b4f"):
        load_params((0x4B4F).to_bytes(8, "little") + bytes(24))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3,), (2, 0, 4), (), (1, 2, 3, 1)])
def test_every_dtype_and_shape_comes_back(dtype, shape):
    array = np.ones(shape, numpy_dtype(dtype))
    (record,) = load_params(dump_params([Record.of(array, dtype)]))
    assert (record.dtype, record.shape) == (dtype, shape)
    np.testing.assert_array_equal(record.data, array, strict=True)


def test_what_cannot_be_stored_is_refused():
    with pytest.raises(MXNetError, match="complex128 cannot be stored"):
        dump_params([np.ones(2, complex)])


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.tuples(st.sampled_from(DTYPES[:-1]), st.lists(st.integers(0, 4), max_size=5))))
def test_names_and_shapes_come_back(entries):
    arrays = {name: np.ones(shape, dtype) for name, (dtype, shape) in entries.items()}
    loaded = load_params(dump_params(arrays))
    assert list(loaded) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name].data, array, strict=True)


@settings(max_examples=3000, deadline=1000, suppress_health_check=list(HealthCheck))
@given(mutated(SAMPLE))
def test_damage_gives_an_error_or_arrays_no_larger_than_the_file(data):
    def load():
        records = load_params(data)
        records = list(records.values()) if isinstance(records, dict) else records
        assert sum(record.data.nbytes for record in records if record.data is not None) <= len(data)

    survives(load)


def test_damage_takes_no_memory():
    huge = bytearray(SAMPLE)
    huge[36:44] = (1 << 40).to_bytes(8, "little")
    with bounded_memory(), pytest.raises(MXNetError, match="needs"):
        load_params(bytes(huge))
