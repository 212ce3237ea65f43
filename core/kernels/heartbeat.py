"""Which process of several is gone, silent, or somewhere else: a side thread that writes a beat and reads the others'.

A process beats as long as its interpreter runs, whatever its main thread does: one that validates for an hour is busy,
not silent. On one machine a process that holds the interpreter lock for long is told from a stopped one by the system.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable

INTERVAL = 1.0  # seconds between beats
# Seconds for which a process that has ended may still owe nothing: what it sent last is on its way.
GRACE = 2.0
# All processes may wait for different things for this part of the limit.
STALL = 3


@dataclasses.dataclass
class Peer:
    """Another process: its last beat, and when this process first saw it (monotonic and wall clock)."""

    beat: dict
    seen: float
    at: float
    gone: float | None = None  # when it was found that its process has ended
    moved: float = 0.0  # when what it waits for last changed


class Heartbeat:
    """The beats of all processes in a key-value store with `set(key, text)` and `multi_get(keys)`.

    limit: seconds of silence after which a process counts as lost. on_loss: called once, in the side thread, when one
    that this process waits for is lost.
    """

    def __init__(self, store, prefix: str, rank: int, size: int, limit: float, on_loss: Callable[[], None]):
        self._store, self._rank, self._limit, self._on_loss = store, rank, limit, on_loss
        self._keys = [f"{prefix}/beat/{k}" for k in range(size)]
        self._mine = {"host": _machine(), "pid": os.getpid(), "born": _born(os.getpid())}
        self._count, self._moves, self._doing, self._lost = 0, 0, "", False
        self._peers: dict[int, Peer] = {}
        self._waiting_since, self._read_at = 0.0, time.monotonic()
        self._store_gone: float | None = None  # since when the store does not answer
        self._end = threading.Event()
        # From its start on only the thread talks to the store: who asks one that hangs, hangs.
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._beat()

    def start(self) -> None:
        """Begins to read: every process has written its first beat."""
        self._thread.start()

    def stop(self) -> None:
        """This process ends, and says so where the store still answers."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(2 * INTERVAL)

    @contextlib.contextmanager
    def waiting(self, what: str):
        """The main thread waits for the others in `what`."""
        self._doing, self._moves, self._waiting_since = what, self._moves + 1, time.monotonic()
        try:
            yield
        finally:
            self._doing, self._moves = "", self._moves + 1

    def lost(self) -> None:
        """This process gives up because of another one: it is not the one to blame."""
        self._lost = True

    # ------------------------------------------------------------------ what to tell a process that waits

    def verdict(self) -> str | None:
        """Why what the main thread waits for cannot come any more; None while it can."""
        now = time.monotonic()
        if now - self._waiting_since < GRACE:
            return None
        for rank, peer in sorted(self._peers.items(), key=lambda item: item[1].seen):
            if peer.gone is not None and now - peer.gone > GRACE:
                return _ended(rank, peer)
            if self._silent(peer):
                return (
                    f"process {rank} ({_address(peer)}) has been silent for {self._read_at - peer.seen:.0f} s, since "
                    f"{_clock(peer.at)}: it is stopped, or its machine cannot be reached"
                )
        if self._store_gone is not None and now - self._store_gone > GRACE:
            return "the process that keeps the store (process 0, or torchrun) has ended"
        if now - max(self._read_at, self._waiting_since) > self._limit:
            return (
                f"the process that keeps the store (process 0, or torchrun) has been silent for "
                f"{now - self._read_at:.0f} s"
            )
        return self._elsewhere(now)

    def blame(self) -> str | None:
        """After a connection broke: who ended. Waits up to a few beats for the answer."""
        until = time.monotonic() + GRACE + INTERVAL
        while True:
            ended = [(peer.gone, rank, peer) for rank, peer in self._peers.items() if peer.gone is not None]
            first = [row for row in ended if not row[2].beat["lost"]] or ended
            killed = [row for row in first if "left" not in row[2].beat] or first
            if killed:
                _, rank, peer = min(killed, key=lambda row: row[:2])
                return _ended(rank, peer)
            if time.monotonic() > until:
                return None
            time.sleep(INTERVAL / 10)

    def _silent(self, peer: Peer) -> bool:
        # By the time of the last look: where this process itself held its interpreter, it has not looked.
        return self._read_at - peer.seen > self._limit and not (
            _is_here(peer) and _state(peer.beat["pid"]) not in "TtZX"
        )

    def _elsewhere(self, now: float) -> str | None:
        """Every process waits, for different things, and has for long."""
        rows = {self._rank: (self._doing, self._waiting_since)}
        rows |= {rank: (peer.beat["doing"], peer.moved) for rank, peer in self._peers.items()}
        if len({doing for doing, _ in rows.values()}) < 2:
            return None
        if not all(doing and now - since > self._limit / STALL for doing, since in rows.values()):
            return None
        return "the processes wait for different things: " + "; ".join(
            f"process {rank} for {doing}" for rank, (doing, _) in sorted(rows.items())
        )

    # ------------------------------------------------------------------ the side thread

    def _run(self) -> None:
        others, told = [k for k in range(len(self._keys)) if k != self._rank], False
        while not self._end.wait(INTERVAL):
            try:
                self._beat()
                texts = self._store.multi_get([self._keys[k] for k in others])
            except RuntimeError:
                self._store_gone = self._store_gone or time.monotonic()
                self._read_at = time.monotonic()
                continue
            self._store_gone, self._read_at = None, time.monotonic()
            for rank, text in zip(others, texts):
                self._read(rank, json.loads(text))
            if not told and self._doing and self.verdict():
                told = True
                self._on_loss()
        error = getattr(sys, "last_value", None)
        with contextlib.suppress(RuntimeError):  # the process with the store may have ended before
            self._beat(left=time.time(), error=f"{type(error).__name__}: {error}"[:300] if error else "")

    def _beat(self, **more) -> None:
        self._count += 1
        now = {"count": self._count, "doing": self._doing, "moves": self._moves, "lost": self._lost}
        self._store.set(self._keys[self._rank], json.dumps(self._mine | now | more))

    def _read(self, rank: int, beat: dict) -> None:
        now, wall = time.monotonic(), time.time()
        peer = self._peers.get(rank)
        if peer is None:
            peer = self._peers[rank] = Peer(beat, now, wall, moved=now)
        elif beat != peer.beat:
            if beat["moves"] != peer.beat["moves"]:
                peer.moved = now
            peer.beat, peer.seen, peer.at = beat, now, wall
        if peer.gone is None and ("left" in beat or (_is_here(peer) and not _lives(beat))):
            peer.gone = now


