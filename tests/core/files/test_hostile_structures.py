"""Hostile files that are well formed as far as it goes: pickles, arrays, archives, annotations, vocabularies, lists.

See `test_hostile`, and `tests.support.mutations.attack` for how many are tried.
"""

import io
import json
import os
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

import core as mx
import gluonnlp as nlp
from core.files.archives import Archive
from core.files.numpy_files import read_npy, read_npz
from core.files.pickles import OBJECT_ARRAYS, load_pickle
from core.files.safetensors import write_safetensors
from core.files.states import read_states
from core.files.text import DAMAGE
from core.files.torch_files import read_torch
from core.optimizer.states import from_plain
from core.recordio import MXIndexedRecordIO
from gluoncv.data import COCODetection, COCOInstance, COCOKeyPoints, COCOSegmentation, VOCDetection
from gluoncv.data.lst.detection import LstDetection
from gluonnlp.embedding.fasttext_binary import read_fasttext_binary
from tests.support.mutations import CHANGES, ODD, SPECIAL, attack, mutated, replaced


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("structures")


# ------------------------------------------------------------------ pickles and arrays

GLOBALS = (
    "numpy dtype", "numpy ndarray", "numpy._core.multiarray _reconstruct", "numpy.core.multiarray _reconstruct",
    "numpy._core.multiarray scalar", "numpy._core.numeric _frombuffer", "builtins bytearray", "builtins set",
    "builtins frozenset", "builtins bytes", "builtins complex", "builtins object", "builtins eval", "builtins getattr",
    "os system", "posix system", "collections OrderedDict", "_codecs encode", "copyreg _reconstructor",
    "mxnet.ndarray.ndarray NDArray", "mxnet.optimizer.optimizer SGD", "mxnet.lr_scheduler FactorScheduler",
    "torch._utils _rebuild_tensor_v2", "torch FloatStorage",
)  # fmt: skip
PIECES = (
    *[b"c" + name.replace(" ", "\n").encode() + b"\n" for name in GLOBALS],
    b"(", b"0", b"1", b"2", b"a", b"e", b"s", b"u", b"t", b")", b"]", b"}", b"l", b"d", b"R", b"b", b"o", b"\x81",
    b"\x92", b"\x85", b"\x86", b"\x87", b"\x8f", b"\x90", b"\x91", b"\x93", b"\x94", b"N", b"\x88", b"\x89", b"Q", b"P1\n",
    b"q\x00", b"h\x00", b"q\x01", b"h\x01", b"r\xff\xff\xff\x7f", b"j\x00\x00\x00\x00", b"p7\n", b"g7\n",
    b"K\x00", b"K\x01", b"K\x03", b"J\xff\xff\xff\xff", b"J\x00\x00\x00\x7f", b"\x8a\x09" + bytes(8) + b"\x01",
    b"I1\n", b"I01\n", b"L99999999999999999999L\n", b"L" + b"9" * 5000 + b"L\n", b"F1e999\n", b"Fnan\n", b"G" + bytes(8),
    b"X\x02\x00\x00\x00O8", b"X\x02\x00\x00\x00f8", b"X\x02\x00\x00\x00V8", b"X\x01\x00\x00\x00|", b"X\x01\x00\x00\x00<",
    b"X\x01\x00\x00\x00b", b"X\x06\x00\x00\x00handle", b"X\x06\x00\x00\x00latin1", b"X\xff\xff\xff\x7f", b"C\x08" + b"A" * 8,
    b"C\x00", b"B\xff\xff\xff\x7f", b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x96\x08\x00\x00\x00\x00\x00\x00\x00" + b"B" * 8,
    b"S'x'\n", b"Vx\n", b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x80\x04", b"\x80\xff", b"\x82\x01", b"i\nos\nsystem\n",
    b"\x97", b"\x98", b".",
)  # fmt: skip
DTYPE = b"cnumpy\ndtype\n(X\x02\x00\x00\x00%s\x89\x88tR(K\x03X\x01\x00\x00\x00%sNNNJ%sJ%sK%stb"
WORDS = (b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x08\x00\x00\x00", b"\xff\xff\xff\x7f")


def _dtypes():
    return st.tuples(
        st.sampled_from([b"f8", b"O8", b"V8", b"U1", b"S9", b"u1", b"i9"]), st.sampled_from([b"<", b"|", b">", b"!"]),
        st.sampled_from(WORDS), st.sampled_from(WORDS), st.sampled_from([b"\x00", b"?", b"\x01", b"\x08", b"\xff"]),
    ).map(lambda parts: DTYPE % parts)  # fmt: skip


def _arrays():
    """Pickles of arrays whose states contradict themselves."""
    small = st.sampled_from(
        [b"K\x00", b"K\x01", b"K\x02", b"J\xff\xff\xff\xff", b"\x8a\x06\x00\x00\x00\x00\x00\x01", b"N", b"\x88"]
    )
    shapes = st.lists(small, max_size=4).map(lambda extents: b"(" + b"".join(extents) + b"t")
    data = st.sampled_from(
        [b"C\x08" + bytes(8), b"C\x00", b"]K\x01a", b"](X\x01\x00\x00\x00aNe", b"N", b"](]]e", b"]q\x05h\x05a"]
    )
    begin = b"cnumpy._core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85C\x01btR(K\x01"
    order = st.sampled_from([b"\x89", b"\x88", b"N"])
    return st.tuples(shapes, _dtypes(), order, data).map(lambda parts: begin + b"".join(parts) + b"tb")


def _pickles():
    pieces = st.lists(st.sampled_from(PIECES) | _arrays() | _dtypes(), max_size=30).map(b"".join)
    doubled = st.integers(1, 80).map(lambda n: b"]" + b"q\x00h\x00h\x00\x86" * n)  # unfolds into 2 ** n parts
    deep = st.integers(1, 3000).map(lambda n: b"N" + b"\x85" * n)
    itself = st.just(b"]q\x00h\x00a")
    states = st.sampled_from([b"}K\x00", b""])
    return st.tuples(
        states, pieces | _arrays() | doubled | deep | itself, st.sampled_from([b".", b"s.", b"\x86.", b""])
    ).map(b"".join)


def _used(value):
    """What programs do with a value that was loaded: go through it."""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    for part in value if isinstance(value, (list, tuple, set, frozenset)) else ():
        _used(part)
    if isinstance(value, np.ndarray):
        repr(value.tolist())


def test_pickles_of_pieces():
    attack(_pickles(), lambda data: _used(load_pickle(data, builders=OBJECT_ARRAYS, inert=r"mxnet\..*")))


def test_pickled_states(folder):
    optimizer = mx.optimizer.create("sgd")

    def load(data):
        (folder / "s.states").write_bytes(data)
        from_plain(*read_states(folder / "s.states"), optimizer)

    attack(_pickles(), load)


def test_states_of_changed_values(folder):
    """The description in a file of tensors, which was changed with its checksum."""
    nesting = json.dumps([[0, {"tuple": [{"tensor": "0.0"}, {"plain": None}]}], [1, {"list": [{"plain": 1.5}]}]])
    attributes = {"lr": 0.1, "rescale_grad": 1.0, "_all_index_update_counts": {"map": [[0, {"map": [[0, 3]]}]]}}
    optimizer = json.dumps(
        {"object": "SGD", "attributes": {"map": [[key, value] for key, value in attributes.items()]}}
    )
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd"))

    def load(changes):
        first, second = changes
        metadata = {
            "format": "optimizer-states-1",
            "states": replaced(nesting, first),
            "optimizer": replaced(optimizer, second),
        }
        write_safetensors(folder / "d.states", {"0.0": np.zeros(2, "float32")}, metadata)
        updater.load(str(folder / "d.states"))

    attack(st.tuples(CHANGES, CHANGES), load)


def test_arrays_of_numpy(folder):
    extents = st.lists(st.sampled_from([0, 1, 2, 3, 10**6, 10**12, -1, 2**63, True]), max_size=4).map(tuple)
    kinds = st.sampled_from(["'<f8'", "'|O'", "'<U2'", "'<U0'", "'|V8'", "'|S999999999'", "[('a', '<f8')]", "'<M8[D]'", "'f8,f8'",
                             "[('a', '|O')]", "3", "'>i2'", "'<f16'", "['f8']", "'" + "x" * 999 + "'"])  # fmt: skip
    header = st.tuples(
        kinds,
        st.sampled_from(["False", "True", "0", "None"]),
        extents.map(repr) | st.sampled_from(["3", "(" * 900, "None"]),
    )
    text = header.map(lambda parts: "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}".format(*parts))
    content = st.sampled_from([b"", bytes(8), bytes(48)]) | _arrays()

    def build(parts):
        version, line, data = parts
        head = struct.pack("<H" if version[0] == 1 else "<I", len(line)) + line.encode("latin-1")
        return b"\x93NUMPY" + bytes(version) + head + data

    files = st.tuples(st.sampled_from([(1, 0), (2, 0), (3, 0), (9, 9)]), text, content).map(build)

    def load(data):
        (folder / "x.npy").write_bytes(data)
        _used(read_npy(folder / "x.npy", objects=True))

    attack(files | files.flatmap(mutated), load)


def test_word_vectors_in_npz(folder):
    def build(parts):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in parts:
                with archive.open(f"{name}.npy", "w") as member:
                    if isinstance(content, bytes):
                        np.lib.format.write_array_header_1_0(
                            member, {"descr": "|O", "fortran_order": False, "shape": (1,)}
                        )
                        member.write(content)
                    else:
                        np.save(member, content)
        return file.getvalue()

    arrays = st.sampled_from(
        [
            np.array(["a", "b"]),
            np.eye(2, dtype="float32"),
            np.array(""),
            np.zeros((2, 2, 2)),
            np.array([0, 9]),
            np.array("b"),
        ]
    )
    names = ("unknown_token", "idx_to_token", "idx_to_vec", "nameless")
    files = st.lists(
        st.tuples(st.sampled_from(names), arrays | _arrays().map(lambda data: data + b".")),
        unique_by=lambda p: p[0],
        min_size=2,
    )

    def load(parts):
        (folder / "e.npz").write_bytes(build(parts))
        nlp.embedding.TokenEmbedding.from_file(str(folder / "e.npz"))

    attack(files, load)


# ------------------------------------------------------------------ archives

NAMES = (
    "a",
    "b/c",
    "b",
    "../x",
    "/tmp/hostile-x",
    "b/../../x",
    "./a",
    "",
    ".",
    "..",
    "a/",
    "é",
    "x" * 300,
    "b//c",
    "a\0b",
    "l",
    "~/x",
)
TARGETS = ("a", "b/c", "../a", "../canary", "/etc/passwd", "l", ".", "", "..", "b")
TAR_KINDS = b"0\x007123456SLKxgZ"


def _tar(members) -> bytes:
    out = io.BytesIO()
    for name, kind, target, size, content, extra in members:
        info = tarfile.TarInfo()
        info.name, info.linkname = "name", ""
        block = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
        block[:100] = name.encode()[:100].ljust(100, b"\0")
        block[157:257] = target.encode()[:100].ljust(100, b"\0")
        block[156] = kind
        block[124:136] = size if isinstance(size, bytes) else (b"%011o" % (len(content) + size))[:11].ljust(12, b"\0")
        block[148:156] = b" " * 8
        block[148:156] = b"%06o\0 " % sum(block)
        out.write(bytes(block) + content.ljust(len(content) + -len(content) % 512, b"\0"))
        out.write(extra)
    return out.getvalue() + bytes(1024)


def _tars():
    records = (b"11 path=a\n", b"16 path=../evil\n", b"20 linkpath=/etc/x\n", b"13 size=9999\n", b"9999 path=a\n", b"x path=a\n",
               b"-1 path=a\n", b"0 path=a\n", b"24 GNU.sparse.size=1000\n", b"5 a=\n", b"22 size=999999999999\n")  # fmt: skip
    content = st.sampled_from([b"", b"x" * 10, b"../evil", b"y" * 600]) | st.lists(
        st.sampled_from(records), max_size=3
    ).map(b"".join)
    sizes = st.sampled_from(
        [0, 0, 0, 1, 600, 10**9, b"\x80" + b"\xff" * 11, b"\xff" * 12, b"-0000000001\0", b"xxxxxxxxxxxx", bytes(12)]
    )
    member = st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(TAR_KINDS),
        st.sampled_from(TARGETS),
        sizes,
        content,
        st.sampled_from([b"", b"", bytes(7)]),
    )
    return st.lists(member, min_size=1, max_size=6).map(_tar)


