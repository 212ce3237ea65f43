"""Streams of samples from many files, of which each process reads its own, and which resume where they were.

    stream = Stream(glob("train-*.tar"), seed=1, buffer=1000)
    stream.load_state(state)                # of a checkpoint, also one of another number of processes
    for sample in stream:                   # the rest of the epoch, of this process
        ...
    state = stream.state()                  # every process asks for it; the same on all, and plain JSON

Files are drawn in an order of each epoch and dealt to processes and workers. In an epoch every sample is seen once,
also where processes are killed and others, more or fewer, go on from a checkpoint. Processes may get different numbers
of samples: see `Trainer.join`.
"""

from __future__ import annotations

import csv
import json
import os
import random
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence

from core.base import MXNetError
from core.files.reader import DamagedFile
from core.files.text import reading
from core.kernels import communication
from core.recordio import MXRecordIO

__all__ = ["READERS", "Mixture", "Stream"]

LARGEST = 2**31  # bytes of one file in an archive


def read_records(path: str) -> Iterator[bytes]:
    """The records of a RecordIO file."""
    file = MXRecordIO(path, "r")
    try:
        while (record := file.read()) is not None:
            yield record
    finally:
        file.close()


def read_json_lines(path: str) -> Iterator:
    """The values of a file with one JSON text a line; empty lines are passed over."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                with reading(path, f"line {number}"):
                    value = json.loads(line)
                yield value


def read_csv(path: str) -> Iterator[dict[str, str]]:
    """The rows of a CSV file as dictionaries by the names in its first line."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, strict=True)
        with reading(path, "the first line"):
            names = next(rows, [])
        while True:
            with reading(path, f"line {rows.line_num + 1}"):
                row = next(rows, None)
            if row is None:
                return
            if len(row) != len(names):
                raise DamagedFile(f"{path!r}: line {rows.line_num} has {len(row)} columns, the first line {len(names)}")
            yield dict(zip(names, row))


