"""Python programs in processes of their own which do not import the packages again.

A program that starts like any other spends two seconds of processor time on imports, several times what most that tests
start do themselves. Here it is forked from a process that has imported the packages and done nothing else: its command,
folder, environment, streams and exit status, and what it may do to itself, are those of a program. Not so: settings that
the packages read when they are imported, and the seed of hashes, which all have from the process that they are forked
from. A test of those, or of imports, starts `sys.executable`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import random
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("core", "gluon", "gluoncv", "gluonnlp", "scripts.common.run")
NUMBER = struct.Struct("i")
Stream = int | IO[Any] | None


class Program:
    """What `subprocess.Popen(command, ...)` is; the command begins with `sys.executable`."""

    def __init__(
        self,
        command: list[Any],
        *,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
        cwd: Any = None,
        env: dict[str, str] | None = None,
        text: bool = True,
    ):
        assert text and command[0] == sys.executable
        self.args, self.returncode = [str(part) for part in command], None
        self.stdin = self.stdout = self.stderr = None
        request = {"argv": self.args[1:], "cwd": str(cwd or os.getcwd()), "env": env or dict(os.environ)}
        self._status, status = os.pipe()
        with contextlib.ExitStack() as given:  # is the program's alone
            given.callback(os.close, status)
            streams = [self._stream(given, number, asked) for number, asked in enumerate((stdin, stdout, stderr))]
            socket.send_fds(_server()[0], [json.dumps(request).encode()], [*streams, status])
        (self.pid,) = NUMBER.unpack(os.read(self._status, NUMBER.size))

    def _stream(self, given: contextlib.ExitStack, number: int, asked: Stream) -> int:
        if asked is None:
            return number
        if asked not in (subprocess.PIPE, subprocess.DEVNULL):
            return asked if isinstance(asked, int) else asked.fileno()
        if asked == subprocess.DEVNULL:
            theirs = os.open(os.devnull, os.O_RDWR)
        else:
            ends = os.pipe()
            theirs = ends[bool(number)]
            setattr(self, ("stdin", "stdout", "stderr")[number], os.fdopen(ends[not number], "r" if number else "w"))
        given.callback(os.close, theirs)
        return theirs

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status; below 0 the signal that ended it."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            (self.returncode,) = NUMBER.unpack(os.read(self._status, NUMBER.size))
            os.close(self._status)
        return self.returncode

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def run(
    command: list[Any], *, capture_output: bool = True, check: bool = False, timeout: float = 300, **settings: Any
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run(command, capture_output=True, text=True, ...)` gives."""
    assert capture_output and not check
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        program = Program(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, **settings)
        try:
            status = program.wait(timeout)
        finally:
            program.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(program.args, status, out.read(), err.read())


@functools.cache
def _server() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The line to the process that programs are forked from, and that process; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        number = theirs.fileno()
        process = subprocess.Popen([sys.executable, __file__, str(number)], pass_fds=[number], cwd=ROOT)
    for end in (ours.close, process.wait, process.terminate):  # the last one first
        atexit.register(end)
    return ours, process


# ---------------------------------------------------------------- in the process that programs are forked from


def serve(line: socket.socket) -> dict[str, Any] | None:
    """Forks a program for each request, and returns it there; None when no more will come."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that wait for programs are not waited for
    while True:
        request, given, _, _ = socket.recv_fds(line, 1 << 20, 4)
        if not request:
            return None
        if os.fork() == 0:
            line.close()
            break
        for file in given:
            os.close(file)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, status = given
    program = os.fork()
    if program:
        for file in streams:
            os.close(file)
        os.closerange(0, 3)
        os.write(status, NUMBER.pack(program))
        os.write(status, NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])))
        os._exit(0)
    os.close(status)
    for number, file in enumerate(streams):
        os.dup2(file, number)
        os.close(file)
    return json.loads(request)


def begin(argv: list[str], cwd: str, env: dict[str, str]) -> None:
    """Runs a program as the interpreter does."""
    import numpy as np
    import torch

    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    if threads := env.get("OMP_NUM_THREADS"):  # which libraries read when they are loaded
        torch.set_num_threads(int(threads))
    given = env.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [folder for folder in given if folder and folder not in sys.path[1:]]
    random.seed()
    np.random.seed()
    if argv[0] == "-m":
        sys.argv, sys.path[0] = argv[1:], cwd
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = argv, os.path.dirname(os.path.abspath(argv[0]))
        runpy.run_path(argv[0], run_name="__main__")


if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    for package in PACKAGES:
        importlib.import_module(package)
    gc.collect()
    gc.freeze()
    asked = serve(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        begin(**asked)
