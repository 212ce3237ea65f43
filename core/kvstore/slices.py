"""Checkpoints of which every process writes and reads its own part: for arrays that no process holds whole.

A folder with one `.safetensors` file a process, of flat parts, and `index.json`: for every array its dtype and shape, and in
which files which of its elements lie. Any number of processes reads it again, each the elements that it wants. (The format
of `torch.distributed.checkpoint` has its index in a pickle, and loading a file never executes it here.)

    save("epoch-0001", {"weight": Slice((1000, 64), begin, mine)})     # mine: elements begin ... of the flat array
    mine = load("epoch-0001", {"weight": part((1000, 64))})["weight"]  # with another number of processes
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from core.base import MXNetError
from core.files.atomic import write_bytes
from core.files.params import Record
from core.files.safetensors import read_safetensors, write_safetensors
from core.kernels import communication

INDEX = "index.json"


@dataclasses.dataclass
class Slice:
    """Elements `begin` to `begin + len(values)` of an array of a shape, in the order of its axes; values: a flat array."""

    shape: tuple[int, ...]
    begin: int
    values: np.ndarray


def part(shape: tuple[int, ...]) -> tuple[int, int]:
    """(begin, end) of the elements of an array that this process holds where all hold parts of one size."""
    count, rank, size = math.prod(shape), communication.rank(), communication.size()
    room = -(-count // size)
    return min(rank * room, count), min((rank + 1) * room, count)


def save(folder: str | os.PathLike, slices: Mapping[str, Slice]) -> None:
    """Writes the slices of all processes; every process calls it, with the same names in any order.

    The index appears last: a folder with one is whole. MXNetError on every process where elements are missing or given
    twice.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    communication.start()
    communication.barrier(f"the folder of a checkpoint, {folder.name}")
    rank, size = communication.rank(), communication.size()
    file = f"slice-{rank:04d}-of-{size:04d}.safetensors"
    write_safetensors(folder / file, {name: s.values.reshape(-1) for name, s in slices.items()}, {"format": "slices"})
    mine = {
        name: [Record.of(s.values).dtype, list(s.shape), file, s.begin, s.values.size] for name, s in slices.items()
    }
    tables = [json.loads(text) for text in communication.texts("the slices of a checkpoint", json.dumps(mine))]
    index: dict = {}
    for table in tables:
        for name, (dtype, shape, where, begin, count) in table.items():
            entry = index.setdefault(name, {"dtype": dtype, "shape": shape, "slices": []})
            if (entry["dtype"], entry["shape"]) != (dtype, shape):
                raise MXNetError(
                    f"{name!r} is {entry['dtype']} {entry['shape']} in one process, {dtype} {shape} in another"
                )
            entry["slices"].append([where, begin, count])
    for name, entry in index.items():
        _check(name, entry, folder)
    if rank == 0:
        write_bytes(folder / INDEX, json.dumps(index).encode())
    communication.barrier(f"the index of a checkpoint, {folder.name}")


def load(folder: str | os.PathLike, wanted: Mapping[str, tuple[int, int]]) -> dict[str, np.ndarray]:
    """The elements (begin, end) of arrays by name, flat; reads one file at a time, and only those that hold some of them.

    MXNetError for a name that is not there, elements beyond an array's, and damaged files.
    """
    folder = Path(folder)
    index = _read_index(folder)
    found, files = {}, {}
    for name, (begin, end) in wanted.items():
        if name not in index:
            raise MXNetError(f"{folder} has no array {name!r}; it has {', '.join(sorted(index))}")
        entry = index[name]
        if not 0 <= begin <= end <= math.prod(entry["shape"]):
            raise MXNetError(f"elements {begin} to {end} of {name!r} in {folder}, which has the shape {entry['shape']}")
        found[name] = None
        for file, first, count in entry["slices"]:
            low, high = max(begin, first), min(end, first + count)
            if low < high:
                files.setdefault(file, []).append((name, low, high, first, count))
    for file, rows in files.items():
        records, _ = read_safetensors(folder / file)
        for name, low, high, first, count in rows:
            values = records[name].data if name in records else None
            if values is None or values.shape != (count,):
                raise MXNetError(f"{folder / file} does not hold the {count} elements of {name!r} that the index names")
            begin, end = wanted[name]
            if found[name] is None:
                found[name] = np.empty(end - begin, values.dtype)
            found[name][low - begin : high - begin] = values[low - first : high - first]
    return {name: np.empty(0, np.float32) if values is None else values for name, values in found.items()}


def shapes(folder: str | os.PathLike) -> dict[str, tuple[int, ...]]:
    """The shapes of all arrays of a checkpoint, by name."""
    return {name: tuple(entry["shape"]) for name, entry in _read_index(Path(folder)).items()}


def _read_index(folder: Path) -> dict:
    path = folder / INDEX
    try:
        index = json.loads(path.read_bytes())
        for name, entry in index.items():
            _check(name, entry, folder)
    except FileNotFoundError:
        raise MXNetError(f"{folder} is no whole checkpoint: it has no {INDEX}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise MXNetError(f"{path} is damaged: {type(error).__name__}: {error}") from error
    return index


def _check(name: str, entry: dict, folder: Path) -> None:
    """MXNetError unless the slices of an array are all of its elements, each once, in files of the folder."""
    at = 0
    for file, begin, count in sorted(entry["slices"], key=lambda row: row[1:]):
        if os.path.basename(file) != file or not file.startswith("slice-"):
            raise MXNetError(f"{folder}: {name!r} is said to lie in {file!r}, which is no file of slices")
        if begin != at or count < 0:
            raise MXNetError(f"{folder}: the slices of {name!r} hold element {at} not once; one begins at {begin}")
        at += count
    if at != math.prod(entry["shape"]):
        raise MXNetError(f"{folder}: the slices of {name!r} of shape {entry['shape']} hold {at} elements")
