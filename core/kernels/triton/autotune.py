"""Which of a kernel's configurations is the fastest: measured once for a class of shapes, then remembered.

A kernel family keeps its configurations as data, the safest first, and asks `choose`, which looks at what this process
has chosen, at the user's file (one for each kind of GPU and version of Triton), at the table `tuned.json` beside this
module (choices by GPU, from `scripts/validate_gpu.py`), and only then compiles all of them side by side and measures, by
replays of a CUDA graph. Under TRITON_INTERPRET and while a CUDA graph is being captured nothing can be measured: then the
first serves.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
import triton
from triton.runtime.errors import OutOfResources

from core.kernels.triton import ahead, timing
from core.kernels.triton._kernel import INTERPRETED, recording, unrecorded


@dataclasses.dataclass(frozen=True)
class Config:
    """Values of a kernel's constexpr arguments, warps a program, and stages of the software pipeline."""

    constexprs: dict[str, object]
    num_warps: int = 4
    num_stages: int = 3

    def __getitem__(self, name: str):
        return self.constexprs[name]

    def launch_options(self) -> dict[str, object]:
        """Keyword arguments of the launch."""
        return {**self.constexprs, "num_warps": self.num_warps, "num_stages": self.num_stages}


def shape_class(*extents: int) -> tuple[int, ...]:
    """Extents rounded up to powers of two: shapes of one class share a configuration."""
    return tuple(triton.next_power_of_2(extent) if extent > 0 else 0 for extent in extents)


def choose(kernel: str, key: tuple, configs: Sequence[Config], launch: Callable[[Config], object]) -> Config:
    """The fastest of `configs` for shapes of class `key` (anything that hashes and prints).

    `launch(config)` runs the kernel, and must be repeatable: it may not read what it wrote. Configurations that the
    device has no room for are passed over, others that fail with a warning; where all fail, so does the call.
    MXNET_CUDNN_AUTOTUNE_DEFAULT=0 takes the first and measures nothing.
    """
    if INTERPRETED or len(configs) == 1 or os.environ.get("MXNET_CUDNN_AUTOTUNE_DEFAULT") == "0":
        return configs[0]
    best = _remembered.get((kernel, key))
    if best is not None:
        return best
    name = f"{kernel}({', '.join(map(str, key))})"
    known = _read().get(name) or _shipped().get(name)
    best = next((config for config in configs if _describe(config) == known), None)
    if ahead.is_active():
        for config in configs if best is None else [best]:
            launch(config)
        return best or configs[0]
    if best is None:
        if torch.cuda.is_current_stream_capturing():
            if recording() is not None:
                recording().provisional = True
            return configs[0]
        best = _fastest(name, configs, launch)
        _write(name, best)
    _remembered[kernel, key] = best
    return best


def _fastest(name: str, configs: Sequence[Config], launch: Callable[[Config], object]) -> Config:
    times, failed = {}, []
    with unrecorded():
        with ahead.compiling():
            for config in configs:
                with contextlib.suppress(Exception):  # which is raised again below
                    launch(config)
        for number, config in enumerate(configs):
            try:
                times[number] = _seconds(launch, config)
            except OutOfResources as error:
                failed.append(error)
            except Exception as error:  # of a compiler or a driver: another configuration may well do
                failed.append(error)
                reason = f"{type(error).__name__}: {error}"[:300]
                warnings.warn(f"{name}: {config} cannot be used and is passed over ({reason})")
    if not times:
        raise failed[-1]
    return configs[min(times, key=times.__getitem__)]


def cache_file() -> Path:
    """Where choices are remembered: one file for each kind of GPU and version of Triton."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "gluon-triton" / f"autotune-{gpu_name()}-triton-{triton.__version__}.json"


def gpu_name() -> str:
    """The kind of the current GPU, as files of choices name it."""
    return torch.cuda.get_device_name().replace(" ", "-")


@functools.cache
def _shipped() -> dict:
    """The choices for this kind of GPU that come with the package."""
    return json.loads(Path(__file__).with_name("tuned.json").read_text()).get(gpu_name(), {})


_remembered: dict[tuple, Config] = {}


def _seconds(launch: Callable[[Config], object], config: Config) -> float:
    return timing.seconds([functools.partial(launch, config)])


def _describe(config: Config) -> dict:
    return {"constexprs": config.constexprs, "num_warps": config.num_warps, "num_stages": config.num_stages}


def _read() -> dict:
    try:
        found = json.loads(cache_file().read_text())
        if isinstance(found, dict):
            return found
        reason = f"it holds a {type(found).__name__}, not an object"
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        reason = str(error)
    warnings.warn(f"{cache_file()} cannot be read ({reason}); kernels are tuned again")
    return {}


def _write(name: str, config: Config) -> None:
    """Adds one choice, with the file locked against other processes and replaced in one step.

    Where it cannot be written, a warning says so, and the choice holds for this process.
    """
    path = cache_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.with_suffix(".lock")):
            choices = {**_read(), name: _describe(config)}
            with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".json", delete=False) as file:
                json.dump(choices, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(file.name, path)
    except OSError as error:
        warnings.warn(
            f"{path} cannot be written ({error}), so every process tunes its kernels again; XDG_CACHE_HOME names "
            "another folder"
        )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
