"""`.npy` and `.npz` files: what NumPy writes is read, and nothing that is damaged, oversized or a trap."""

import io
import pickle
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import core as mx
from core.base import MXNetError
from core.files.numpy_files import read_npy, read_npz
from gluonnlp.embedding import TokenEmbedding
from tests.support.mutations import bounded_memory, mutated, survives

ARRAYS = [
    np.arange(6.0).reshape(2, 3), np.asfortranarray(np.eye(3, dtype=">i2")), np.array(["a", "größer"]), np.zeros((0, 3)),
    np.float16(2), np.array([b"x", b"yz"]), np.array([True, False]), np.array([1 + 2j]), np.array(["2020-01-01"], "M8[D]"),
    np.array([(1, 2.5)], [("a", "<i4"), ("b", "<f8")]),
]  # fmt: skip


def _npy(header: str, content: bytes = b"", version=(1, 0)) -> bytes:
    text = header.encode("latin-1")
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version == (1, 0) else "<I", len(text)) + text + content


def _bytes_of(array, **kwargs) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **kwargs)
    return stream.getvalue()


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.dtype))
def test_what_numpy_writes_is_read(array, tmp_path):
    np.save(tmp_path / "x.npy", array)
    np.testing.assert_array_equal(read_npy(tmp_path / "x.npy"), array, strict=True)
    np.testing.assert_array_equal(read_npy(tmp_path / "x.npy", mmap_mode="r"), array, strict=True)
    np.savez_compressed(tmp_path / "x.npz", a=array, b=array)
    found = read_npz(tmp_path / "x.npz")
    assert list(found) == ["a", "b"]
    np.testing.assert_array_equal(found["b"], array, strict=True)


def test_headers_of_other_versions_and_of_python_2(tmp_path):
    for version in ((1, 0), (2, 0)):
        header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2L, 1L), }\n"
        (tmp_path / "x.npy").write_bytes(_npy(header, struct.pack("<2i", 5, 6), version))
        assert read_npy(tmp_path / "x.npy").tolist() == [[5], [6]]


def test_arrays_of_objects_are_data_where_they_are_asked_for(tmp_path):
    for values in (np.array(["a", None, 2.5], object), np.array([["a"], ["b"]], object)):
        np.save(tmp_path / "x.npy", values)
        np.testing.assert_array_equal(read_npy(tmp_path / "x.npy", objects=True), values)
        with pytest.raises(MXNetError, match=r"x\.npy.*Python objects.*refused"):
            read_npy(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,)}", "needs 799999999992 bytes"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", "damaged header"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (True,)}", "damaged header"),
        ("{'descr': '<f8', 'fortran_order': 3, 'shape': ()}", "damaged header"),
        ("{'descr': '<f8', 'shape': ()}", "damaged header"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 9000, "damaged header"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': " + "-" * 9000 + "1}", "damaged header"),
        ("{'descr': __import__('os'), 'fortran_order': False, 'shape': ()}", "damaged header"),
        ("{'descr': '\0', 'fortran_order': False, 'shape': ()}", "damaged header"),
        ("[" * 3, "damaged header"),
        ("x" * 20_000, "header of 20000 bytes"),
        ("{'descr': '<U0', 'fortran_order': False, 'shape': (999999999999,)}", "no bytes"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 2, 0)}", "empty array of the impossible"),
        ("{'descr': '<V999999999', 'fortran_order': False, 'shape': (1,)}", "needs 999999999 bytes"),
        ("{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (1,)}", "refused"),
        ("{'descr': [('a', '<f8', (99999, 99999))], 'fortran_order': False, 'shape': (1,)}", "impossible"),
        ("{'descr': '<f999', 'fortran_order': False, 'shape': (1,)}", "refused"),
        ("{'descr': '<f9', 'fortran_order': False, 'shape': (1,)}", "impossible"),
    ],
)
def test_damaged_headers_are_told(header, message, tmp_path):
    (tmp_path / "x.npy").write_bytes(_npy(header, b"12345678"))
    with pytest.raises(MXNetError, match=rf"x\.npy.*{message}"):
        mx.nd.load(str(tmp_path / "x.npy"))


def test_an_archive_that_unpacks_to_many_times_its_size_needs_a_word(tmp_path, monkeypatch):
    path = str(tmp_path / "x.npz")
    np.savez_compressed(path, w=np.zeros(80 << 20, np.uint8))
    with pytest.raises(
        MXNetError, match=r"x\.npz.*83886\d+ bytes or more.*100 times; MXNET_MAX_UNPACK_RATIO or max_rat"
    ):
        mx.nd.load(path)
    assert mx.nd.load(path, max_ratio=2000)["w"].shape == (80 << 20,)
    monkeypatch.setenv("MXNET_MAX_UNPACK_RATIO", "0")
    assert read_npz(path)["w"].shape == (80 << 20,)


