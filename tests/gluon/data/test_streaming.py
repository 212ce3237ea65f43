"""Streams that are killed and go on with other numbers of processes: every sample once an epoch, in all formats."""

import collections
import csv
import io
import itertools
import json
import tarfile

import pytest

from core import recordio
from core.base import MXNetError
from core.files.reader import DamagedFile
from core.kernels import communication
from gluon.data import Mixture, Stream
from tests.support import ranks


@pytest.fixture
def as_process(monkeypatch):
    """Makes streams as process `rank` of `size`; states are joined by hand, as `Stream.state` joins them."""

    def make(rank, size, *args, **settings):
        monkeypatch.setattr(communication, "rank", lambda: rank)
        monkeypatch.setattr(communication, "size", lambda: size)
        return Stream(*args, **settings)

    return make


def texts_of(streams, monkeypatch):
    """`Stream.state` of all processes."""
    tables = []
    monkeypatch.setattr(communication, "start", lambda: None)
    monkeypatch.setattr(communication, "size", lambda: len(streams))
    monkeypatch.setattr(communication, "texts", lambda what, text: tables.append(text) or [text])
    for stream in streams:
        stream.state()
    monkeypatch.setattr(communication, "texts", lambda what, text: tables)
    states = [stream.state() for stream in streams]
    assert all(state == states[0] for state in states)
    return json.loads(json.dumps(states[0]))


def write_lines(path, numbers):
    path.write_text("".join(f"{n}\n" for n in numbers))


def write_table(path, numbers):
    path.write_text("".join(f"{line}\n" for line in ["n", *numbers]))


def write_records(path, numbers):
    record = recordio.MXRecordIO(str(path), "w")
    for n in numbers:
        record.write(b"%d" % n)
    record.close()


def write_archive(path, numbers):
    with tarfile.open(path, "w") as archive:
        for n in numbers:
            for end in ("jpg", "cls"):
                info = tarfile.TarInfo(f"{n}.{end}")
                info.size = 3
                archive.addfile(info, io.BytesIO(b"abc"))


def write_columns(path, numbers):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"n": list(numbers)}), path, row_group_size=3)


FORMATS = {
    "jsonl": (write_lines, int),
    "csv": (write_table, lambda sample: int(sample["n"])),
    "rec": (write_records, int),
    "tar": (write_archive, lambda sample: int(sample["__key__"])),
    "parquet": (write_columns, lambda sample: sample["n"]),
}


def make_files(folder, form="jsonl", begin=0):
    """Seven files, each with one sample more than the one before; numbers tell them apart."""
    found = [folder / f"{k}.{form}" for k in range(begin, begin + 7)]
    for k, path in enumerate(found, begin):
        FORMATS[form][0](path, numbers_of(k))
    return found


def numbers_of(k):
    return range(1000 * k, 1000 * k + 5 + k)


@pytest.fixture
def files(tmp_path):
    return make_files(tmp_path)


def everything(files):
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("buffer", [1, 8])
@pytest.mark.parametrize("sizes", [[3, 2, 4], [2, 3], [1, 5, 1]])
def test_each_sample_is_seen_once_whoever_goes_on(tmp_path, as_process, monkeypatch, form, buffer, sizes):
    files, number = make_files(tmp_path, form), FORMATS[form][1]
    seen, state = collections.Counter(), None
    for turn, size in enumerate(sizes):
        streams = [as_process(rank, size, files, seed=3, buffer=buffer) for rank in range(size)]
        for rank, stream in enumerate(streams):
            if state is not None:
                stream.load_state(state)
            samples = iter(stream)
            for _ in range(4 + rank if turn < len(sizes) - 1 else 10**6):
                sample = next(samples, None)
                if sample is None:
                    break
                seen[number(sample)] += 1
        if turn < len(sizes) - 1:
            state = texts_of(streams, monkeypatch)
    assert seen == collections.Counter(n for k in range(7) for n in numbers_of(k))


def test_workers_share_the_part_of_a_process(files, as_process):
    parts = [list(as_process(r, 2, files, workers=2, worker=w)) for r in range(2) for w in range(2)]
    assert sorted(sample for part in parts for sample in part) == sorted(everything(files)) and all(parts)


