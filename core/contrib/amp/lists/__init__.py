"""The lists of operators by the names that MXNet gives them: `amp.lists.symbol_fp16.FP16_FUNCS`."""

from core.contrib.amp.lists import symbol_bf16, symbol_fp16

__all__ = ["symbol_bf16", "symbol_fp16"]
