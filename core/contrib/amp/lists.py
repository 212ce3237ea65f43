"""The lists of operators by the names that MXNet gives them: `amp.lists.symbol_fp16.FP16_FUNCS`."""

from types import SimpleNamespace

from core.contrib import amp


def _of(dtype: str, word: str) -> SimpleNamespace:
    return SimpleNamespace(
        **{
            f"{word}_FUNCS": amp.list_lp16_ops(dtype),
            f"{word}_FP32_FUNCS": amp.list_lp16_fp32_ops(dtype),
            "FP32_FUNCS": amp.list_fp32_ops(dtype),
            "WIDEST_TYPE_CASTS": amp.list_widest_type_cast(dtype),
            "CONDITIONAL_FP32_FUNCS": amp.list_conditional_fp32_ops(dtype),
            "LOSS_OUTPUT_FUNCTIONS": amp.list_loss_output_functions(dtype),
        }
    )


symbol_fp16, symbol_bf16 = _of("float16", "FP16"), _of("bfloat16", "BF16")
