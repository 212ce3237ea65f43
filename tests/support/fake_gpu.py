"""A GPU that launches nothing: Triton's Python way to a launch, for a target, with tensors on the CPU.

`FakeGpu(target).start()` becomes Triton's driver; from then on a launch is an entry in `launches` (kernel, grid,
arguments as its compiled function gets them). With `compiles`, kernels are compiled for the target as they would be
for the device; otherwise a stand-in with the same parts takes a compiled kernel's place. Works with Triton 3.6 and
later ones. Kernels must not be interpreted in the process.

    gpu = FakeGpu("cuda:90").start()
    with kernels.using("triton"):
        mx.nd.relu(x)
    assert [launch.kernel for launch in gpu.launches] == ["kernel"]
"""

from __future__ import annotations

import itertools
import types
from typing import NamedTuple

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia import driver as nvidia
from triton.runtime.jit import JITFunction

from core.kernels.triton import autotune, targets


class Launch(NamedTuple):
    kernel: str
    grid: tuple[int, int, int]
    arguments: tuple


class FakeGpu:
    """Triton's driver for a device that is not there. Its parts have the names that Triton asks for."""

    def __init__(self, name: str = "cuda:90", compiles: bool = False):
        self.target = targets.TARGETS[name]
        self.compiles = compiles
        self.launches: list[Launch] = []
        self.names: dict[int, str] = {}  # kernels, by the handles of their functions
        self.launcher_cls = _launcher(self) if self.target.backend == "cuda" else _general(self)
        self.utils = _Utils(self)

    def start(self) -> FakeGpu:
        """Makes this the device of the process."""
        triton.runtime.driver.set_active(self)
        targets.pretend(self.target)
        autotune.gpu_name = lambda: f"no {self.target}"
        if not self.compiles:
            JITFunction._do_compile = lambda function, *how: self._stand_in(function, *how)
        return self

    def get_current_target(self):
        return GPUTarget(self.target.backend, self.target.arch, self.target.warp_size)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_active_torch_device(self):
        return torch.device("cpu")

    def is_active(self):
        return True

    def map_python_to_cpp_type(self, kind):
        return nvidia.ty_to_cpp(kind)

    def handle(self, name: str) -> int:
        """A handle for the function of a kernel."""
        handle = len(self.names) + 1
        self.names[handle] = name
        return handle

    def _stand_in(self, function, key, signature, device, constexprs, options, attributes, warmup):
        """What stands for a compiled kernel: `JITFunction._do_compile` without compiling."""
        described = sum(isinstance(kind, str) and kind.startswith("tensordesc") for kind in signature.values())
        source = types.SimpleNamespace(constants=constexprs, signature=signature, fn=function)
        map_of = {"swizzle": 3, "elem_size": 2, "elem_type": 1, "block_size": [64, 64], "fp4_padded": False}
        metadata = types.SimpleNamespace(
            tensordesc_meta=[map_of] * described, num_ctas=1, global_scratch_size=0, global_scratch_align=1,
            profile_scratch_size=0, profile_scratch_align=1, launch_cooperative_grid=False, launch_pdl=False,
            instrumentation_mode="", warp_size=self.target.warp_size,
        )  # fmt: skip
        compiled = types.SimpleNamespace(
            run=self.launcher_cls(source, metadata), function=self.handle(function.__name__), packed_metadata=(4, 1, 0),
            launch_metadata=lambda *args: None, metadata=metadata,
        )  # fmt: skip
        function.device_caches[device][0][key] = compiled
        return compiled


class _Utils:
    """The part of a driver that speaks C."""

    def __init__(self, gpu: FakeGpu):
        self.gpu = gpu
        self.fill_tma_descriptor_tiled = self.fill_tma_descriptor

    def load_binary(self, name, kernel, shared, device):
        return 1, self.gpu.handle(name), 32, 0, 1024  # module, function, registers, spills, threads

    def unload_module(self, module):
        pass

    def get_device_properties(self, device):
        target = self.gpu.target
        return {"max_shared_mem": target.shared, "max_num_regs": 65536, "multiprocessor_count": target.processors,
                "warpSize": target.warp_size, "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 1}  # fmt: skip

    def fill_tma_descriptor(self, *args):
        return _Map(*args)

    def set_printf_fifo_size(self, *args):
        pass

    def build_signature_metadata(self, signature):
        return bytes(len(signature))

    def launch(self, *args):
        """The compiled function of Triton's from 3.7 on."""
        note(self.gpu, args[:3], args[4], args[-1])


class _Map:
    """A descriptor of a tensor in the device's form."""

    def __init__(self, address, *rest):
        self.address, self.rest = address, rest


def note(gpu: FakeGpu, grid, function, arguments) -> None:
    gpu.launches.append(Launch(gpu.names[function], tuple(grid), tuple(arguments)))


def _launcher(gpu: FakeGpu) -> type:
    """CUDA's launcher, with a function in place of what it compiles in C."""
    if not hasattr(nvidia, "compile_module_from_src"):  # from Triton 3.7 on
        counter = itertools.count()
        nvidia.PyKernelArg = lambda nested_tuple, type: (next(counter), nested_tuple, type)
        return nvidia.CudaLauncher

    class Launcher(nvidia.CudaLauncher):
        def __init__(self, source, metadata):
            parts = vars(nvidia)
            before = {name: parts[name] for name in ("library_dirs", "compile_module_from_src")}
            built = types.SimpleNamespace(launch=lambda *args: note(gpu, args[:3], args[4], args[13:]))
            parts.update(library_dirs=lambda: [], compile_module_from_src=lambda **kwargs: built)
            try:
                super().__init__(source, metadata)
            finally:
                parts.update(before)

    return Launcher


def _general(gpu: FakeGpu) -> type:
    """A launcher of another backend, of which nothing is known but how `JITFunction.run` calls it."""

    class Launcher:
        def __init__(self, source, metadata):
            pass

        def __call__(self, x, y, z, stream, function, packed, metadata, enter, leave, *args):
            note(gpu, (x, y, z), function, args)

    return Launcher
