"""Compiles the configurations of a product ahead, then makes it, then one that is tuned: a program for test_autotune.py.

Prints JSON: how many were compiled ahead, by the call and by tuning, on which threads, and launches.
"""

import json
import os
import threading

import torch
import triton

os.environ.pop("MXNET_CUDNN_AUTOTUNE_DEFAULT", None)

from core import kernels
from core.kernels.triton import ahead, autotune
from core.kernels.triton._kernel import Kernel
from tests.support.fake_gpu import FakeGpu

gpu = FakeGpu("cuda:90", compiles=True).start()
autotune.cache_file = lambda: autotune.Path(os.environ["TRITON_CACHE_DIR"]) / "choices.json"
torch.cuda.is_current_stream_capturing = lambda: False
compiled: list[str] = []
triton_compile = triton.compile


def compiles(self):
    made = create_binder(self)

    def compile(source, **options):
        compiled.append(threading.current_thread().name)
        return triton_compile(source, **options)

    self.compile = compile
    return made


create_binder, Kernel.create_binder = Kernel.create_binder, compiles
found = {}
a, b = (torch.zeros(256, 256, dtype=torch.float16) for _ in range(2))
with kernels.using("triton"):
    with ahead.compiling(threads=2):
        kernels.matmul.matmul(a, b)
    found["ahead"], found["launched ahead"] = len(compiled), len(gpu.launches)
    found["threads"] = len(set(compiled)), "MainThread" in compiled
    autotune._seconds = lambda launch, config: (launch(config), config.num_warps)[1]
    kernels.matmul.matmul(a, b)
    found["later"], found["launched"] = len(compiled) - found["ahead"], len(gpu.launches)
    kernels.matmul.matmul(a, b.T)  # other strides: compiled side by side before they are measured
    found["tuned"] = len(compiled) - found["ahead"], "MainThread" in compiled
print(json.dumps(found))