def read_parquet(path: str) -> Iterator[dict]:
    """The rows of a Parquet file as dictionaries, a batch of them in memory at a time; needs pyarrow."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MXNetError("reading Parquet files needs pyarrow: pip install pyarrow") from error
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches():
            yield from batch.to_pylist()


def read_tar(path: str) -> Iterator[dict[str, bytes]]:
    """The samples of a WebDataset archive: the contents of files of one name by their endings, and "__key__", the name."""
    sample: dict = {}
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                if not member.isfile():
                    continue
                folder, name = os.path.split(member.name)
                stem, _, ending = name.partition(".")
                key = os.path.join(folder, stem)
                if sample and sample["__key__"] != key:
                    yield sample
                    sample = {}
                sample["__key__"] = key
                if member.size > LARGEST:
                    raise DamagedFile(
                        f"{path!r}: {member.name!r} tells {member.size} bytes; {LARGEST} are read at most"
                    )
                sample[ending] = archive.extractfile(member).read()
    except tarfile.TarError as error:
        raise DamagedFile(f"{path!r} is damaged: {error}") from error
    if sample:
        yield sample


# How files are read, by their endings.
READERS: dict[str, Callable[[str], Iterator]] = {
    ".rec": read_records,
    ".jsonl": read_json_lines,
    ".csv": read_csv,
    ".parquet": read_parquet,
    ".tar": read_tar,
    ".tar.gz": read_tar,
}


class Stream:
    """The samples of files, epoch after epoch: `for sample in stream` gives (the rest of) one.

    files: paths, of which no two are the same; the same on all processes. reader: reads one, by default by its ending
    (`READERS`). shuffle: whether files come in an order of each epoch. buffer: samples of which the next one is drawn;
    1 for the order of the files. workers, worker: how many streams a process has, and which this one is.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.jsonl")
    >>> with open(path, "w") as file:
    ...     _ = file.write('{"n": 1}\\n{"n": 2}\\n{"n": 3}\\n')
    >>> stream = gluon.data.Stream([path])
    >>> samples = iter(stream)
    >>> next(samples)
    {'n': 1}
    >>> list(samples)
    [{'n': 2}, {'n': 3}]
    """

    def __init__(
        self,
        files: Iterable[str | os.PathLike],
        *,
        reader: Callable[[str], Iterator] | None = None,
        shuffle: bool = True,
        buffer: int = 1,
        seed: int = 0,
        workers: int = 1,
        worker: int = 0,
    ):
        self.files = [os.fspath(file) for file in files]
        if not self.files or len(set(self.files)) < len(self.files):
            raise ValueError(f"a stream reads one file or more, each once, got {self.files}")
        if buffer < 1:
            raise ValueError(f"buffer is 1 or more samples, got {buffer}")
        if not 0 <= worker < workers:
            raise ValueError(f"worker is one of 0 to {workers - 1}, got {worker}")
        self._reader, self._shuffle, self._buffer, self._seed = reader, shuffle, buffer, seed
        self._part = communication.rank() * workers + worker, communication.size() * workers
        # Of files of the epoch: [samples before which all are seen or waiting, those that wait, whether it ends there].
        # As they were when files were dealt, when this pass over them began, and now, of those that this pass came to.
        self._dealt: dict[str, list] = {}
        self._known: dict[str, list] = {}
        self._progress: dict[str, list] = {}
        self._begin(0, {})

    def __iter__(self) -> Iterator:
        if self._ended:
            self._begin(self.epoch + 1, {})
        if self._mine is None:
            self._mine = self._deal()
        self._known |= self._progress
        self._progress = {}
        draws = random.Random(f"{self._seed} {self.epoch} {self._part} {sorted(self._known)}")
        waiting: list[tuple] = []
        for path, number, sample in self._samples():
            waiting.append((path, number, sample))
            if len(waiting) == self._buffer:
                yield self._emit(waiting, draws)
        while waiting:
            yield self._emit(waiting, draws)
        self._ended = True

    @property
    def next_epoch(self) -> int:
        """The epoch of the next sample."""
        return self.epoch + self._ended

    @property
    def seen(self) -> int:
        """How many samples of this epoch were read, by this process and before it began."""
        return sum(progress[0] for progress in (self._known | self._progress).values())

    def state(self) -> dict:
        """Where all processes are: every one calls it, between two samples; plain JSON.

        MXNetError where some have begun the next epoch, and others are not through with this one.
        """
        mine = {"epoch": self.epoch, "ended": self._ended, "files": self._known | self._progress}
        tables = [mine]
        if communication.size() > 1:
            communication.start()
            tables = [json.loads(text) for text in communication.texts("positions of a stream", json.dumps(mine))]
        if all(table["ended"] for table in tables):
            return {"epoch": self.epoch + 1, "files": {}}
        if len({table["epoch"] for table in tables}) > 1:
            raise MXNetError(f"processes are in different epochs of a stream, {[table['epoch'] for table in tables]}")
        files: dict[str, list] = {}
        for table in tables:
            for path, progress in table["files"].items():
                if progress != self._dealt.get(path) or path not in files:
                    files[path] = progress
        return {"epoch": self.epoch, "files": files}

    def load_state(self, state: dict) -> None:
        """Goes on from a state, which streams over the same files in any number of processes gave."""
        strange = sorted(set(state["files"]) - set(self.files))
        if strange:
            raise MXNetError(f"the state is that of a stream with other files, such as {strange[0]!r}")
        self._begin(state["epoch"], state["files"])

    def _begin(self, epoch: int, files: dict) -> None:
        self.epoch, self._ended, self._mine = epoch, False, None
        self._dealt, self._known, self._progress = dict(files), dict(files), {}

    def _deal(self) -> list[str]:
        """The files that this process has to go through."""
        order = list(self.files)
        if self._shuffle:
            random.Random(f"{self._seed} {self.epoch}").shuffle(order)
        left = [path for path in order if not _is_over(self._known.get(path))]
        index, count = self._part
        return left[index::count]

    def _samples(self) -> Iterator[tuple]:
        """(file, number in it, sample) of what this process has to read."""
        for path in self._mine:
            begin, again, _ = self._known.get(path, [0, [], False])
            progress = self._progress[path] = [begin, list(again), False]
            wanted = set(again)
            for number, sample in enumerate(self._open(path)):
                if number >= begin or number in wanted:
                    if number >= begin:
                        progress[0] = number + 1
                        progress[1].append(number)
                    yield path, number, sample
            progress[2] = True

    def _emit(self, waiting: list[tuple], draws: random.Random):
        k = draws.randrange(len(waiting)) if self._buffer > 1 else 0
        waiting[k], waiting[-1] = waiting[-1], waiting[k]
        path, number, sample = waiting.pop()
        self._progress[path][1].remove(number)
        return sample

    def _open(self, path: str) -> Iterator:
        if self._reader is not None:
            return self._reader(path)
        for ending in sorted(READERS, key=len, reverse=True):
            if path.endswith(ending):
                return READERS[ending](path)
        raise MXNetError(f"{path!r} ends in none of {', '.join(READERS)}: give a reader")


class Mixture:
    """Streams mixed by weights: each sample is drawn from one of them, until all are over.

    weights: of any sum; what remains is drawn by the weights of the streams that are not over.

    >>> import os, tempfile
    >>> folder, streams = tempfile.mkdtemp(), []
    >>> for name in "ab":
    ...     path = os.path.join(folder, name + ".jsonl")
    ...     with open(path, "w") as file:
    ...         _ = file.write(f'"{name}1"\\n"{name}2"\\n')
    ...     streams.append(gluon.data.Stream([path]))
    >>> list(gluon.data.Mixture(streams, weights=[3, 1]))
    ['a1', 'a2', 'b1', 'b2']
    """

    def __init__(self, streams: Sequence[Stream], weights: Sequence[float], seed: int = 0):
        if len(streams) != len(weights) or not streams or min(weights) <= 0:
            raise ValueError(
                f"a mixture takes a positive weight for each of {len(streams)} streams, got {list(weights)}"
            )
        self._streams, self._weights, self._seed = list(streams), list(weights), seed
        self.epoch = 0

    def __iter__(self) -> Iterator:
        draws = random.Random(f"{self._seed} {self.epoch} {communication.rank()} {[s.seen for s in self._streams]}")
        running = {k: iter(stream) for k, stream in enumerate(self._streams) if stream.next_epoch == self.epoch}
        while running:
            (k,) = draws.choices(list(running), [self._weights[k] for k in running])
            try:
                sample = next(running[k])
            except StopIteration:
                del running[k]
                continue
            yield sample
        self.epoch += 1

    def state(self) -> dict:
        """Where all processes are, as `Stream.state`."""
        return {"streams": [stream.state() for stream in self._streams], "epoch": self.epoch}

    def load_state(self, state: dict) -> None:
        """Goes on from a state of a mixture of the same streams."""
        if len(state["streams"]) != len(self._streams):
            raise MXNetError(
                f"the state is that of {len(state['streams'])} streams, this mixture has {len(self._streams)}"
            )
        for stream, one in zip(self._streams, state["streams"]):
            stream.load_state(one)
        self.epoch = state["epoch"]


def _is_over(progress: list | None) -> bool:
    return progress is not None and progress[2] and not progress[1]
