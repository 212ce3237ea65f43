"""Data sets that read files of a common kind: lines, token sequences, separated values, arrays, JSON lines."""

from __future__ import annotations

import bisect
import collections
import itertools
import json
import os
import warnings

from core.files.numpy_files import NumpyArchive, read_npy
from core.files.text import reading
from gluon.data import ArrayDataset, Dataset, SimpleDataset

from .utils import Splitter, concat_sequence, line_splitter, whitespace_splitter

__all__ = ["TextLineDataset", "CorpusDataset", "ConcatDataset", "TSVDataset", "NumpyDataset"]


class ConcatDataset(Dataset):
    """Several data sets one after the other.

    >>> data = gluonnlp.data.ConcatDataset([gluon.data.SimpleDataset([1, 2]), gluon.data.SimpleDataset([3])])
    >>> len(data), data[2]
    (3, 3)
    """

    def __init__(self, datasets):
        self.datasets = datasets
        self.cum_sizes = list(itertools.accumulate((len(d) for d in datasets), initial=0))

    def __getitem__(self, i):
        if not -len(self) <= i < len(self):
            raise IndexError(f"Sample {i} of {len(self)}.")
        i %= len(self)
        which = bisect.bisect_right(self.cum_sizes, i) - 1
        return self.datasets[which][i - self.cum_sizes[which]]

    def __len__(self):
        return self.cum_sizes[-1]


class TextLineDataset(SimpleDataset):
    r"""The lines of a text file, without white space at their ends; empty lines stay.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "text.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("a b\nc\n")
    >>> list(gluonnlp.data.TextLineDataset(path))
    ['a b', 'c']
    """

    def __init__(self, filename, encoding="utf8"):
        with open(os.path.expanduser(filename), encoding=encoding) as file:
            super().__init__([line.strip() for line in file])


_AT_TABS = Splitter("\t")


class TSVDataset(SimpleDataset):
    r"""Samples of one or several text files, each a list of fields.

    sample_splitter cuts a file into samples, field_separator (None: not at all) a sample into fields.
    num_discard_samples: how many samples to skip at the beginning, once for all files.
    field_indices: which fields to keep; IndexError names the sample that lacks one, unless
        `allow_missing`, which skips such samples with a warning.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "text.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("a\tb\nc\td\n")
    >>> list(gluonnlp.data.TSVDataset(path))
    [['a', 'b'], ['c', 'd']]
    """

    def __init__(
        self,
        filename,
        encoding="utf8",
        sample_splitter=line_splitter,
        field_separator=_AT_TABS,
        num_discard_samples=0,
        field_indices=None,
        allow_missing=False,
    ):
        samples, left_to_discard = [], num_discard_samples
        for path, text in _texts(filename, encoding):
            found = sample_splitter(text)
            in_file = found[left_to_discard:]
            left_to_discard -= len(found) - len(in_file)
            if field_separator:
                in_file = [field_separator(sample) for sample in in_file]
                if field_indices:
                    in_file = _select(in_file, field_indices, allow_missing, path)
            samples += in_file
        super().__init__(samples)


def _select(rows, indices, allow_missing, path):
    complete = [row for row in rows if len(row) > max(indices)]
    if len(complete) < len(rows):
        if not allow_missing:
            short = next(row for row in rows if len(row) <= max(indices))
            raise IndexError(f"{path}: fields {indices} are wanted, but a sample has only {short}.")
        warnings.warn(f"{path}: {len(rows) - len(complete)} samples lack a field and are left out.", stacklevel=3)
    return [[row[i] for i in indices] for row in complete]


class CorpusDataset(SimpleDataset):
    r"""Token sequences of one or several text files.

    sample_splitter cuts a file into samples, `tokenizer` (None: not at all) a sample, stripped, into
    tokens.  `bos` and `eos` are put around the tokens of each sample.  `flatten` gives all tokens in
    one sequence, `skip_empty` leaves out empty samples.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "text.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("a b\nc\n")
    >>> list(gluonnlp.data.CorpusDataset(path, eos="<eos>"))
    [['a', 'b', '<eos>'], ['c', '<eos>']]
    """

    def __init__(
        self,
        filename,
        encoding="utf8",
        flatten=False,
        skip_empty=True,
        sample_splitter=line_splitter,
        tokenizer=whitespace_splitter,
        bos=None,
        eos=None,
    ):
        before, after = [bos] if bos else [], [eos] if eos else []
        samples = []
        for _, text in _texts(filename, encoding):
            in_file = [s for s in map(str.strip, sample_splitter(text)) if s or not skip_empty]
            if tokenizer:
                in_file = [[*before, *tokenizer(s), *after] for s in in_file]
                if flatten:
                    in_file = concat_sequence(in_file)
            samples += in_file
        super().__init__(samples)


class NumpyDataset(ArrayDataset):
    """The arrays of an `.npy` or `.npz` file; a sample has one row of each array, in the order of `keys`.

    allow_pickle: whether arrays of objects are read, which must be strings, numbers and arrays of numbers: a pickle is read as data.
    max_ratio: how many times its size an `.npz` may unpack to, by default 100 (`MXNET_MAX_UNPACK_RATIO`), 0 for no
    limit.  mmap_mode: None, or how an `.npy` file is mapped into memory ("r", "r+", "c").  MXNetError, which names the
    file, for damage.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "array.npy")
    >>> onp.save(path, onp.array([[1, 2], [3, 4]]))
    >>> gluonnlp.data.NumpyDataset(path)[1]
    array([3, 4])
    """

    def __init__(self, filename, allow_pickle=False, max_ratio=None, mmap_mode=None):
        if not filename.endswith((".npy", ".npz")):
            raise ValueError(f"An .npy or .npz file is expected, not {filename}.")
        if filename.endswith(".npy"):
            self._keys, arrays = None, [read_npy(filename, allow_pickle, mmap_mode)]
        else:
            content = NumpyArchive(filename, allow_pickle, max_ratio)
            self._keys = sorted(content.files)
            arrays = [content[key] for key in self._keys]
        super().__init__(*arrays)

    @property
    def keys(self):
        """The names of the arrays, sorted; None for an `.npy` file."""
        return self._keys

    def get_field(self, field):
        """The array called `field`."""
        return self._data[self._keys.index(field)]


class _JsonlDataset(SimpleDataset):
    """One JSON object per line, as ordered dictionaries."""

    def __init__(self, filename, encoding="utf8"):
        samples = []
        for path, text in _texts(filename, encoding):
            for number, line in enumerate(text.split("\n"), 1):
                if line:
                    with reading(path, f"line {number}"):
                        samples.append(json.loads(line, object_pairs_hook=collections.OrderedDict))
        super().__init__(samples)


def _texts(filename, encoding):
    """Path and content of one file, or of each of a list of files; open text files will do as well."""
    for path in filename if isinstance(filename, (tuple, list)) else [filename]:
        if hasattr(path, "read"):
            yield path, path.read()
            continue
        path = os.path.expanduser(path)
        with open(path, encoding=encoding) as file:
            yield path, file.read()
