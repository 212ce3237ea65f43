"""Objects from one process to another over a socket, their arrays in shared memory.

An object is pickled with its array buffers out of band. A frame is the pickle and the buffers, each at a multiple
of 64 bytes. A small frame travels inside the message; a larger one lies in a segment: a memory file without a name,
whose descriptor travels with the first message that uses it. The receiver's arrays are views of the segment; when
the last of them is gone, the segment's number goes back with the receiver's next message and the sender uses it again
(fresh memory costs more than the copy). Nothing is left behind whatever dies: memory without a name goes away with its
last user.
"""

from __future__ import annotations

import collections
import dataclasses
import io
import mmap
import os
import pickle
import socket
import struct
import weakref
from collections.abc import Sequence

import numpy as np

from core import ndarray as nd
from core.dtypes import dtype_name
from gluon.data import arrays

ALIGNMENT = 64
INLINE_BYTES = 1 << 14
MESSAGE_BYTES = 1 << 17
# Every segment holds a file descriptor. A receiver that keeps more than this many gets private copies instead.
SEGMENTS = 256
# Segment number (-1: the frame follows), bytes of the segment, bytes of the frame, count of released segments.
HEADER = struct.Struct("<qQQQ")

_mappings: weakref.WeakSet = weakref.WeakSet()


def pair() -> tuple[Channel, Channel]:
    """Two connected channels, for two processes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Channel(ours), Channel(theirs)


class Channel:
    """One end of a connection."""

    def __init__(self, sock: socket.socket):
        self._socket = sock
        self._numbers = 0
        self._spare: list[_Segment] = []
        self._lent: dict[int, _Segment] = {}
        self._received: dict[int, mmap.mmap] = {}
        self._released: collections.deque[int] = collections.deque()

    def fileno(self) -> int:
        return self._socket.fileno()

    def settimeout(self, seconds: float) -> None:
        """How long `send` and `receive` may wait before they raise TimeoutError."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        self._socket.close()

    def send(self, value, flags: int = 0) -> None:
        """Sends `value`, or nothing at all: BlockingIOError and TimeoutError leave the channel as it was."""
        self.post(self.prepare(value), flags)

    def prepare(self, value) -> Message:
        """What `post` sends; raises what pickling raises."""
        buffers: list[pickle.PickleBuffer] = []
        head = io.BytesIO()
        _Pickler(head, protocol=5, buffer_callback=buffers.append).dump(value)
        parts = [head.getbuffer(), *(buffer.raw() for buffer in buffers)]
        offsets, size = _layout([part.nbytes for part in parts])
        segment = self._segment(size) if size > INLINE_BYTES else None
        frame = bytearray(size) if segment is None else segment.mapping
        struct.pack_into(f"<{len(parts) + 1}Q", frame, 0, len(parts), *(part.nbytes for part in parts))
        for part, offset in zip(parts, offsets):
            frame[offset : offset + part.nbytes] = part
        return Message(size, frame, segment)

    def post(self, message: Message, flags: int = 0) -> None:
        """Sends what `prepare` made; it can be posted again after BlockingIOError or TimeoutError."""
        released = [self._released.popleft() for _ in range(len(self._released))]
        segment = message.segment
        number, capacity = (-1, 0) if segment is None else (segment.number, len(segment.mapping))
        header = HEADER.pack(number, capacity, message.size, len(released)) + struct.pack(f"<{len(released)}Q", *released)
        try:
            if segment is None:
                self._socket.sendmsg([header, message.frame], [], flags)
            elif segment.descriptor is None:
                self._socket.sendmsg([header], [], flags)
            else:
                socket.send_fds(self._socket, [header], [segment.descriptor], flags)
        except OSError:
            self._released.extendleft(released)
            raise
        if segment is not None:
            self._lent[segment.number] = segment
            segment.close_descriptor()

    def discard(self, message: Message) -> None:
        """Takes back what was prepared and not posted."""
        if message.segment is not None:
            self._spare.append(message.segment)

    def receive(self):
        """The next object.

        Raises EOFError when the other end is gone. Arrays in the object are its own: they may be written to.
        """
        try:
            message, descriptors, _, _ = socket.recv_fds(self._socket, MESSAGE_BYTES, 1)
        except ConnectionResetError:
            message = b""
        if not message:
            raise EOFError("the other process is gone")
        number, capacity, size, count = HEADER.unpack_from(message)
        end = HEADER.size + 8 * count
        for released in struct.unpack_from(f"<{count}Q", message, HEADER.size):
            self._spare.append(self._lent.pop(released))
        if number < 0:
            return _decode(bytearray(message[end:]))
        return self._decode_segment(number, capacity, size, descriptors)

    def _segment(self, size: int) -> _Segment:
        """A segment of at least `size` bytes that no one uses."""
        if self._spare:
            segment = self._spare.pop()
            if len(segment.mapping) < size:
                segment.mapping.resize(size)
            return segment
        self._numbers += 1
        return _Segment.new(self._numbers, size)

    def _decode_segment(self, number: int, capacity: int, size: int, descriptors: list[int]):
        if descriptors:
            try:
                self._received[number] = mapping = mmap.mmap(descriptors[0], capacity)
            finally:
                os.close(descriptors[0])
            _mappings.add(mapping)
        mapping = self._received[number]
        if len(mapping) < capacity:
            mapping.resize(capacity)
        if len(_mappings) > SEGMENTS:
            self._released.append(number)
            return _decode(bytearray(memoryview(mapping)[:size]))
        frame = np.frombuffer(mapping, np.uint8, size)
        weakref.finalize(frame, self._released.append, number).atexit = False
        return _decode(frame)


@dataclasses.dataclass
class Message:
    """A frame of `size` bytes, in a segment unless that is None."""

    size: int
    frame: bytearray | mmap.mmap
    segment: _Segment | None


@dataclasses.dataclass
class _Segment:
    number: int
    mapping: mmap.mmap
    descriptor: int | None

    @classmethod
    def new(cls, number: int, size: int) -> _Segment:
        descriptor = os.memfd_create("gluon.data", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
            mapping = mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(number, mapping, descriptor)

    def close_descriptor(self) -> None:
        """The receiver has one now; the mapping keeps its own."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def __del__(self):
        self.close_descriptor()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value):
        if isinstance(value, nd.NDArray) and value.stype == "default":
            return _rebuild, (type(value), np.ascontiguousarray(arrays.view(value)), dtype_name(value.dtype))
        return NotImplemented


def _rebuild(kind: type, array: np.ndarray, dtype: str) -> nd.NDArray:
    rebuilt = arrays.wrap(array, kind)
    # NumPy has no bfloat16; its values travel as float32.
    return rebuilt.astype(dtype) if dtype == "bfloat16" else rebuilt


def _decode(frame: bytearray | np.ndarray):
    view = memoryview(frame)
    (count,) = struct.unpack_from("<Q", view)
    lengths = struct.unpack_from(f"<{count}Q", view, 8)
    offsets, _ = _layout(lengths)
    head, *buffers = (view[offset : offset + length] for offset, length in zip(offsets, lengths))
    # Both ends are this program: the pickle never comes from a file or from the network.
    return pickle.loads(head, buffers=buffers)


def _layout(lengths: Sequence[int]) -> tuple[list[int], int]:
    """Where the parts of a frame begin, behind the table of their lengths, and its size."""
    offsets, end = [], 8 * (len(lengths) + 1)
    for length in lengths:
        begin = -(-end // ALIGNMENT) * ALIGNMENT
        offsets.append(begin)
        end = begin + length
    return offsets, end
