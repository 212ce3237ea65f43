"""Files of word vectors: text, word2vec's binary format, and the `.npz` of `TokenEmbedding.serialize`."""

from __future__ import annotations

import array
import os
import pickle
import warnings
import zipfile
from typing import NamedTuple

import numpy as np

from core.files.atomic import replacing

from ..base import InvalidArgument, MissingArgument

__all__ = ["Vectors", "read_text", "read_word2vec_binary", "read_zip", "write_zip"]


class Vectors(NamedTuple):
    """Tokens and their vectors, float32 of shape (tokens, dimensions)."""

    tokens: list[str]
    values: np.ndarray


def read_text(path, delimiter=" ", encoding="utf8", unknown_token=None) -> Vectors:
    """A token and its numbers per line, as GloVe, word2vec and fastText write them.

    A first line with one number is a header (unless it is that of `unknown_token`) and is skipped, as are lines that
    cannot be decoded and tokens that occurred before (with a warning).  InvalidArgument for lines of another length.
    """
    tokens, known, numbers, width = [], set(), array.array("f"), None
    with open(path, "rb") as file:
        for number, line in enumerate(file):
            try:
                token, *fields = line.decode(encoding).rstrip().split(delimiter)
            except UnicodeDecodeError:
                warnings.warn(f"{path}, line {number}: not {encoding}, skipped.")
                continue
            if not fields:
                raise InvalidArgument(f"{path}, line {number}: a token and its numbers expected, found {line[:50]!r}.")
            values = [float(f) for f in fields]
            if token in known:
                warnings.warn(f"{path}, line {number}: token {token!r} occurred before, skipped.")
            elif number == 0 and len(values) == 1 and token != unknown_token:
                warnings.warn(f"{path}: first line looks like a header, skipped.")
            elif width not in (None, len(values)):
                raise InvalidArgument(f"{path}, line {number}: {len(values)} numbers for {token!r}, {width} expected.")
            else:
                width = len(values)
                numbers.extend(values)
                tokens.append(token)
                known.add(token)
    if width is None:
        raise MissingArgument(f"{path} holds no vectors.")
    return Vectors(tokens, np.frombuffer(numbers, "float32").reshape(len(tokens), width))


def read_word2vec_binary(path, encoding="utf8") -> Vectors:
    """word2vec's binary format: `count width\\n`, then for each word its text, a space, float32 numbers.

    ValueError for a bad header, EOFError when the file is shorter than its header says.
    """
    with open(path, "rb") as file:
        header = file.readline(100)
        try:
            count, width = (int(x) for x in header.decode(encoding).split())
        except ValueError:
            raise ValueError(f"{path}: a first line with two numbers expected, found {header[:50]!r}.") from None
        if count < 0 or width < 1 or count * (4 * width + 1) > os.path.getsize(path):
            raise EOFError(f"{path} is too short for the {count} vectors of width {width} that its header announces.")
        tokens, known, rows = [], set(), []
        for number in range(count):
            token = bytearray()
            while (char := file.read(1)) != b" ":
                if not char:
                    raise EOFError(f"{path} ends after {number} of {count} vectors.")
                if char != b"\n":
                    token += char
            row = file.read(4 * width)
            if len(row) != 4 * width:
                raise EOFError(f"{path} ends within vector {number} of {count}.")
            try:
                token = token.decode(encoding)
            except UnicodeDecodeError:
                warnings.warn(f"{path}: word {number} is not {encoding}, skipped.")
                continue
            if token in known:
                warnings.warn(f"{path}: token {token!r} occurred before, skipped.")
                continue
            known.add(token)
            tokens.append(token)
            rows.append(row)
    return Vectors(tokens, np.frombuffer(b"".join(rows), "<f4").reshape(-1, width).astype("float32"))


def write_zip(path, vectors: Vectors, unknown_token, compress=True) -> None:
    """Writes `idx_to_token`, `idx_to_vec` and `unknown_token` (empty for none) to an `.npz` file.

    The token None, which an array of strings cannot hold, is in `nameless`, the list of its rows.
    """
    path = os.fspath(path)
    path = path if path.endswith(".npz") else path + ".npz"
    save = np.savez_compressed if compress else np.savez
    nameless = [i for i, token in enumerate(vectors.tokens) if token is None]
    with replacing(path) as file:
        save(
            file,
            unknown_token=np.array(unknown_token or ""),
            idx_to_token=np.array(vectors.tokens, dtype="U"),
            **({"nameless": np.array(nameless)} if nameless else {}),
            idx_to_vec=vectors.values,
        )


def read_zip(path) -> tuple[Vectors, str | None]:
    """Tokens and vectors of an `.npz`, and its unknown token.

    GluonNLP stored the tokens as pickled objects: those are read by an unpickler that builds
    lists of strings and nothing else.
    """
    with zipfile.ZipFile(path) as archive:
        unknown = _array(archive, "unknown_token")
        unknown = unknown.tobytes().decode() if unknown.dtype.kind == "S" else str(unknown)
        tokens = _array(archive, "idx_to_token").tolist()
        values = _array(archive, "idx_to_vec")
        for row in _array(archive, "nameless").tolist() if "nameless.npy" in archive.namelist() else ():
            tokens[row] = None
    if values.ndim != 2 or len(tokens) != len(values):
        raise ValueError(f"{path}: {len(tokens)} tokens, but vectors of shape {values.shape}.")
    return Vectors(tokens, values.astype("float32", copy=False)), unknown if unknown not in ("", "None") else None


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name + ".npy") as file:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(file)
        if dtype.hasobject:
            return np.array(_TokenUnpickler(file).load(), dtype=object).reshape(shape)
    with archive.open(name + ".npy") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


class _TokenUnpickler(pickle.Unpickler):
    """Allows what a pickled array of strings consists of."""

    def find_class(self, module, name):
        if name == "_reconstruct" and module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            return np.empty(0).__reduce__()[0]
        if module == "numpy" and name in ("ndarray", "dtype"):
            return getattr(np, name)
        raise pickle.UnpicklingError(f"A list of tokens does not need {module}.{name}.")
