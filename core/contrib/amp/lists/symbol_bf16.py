"""The lists of operators for bfloat16."""

from core.contrib import amp

BF16_FUNCS = amp.list_lp16_ops("bfloat16")
BF16_FP32_FUNCS = amp.list_lp16_fp32_ops("bfloat16")
FP32_FUNCS = amp.list_fp32_ops("bfloat16")
WIDEST_TYPE_CASTS = amp.list_widest_type_cast("bfloat16")
CONDITIONAL_FP32_FUNCS = amp.list_conditional_fp32_ops("bfloat16")
LOSS_OUTPUT_FUNCTIONS = amp.list_loss_output_functions("bfloat16")
BF16_USE_FP32_PARAMS = amp.list_lp16_use_fp32_params("bfloat16")
