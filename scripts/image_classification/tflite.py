"""The weights of quantized .tflite files, read without any package.

A FlatBuffer is a tree of tables: a table begins with the distance back to its list of field offsets, a vector with its
length (https://flatbuffers.dev/internals, tensorflow/lite/schema/schema.fbs).
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from core.base import MXNetError

TYPES = {3: "uint8", 2: "int32"}


def weights_of(path: str | Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """(weight, bias) of each convolution in order, float32: scale * (q - zero point). MXNetError for other files."""
    data = Path(path).read_bytes()
    if data[4:8] != b"TFL3":
        raise MXNetError(f"{path} is no .tflite file")
    try:
        return _weights(_Table(data, _u32(data, 0)))
    except (struct.error, IndexError, ValueError) as error:
        raise MXNetError(f"{path} is damaged: {error}") from error


def _weights(model):
    (graph,), buffers = model.tables(2), model.tables(4)
    tensors, found = graph.tables(0), []
    for operator in graph.tables(3):
        inputs = operator.numbers(1, "<i4")
        if len(inputs) == 3:
            found.append(tuple(_value(tensors[i], buffers) for i in inputs[1:]))
    return found


def _value(tensor, buffers):
    kind = TYPES[tensor.number(1, "<b")]
    raw = np.frombuffer(buffers[tensor.number(2, "<I")].numbers(0, "u1").tobytes(), kind).reshape(
        tensor.numbers(0, "<i4")
    )
    ranges = tensor.table(4)
    (scale,), zero = ranges.numbers(2, "<f4"), ranges.numbers(3, "<i8")
    return ((raw.astype("float64") - (zero[0] if len(zero) else 0)) * scale).astype("float32")


class _Table:
    """A table at a place of the data; fields are asked for by number."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.fields = at - struct.unpack_from("<i", data, at)[0]

    def _place(self, field):
        size = struct.unpack_from("<H", self.data, self.fields)[0]
        if 4 + 2 * field >= size:
            return 0
        offset = struct.unpack_from("<H", self.data, self.fields + 4 + 2 * field)[0]
        return self.at + offset if offset else 0

    def number(self, field, code):
        place = self._place(field)
        return struct.unpack_from(code, self.data, place)[0] if place else 0

    def table(self, field):
        place = self._place(field)
        return _Table(self.data, place + _u32(self.data, place))

    def tables(self, field):
        place = self._place(field)
        begin = place + _u32(self.data, place)
        places = [begin + 4 + 4 * i for i in range(_u32(self.data, begin))]
        return [_Table(self.data, at + _u32(self.data, at)) for at in places]

    def numbers(self, field, code):
        place = self._place(field)
        if not place:
            return np.empty(0, code)
        begin = place + _u32(self.data, place)
        return np.frombuffer(self.data, code, _u32(self.data, begin), begin + 4)


def _u32(data, at):
    return struct.unpack_from("<I", data, at)[0]
