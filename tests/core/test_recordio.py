"""RecordIO against files that MXNet wrote, MXNet itself, other processes, and damage."""

import gc
import multiprocessing
import os
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.base import MXNetError
from core.recordio import MAGIC_BYTES, IRHeader, MXIndexedRecordIO, MXRecordIO, pack, pack_img, unpack, unpack_img
from tests.support.mutations import mutated, survives
from tests.support.places import by_id, recorded, run_program

CASES = {case["id"].partition("/")[2]: case for case in recorded("recordio")}
RECORDS = [
    b"",
    b"a",
    b"abcd",
    MAGIC_BYTES,
    b"1234" + MAGIC_BYTES + b"56",
    b"123" + MAGIC_BYTES,
    MAGIC_BYTES * 3,
    b"x" * 999,
]


def case_of(name):
    return by_id([CASES[name]] if name in CASES else [])


@pytest.mark.parametrize("case", case_of("raw"))
def test_raw_records_of_mxnet(case, tmp_path):
    wanted = [bytes.fromhex(text) for text in case["records_hex"]]
    path = case["folder"] / case["files"][0]
    assert read_all(path) == wanted
    writer, positions = MXIndexedRecordIO(tmp_path / "i", tmp_path / "r", "w"), []
    for i, record in enumerate(wanted):
        positions.append(writer.tell())
        writer.write_idx(i, record)
    positions.append(writer.tell())
    writer.close()
    assert positions == case["start_offsets"]
    assert (tmp_path / "r").read_bytes() == path.read_bytes()
    assert (tmp_path / "i").read_bytes() == (case["folder"] / case["files"][1]).read_bytes()


@pytest.mark.parametrize("case", case_of("headers"))
def test_headers_of_mxnet(case):
    for one in case["cases"]:
        label = np.array(one["label"], "float32") if isinstance(one["label"], list) else one["label"]
        packed, payload = bytes.fromhex(one["packed_hex"]), bytes.fromhex(one["payload_hex"])
        assert pack(IRHeader(one["flag"], label, one["id"], one["id2"]), payload) == packed
        header, rest = unpack(packed)
        assert (rest, header.id, header.id2) == (payload, one["id"], one["id2"])
        np.testing.assert_array_equal(np.ravel(header.label), np.ravel(np.asarray(label, "float32")))


@pytest.mark.parametrize("case", case_of("png"))
def test_images_of_mxnet(case):
    reader = MXIndexedRecordIO(case["folder"] / case["files"][1], case["folder"] / case["files"][0], "r")
    for i, record in enumerate(case["records"]):
        header, image = unpack_img(reader.read_idx(record["key"]))
        assert (header.flag, header.id, header.id2) == (record["flag"], record["id"], record["id2"])
        np.testing.assert_array_equal(header.label, case["values"][f"label:{i}"])
        np.testing.assert_array_equal(image, case["values"][f"bgr:{i}"], strict=True)


@pytest.mark.mxnet
def test_mxnet_reads_what_is_written(tmp_path, mxnet_python):
    with MXIndexedRecordIO(tmp_path / "i", tmp_path / "r", "w") as writer:
        for i, record in enumerate(RECORDS):
            writer.write_idx(3 * i, record)
    printed = run_program(
        mxnet_python,
        "import sys, mxnet as mx\nr = mx.recordio.MXIndexedRecordIO(sys.argv[1], sys.argv[2], 'r')\n"
        "print([r.read_idx(k).hex() for k in r.keys])",
        tmp_path / "i",
        tmp_path / "r",
    )
    assert printed.strip() == str([record.hex() for record in RECORDS])


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from([MAGIC_BYTES, b"abcd", b"x", b""])).map(b"".join)))
def test_records_come_back(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("rec") / "r"
    write_all(path, records)
    assert read_all(path) == records
    assert path.stat().st_size % 4 == 0


def test_reset_tell_and_seek(tmp_path):
    with MXIndexedRecordIO(tmp_path / "i", tmp_path / "r", "w", key_type=str) as writer:
        for i, record in enumerate(RECORDS):
            writer.write_idx(f"k{i}", record)
    reader = MXIndexedRecordIO(tmp_path / "i", tmp_path / "r", "r", key_type=str)
    assert reader.keys == [f"k{i}" for i in range(len(RECORDS))]
    assert reader.read_idx("k5") == RECORDS[5] and reader.tell() == reader.idx["k6"] and reader.read() == RECORDS[6]
    reader.reset()
    assert reader.read() == RECORDS[0]
    with pytest.raises(KeyError, match="no key 'z'"):
        reader.read_idx("z")


def test_forked_and_unpickled_readers_do_not_disturb_each_other(tmp_path):
    write_all(tmp_path / "r", RECORDS)
    reader = MXRecordIO(tmp_path / "r", "r")
    assert reader.read() == RECORDS[0]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=lambda: queue.put([reader.read() for _ in RECORDS[1:]]))
    child.start()
    assert [reader.read() for _ in RECORDS[1:]] == RECORDS[1:] == queue.get(timeout=30)
    child.join()
    assert pickle.loads(pickle.dumps(reader)).read() == RECORDS[0]


