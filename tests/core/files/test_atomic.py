"""Atomic writes: interrupted ones leave the old file and nothing else."""

import os
import signal
import stat
import subprocess
import sys
import tempfile

import pytest

from core.files.atomic import replacing, write_bytes


def test_an_exception_leaves_the_old_file(tmp_path):
    path = tmp_path / "x"
    write_bytes(path, b"old")
    with pytest.raises(RuntimeError), replacing(path) as file:
        file.write(b"new")
        raise RuntimeError
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["x"]


def test_links_and_permissions_stay(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    write_bytes(link, b"new")
    assert link.is_symlink() and target.read_bytes() == b"new" and target.stat().st_mode & 0o777 == 0o600


def test_text(tmp_path):
    with replacing(tmp_path / "x", "w", encoding="utf-8") as file:
        file.write("größer")
    assert (tmp_path / "x").read_text(encoding="utf-8") == "größer"


def test_pipes_are_written_directly(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_bytes(tmp_path / "pipe", b"x")
    assert os.read(reader, 2) == b"x" and os.listdir(tmp_path) == ["pipe"]
    os.close(reader)


def test_a_killed_process_leaves_the_old_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    program = (
        "import os, signal, sys\nfrom core.files.atomic import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(b'new'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(path)], cwd=os.getcwd(), env={**os.environ, "PYTHONPATH": os.getcwd()}
    )
    assert run.returncode == -signal.SIGKILL and path.read_bytes() == b"old"


def test_an_empty_file_that_is_held_open_is_filled(tmp_path):
    with tempfile.NamedTemporaryFile(dir=tmp_path) as file:
        write_bytes(file.name, b"new")
        assert file.read() == b"new" and os.listdir(tmp_path) == [os.path.basename(file.name)]


def test_content_is_on_the_disk_before_it_has_the_name(tmp_path, monkeypatch):
    """And the name is, when the writer goes on: what is fsynced, and when."""
    steps = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor):
        status = os.fstat(descriptor)
        steps.append("folder" if stat.S_ISDIR(status.st_mode) else ("file", status.st_size))
        return fsync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", lambda a, b: steps.append(("name", os.path.getsize(a))) or replace(a, b))
    for content in (b"12345", b"123"):  # a new file, and one that is there
        steps.clear()
        write_bytes(tmp_path / "x", content)
        assert steps == [("file", len(content)), ("name", len(content)), "folder"]
    steps.clear()
    (tmp_path / "empty").touch()
    write_bytes(tmp_path / "empty", b"12345")
    assert steps == [("file", 5), ("file", 5), "folder"]


def test_a_folder_that_is_not_there_is_told_by_the_name_that_was_given(tmp_path):
    path = tmp_path / "none" / "x"
    with pytest.raises(FileNotFoundError) as told:
        write_bytes(path, b"new")
    assert told.value.filename == str(path)
