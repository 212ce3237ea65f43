"""Archives: members stay in their folder, links become copies, bombs are refused, damage is told."""

import bz2
import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings

from core.base import MXNetError
from core.files.archives import Archive, open_packed
from gluoncv.utils.filesystem import untar, unzip
from tests.support.mutations import bounded_memory, mutated, survives

LONG = "folder/" + "long name " * 20 + "größer.txt"
MEMBERS = {"a.txt": b"one", "folder/b.bin": bytes(range(256)) * 40, LONG: b"long", "empty": b""}


def tar_of(path, *infos, mode="w:gz", **kwargs):
    """A tar file of (name or TarInfo, content)."""
    with tarfile.open(path, mode, **kwargs) as archive:
        for info, content in infos:
            if isinstance(info, str):
                info = tarfile.TarInfo(info)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def link(name, target, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def zip_of(path, *members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def below(folder):
    return {
        os.path.relpath(os.path.join(where, name), folder): open(os.path.join(where, name), "rb").read()
        for where, _, names in os.walk(folder)
        for name in names
    }


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2"])
@pytest.mark.parametrize("layout", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_files(mode, layout, tmp_path):
    members = {name: content for name, content in MEMBERS.items() if name != LONG or layout != tarfile.USTAR_FORMAT}
    archive = Archive(tar_of(tmp_path / "x.tar", *members.items(), mode=mode, format=layout))
    assert archive.names() == list(members)
    archive.extract(tmp_path / "out")
    assert below(tmp_path / "out") == members
    with archive.open("folder/b.bin") as member:
        assert member.read(100) + member.read(1 << 30) == MEMBERS["folder/b.bin"] and member.read(5) == b""
    with pytest.raises(MXNetError, match=r"x\.tar.*no member 'b\.bin'"), archive.open("b.bin"):
        pass


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_zip_files(method, tmp_path):
    archive = Archive(zip_of(tmp_path / "x.zip", ("folder/", b""), *MEMBERS.items(), method=method))
    assert archive.names() == ["folder/", *MEMBERS]
    archive.extract(tmp_path / "out")
    assert below(tmp_path / "out") == MEMBERS
    with archive.open("folder/b.bin") as member:
        assert member.read(1 << 30) == MEMBERS["folder/b.bin"]


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil", "//evil", "a/.."])
def test_members_that_would_leave_the_folder_are_refused(name, tmp_path):
    for pack, path in ((tar_of, tmp_path / "x.tar.gz"), (zip_of, tmp_path / "x.zip")):
        (tmp_path / "out").mkdir(exist_ok=True)
        with pytest.raises(MXNetError, match=rf"{path.name}.*outside of the folder"):
            (untar if pack is tar_of else unzip)(pack(path, (name, b"x"), ("b", b"y")), tmp_path / "out", strict=True)
        assert not (tmp_path / "evil").exists() and not below(tmp_path / "out")


def test_links_become_copies_of_files_in_the_archive(tmp_path):
    members = [
        ("d/a", b"content"), link("d/soft", "a"), link("up", "./d/a"), link("d/e/soft", "../a"),
        link("hard", "d/a", tarfile.LNKTYPE),
    ]  # fmt: skip
    Archive(tar_of(tmp_path / "x.tar", *members)).extract(tmp_path / "out")
    found = below(tmp_path / "out")
    assert set(found) == {"d/a", "d/soft", "up", "d/e/soft", "hard"} and set(found.values()) == {b"content"}
    assert not any(os.path.islink(tmp_path / "out" / name) for name in found)
    info = zipfile.ZipInfo("soft")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    Archive(zip_of(tmp_path / "x.zip", ("a", b"content"), (info, b"a"))).extract(tmp_path / "two")
    assert below(tmp_path / "two") == {"a": b"content", "soft": b"content"}


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../secret", "missing", "later", "self", "", "d", "../../../etc/passwd"]
)
@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_other_links_are_refused(target, kind, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    folder = tarfile.TarInfo("d")
    folder.type = tarfile.DIRTYPE
    path = tar_of(tmp_path / "x.tar", (folder, b""), link("self", target, kind), ("later", b""), ("self/y", b""))
    with pytest.raises(MXNetError, match=r"x\.tar.*link 'self'"):
        Archive(path).extract(tmp_path / "out")
    assert b"secret" not in below(tmp_path / "out").values()


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.GNUTYPE_SPARSE])
def test_devices_pipes_and_sparse_files_are_refused(kind, tmp_path):
    info = tarfile.TarInfo("x")
    info.type = kind
    with pytest.raises(MXNetError, match="is of the kind"):
        Archive(tar_of(tmp_path / "x.tar", (info, b""))).extract(tmp_path / "out")


def bomb(path):
    """A hundred kilobytes that unpack to 100 MB."""
    zeros = bytes(100 << 20)
    if path.suffix == ".zip":
        return zip_of(path, ("zeros", zeros))
    return tar_of(path, ("zeros", zeros), mode="w:bz2" if path.suffix == ".bz2" else "w:gz")


@pytest.mark.parametrize("name", ["x.zip", "x.gz", "x.bz2"])
def test_bombs_are_refused_before_they_fill_a_disk(name, tmp_path, monkeypatch):
    path = bomb(tmp_path / name)
    unpack = unzip if name == "x.zip" else untar
    with pytest.raises(
        MXNetError, match=rf"{name}.*beyond the limit of 100 times; MXNET_MAX_UNPACK_RATIO or max_ratio"
    ):
        unpack(path, tmp_path / "out", strict=True)
    assert sum(map(len, below(tmp_path / "out").values())) <= 64 << 20
    unpack(path, tmp_path / "out", strict=True, max_ratio=0)
    assert (tmp_path / "out" / "zeros").stat().st_size == 100 << 20
    monkeypatch.setenv("MXNET_MAX_UNPACK_RATIO", "30000000")
    Archive(path).extract(tmp_path / "more")


def test_overlapping_members_are_refused(tmp_path):
    data = zip_of(tmp_path / "x.zip", ("a", bytes(range(256)) * 1000), method=zipfile.ZIP_STORED).read_bytes()
    place = data.index(b"PK\x01\x02")
    entry = data[place : place + 46] + b"%b"
    directory = b"".join(entry.replace(b"%b", b"%d" % i) for i in range(9))
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 9, 9, len(directory), place, 0)
    (tmp_path / "x.zip").write_bytes(data[:place] + directory + end)
    with pytest.raises(MXNetError, match="overlap"):
        Archive(tmp_path / "x.zip").names()


