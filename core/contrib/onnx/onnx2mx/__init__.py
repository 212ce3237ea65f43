"""ONNX files to symbols and Gluon blocks."""

from core.contrib.onnx.onnx2mx.reader import get_model_metadata, import_model, import_to_gluon

__all__ = ["get_model_metadata", "import_model", "import_to_gluon"]