def test_two_arrays_of_one_name_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        for value in (1, 2):
            archive.writestr("a.npy", _bytes_of(np.array(value)))
    with pytest.raises(MXNetError, match=r"x\.npz.*two.*a\.npy"):
        read_npz(tmp_path / "x.npz")


def test_a_wrong_checksum_in_an_archive_is_found(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.arange(1000))
    data = bytearray((tmp_path / "x.npz").read_bytes())
    data[4000] ^= 1
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(MXNetError, match=r"x\.npz.*member 'a'.*CRC"):
        read_npz(tmp_path / "x.npz")


class Forged:
    """Pickles itself as a call and a state."""

    def __init__(self, function, arguments, state):
        self.parts = function, arguments, state

    def __reduce__(self):
        return self.parts


RECONSTRUCT = np.empty(0).__reduce__()[0]
# The flags of a type of objects on a type of plain bytes: NumPy would take the bytes for pointers.
POINTERS = Forged(np.dtype, ("V8", False, True), (3, "|", None, None, None, 8, 1, 63))
TRAPS = {
    "pointers": Forged(RECONSTRUCT, (np.ndarray, (0,), b"b"), (1, (1,), POINTERS, False, struct.pack("<Q", 0x4141414141))),
    "pointers, and no list": Forged(
        RECONSTRUCT,
        (np.ndarray, (0,), b"b"),
        (1, (1,), Forged(np.dtype, ("V8", False, True), (3, "|", None, None, None, 8, 1, 61)), False, struct.pack("<Q", 0x4141414141)),
    ),
    "pointers, as a number": Forged(
        RECONSTRUCT,
        (np.ndarray, (0,), b"b"),
        (1, (1,), Forged(np.dtype, ("u8", False, True), (3, "<", None, None, None, -1, -1, 63)), False, bytes(8)),
    ),
    "fields": Forged(
        RECONSTRUCT,
        (np.ndarray, (0,), b"b"),
        (1, (1,), Forged(np.dtype, ("V8", False, True), (3, "|", None, ("a",), {"a": (np.dtype("O"), 0)}, 8, 1, 0)), False, bytes(8)),
    ),
    "memory": Forged(RECONSTRUCT, (np.ndarray, (1 << 40,), b"b"), (1, (1 << 40,), np.dtype("O"), False, [])),
    "elements": Forged(RECONSTRUCT, (np.ndarray, (0,), b"b"), (1, (1,), np.dtype("S9999999"), False, [b"x"])),
    "inner array": Forged(RECONSTRUCT, (np.ndarray, (0,), b"b"), (1, (1,), np.dtype("O"), False, [np.zeros(3)])),
    "inner array of objects": Forged(RECONSTRUCT, (np.ndarray, (0,), b"b"), (1, (1,), np.dtype("O"), False, [np.zeros(3, object)])),
}  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS)
def test_forged_states_of_numpy_are_refused(trap, tmp_path):
    path = str(tmp_path / "e.npz")
    np.savez(path, unknown_token=np.array(""), idx_to_vec=np.eye(1, dtype="float32"))
    with zipfile.ZipFile(path, "a") as archive, archive.open("idx_to_token.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": (1,)})
        file.write(pickle.dumps(TRAPS[trap]))
    with bounded_memory(), pytest.raises(MXNetError, match=r"e\.npz(, array idx_to_token|': tokens that are not text)"):
        TokenEmbedding.deserialize(path)


@pytest.mark.parametrize("kind", ["npy", "npz", "objects"])
def test_damage_gives_an_error_or_arrays(kind, tmp_path):
    values = np.array(["a", "b", None], object) if kind == "objects" else np.arange(12.0).reshape(3, 4)
    (np.savez_compressed if kind == "npz" else np.save)(tmp_path / f"x.{kind[:3]}", values)
    original = next(tmp_path.iterdir()).read_bytes()

    def load(data):
        (tmp_path / "y").write_bytes(data)
        read_npz(tmp_path / "y", objects=True) if kind == "npz" else read_npy(tmp_path / "y", objects=True)

    @settings(max_examples=500, deadline=2000, suppress_health_check=list(HealthCheck))
    @given(mutated(original))
    def run(data):
        survives(lambda: load(data))

    with bounded_memory():
        run()