def _zips():
    def build(members) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, mode, method, content in members:
                info = zipfile.ZipInfo("x")
                info.filename, info.external_attr, info.compress_type = name, mode << 16, method
                archive.writestr(info, content)
        return out.getvalue()

    member = st.tuples(
        st.sampled_from(NAMES), st.sampled_from([0o644, 0o120777, 0o40755, 0o10644, 0]),
        st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]),
        st.sampled_from([b"", b"a", b"../canary", b"/etc/passwd", bytes(70 << 10)]),
    )  # fmt: skip
    files = st.lists(member, min_size=1, max_size=5, unique_by=lambda m: m[0]).map(build)
    words = st.lists(st.tuples(st.integers(0, 400), st.sampled_from(SPECIAL)), max_size=3)

    def patched(parts):
        data, changes = parts
        place = data.rfind(b"PK\x01\x02")
        for at, word in changes:  # of the directory, which says what is where
            data = data[: place + at] + word + data[place + at + len(word) :]
        return data

    return st.tuples(files, words).map(patched)


def _archive(strategy, folder):
    room = folder / "room"
    room.mkdir(exist_ok=True)
    (room / "canary").write_bytes(b"alive")
    before = Path("/etc/passwd").read_bytes()

    def load(data):
        (room / "x").write_bytes(data)
        try:
            Archive(room / "x").names()
            Archive(room / "x").extract(room / "out")
        finally:
            assert (
                sorted(set(os.listdir(room)) - {"out"}) == ["canary", "x"]
                and (room / "canary").read_bytes() == b"alive"
            )
            assert not os.path.lexists("/tmp/hostile-x")
            for where, folders, names in os.walk(room / "out", topdown=False):
                for name in (*folders, *names):
                    path = os.path.join(where, name)
                    assert not os.path.islink(path)
                    if os.path.isfile(path):
                        assert Path(path).read_bytes() != before and b"alive" not in Path(path).read_bytes()
                    (os.rmdir if os.path.isdir(path) else os.unlink)(path)

    attack(strategy, load)


