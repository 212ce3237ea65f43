"""Makes every launch of every room's SAMPLES as a Hopper GPU would see it, without one: a program for test_launch.py.

A stub stands in for the driver. With --compile, launches are compiled for sm_90 from the very arguments that the
launchers pass; else the arguments are only bound to the kernels and typed. One JSON object a sample.
"""

import importlib
import json
import sys
from pathlib import Path

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction, KernelInterface

from core.kernels.triton import autotune

HERE = Path(__file__).parent


class Hopper:
    """As much of a driver as compiling needs."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_active_torch_device(self):
        return torch.device("cpu")


def main() -> None:
    driver.set_active(Hopper())
    KernelInterface.__getitem__ = lambda kernel, grid: (
        lambda *args, **options: kernel.run(*args, grid=grid, warmup=True, **options)
    )
    if "--compile" not in sys.argv:
        JITFunction._do_compile = lambda *args: None
    # What no kernel filled must still be a legal size where launchers read one.
    blank = torch.empty
    torch.empty = lambda *sizes, **options: blank(*sizes, **options).zero_()
    # Kernels are imported as for a GPU, but nothing may ask one how fast it is.
    autotune.INTERPRETED = True
    for path in sorted(HERE.glob("test_*.py")):
        if "\nSAMPLES" in path.read_text():
            samples = importlib.import_module(f"tests.core.kernels.triton.{path.stem}").SAMPLES
            for number, sample in enumerate(samples):
                print(json.dumps({"sample": f"{path.stem}-{number}", "error": failure(sample)}), flush=True)


def failure(sample) -> str | None:
    try:
        sample()
    except Exception as error:  # the next sample is tried all the same; the row carries the words
        return f"{type(error).__name__}: {error}"[-600:]
    return None


if __name__ == "__main__":
    main()
