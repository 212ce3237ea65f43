"""Checksums in formats that have none: a flipped bit is found, and files without one are read as before."""

import json
import struct

import numpy as np
import pytest

import core as mx
from core.base import MXNetError
from core.files.atomic import write_bytes
from core.files.numpy_files import read_npy, write_npy
from core.files.params import dump_params, load_params
from core.files.safetensors import read_safetensors, write_safetensors
from core.files.states import read_states, write_mxnet_states, write_states
from core.recordio import MXRecordIO
from tests.support.places import run_program

ARRAYS = {"weight": np.arange(6, dtype="float32").reshape(2, 3), "b": np.array([1, 2], "int64")}
STATES = {0: (np.ones((2, 2), "float32"), None), 1: [1.5, np.zeros(3, "float32")]}
NET = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")


@pytest.fixture(autouse=True)
def checksums(monkeypatch):
    monkeypatch.setenv("MXNET_FILE_CHECKSUMS", "1")


def test_files_of_mxnet_formats_are_its_own_to_the_byte_unless_asked(tmp_path, monkeypatch):
    monkeypatch.delenv("MXNET_FILE_CHECKSUMS")
    assert dump_params(ARRAYS)[8:16] == bytes(8)
    _write_records(tmp_path / "r")
    assert (tmp_path / "r").read_bytes()[8:12] == b"a\0\0\0"
    NET.save(str(tmp_path / "s"))
    assert (tmp_path / "s").read_text() == NET.tojson()


def _read_records(path):
    with MXRecordIO(str(path), "r") as reader:
        return [reader.read() for _ in range(3)]


def _write_records(path):
    with MXRecordIO(str(path), "w") as writer:
        for content in (b"a", b"bc" * 7, b"one more"[:7]):
            writer.write(content)