def test_tar_files_of_odd_members(folder):
    _archive(_tars(), folder)


def test_damaged_tar_files(folder):
    _archive(_tars().flatmap(mutated), folder)


def test_packed_tar_files(folder):
    import bz2
    import gzip

    whole = _tar([("a", 48, "", 0, bytes(70 << 20), b"")])
    bombs = [gzip.compress(whole, 1), gzip.compress(gzip.compress(whole, 1))]
    packed = st.tuples(_tars(), st.sampled_from([gzip.compress, bz2.compress])).map(lambda parts: parts[1](parts[0]))
    damaged = _tars().map(gzip.compress).flatmap(mutated)
    rarely = st.integers(0, 99).flatmap(lambda n: st.sampled_from(bombs) if n == 0 else damaged)
    _archive(packed | damaged | rarely, folder)


def test_zip_files_of_odd_members(folder):
    _archive(_zips(), folder)


def test_damaged_zip_files(folder):
    _archive(_zips().flatmap(mutated), folder)


def test_files_of_torch(folder):
    def build(parts):
        names, content = parts
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("x/data.pkl", content)
            for name in names:
                archive.writestr(f"x/{name}", b"little" if name == "byteorder" else bytes(16))
        return out.getvalue()

    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK%stQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(%sK%s%s%s\x89}tR"
    numbers = st.sampled_from([b"\x00", b"\x01", b"\x04", b"\xff"])
    shapes = st.lists(numbers, max_size=3).map(lambda extents: b"(" + b"".join(b"K" + n for n in extents) + b"t")
    tensors = st.tuples(numbers.map(lambda n: storage % n), numbers, shapes, shapes).map(lambda parts: tensor % parts)
    pickles = (tensors | _pickles()).map(lambda data: data.rstrip(b".") + b".")
    files = st.tuples(
        st.lists(st.sampled_from(["data/0", "data/1", "byteorder", "version"]), unique=True), pickles
    ).map(build)

    def load(data):
        (folder / "x.pth").write_bytes(data)
        read_torch(folder / "x.pth")

    attack(files | files.flatmap(mutated), load)


