"""The lists of operators for float16."""

from core.contrib import amp

FP16_FUNCS = amp.list_lp16_ops("float16")
FP16_FP32_FUNCS = amp.list_lp16_fp32_ops("float16")
FP32_FUNCS = amp.list_fp32_ops("float16")
WIDEST_TYPE_CASTS = amp.list_widest_type_cast("float16")
CONDITIONAL_FP32_FUNCS = amp.list_conditional_fp32_ops("float16")
LOSS_OUTPUT_FUNCTIONS = amp.list_loss_output_functions("float16")