def test_epochs_have_orders_of_their_own_and_streams_agree(files):
    first, second = Stream(files, seed=1, buffer=4), Stream(files, seed=1, buffer=4)
    one, two = list(first), list(first)
    assert one != two and sorted(one) == sorted(two)
    assert list(second) == one and list(second) == two
    assert list(Stream(files, shuffle=False)) == everything(files)


def test_a_mixture_draws_by_weights_and_resumes(tmp_path):
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for path, begin in zip(paths, (0, 1000)):
        path.write_text("".join(f"{begin + i}\n" for i in range(400)))

    def make():
        return Mixture([Stream([path]) for path in paths], [3, 1])

    mixture, seen = make(), []
    samples = iter(mixture)
    seen = [next(samples) for _ in range(400)]
    assert 260 < sum(sample < 1000 for sample in seen) < 340
    other = make()
    other.load_state(json.loads(json.dumps(mixture.state())))
    assert sorted(seen + list(other)) == [*range(400), *range(1000, 1400)]


def mixed(rank, parts, state, count):
    """What a process takes of a mixture, at most `count` samples, and where all are then."""
    mixture = Mixture([Stream(part, seed=k, buffer=4) for k, part in enumerate(parts)], [3, 1])
    if state is not None:
        mixture.load_state(state)
    return list(itertools.islice(mixture, count)), mixture.state()


def test_other_processes_go_on_with_a_mixture(tmp_path):
    parts, seen, state = [make_files(tmp_path), make_files(tmp_path, begin=7)], [], None
    for size, count in ((3, 9), (2, 20), (4, 1000)):
        results = ranks.run(size, mixed, parts, state, count)
        assert not [found for found in results if isinstance(found, str)]
        seen += [n for own, _ in results for n in own]
        state = json.loads(json.dumps(results[0][1]))
        assert all(json.loads(json.dumps(other)) == state for _, other in results)
    assert sorted(seen) == [n for k in range(14) for n in numbers_of(k)]


def test_formats(tmp_path):
    record = recordio.MXRecordIO(str(tmp_path / "a.rec"), "w")
    record.write(b"one")
    record.write(b"two")
    record.close()
    with open(tmp_path / "b.csv", "w", newline="") as file:
        csv.writer(file).writerows([["x", "y"], ["1", "two, three"]])
    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as archive:
        for name, content in (("d/1.jpg", b"picture"), ("d/1.cls", b"7"), ("d/2.jpg", b"other")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    assert list(Stream([tmp_path / "a.rec"])) == [b"one", b"two"]
    assert list(Stream([tmp_path / "b.csv"])) == [{"x": "1", "y": "two, three"}]
    assert list(Stream([tmp_path / "c.tar.gz"])) == [
        {"__key__": "d/1", "jpg": b"picture", "cls": b"7"},
        {"__key__": "d/2", "jpg": b"other"},
    ]


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"x": [1, 2], "y": ["a", None]}), tmp_path / "a.parquet")
    assert list(Stream([tmp_path / "a.parquet"])) == [{"x": 1, "y": "a"}, {"x": 2, "y": None}]


@pytest.mark.parametrize(
    ("name", "content", "error", "text"),
    [
        ("a.jsonl", b'1\n{"x": \n', DamagedFile, "line 2 is damaged"),
        ("a.csv", b"x,y\n1\n", DamagedFile, "line 2 has 1 columns, the first line 2"),
        ("a.tar", b"no archive" * 100, DamagedFile, "a.tar' is damaged"),
        ("a.txt", b"", MXNetError, "ends in none of .rec, .jsonl"),
    ],
)
def test_damage_names_file_and_line(tmp_path, name, content, error, text):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=text):
        list(Stream([tmp_path / name]))


def test_states_of_other_files_and_bad_settings(files):
    stream = Stream(files[:2])
    with pytest.raises(MXNetError, match="other files, such as"):
        stream.load_state(Stream(files).state() | {"files": {str(files[5]): [1, [], False]}})
    for bad in ({"buffer": 0}, {"worker": 1}):
        with pytest.raises(ValueError, match=r"buffer is 1|worker is one of"):
            Stream(files, **bad)
    with pytest.raises(ValueError, match="each once"):
        Stream([files[0], files[0]])