def test_a_forked_process_may_not_write(tmp_path):
    writer = MXRecordIO(tmp_path / "r", "w")
    writer.write(b"parent")
    pid = os.fork()
    if pid == 0:
        try:
            writer.write(b"child")
        except MXNetError:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    writer.close()
    assert read_all(tmp_path / "r") == [b"parent"]


def test_an_unfinished_file_does_not_replace_the_old_one(tmp_path):
    write_all(tmp_path / "r", [b"old"])
    writer = MXRecordIO(tmp_path / "r", "w")
    writer.write(b"new")
    assert read_all(tmp_path / "r") == [b"old"]
    writer.close()
    assert read_all(tmp_path / "r") == [b"new"] and os.listdir(tmp_path) == ["r"]


def test_errors_name_file_and_offset(tmp_path):
    write_all(tmp_path / "r", [b"first", b"second"])
    data = (tmp_path / "r").read_bytes()
    for damaged, message in (
        (data[:-1], r"6 bytes in a file of 31 \(at byte 16\)"),
        (data[:20], "ends inside"),
        (data[:16] + b"no!?" * 4, "0x3f216f6e"),
    ):
        (tmp_path / "r").write_bytes(damaged)
        with pytest.raises(MXNetError, match=message) as error:
            read_all(tmp_path / "r")
        assert str(tmp_path / "r") in str(error.value)
    (tmp_path / "i").write_text("0\t0\nx\n")
    with pytest.raises(MXNetError, match="line 2: 'x'"):
        MXIndexedRecordIO(tmp_path / "i", tmp_path / "r", "r")
    with pytest.raises(MXNetError, match="cannot open"):
        MXRecordIO(tmp_path / "absent", "r")


def test_a_writer_without_a_place_for_its_index_leaves_the_records(tmp_path):
    (tmp_path / "x.rec").write_bytes(b"before")
    with pytest.raises(MXNetError, match=r"cannot open '.*x\.idx'"):
        MXIndexedRecordIO(tmp_path / "absent" / "x.idx", tmp_path / "x.rec", "w")
    gc.collect()  # writers that are dropped close their file
    assert (tmp_path / "x.rec").read_bytes() == b"before" and os.listdir(tmp_path) == ["x.rec"]


def test_damage_gives_an_error_or_records(tmp_path):
    write_all(tmp_path / "r", [*RECORDS[:7], pack(IRHeader(0, [1.0, 2.0], 1, 0), b"image")])
    original = (tmp_path / "r").read_bytes()

    @settings(max_examples=2000, deadline=1000, suppress_health_check=list(HealthCheck))
    @given(mutated(original))
    def run(data):
        (tmp_path / "m").write_bytes(data)

        def load():
            for record in read_all(tmp_path / "m"):
                survives(partial(unpack, record))

        survives(load)

    run()


@pytest.mark.parametrize(
    "image", [np.full((5, 7, 3), [10, 20, 30], "uint8"), np.arange(35, dtype="uint8").reshape(5, 7)]
)
def test_images_come_back(image):
    header, got = unpack_img(pack_img(IRHeader(0, 3.0, 7, 0), image, quality=9, img_fmt=".png"))
    assert header == IRHeader(0, 3.0, 7, 0)
    np.testing.assert_array_equal(got, image, strict=True)
    assert np.abs(unpack_img(pack_img(IRHeader(0, 3.0, 7, 0), image))[1].astype(int) - image).max() <= 8


def write_all(path, records):
    with MXRecordIO(path, "w") as writer:
        for record in records:
            writer.write(record)


def read_all(path):
    with MXRecordIO(path, "r") as reader:
        return list(iter(reader.read, None))
