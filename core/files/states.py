"""Optimizer states: what `Trainer.save_states` and `Updater.get_states` keep.

MXNet writes them as Python pickles that name its classes; these are read as data (`core.files.pickles`). This
project writes `.safetensors`: every state array is a tensor, and the metadata hold the nesting of the states and the
optimizer's plain attributes as JSON.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping

import numpy as np

from core.base import MXNetError
from core.files.atomic import write_bytes
from core.files.checksums import crc32, trailer, trailer_in
from core.files.params import AUXILIARY, Record, read_record, write_record
from core.files.pickle_writer import dump_pickle
from core.files.pickles import Instance, load_pickles
from core.files.reader import Reader
from core.files.safetensors import read_safetensors, write_safetensors

FORMAT = "optimizer-states-1"
INERT = r"(mxnet\.(ndarray|numpy|optimizer|lr_scheduler)|gluonnlp\.optimizer)(\.\w+)*"
# Attributes that every optimizer of MXNet has and that say nothing about a run.
OPTIMIZER_DEFAULTS = {"lr_scheduler": None, "idx2name": {}, "sym_info": (), "allow_np_array": False}
ARRAY_CLASSES = {
    "default": "mxnet.ndarray.ndarray.NDArray",
    "row_sparse": "mxnet.ndarray.sparse.RowSparseNDArray",
    "csr": "mxnet.ndarray.sparse.CSRNDArray",
}
# How many parameters MXNet's optimizers update in one call; 0 for the others.
AGGREGATED = {"SGD": 4, "ccSGD": 4, "LARS": 4, "LAMB": 45}


def read_states(path: str | os.PathLike) -> tuple[dict, Instance | None]:
    """The states by parameter index and the optimizer, if the file holds it, of a file of ours or of MXNet.

    A state is None, a `Record`, or a tuple or list of states. The optimizer is an `Instance`: the qualified name of
    its class and its attributes (numbers, strings, containers, `Instance`s of schedulers). MXNetError names the file
    and the offset of damage, and any class that has no business in such a file.
    """
    with Reader.open(path) as reader:
        data = reader.bytes(reader.size)
    if data[8:9] == b"{":  # the header of .safetensors; no pickle has it there
        return _from_safetensors(path)
    return load_states(data, os.fspath(path))


def load_states(data: bytes, name: str = "<buffer>") -> tuple[dict, Instance | None]:
    """The same from the bytes of a pickle of MXNet."""
    (content,), end = load_pickles(data, 1, name, inert=INERT)
    if end != len(data) and trailer_in(data[end:]) != crc32(data[:end]):
        is_checksum = trailer_in(data[end:]) is not None
        what = "damaged: the checksum is not that of the content" if is_checksum else "bytes behind the end"
        raise Reader(io.BytesIO(), len(data), name).error(what, end)
    states, optimizer = content if isinstance(content, tuple) and len(content) == 2 else (content, None)
    if not isinstance(states, dict) or not isinstance(optimizer, Instance | None):
        raise MXNetError(
            f"{name!r} holds no optimizer states: states by index are expected, got {type(states).__name__}"
        )
    return {index: _unpickled(state, name) for index, state in states.items()}, optimizer


def write_states(path: str | os.PathLike, states: Mapping, optimizer: Instance | None = None) -> None:
    """Writes states by index (nested tuples and lists of records, NumPy arrays, None) and the optimizer, atomically.

    Raises MXNetError for an attribute that is not plain data.
    """
    tensors: dict[str, Record] = {}

    def flat(value, place: str):
        if isinstance(value, (tuple, list)):
            return {type(value).__name__: [flat(part, f"{place}.{i}") for i, part in enumerate(value)]}
        if value is None or isinstance(value, (bool, int, float, str)):
            return {"plain": value}
        record = Record.of(value)
        if record.stype == "default":
            tensors[place] = record
            return {"tensor": place}
        parts = [f"{place}.{part}" for part in ("data", *AUXILIARY[record.stype])]
        tensors.update(zip(parts, (Record.of(record.data, record.dtype), *map(Record.of, record.aux))))
        return {"sparse": [record.stype, list(record.shape), *parts]}

    nesting = [[index, flat(state, str(index))] for index, state in states.items()]
    metadata = {
        "format": FORMAT,
        "states": json.dumps(nesting),
        "optimizer": json.dumps(_to_json(optimizer, "optimizer")),
    }
    write_safetensors(path, tensors, metadata)


def write_mxnet_states(path: str | os.PathLike, states: Mapping, optimizer: Instance | None = None) -> None:
    """Writes states and the optimizer as the pickle that MXNet's `Trainer.load_states` reads, atomically.

    An optimizer or schedule without a module gets that of MXNet's. Raises MXNetError for what is not plain data.
    """
    content = {index: _pickled(state) for index, state in states.items()}
    data = dump_pickle(content if optimizer is None else (content, _named_by_mxnet(optimizer)))
    write_bytes(path, data + trailer(crc32(data)))  # what follows a pickle is passed over


def _pickled(state):
    """A state with records as the pickled arrays of MXNet."""
    if isinstance(state, (tuple, list)):
        return type(state)(_pickled(part) for part in state)
    if state is None or isinstance(state, (bool, int, float, str)):
        return state
    file, record = io.BytesIO(), Record.of(state)
    write_record(file, record)
    return Instance(ARRAY_CLASSES[record.stype], (None,), {"handle": bytearray(file.getvalue())})


def _named_by_mxnet(thing: Instance) -> Instance:
    """The same object under the name, and with the attributes, that MXNet expects."""
    attributes = dict(thing.attributes)
    for name, value in attributes.items():
        if isinstance(value, Instance):
            attributes[name] = _named_by_mxnet(value)
    if "_all_index_update_counts" in attributes:
        aggregated = AGGREGATED.get(thing.name.rpartition(".")[2], 0)
        attributes = {**OPTIMIZER_DEFAULTS, "aggregate_num": aggregated, **attributes}
        attributes["_index_update_count"] = attributes["_all_index_update_counts"].setdefault(0, {})
    module = "mxnet.optimizer.optimizer" if "_all_index_update_counts" in attributes else "mxnet.lr_scheduler"
    return Instance(thing.name if "." in thing.name else f"{module}.{thing.name}", thing.args, attributes)


def _from_safetensors(path: str | os.PathLike) -> tuple[dict, Instance | None]:
    tensors, metadata = read_safetensors(path)
    if metadata.get("format") != FORMAT:
        raise MXNetError(f"{os.fspath(path)!r} holds tensors, but no optimizer states")

    def nested(node):
        ((kind, value),) = node.items()
        if kind in ("tuple", "list"):
            return (tuple if kind == "tuple" else list)(map(nested, value))
        if kind == "sparse":
            stype, shape, data, *aux = value
            return Record(
                tensors[data].dtype, tuple(shape), tensors[data].data, stype, tuple(tensors[name].data for name in aux)
            )
        return tensors[value] if kind == "tensor" else value

    try:
        states = {index: nested(node) for index, node in json.loads(metadata["states"])}
        return states, _from_json(json.loads(metadata["optimizer"]))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise MXNetError(
            f"{os.fspath(path)!r}: damaged description of the states ({type(error).__name__}: {error})"
        ) from error


def _unpickled(state, name: str):
    """A state with the pickled arrays of MXNet, which hold `.params` bytes, as records."""
    if isinstance(state, (tuple, list)):
        return type(state)(_unpickled(part, name) for part in state)
    if isinstance(state, Instance):
        handle = state.attributes.get("handle")
        if isinstance(handle, (bytes, bytearray)):
            return read_record(Reader.over(handle, f"{name}, an array"))
        raise MXNetError(f"{name!r}: an object of {state.name!r} where an array belongs")
    if isinstance(state, np.ndarray):
        return Record.of(state)
    if state is None or isinstance(state, (bool, int, float, str)):
        return state
    raise MXNetError(f"{name!r}: a {type(state).__name__} where an optimizer state belongs")


def _to_json(value, place: str):
    """JSON for plain data; what JSON has no word for is wrapped as `{kind: ...}`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list):
        return [_to_json(part, f"{place}[{i}]") for i, part in enumerate(value)]
    if isinstance(value, tuple):
        return {"tuple": [_to_json(part, f"{place}[{i}]") for i, part in enumerate(value)]}
    if isinstance(value, Mapping):
        return {"map": [[_to_json(key, place), _to_json(part, f"{place}[{key!r}]")] for key, part in value.items()]}
    if isinstance(value, Instance):
        return {"object": value.name, "attributes": _to_json(value.attributes, place)}
    raise MXNetError(
        f"{place} is a {type(value).__name__}, which cannot be saved; accepted are numbers, strings, containers"
    )


def _from_json(value):
    if isinstance(value, list):
        return [_from_json(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "object" in value:
        name, attributes = value["object"], _from_json(value["attributes"])
        if not isinstance(name, str) or not isinstance(attributes, dict):
            raise TypeError("an object without a name, or without attributes")
        return Instance(name, (), attributes)
    if "tuple" in value:
        return tuple(_from_json(part) for part in value["tuple"])
    return {_from_json(key): _from_json(part) for key, part in value["map"]}