# ------------------------------------------------------------------ pictures and annotations


@pytest.mark.parametrize("name", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"])
def test_pictures(name, folder):
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.arange(20 * 16 * 3, dtype=np.uint8).reshape(20, 16, 3)).save(file, name)
    mx.image.imdecode(file.getvalue())  # what is imported on first use is not a file's fault

    def load(data):
        if data:
            mx.image.imdecode(data)
            mx.recordio.unpack_img(mx.recordio.pack(mx.recordio.IRHeader(0, 1, 0, 0), data))

    attack(mutated(file.getvalue()), load)


@pytest.fixture(scope="module")
def coco(folder):
    """A tiny COCO: (root, JSON text)."""
    from PIL import Image

    root = folder / "coco"
    for part in ("annotations", "train2017"):
        (root / part).mkdir(parents=True)
    for name in ("000000000001.jpg", "000000000002.jpg"):
        Image.fromarray(np.zeros((40, 50, 3), np.uint8)).save(root / "train2017" / name)
    images = [
        {
            "id": i,
            "width": 50,
            "height": 40,
            "file_name": f"{i:012d}.jpg",
            "coco_url": f"http://x/train2017/{i:012d}.jpg",
        }
        for i in (1, 2)
    ]
    box = {
        "bbox": [2, 3, 20.5, 30],
        "area": 615,
        "iscrowd": 0,
        "category_id": 1,
        "keypoints": [5, 6, 2] * 17,
        "num_keypoints": 17,
    }
    polygon = {"id": 1, "image_id": 1, **box, "segmentation": [[2, 3, 22, 3, 22, 33, 2, 33]]}
    runs = {"id": 2, "image_id": 2, **box, "iscrowd": 1, "segmentation": {"size": [40, 50], "counts": [100, 1300, 600]}}
    text = json.dumps({"images": images, "annotations": [polygon, runs], "categories": [{"id": 1, "name": "person"}]})
    return root, text


