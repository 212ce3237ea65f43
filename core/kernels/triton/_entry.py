"""The way into a compiled kernel, past what Triton does again at each launch.

Where the launcher is of a kind that is known here (CUDA's of Triton 3.6 and of 3.9), a launch goes to the compiled
function itself, without the look at scratch memory that these kernels do not ask for, and descriptors of tensors are
kept by address. Otherwise it goes through Triton's launcher as `JITFunction.run` does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import NamedTuple

from triton.runtime import driver
from triton.tools.tensor_descriptor import TensorDescriptor

KEPT = 256  # addresses for which a descriptor is kept


class Entry(NamedTuple):
    """How to launch a compiled kernel.

    form: source of the call, with the fields `grid`, `stream` and `arguments`, and one for each of `names`.
    expand: the arguments that stand for a descriptor, from it and its number among those of the kernel.
    """

    form: str
    names: dict[str, object]
    expand: Callable[[TensorDescriptor, int], Sequence]

    def descriptor(self, given: TensorDescriptor, number: int) -> Callable[[int], Sequence]:
        """A function of an address: the arguments that stand for `given`, with its memory there."""
        like = _moved(given, 0)  # `given` would keep its memory for as long as the function is there
        return functools.lru_cache(maxsize=KEPT)(lambda address: self.expand(_moved(like, address), number))


def entry(compiled) -> Entry:
    """How to launch `compiled`, which is loaded by it."""
    launcher = compiled.run
    names = {"function": compiled.function, "metadata": compiled.packed_metadata}
    found = _cuda(launcher)
    if found is None:
        form = "{run}({grid}, {stream}, {function}, {metadata}, None, None, None, {arguments})"
        return Entry(form, {"run": launcher, **names}, lambda given, number: [given])
    run, expand = found
    names |= {"run": run, "cooperative": launcher.launch_cooperative_grid, "pdl": launcher.launch_pdl}
    form = "{run}({grid}, {stream}, {function}, {cooperative}, {pdl}, "
    if hasattr(launcher, "kernel_signature"):  # from Triton 3.7 on
        names |= {"annotations": launcher.arg_annotations, "signature": launcher.kernel_signature}
        form += "{metadata}, None, None, None, None, None, {annotations}, {signature}, ({arguments},))"
    else:
        form += "None, None, {metadata}, None, None, None, {arguments})"
    return Entry(form, names, expand)


_KNOWN = ("launch", "launch_cooperative_grid", "launch_pdl", "global_scratch_size", "profile_scratch_size")


def _cuda(launcher) -> tuple[Callable, Callable | None] | None:
    """The compiled function in a launcher of CUDA's and what expands descriptors; None where that is not to be had."""
    try:
        from triton.backends.nvidia.driver import CudaLauncher, make_tensordesc_arg
    except ImportError:
        return None
    if not isinstance(launcher, CudaLauncher) or not all(hasattr(launcher, name) for name in _KNOWN):
        return None
    if launcher.global_scratch_size or launcher.profile_scratch_size or getattr(launcher, "gsan_enabled", False):
        return None
    if hasattr(launcher, "arg_annotations") != hasattr(launcher, "kernel_signature"):
        return None
    run = launcher.launch
    wrapped = inspect.getclosurevars(run).nonlocals if inspect.isfunction(run) else {}
    if "launcher" not in wrapped:
        return run, None
    described = wrapped.get("tensordesc_meta")
    if not described:  # descriptors that are passed as pointers
        return None
    more = (None,) * (len(inspect.signature(make_tensordesc_arg).parameters) - 2)
    return wrapped["launcher"], lambda given, number: make_tensordesc_arg(given, described[number], *more)


class _Address:
    """Memory by its address, as descriptors are made from."""

    def __init__(self, address: int):
        self.address = address

    def data_ptr(self) -> int:
        return self.address


def _moved(given: TensorDescriptor, address: int) -> TensorDescriptor:
    """The descriptor of the same shape and strides at another address; it was checked when it was made."""
    moved = object.__new__(type(given))
    moved.__dict__.update(given.__dict__, base=_Address(address))
    return moved


def stream_of(index: int | None) -> tuple[Callable[[int], int], int]:
    """A function that gives the current stream of a device, and the number of the device (None: the current one)."""
    active = driver.active
    return active.get_current_stream, active.get_current_device() if index is None else index
