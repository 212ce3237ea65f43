"""Damaged files of every kind end in an MXNetError that names the file, and nothing else."""

import json
import struct
import zipfile

import numpy as np
import pytest

import core as mx
import gluonnlp as nlp
from core.base import MXNetError
from core.files.pickles import Instance
from core.files.states import write_states
from core.recordio import MXIndexedRecordIO
from gluon import SymbolBlock
from gluon.data.vision import ImageListDataset
from gluoncv.data import VOCDetection
from gluoncv.data.lst.detection import LstDetection
from gluoncv.data.transforms.mask import check_outline, to_mask


def _npy(header: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


def _npz_with_damaged_data(path):
    np.savez_compressed(path, a=np.arange(1000))
    data = bytearray(path.read_bytes())
    data[60:80] = b"\xff" * 20
    return bytes(data)


CASES = {
    "x.npy, shape": (_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,)}"), mx.nd.load),
    "x.npy, tokens": (_npy("{'descr': '<f8', 'fortran_order': False, 'shape': ("), mx.nd.load),
    "x.npz, zlib": (_npz_with_damaged_data, mx.nd.load),
    "x-symbol.json, node": ('{"nodes": [{"op": "null", "name": "a", "inputs": []}, 3], "heads": [[0, 0, 0]]}', mx.sym.load),
    "GPT-2.json": ('{"model": {"type": "BPE"}, "pre_tokenizer": {"type": "ByteLevel"}}', nlp.data.GPT2BPETokenizer.from_file),
    "GPT-2 list.json": ("[]", nlp.data.GPT2BPETokenizer.from_file),
    "GPT-2 merges.txt": ("#version\na b c\n", nlp.data.GPT2BPETokenizer.from_file),
    "GPT-2 bytes.txt": (b"\xff\xfe", nlp.data.GPT2BPETokenizer.from_file),
    "BERT.json": ("[" * 100_000, nlp.data.BERTTokenizer.from_file),
    "BERT words.json": ('{"model": {"vocab": {"a": "b"}}}', nlp.data.BERTTokenizer.from_file),
    "vectors.txt": ("a 1 2\nb 3 x\n", nlp.embedding.TokenEmbedding.from_file),
    "widths.txt": ("a 1 2\nb 3 4 5\n", mx.contrib.text.embedding.CustomEmbedding),
    "unknown.txt": ("<unk> 1 1\na 1 1 1\n", mx.contrib.text.embedding.CustomEmbedding),
    "bytes.txt": (b"a 1 2\n\xff 3 4\n", mx.contrib.text.embedding.CustomEmbedding),
    "words.txt": ("word\n", mx.contrib.text.embedding.CustomEmbedding),
    "vectors.bin": (b"9 9\nshort", nlp.embedding.Word2Vec.from_w2v_binary),
    "number.lst": ("0\tx\ta.jpg\n", LstDetection),
    "fields.lst": ("0\n", LstDetection),
    "bytes.lst": (b"0\t1\t\xff.jpg\n", lambda path: ImageListDataset(".", path)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_damage_is_told_with_the_name_of_the_file(name, tmp_path):
    content, load = CASES[name]
    path = tmp_path / name.split(",")[0]
    content = content(path) if callable(content) else content
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(MXNetError, match=path.name.replace(".", r"\.")):
        load(str(path))


@pytest.mark.parametrize("position", ["-4", "99999", str(1 << 64), "x", "1.5", "9" * 5000])
def test_indexes_that_point_nowhere(position, tmp_path):
    with MXIndexedRecordIO(str(tmp_path / "x.idx"), str(tmp_path / "x.rec"), "w") as writer:
        writer.write_idx(0, b"record")
    (tmp_path / "x.idx").write_text(f"0\t0\n1\t{position}\n")
    with pytest.raises(MXNetError, match=r"x\.idx', line 2"):
        MXIndexedRecordIO(str(tmp_path / "x.idx"), str(tmp_path / "x.rec"), "r")


@pytest.mark.parametrize("text", ["(" * 5000, "-" * 5000 + "1", "9" * 5000, "[" * 150 + "]" * 150, "(1,", "x"])
@pytest.mark.parametrize("key", ["__shape__", "__lr_mult__", "__dtype__"])
def test_attributes_of_variables(key, text, tmp_path):
    x = mx.sym.var("x")
    if (key, text[:9]) == ("__lr_mult__", "9" * 9):
        text = "nine"  # 5,000 digits are a float, if a large one
    out = mx.sym.FullyConnected(x, mx.sym.var("w", attr={key: "1"}), num_hidden=3, no_bias=True)
    graph = json.loads(out.tojson())
    next(node for node in graph["nodes"] if node["name"] == "w")["attrs"] = {key: text}
    (tmp_path / "n-symbol.json").write_text(json.dumps(graph))
    with pytest.raises(MXNetError):
        SymbolBlock.imports(str(tmp_path / "n-symbol.json"), ["x"])


def test_states_of_a_damaged_optimizer(tmp_path):
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    for counts in (3, {"x": 1}, None, {0: 5}):
        sgd = Instance("SGD", (), {"lr": 0.1, "_all_index_update_counts": counts})
        write_states(tmp_path / "x.states", {}, sgd)
        with pytest.raises(MXNetError, match=r"SGD.*damaged"):
            updater.load(str(tmp_path / "x.states"))


@pytest.mark.parametrize(
    "text",
    ["", "<annotation/>", "<a", "<annotation><size><width>x</width><height>1</height></size></annotation>",
     "<annotation><size><width/><height>1</height></size></annotation>",
     "<annotation><size><width>9</width><height>9</height></size><object><name/></object></annotation>",
     "<annotation><size><width>9</width><height>9</height></size><object><name>dog</name></object></annotation>"],
)  # fmt: skip
def test_annotations_of_voc(text, tmp_path):
    folder = tmp_path / "VOC2007"
    for part in ("Annotations", "ImageSets/Main"):
        (folder / part).mkdir(parents=True)
    (folder / "ImageSets" / "Main" / "trainval.txt").write_text("000001\n")
    (folder / "Annotations" / "000001.xml").write_text(text)
    with pytest.raises(MXNetError, match=r"000001\.xml': the annotation is damaged"):
        VOCDetection(str(tmp_path), ((2007, "trainval"),))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"idx_to_token": 3, "token_to_idx": {}}', '{"idx_to_token": ["a"]', "[" * 9999]
)
def test_vocabularies(text):
    with pytest.raises(MXNetError):
        nlp.Vocab.from_json(text)


@pytest.mark.parametrize(
    "outline",
    [[[0, 0, 1e9, 0, 1, 1]], [[0, 0, float("nan"), 0, 1, 1]], [[0, 0, 1]], [], {"counts": [5], "size": [4, 5]}, None,
     {"counts": [10**9, 20 - 10**9], "size": [4, 5]}, {"counts": [20], "size": [10**6, 10**6]}, {"size": [4, 5]}],
)  # fmt: skip
def test_outlines_that_pycocotools_would_trust(outline):
    if outline == []:
        check_outline(outline, 4, 5)
        return
    with pytest.raises(MXNetError):
        check_outline(outline, 4, 5)


def test_outlines_of_pictures_are_drawn():
    assert to_mask([[0, 0, 4, 0, 4, 4, 0, 4]], (5, 4)).sum() == 16
    check_outline({"counts": [3, 17], "size": [4, 5]}, 4, 5)
    with pytest.raises(MXNetError, match="polygon of 6 numbers"):
        to_mask([[0, 0, 10**8, 0, 1, 1]], (5, 4))


def test_an_archive_of_npz_that_is_encrypted_or_no_array(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(MXNetError, match=r"x\.npz"):
        mx.nd.load(str(tmp_path / "x.npz"))