class _Boxes(COCODetection):
    CLASSES = ("person",)


class _Shapes(COCOInstance):
    CLASSES = ("person",)


@pytest.mark.parametrize("kind", [_Boxes, _Shapes, COCOKeyPoints, COCOSegmentation])
def test_annotations_of_coco(kind, coco):
    root, text = coco
    path = root / "annotations" / "instances_train2017.json"

    def load(changes):
        path.write_text(replaced(text, changes))
        if kind is COCOSegmentation:
            data = kind(str(root), "train", mode="testval")
            (root / "annotations" / "train_ids.txt").unlink(missing_ok=True)
        else:
            data = kind(str(root), "instances_train2017")
        for i in range(len(data)):
            data[i]

    load([])
    attack(CHANGES, _without_missing(load))


def _without_missing(load):
    """A picture that is named and not there is an error of the file system, not of the content."""

    def tried(data):
        try:
            load(data)
        except OSError as error:
            raise mx.MXNetError(str(error)) from error

    return tried


def test_damaged_annotations_of_coco(coco):
    root, text = coco
    path = root / "annotations" / "instances_train2017.json"

    def load(data):
        path.write_bytes(data)
        _Boxes(str(root), "instances_train2017")

    attack(mutated(text.encode()), _without_missing(load))


XML = """<annotation><size><width>{}</width><height>{}</height></size><object><name>{}</name><difficult>{}</difficult>
<bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object>{}</annotation>"""
LAUGHS = "".join(f"<!ENTITY x{i} '{f'&x{i - 1};' * 10}'>" for i in range(1, 10))
LAUGHS = f"<!DOCTYPE a [<!ENTITY x0 'lol'>{LAUGHS}]>"