def _ended(rank: int, peer: Peer) -> str:
    left = peer.beat.get("left")
    if left is None:
        return f"process {rank} ({_address(peer)}) was killed; its last sign of life was at {_clock(peer.at)}"
    how = f", with {peer.beat['error']}" if peer.beat.get("error") else ""
    return f"process {rank} ({_address(peer)}) has ended at {_clock(left)}{how}"


def _address(peer: Peer) -> str:
    return f"{peer.beat['host'].split('/')[0]}, pid {peer.beat['pid']}"


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def _machine() -> str:
    """What has the same process numbers: a machine, or a container of it."""
    space = ""
    with contextlib.suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()}/{space}"


def _is_here(peer: Peer) -> bool:
    return peer.beat["host"] == _machine() and os.path.isdir("/proc/self")


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on; none where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def _state(pid: int) -> str:
    """R, S, D: runs or waits; T, t: stopped; Z, X: ended."""
    return (_stat(pid) or ["X"])[0]


def _born(pid: int) -> str:
    """When a process began, in ticks of the system: numbers of processes come again."""
    fields = _stat(pid)
    return fields[19] if fields else ""


def _lives(beat: dict) -> bool:
    return _born(beat["pid"]) == beat["born"] and _state(beat["pid"]) not in "ZX"
