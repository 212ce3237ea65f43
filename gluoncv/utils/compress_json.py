"""Text files packed into text: zlib, then base64."""

import base64
import zlib


def encode_json(json_file, is_print=False):
    """A file as packed bytes."""
    with open(json_file, encoding="utf-8") as file:
        packed = base64.b64encode(zlib.compress(file.read().encode("utf-8")))
    if is_print:
        print(packed)
    return packed


def decode_b64(b64_str, is_print=False):
    """The text that was packed."""
    text = zlib.decompress(base64.b64decode(b64_str)).decode("utf-8")
    if is_print:
        print(text)
    return text


def get_compressed_model(model_name, compressed_json):
    """The text of `model_name` in a dictionary of packed ones; ValueError for other names."""
    if not compressed_json.get(model_name):
        raise ValueError(f"{model_name!r} is none of the packed models {', '.join(compressed_json)}")
    return decode_b64(compressed_json[model_name])