@pytest.mark.parametrize("kind", ["values", "bytes"])
def test_annotations_of_voc(kind, folder):
    root = folder / f"voc {kind}" / "VOC2007"
    for part in ("Annotations", "ImageSets/Main"):
        (root / part).mkdir(parents=True)
    (root / "ImageSets" / "Main" / "trainval.txt").write_text("1\n")
    values = st.sampled_from(
        [str(odd)[:200] for odd in ODD]
        + ["dog", "5", " 5 ", "<b/>", "&x9;", "]]>", "&#0;", "<object/>" * 50, "<a>" * 500]
    )
    texts = st.tuples(
        st.sampled_from(["", LAUGHS, "<?xml version='1.0' encoding='utf-7'?>"]),
        st.lists(values, min_size=9, max_size=9),
    )
    whole = XML.format(50, 40, "dog", 0, 1, 2, 30, 35, "").encode()
    files = texts.map(lambda parts: (parts[0] + XML.format(*parts[1])).encode()) if kind == "values" else mutated(whole)

    def load(data):
        (root / "Annotations" / "1.xml").write_bytes(data)
        VOCDetection(str(root.parent), ((2007, "trainval"),))

    attack(files, load)


# ------------------------------------------------------------------ text


def test_lists_and_indexes(folder):
    fields = st.sampled_from(
        ["0", "1", "-1", "7", str(1 << 70), "1.5", "1e999", "nan", "x", "", "a.jpg", "9" * 5000, "\x00", " 3 ", "٣"]
    )
    lines = st.lists(st.lists(fields, max_size=5).map("\t".join), max_size=5).map("\n".join)
    files = lines.map(str.encode) | lines.map(str.encode).flatmap(mutated)
    with MXIndexedRecordIO(str(folder / "x.idx"), str(folder / "x.rec"), "w") as writer:
        for i in range(3):
            writer.write_idx(i, b"record" * i)

    def load(data):
        (folder / "y.idx").write_bytes(data)
        (folder / "y.lst").write_bytes(data)
        for read in (_indexed, _listed, _iterated, _pictures):
            try:
                read(folder)
            except mx.MXNetError as error:
                last = error
        raise last if "last" in locals() else mx.MXNetError("none")

    attack(files, load)


def _indexed(folder):
    reader = MXIndexedRecordIO(str(folder / "y.idx"), str(folder / "x.rec"), "r")
    for key in reader.keys:
        reader.read_idx(key)


def _listed(folder):
    LstDetection(str(folder / "y.lst"))


def _iterated(folder):
    from core.image.iterator import _image_list
    from core.io.record_iters import _read_list

    _image_list(str(folder / "y.lst"), None)
    _read_list(str(folder / "y.lst"))


def _pictures(folder):
    from gluon.data.vision.datasets import _read_list

    _read_list(str(folder / "y.lst"))