# How each format is written and read.
FORMATS = {
    "params": (lambda path: write_bytes(path, dump_params(ARRAYS)), lambda path: load_params(path.read_bytes())),
    "safetensors": (lambda path: write_safetensors(path, ARRAYS), lambda path: read_safetensors(path)[0]),
    "states": (lambda path: write_states(path, STATES), read_states),
    "states of MXNet": (lambda path: write_mxnet_states(path, STATES), read_states),
    "npy": (lambda path: write_npy(path, ARRAYS["weight"]), read_npy),
    "records": (_write_records, _read_records),
    "symbol": (lambda path: NET.save(str(path)), lambda path: mx.sym.load(str(path)).tojson()),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_every_flipped_bit_is_found(kind, tmp_path):
    """Those that leave the content as it is aside: of spaces, of fields that say nothing, of a checksum's own mark."""
    write, read = FORMATS[kind]
    path, damaged = tmp_path / "x", tmp_path / "y"
    write(path)
    original = path.read_bytes()
    content, unnoticed = repr(read(path)), []
    for bit in range(0, 8 * len(original), 3 if len(original) > 400 else 1):
        data = bytearray(original)
        data[bit // 8] ^= 1 << bit % 8
        damaged.write_bytes(data)
        try:
            if repr(read(damaged)) != content:
                unnoticed.append(bit)
        except MXNetError:
            continue
    assert not unnoticed, [(bit // 8, original[max(0, bit // 8 - 8) : bit // 8 + 8]) for bit in unnoticed]


@pytest.mark.parametrize("kind", ["states of MXNet", "npy", "params"])
def test_a_file_without_a_checksum_is_read(kind, tmp_path):
    write, read = FORMATS[kind]
    path = tmp_path / "x"
    write(path)
    whole, data = repr(read(path)), path.read_bytes()
    path.write_bytes(data[:8] + bytes(8) + data[16:] if kind == "params" else data[: data.index(b"\n#crc32 ")])
    assert repr(read(path)) == whole


def test_symbols_and_tensors_without_a_checksum_are_read(tmp_path):
    path = tmp_path / "x"
    NET.save(str(path))
    graph = json.loads(path.read_text())
    assert len(graph["attrs"].pop("crc32")[1]) == 8
    graph["nodes"][-1]["attrs"]["num_hidden"] = "4"
    path.write_text(json.dumps(graph))
    assert mx.sym.load(str(path)).attr_dict()["fc"]["num_hidden"] == "4"
    assert json.loads(NET.tojson()) == json.loads(mx.sym.load_json(NET.tojson()).tojson())
    write_safetensors(path, ARRAYS, {"k": "v"})
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    del header["__metadata__"]["crc32"]
    text = json.dumps(header).encode().ljust(length)
    path.write_bytes(data[:8] + text + data[8 + length :])
    assert read_safetensors(path)[1] == {"k": "v"}


def test_an_edited_symbol_is_told(tmp_path):
    NET.save(str(tmp_path / "x.json"))
    text = (tmp_path / "x.json").read_text()
    (tmp_path / "x.json").write_text(text.replace("  ", " "))
    mx.sym.load(str(tmp_path / "x.json"))  # spaces do not count
    (tmp_path / "x.json").write_text(text.replace('"3"', '"5"'))
    with pytest.raises(MXNetError, match=r"x\.json.*changed.*who edits it leaves that out"):
        mx.sym.load(str(tmp_path / "x.json"))


def test_two_arrays_of_one_name_and_bytes_behind_the_end_are_refused():
    data = dump_params({"a": np.zeros(1, "float32"), "b": np.ones(1, "float32")})
    old = data[:8] + bytes(8) + data[16:]
    with pytest.raises(MXNetError, match="arrays 0 and 1 have one name, 'a'"):
        load_params(old[:-1] + b"a")
    with pytest.raises(MXNetError, match="3 bytes behind the end"):
        load_params(old + b"xyz")
    with pytest.raises(MXNetError, match="not that of the content"):
        load_params(data[:8] + b"\x01" + data[9:])


def test_bytes_behind_a_pickle_of_states_are_refused(tmp_path):
    write_mxnet_states(tmp_path / "x", STATES)
    data = (tmp_path / "x").read_bytes()
    for more in (b"x", data):
        (tmp_path / "x").write_bytes(data + more)
        with pytest.raises(MXNetError, match="behind the end"):
            read_states(tmp_path / "x")


READ = """
import sys, json, pickle, numpy as np, mxnet as mx
folder = sys.argv[1] + '/'
arrays = mx.nd.load(folder + 'params')
assert arrays['weight'].asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]] and arrays['b'].asnumpy().tolist() == [1, 2]
reader = mx.recordio.MXRecordIO(folder + 'records', 'r')
assert [reader.read() for _ in range(4)] == [b'a', b'bc' * 7, b'one mor', None]
net = mx.sym.load(folder + 'symbol')
assert net.list_arguments() == ['data', 'fc_weight', 'fc_bias'] and net.attr_dict()['fc']['num_hidden'] == '3'
assert mx.sym.load_json(net.tojson()).tojson() == net.tojson() and 'crc32' not in json.loads(net.tojson())['attrs']
states = pickle.loads(open(folder + 'states of MXNet', 'rb').read())
assert states[0][0].asnumpy().tolist() == [[1, 1], [1, 1]] and states[1][0] == 1.5
assert np.load(folder + 'npy').tolist() == [[0, 1, 2], [3, 4, 5]]
"""


@pytest.mark.mxnet
def test_mxnet_reads_what_has_a_checksum(tmp_path, mxnet_python):
    for kind, (write, _) in FORMATS.items():
        write(tmp_path / kind)
    run_program(mxnet_python, READ, tmp_path)


def test_numpy_and_the_package_read_what_has_a_checksum(tmp_path):
    for kind in ("npy", "safetensors"):
        FORMATS[kind][0](tmp_path / kind)
    np.testing.assert_array_equal(np.load(tmp_path / "npy"), ARRAYS["weight"])
    np.testing.assert_array_equal(np.load(tmp_path / "npy", mmap_mode="r"), ARRAYS["weight"])
    package = pytest.importorskip("safetensors.numpy")
    assert sorted(package.load_file(tmp_path / "safetensors")) == sorted(ARRAYS)
