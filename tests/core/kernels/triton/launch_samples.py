"""Makes every launch of every family's SAMPLES as a GPU would see it, without one: a program for test_launch.py.

With --compile, launches are compiled for --target from the very arguments that the launchers pass; else the arguments
are only bound to the kernels and typed. With --replay, each call of a launcher is made anew as it is remembered, and
has to hand the same grids and arguments to the same kernels, and to return tensors that lie alike. With --operators,
every operator of the table is applied, forward and backward, in place of the samples. One JSON object a sample.
"""

import argparse
import functools
import importlib
import inspect
import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

os.environ["MXNET_CUDNN_AUTOTUNE_DEFAULT"] = "0"  # nothing can be measured

from core import kernels
from core.kernels.dispatch import KERNELS
from core.kernels.triton import _recording, replay
from tests.support.fake_gpu import FakeGpu

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--operators", action="store_true")
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--only", nargs="*", help="names of test modules (default: all)")
    arguments = parser.parse_args()
    gpu = FakeGpu(arguments.target, arguments.compile).start()
    replays = Replays(gpu) if arguments.replay else None  # before the modules of samples take functions by name
    # What no kernel filled must still be a legal size where launchers read one.
    blank = torch.empty

    def empty(*sizes, **options):
        memory = blank(*sizes, **options)
        with _disable_current_modes():
            return memory.zero_()

    torch.empty = empty
    for name, sample in operators() if arguments.operators else listed(arguments.only):
        print(json.dumps({"sample": name, "error": failure(sample)}), flush=True)
    if replays is not None:
        print(json.dumps({"replayed": sorted(replays.replayed), "launched": sorted(replays.launched)}), flush=True)


def listed(only: list[str] | None) -> Iterator[tuple[str, Callable]]:
    """The samples of the test modules."""
    for path in sorted(HERE.glob("test_*.py")):
        if "\nSAMPLES" in path.read_text() and (not only or path.stem in only):
            samples = importlib.import_module(f"tests.core.kernels.triton.{path.stem}").SAMPLES
            yield from ((f"{path.stem}-{number}", sample) for number, sample in enumerate(samples))


def operators() -> Iterator[tuple[str, Callable]]:
    """Every operator but one that looks at what was computed, which here is nothing."""
    from core.ops.registry import TABLE
    from tests.support.once import NAMES, applied, filled

    def call(op):
        with kernels.using("triton"):
            applied(op, filled(op))

    yield from ((name, functools.partial(call, TABLE[name])) for name in NAMES if name != "_npx_constraint_check")


def failure(sample) -> str | None:
    try:
        sample()
    except Exception as error:  # the next sample is tried all the same; the row carries the words
        return f"{type(error).__name__}: {error}"[-600:]
    return None


class Own(NamedTuple):
    """An address in memory that a call takes: the number of that memory, the distance from its begin, its bytes."""

    memory: int
    distance: int
    nbytes: int


def alike(plain: tuple, again: tuple) -> bool:
    """Whether two calls do the same. The second one may have in one memory what the first has in several, as long as
    nothing lies upon what is still used.
    """
    begins: dict[int, tuple[int, int]] = {}  # of the first one's memories, in those of the second
    used: dict[int, list[int]] = {}  # by which launches; the result is the last

    def same(a, b, step: int) -> bool:
        if isinstance(a, Own) and isinstance(b, Own):
            begin = b.memory, b.distance - a.distance
            used.setdefault(a.memory, [begin[1] + a.nbytes]).append(step)
            return begins.setdefault(a.memory, begin) == begin
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            return len(a) == len(b) and all(same(x, y, step) for x, y in zip(a, b, strict=True))
        return a == b

    (launches, result), (others, another) = plain, again
    if not (same(result, another, len(launches)) and len(launches) == len(others)):
        return False
    if not all(same(a, b, step) for step, (a, b) in enumerate(zip(launches, others, strict=True))):
        return False
    for (i, (memory, begin)), (k, (another, other)) in itertools.combinations(begins.items(), 2):
        (end, *steps), (ends, *further) = used[i], used[k]
        near = memory == another and begin < ends and other < end
        if near and min(steps) <= max(further) and min(further) <= max(steps):
            return False
    return True


