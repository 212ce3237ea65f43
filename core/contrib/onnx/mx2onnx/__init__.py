"""Networks to ONNX files, for inference."""

from core.contrib.onnx.mx2onnx.export import export_model, get_operator_support

__all__ = ["export_model", "get_operator_support"]
