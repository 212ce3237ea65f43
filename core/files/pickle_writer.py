"""Python pickles written as data, for programs of others: classes are named, never imported."""

from __future__ import annotations

import io
import struct

from core.base import MXNetError
from core.files.pickles import Instance

PROTOCOL = b"\x80\x04"
CONSTANTS = {None: b"N", True: b"\x88", False: b"\x89"}


def dump_pickle(value) -> bytes:
    """The pickle of plain containers, numbers, strings, bytes and `Instance`s (protocol 4).

    A dictionary that occurs several times stays one object. Raises MXNetError for anything else.
    """
    writer = _Writer()
    writer.file.write(PROTOCOL)
    writer.write(value)
    return writer.file.getvalue() + b"."


class _Writer:
    """One method for each kind of value."""

    def __init__(self):
        self.file, self.memo = io.BytesIO(), {}

    def write(self, value) -> None:
        out = self.file.write
        if value is None or isinstance(value, bool):
            out(CONSTANTS[value])
        elif isinstance(value, int):
            data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            out(b"\x8b" + struct.pack("<i", len(data)) + data)
        elif isinstance(value, float):
            out(b"G" + struct.pack(">d", value))
        elif isinstance(value, str):
            data = value.encode("utf-8", "surrogatepass")
            out(b"X" + struct.pack("<I", len(data)) + data)
        elif isinstance(value, bytes):
            out(b"\x8e" + struct.pack("<Q", len(value)) + value)
        elif isinstance(value, bytearray):
            self._call("builtins.bytearray", (bytes(value),))
        elif isinstance(value, (list, tuple)):
            self._items(value, b"l" if isinstance(value, list) else b"t")
        elif isinstance(value, dict):
            self._dictionary(value)
        elif isinstance(value, Instance):
            self._instance(value)
        else:
            raise MXNetError(f"a {type(value).__name__} cannot be written into a pickle; accepted are plain data")

    def _items(self, items, end: bytes) -> None:
        self.file.write(b"(")
        for item in items:
            self.write(item)
        self.file.write(end)

    def _dictionary(self, value: dict) -> None:
        known = self.memo.get(id(value))
        if known is not None:
            self.file.write(b"j" + struct.pack("<I", known[0]))
            return
        self.memo[id(value)] = (len(self.memo), value)  # held, so that the id is not given to another one
        self.file.write(b"}\x94")
        self._items([part for item in value.items() for part in item], b"u")

    def _instance(self, value: Instance) -> None:
        self._call(value.name, value.args)
        if value.state is not None:
            self.write(value.state)
            self.file.write(b"b")

    def _call(self, name: str, arguments: tuple) -> None:
        module, _, attribute = name.rpartition(".")
        self.file.write(b"c" + f"{module}\n{attribute}\n".encode())
        self.write(arguments)
        self.file.write(b"R")