class Calls:
    """What calls launch."""

    def __init__(self, gpu: FakeGpu):
        self.gpu, self.taken = gpu, []
        empty = _recording._EMPTY["cpu"]

        def noted(*layout):
            self.taken.append(empty(*layout))
            return self.taken[-1]

        _recording._EMPTY["cpu"] = noted

    def seen(self, function, args, kwargs):
        """The launches of a call and its result, with addresses as distances from arguments or from own memory."""
        del self.gpu.launches[:], self.taken[:]
        with Watch(self.taken):
            result = function(*args, **kwargs)
        given = {_start(t): t.untyped_storage().nbytes() for t in _tensors([args, kwargs])}
        taken = {_start(t): t.untyped_storage().nbytes() for t in self.taken}
        own = []

        def place(address: int):
            for start, size in given.items():
                if start and start <= address < start + max(size, 1):
                    return "given", address
            for start, size in taken.items():
                if start and start <= address < start + max(size, 1):
                    own.extend([start] if start not in own else [])
                    return Own(own.index(start), address - start, size)
            return address

        launches = [(x.kernel, x.grid, [_plain(a, place) for a in x.arguments]) for x in self.gpu.launches]
        return launches, _plain(result, place, True)


class Replays(Calls):
    """Stands in for the public launchers; every outermost call is made plainly, then remembered, and compared."""

    def __init__(self, gpu: FakeGpu):
        super().__init__(gpu)
        self.within, self.replayed, self.launched = False, set(), set()
        for family in kernels.FAMILIES:
            importlib.import_module(f"core.kernels.contracts.{family}")
        for name, kernel in KERNELS.items():
            if name not in kernels.ON_CPU_ONLY:
                module = importlib.import_module(f"core.kernels.triton.{kernel.family}")
                checked = self.checked(name, getattr(module, kernel.name), inspect.signature(kernel.contract))
                setattr(module, kernel.name, checked)

    def checked(self, name: str, function, signature: inspect.Signature):
        memo = replay.Memo(function, signature)

        def call(*args, **kwargs):
            if self.within:
                return function(*args, **kwargs)
            self.within = True
            try:
                self.seen(function, args, kwargs)  # makes the tables that a launcher keeps
                plain = self.seen(function, args, kwargs)
                for _ in range(4):  # seen, recorded, and where numbers matter, recorded for them
                    again = self.seen(memo.call, args, kwargs)
                assert alike(plain, again), f"{name}: replayed {again}, not {plain}"
                known = [*memo.known.values()]
                plainly = all(k == memo._launch for k in known)
                (self.launched if plainly else self.replayed).add(name)
                return function(*args, **kwargs)
            finally:
                self.within = False

        return call


class Watch(TorchDispatchMode):
    """Notes the memory that a call takes."""

    def __init__(self, taken: list):
        super().__init__()
        self.taken = taken

    def __torch_dispatch__(self, called, types, args=(), kwargs=None):
        made = called(*args, **(kwargs or {}))
        self.taken += _tensors(made)
        return made


def _start(t: torch.Tensor) -> int:
    return t.untyped_storage().data_ptr()


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)


def _plain(value, place, layout: bool = False):
    if isinstance(value, torch.Tensor):
        return (
            (tuple(value.shape), value.stride(), str(value.dtype), place(value.data_ptr()))
            if layout
            else place(value.data_ptr())
        )
    if hasattr(value, "address"):
        return place(value.address), _plain(value.rest, place)
    if isinstance(value, (tuple, list)):
        return [_plain(v, place, layout) for v in value]
    return place(value) if type(value) is int else value


if __name__ == "__main__":
    main()