def test_links_count_into_the_limit(tmp_path):
    path = tar_of(tmp_path / "x.tar", ("a", bytes(1 << 20)), *[link(f"l{i}", "a") for i in range(100)])
    with pytest.raises(MXNetError, match="beyond the limit"):
        Archive(path).extract(tmp_path / "out")


def test_an_extended_header_takes_no_memory(tmp_path):
    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    path = tar_of(tmp_path / "x.tar", (info, bytes(60 << 20)))
    with bounded_memory(32 << 20), pytest.raises(MXNetError, match="extended header of 62914560 bytes"):
        Archive(path).names()


def test_packed_files(tmp_path):
    for pack in (gzip.compress, bz2.compress, bytes):
        (tmp_path / "x").write_bytes(pack(b"one\ntwo\n"))
        with open_packed(tmp_path / "x") as file:
            assert list(file) == [b"one\n", b"two\n"]
    (tmp_path / "x").write_bytes(gzip.compress(b"one\ntwo\n" * 99)[:-12])
    with pytest.raises(MXNetError, match=r"x'.*damaged"), open_packed(tmp_path / "x") as file:
        file.read()
    (tmp_path / "x").write_bytes(gzip.compress(bytes(100 << 20)))
    with pytest.raises(MXNetError, match="beyond the limit"), open_packed(tmp_path / "x") as file:
        while file.read(1 << 20):
            pass
    with pytest.raises(MXNetError, match="nowhere"):
        open_packed(tmp_path / "nowhere")


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
def test_damage_gives_an_error_or_files(kind, tmp_path):
    if kind == "zip":
        original = zip_of(tmp_path / "x", *MEMBERS.items()).read_bytes()
    else:
        members = [*MEMBERS.items(), link("l", "a.txt")]
        original = tar_of(tmp_path / "x", *members, mode="w" if kind == "tar" else "w:gz").read_bytes()

    def load(data):
        (tmp_path / "y").write_bytes(data)
        Archive(tmp_path / "y").extract(tmp_path / "out")

    @settings(max_examples=300, deadline=3000, suppress_health_check=list(HealthCheck))
    @given(mutated(original))
    def run(data):
        survives(lambda: load(data))

    with bounded_memory():
        run()
    assert not any(os.path.islink(os.path.join(where, name)) for where, _, names in os.walk(tmp_path) for name in names)
