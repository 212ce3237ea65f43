"""Leaves out of Triton's interpreter what takes more than half of its time and changes no result.

Each sum and product of integers is computed again in 64 bits, to assert that it did not overflow; the assertion is dropped,
as those of kernels are without `debug`. And each call of a function within a kernel replaces the language's names by
interpreted ones, which the launch of the kernel has replaced.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from types import ModuleType

import triton.language as tl
from triton.runtime import interpreter


class Untouched:
    """What undoes the replacement of names where there was nothing to replace."""

    def restore(self) -> None:
        pass


def quicken() -> None:
    """For this process, once."""
    builder = interpreter.interpreter_builder
    builder.options = dataclasses.replace(builder.options, sanitize_overflow=builder.options.debug)
    replace = interpreter._patch_lang

    @functools.cache
    def languages(function: Callable) -> list[ModuleType]:
        return [module for module in (tl, tl.core) if any(module is value for value in function.__globals__.values())]

    def replace_once(function: Callable):
        replaced = not any(tl.core.is_builtin(module.load) for module in languages(function))
        return Untouched() if replaced else replace(function)

    interpreter._patch_lang = replace_once
