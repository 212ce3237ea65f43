"""ONNX files to symbols; blocks are made of them in `gluon.contrib.onnx`."""

from core.contrib.onnx.onnx2mx.reader import get_model_metadata, import_model

__all__ = ["get_model_metadata", "import_model"]
