"""Interpreted programs that run at the same time, as they do on a GPU: for kernels whose programs wait for one another."""

import inspect
import math
import threading

import numpy as np
import pytest
import triton.language as tl


def run_side_by_side(monkeypatch, *kernels):
    """Gives each program of interpreted kernels a thread."""
    interpreter = pytest.importorskip("triton.runtime.interpreter")
    builder, own = interpreter.interpreter_builder, threading.local()

    def program_id(axis):
        index = getattr(own, "index", builder.grid_idx)
        return interpreter.TensorHandle(np.array([index[axis]], dtype=np.int32), tl.int32)

    def runner(kernel):
        def run(*args, grid, warmup, **options):
            function, threads, errors = kernel.rewrite(), [], []

            def program(index, given):
                own.index = index
                try:
                    function(**given)
                except Exception as failure:
                    errors.append(failure)

            def begin(**given):
                threads.append(threading.Thread(target=program, args=(builder.grid_idx, given), daemon=True))
                if len(threads) == math.prod(grid):
                    for thread in threads:
                        thread.start()
                    for thread in threads:
                        thread.join(60)
                    assert not errors and not any(thread.is_alive() for thread in threads), errors

            begin.__signature__ = inspect.signature(function)
            executor = interpreter.GridExecutor(function, kernel.arg_names, grid)
            executor.fn = begin
            executor(*args, **options)

        return run

    monkeypatch.setattr(builder, "create_get_program_id", program_id)
    for kernel in kernels:
        monkeypatch.setattr(kernel, "run", runner(kernel))
