"""Files of word vectors: text, word2vec's binary format, and the `.npz` of `TokenEmbedding.serialize`."""

from __future__ import annotations

import array
import os
import warnings
from typing import NamedTuple

import numpy as np

from core.files.atomic import replacing
from core.files.numpy_files import NumpyArchive
from core.files.reader import DamagedFile

from ..base import InvalidArgument, MissingArgument

__all__ = ["DamagedVectors", "Vectors", "read_text", "read_word2vec_binary", "read_zip", "write_zip"]


class DamagedVectors(DamagedFile, InvalidArgument, MissingArgument, EOFError):
    """A file of vectors that is damaged, as each error that programs for GluonNLP expect."""


class Vectors(NamedTuple):
    """Tokens and their vectors, float32 of shape (tokens, dimensions)."""

    tokens: list[str]
    values: np.ndarray


def read_text(path, delimiter=" ", encoding="utf8", unknown_token=None) -> Vectors:
    """A token and its numbers per line, as GloVe, word2vec and fastText write them.

    A first line with one number is a header (unless it is that of `unknown_token`) and is skipped, as are lines that
    cannot be decoded and tokens that occurred before (with a warning).  DamagedVectors for lines of another length or without numbers.
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
                raise DamagedVectors(f"{path}, line {number}: a token and its numbers expected, found {line[:50]!r}.")
            try:
                values = array.array("f", map(float, fields))
            except (ValueError, OverflowError) as error:
                raise DamagedVectors(f"{path}, line {number}: the vector of {token[:50]!r}: {error}.") from None
            if token in known:
                warnings.warn(f"{path}, line {number}: token {token!r} occurred before, skipped.")
            elif number == 0 and len(values) == 1 and token != unknown_token:
                warnings.warn(f"{path}: first line looks like a header, skipped.")
            elif width not in (None, len(values)):
                raise DamagedVectors(
                    f"{path}, line {number}: {len(values)} numbers for {token[:50]!r}, {width} expected."
                )
            else:
                width = len(values)
                numbers.extend(values)
                tokens.append(token)
                known.add(token)
    if width is None:
        raise DamagedVectors(f"{path} holds no vectors.")
    return Vectors(tokens, np.frombuffer(numbers, "float32").reshape(len(tokens), width))


def read_word2vec_binary(path, encoding="utf8") -> Vectors:
    """word2vec's binary format: `count width\\n`, then for each word its text, a space, float32 numbers.

    DamagedVectors for a bad header, and when the file is shorter than its header says.
    """
    with open(path, "rb") as file:
        header = file.readline(100)
        try:
            count, width = (int(x) for x in header.decode(encoding).split())
        except ValueError:
            raise DamagedVectors(f"{path}: a first line with two numbers expected, found {header[:50]!r}.") from None
        if count < 0 or width < 1 or count * (4 * width + 1) > os.path.getsize(path):
            raise DamagedVectors(
                f"{path} is too short for the {count} vectors of width {width} that its header announces."
            )
        tokens, known, rows = [], set(), []
        for number in range(count):
            token = bytearray()
            while (char := file.read(1)) != b" ":
                if not char:
                    raise DamagedVectors(f"{path} ends after {number} of {count} vectors.")
                if char != b"\n":
                    token += char
            row = file.read(4 * width)
            if len(row) != 4 * width:
                raise DamagedVectors(f"{path} ends within vector {number} of {count}.")
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


def read_zip(path, max_ratio=None) -> tuple[Vectors, str | None]:
    """Tokens and vectors of an `.npz`, and its unknown token.

    GluonNLP stored the tokens as pickled objects: those are read as data. max_ratio: how many times its size the file
    may unpack to, by default 100 (`MXNET_MAX_UNPACK_RATIO`), 0 for no limit. DamagedFile for anything else.
    """
    archive = NumpyArchive(path, objects=True, max_ratio=max_ratio)
    if missing := [name for name in ("unknown_token", "idx_to_token", "idx_to_vec") if name not in archive]:
        raise DamagedFile(f"{os.fspath(path)!r} holds no token vectors: it has no array {missing[0]!r}")
    unknown, tokens, values = archive["unknown_token"], archive["idx_to_token"], archive["idx_to_vec"]
    unknown = unknown.tobytes().decode("utf-8", "replace") if unknown.dtype.kind == "S" else str(unknown)
    if tokens.ndim != 1 or values.shape != (len(tokens), *values.shape[1:2]) or values.dtype.kind not in "fiu":
        shapes = f"tokens of shape {tokens.shape}, but vectors of shape {values.shape} and dtype {values.dtype}"
        raise DamagedFile(f"{os.fspath(path)!r}: {shapes}")
    tokens = tokens.tolist()
    for row in archive["nameless"].reshape(-1).tolist() if "nameless" in archive else ():
        if type(row) is not int or not 0 <= row < len(tokens):
            raise DamagedFile(f"{os.fspath(path)!r}: the token {row!r} of {len(tokens)} has no name")
        tokens[row] = None
    if not all(token is None or isinstance(token, str) for token in tokens):
        raise DamagedFile(f"{os.fspath(path)!r}: tokens that are not text")
    return Vectors(tokens, values.astype("float32", copy=False)), unknown if unknown not in ("", "None") else None