GPT2 = json.dumps(
    {"model": {"type": "BPE", "merges": ["h e", ["l", "l"], "he ll"]}, "pre_tokenizer": {"type": "ByteLevel"}, "x": [1]}
)
BERT = json.dumps(
    {"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[PAD]": 1, "hello": 2, "##s": 3}, "max_input_chars_per_word": 9},
     "normalizer": {"lowercase": True, "strip_accents": None}}
)  # fmt: skip


@pytest.mark.parametrize("kind", ["GPT-2", "merges", "BERT", "pieces", "vocabulary"])
def test_vocabularies_and_tokenizers(kind, folder):
    vocab = nlp.Vocab(nlp.data.count_tokens(["a", "b", "b"]), bos_token="<s>")
    path = folder / ("t.json" if kind in ("GPT-2", "BERT") else "t.txt")
    lines = st.lists(
        st.sampled_from(["h e", "#version", "a", "", "a b c", "l\xa0l", "\x00", "[UNK]", "##s"]), max_size=6
    ).map("\n".join)
    texts = {"GPT-2": GPT2, "BERT": BERT, "vocabulary": vocab.to_json()}
    if kind in texts:
        files = CHANGES.map(lambda changes: replaced(texts[kind], changes).encode()) | mutated(texts[kind].encode())
    else:
        files = lines.map(str.encode) | lines.map(str.encode).flatmap(mutated)

    def load(data):
        path.write_bytes(data)
        if kind in ("GPT-2", "merges"):
            nlp.data.GPT2BPETokenizer.from_file(str(path))("hello")
        elif kind == "vocabulary":
            loaded = nlp.Vocab.from_json(data.decode("utf-8", "surrogateescape"))
            assert loaded.to_indices(loaded.idx_to_token) is not None
        else:
            nlp.data.BERTTokenizer.from_file(str(path))("hellos")

    attack(files, load)


@pytest.mark.parametrize("kind", ["text", "word2vec", "fastText", "contrib"])
def test_word_vectors(kind, folder):
    words = struct.pack("<3iqq", 1, 1, 0, 5, 0) + b"a\0" + struct.pack("<qb", 3, 0) + b"\0" + struct.pack("<2q", 3, 2)
    header = struct.pack("<2i12id", 793712314, 12, 2, 5, 1, 1, 5, 1, 1, 1, 2, 3, 6, 100, 1e-4)
    whole = {
        "text": b"a 1 2\nb 3 4\n",
        "contrib": b"a 1 2\nb 3 4\n",
        "word2vec": b"2 2\na " + bytes(8) + b"b " + bytes(8),
        "fastText": header + words + bytes(24),
    }[kind]
    numbers = st.sampled_from(["1", "nan", "1e999", "x", "", "1_0", "٣", "0x1", "1" * 500])
    lines = st.lists(st.tuples(st.sampled_from(["a", "<unk>", "", "é"]), st.lists(numbers, max_size=3)), max_size=4)
    odd = lines.map(lambda rows: "\n".join(" ".join([token, *row]) for token, row in rows).encode())
    path = folder / ("w.bin" if kind in ("word2vec", "fastText") else "w.txt")

    def load(data):
        path.write_bytes(data)
        if kind == "fastText":
            read_fasttext_binary(path)
        elif kind == "contrib":
            mx.contrib.text.embedding.CustomEmbedding(str(path))
        elif kind == "word2vec":
            nlp.embedding.Word2Vec.from_w2v_binary(str(path))
        else:
            nlp.embedding.TokenEmbedding.from_file(str(path))

    attack(mutated(whole) | odd if kind in ("text", "contrib") else mutated(whole), load)


def test_arrays_in_npz(folder):
    np.savez_compressed(folder / "x.npz", a=np.arange(6.0), b=np.array(["x"]))
    original = (folder / "x.npz").read_bytes()

    def load(data):
        (folder / "y.npz").write_bytes(data)
        read_npz(folder / "y.npz")

    attack(mutated(original), load)


def test_an_escape_is_noticed():
    def load(data):
        raise ValueError("escaped")

    with pytest.raises(DAMAGE):
        attack(st.just(b""), load)
