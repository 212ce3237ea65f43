"""Objects from one process to another over a socket, their arrays in shared memory.

An object is pickled with its array buffers out of band. A frame is the pickle and the buffers, each at a multiple
of 64 bytes. A small frame travels inside the message; a larger one lies in a segment: a memory file without a name,
whose descriptor travels with the first message that uses it. An array made by `reserve` lies in a segment from the
start and is sent without a copy. The receiver's arrays are views of segments; when the last of them is gone, the
segment's number goes back with the receiver's next message and the sender uses it again (fresh memory costs more than
the copy). Nothing is left behind whatever dies: memory without a name goes away with its last user.
"""

from __future__ import annotations

import collections
import dataclasses
import io
import math
import mmap
import os
import pickle
import socket
import struct
import weakref
from collections.abc import Iterator, Sequence

import numpy as np

from core import ndarray as nd
from core.dtypes import dtype_name
from gluon.data import arrays

ALIGNMENT = 64
INLINE_BYTES = 1 << 14
MESSAGE_BYTES = 1 << 17
# Every segment holds a file descriptor. A receiver that keeps more than this many gets private copies instead.
SEGMENTS = 256
# The kernel passes up to 253 descriptors at once.
DESCRIPTORS = 253
# Size of the frame, count of segments (the first one holds the frame, unless its number is INLINE), count of
# released segments.
HEADER = struct.Struct("<QQQ")
# Number, size.
SEGMENT = struct.Struct("<qQ")
INLINE = -1

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
        self._reserved: dict[int, _Segment] = {}
        self._received: dict[int, mmap.mmap] = {}
        self._released: collections.deque[int] = collections.deque()

    def fileno(self) -> int:
        return self._socket.fileno()

    def settimeout(self, seconds: float) -> None:
        """How long `post` and `receive` may wait before they raise TimeoutError."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        self._socket.close()

    def reserve(self, shape: Sequence[int], dtype) -> np.ndarray:
        """An array of unset values that the next `prepare` need not copy, if it is part of the object."""
        dtype = np.dtype(dtype)
        size = math.prod(shape) * dtype.itemsize
        if size <= INLINE_BYTES:
            return np.empty(shape, dtype)
        segment = self._segment(size)
        memory = np.frombuffer(segment.mapping, np.uint8, size)
        segment.user = weakref.ref(memory)
        self._reserved[_address(memory)] = segment
        return memory.view(dtype).reshape(shape)

    def prepare(self, value) -> Message:
        """What `post` sends; raises what pickling raises."""
        buffers: list[pickle.PickleBuffer] = []
        head = io.BytesIO()
        _Pickler(head, protocol=5, buffer_callback=buffers.append).dump(value)
        parts, places, segments = [head.getbuffer()], [0], []
        for buffer in map(pickle.PickleBuffer.raw, buffers):
            segment = None
            if buffer.nbytes > INLINE_BYTES and len(segments) < DESCRIPTORS - 1:
                segment = self._reserved.pop(_address(buffer), None)
            if segment is not None:
                segments.append(segment)
            places.append(len(segments) if segment is not None else 0)
            parts.append(buffer)
        lengths = [part.nbytes for part in parts]
        offsets, size = _layout(lengths, places)
        first = self._segment(size) if size > INLINE_BYTES else None
        frame = bytearray(size) if first is None else first.mapping
        struct.pack_into(f"<{2 * len(parts) + 1}Q", frame, 0, len(parts), *lengths, *places)
        for part, place, offset in zip(parts, places, offsets):
            if place == 0:
                frame[offset : offset + part.nbytes] = part
        self._spare.extend(self._reserved.values())
        self._reserved.clear()
        return Message(size, frame, [first, *segments])

    def post(self, message: Message, flags: int = 0) -> None:
        """Sends what `prepare` made; it can be posted again after BlockingIOError or TimeoutError."""
        released = [self._released.popleft() for _ in range(len(self._released))]
        header = HEADER.pack(message.size, len(message.segments), len(released))
        header += b"".join(
            SEGMENT.pack(INLINE, 0) if segment is None else SEGMENT.pack(segment.number, len(segment.mapping))
            for segment in message.segments
        )
        header += struct.pack(f"<{len(released)}Q", *released)
        segments = [segment for segment in message.segments if segment is not None]
        fresh = [segment.descriptor for segment in segments if segment.descriptor is not None]
        pieces = [header] if message.segments[0] is not None else [header, message.frame]
        try:
            if fresh:
                socket.send_fds(self._socket, pieces, fresh, flags)
            else:
                self._socket.sendmsg(pieces, [], flags)
        except OSError:
            self._released.extendleft(released)
            raise
        for segment in segments:
            self._lent[segment.number] = segment
            segment.close_descriptor()

    def discard(self, message: Message) -> None:
        """Takes back what was prepared and not posted."""
        self._spare.extend(segment for segment in message.segments if segment is not None)

    def receive(self):
        """The next object.

        Raises EOFError when the other end is gone. Arrays in the object are its own: they may be written to.
        """
        try:
            message, descriptors, _, _ = socket.recv_fds(self._socket, MESSAGE_BYTES, DESCRIPTORS)
        except ConnectionResetError:
            message = b""
        if not message:
            raise EOFError("the other process is gone")
        size, count, released = HEADER.unpack_from(message)
        end = HEADER.size + SEGMENT.size * count
        segments = list(SEGMENT.iter_unpack(message[HEADER.size : end]))
        for number in struct.unpack_from(f"<{released}Q", message, end):
            self._spare.append(self._lent.pop(number))
        end += 8 * released
        fresh = iter(descriptors)
        frames = [
            bytearray(message[end:]) if number == INLINE else self._memory(number, capacity, fresh)
            for number, capacity in segments
        ]
        return _decode(frames)

    def _segment(self, size: int) -> _Segment:
        """A segment of at least `size` bytes that no one uses."""
        while self._spare:
            segment = self._spare.pop()
            # A batch that the sender keeps (in a cache, say) keeps its memory.
            if segment.user is None or segment.user() is None:
                if len(segment.mapping) < size:
                    segment.mapping.resize(size)
                return segment
        self._numbers += 1
        return _Segment.new(self._numbers, size)

    def _memory(self, number: int, capacity: int, fresh: Iterator[int]) -> np.ndarray | bytearray:
        """The bytes of a segment, which is released when the last view of them is gone."""
        if number not in self._received:
            descriptor = next(fresh)
            try:
                self._received[number] = mmap.mmap(descriptor, capacity)
            finally:
                os.close(descriptor)
            _mappings.add(self._received[number])
        mapping = self._received[number]
        if len(mapping) < capacity:
            mapping.resize(capacity)
        if len(_mappings) > SEGMENTS:
            self._released.append(number)
            return bytearray(memoryview(mapping))
        memory = np.frombuffer(mapping, np.uint8)
        weakref.finalize(memory, self._released.append, number).atexit = False
        return memory


@dataclasses.dataclass
class Message:
    """A frame of `size` bytes, in the first segment unless that is None, and the segments of reserved arrays."""

    size: int
    frame: bytearray | mmap.mmap
    segments: list[_Segment | None]


@dataclasses.dataclass
class _Segment:
    number: int
    mapping: mmap.mmap
    descriptor: int | None
    user: weakref.ref | None = None

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


def _decode(frames: list[bytearray | np.ndarray]):
    views = [memoryview(frame) for frame in frames]
    (count,) = struct.unpack_from("<Q", views[0])
    table = struct.unpack_from(f"<{2 * count}Q", views[0], 8)
    lengths, places = table[:count], table[count:]
    offsets, _ = _layout(lengths, places)
    head, *buffers = (views[p][begin : begin + length] for p, begin, length in zip(places, offsets, lengths))
    # Both ends are this program: the pickle never comes from a file or from the network.
    return pickle.loads(head, buffers=buffers)


def _layout(lengths: Sequence[int], places: Sequence[int]) -> tuple[list[int], int]:
    """Where the parts begin, in the frame behind its table (place 0) or alone in a segment; and the frame's size."""
    offsets, end = [], 8 * (2 * len(lengths) + 1)
    for length, place in zip(lengths, places):
        begin = 0 if place else -(-end // ALIGNMENT) * ALIGNMENT
        offsets.append(begin)
        if not place:
            end = begin + length
    return offsets, end


def _address(memory) -> int:
    """Where a buffer begins in this process."""
    return np.frombuffer(memory, np.uint8).__array_interface__["data"][0]
