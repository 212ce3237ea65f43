"""Published BERTs in the folders of Hugging Face: `config.json`, `vocab.txt`, `model.safetensors`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import core as mx
import gluonnlp as nlp
from core.files.safetensors import read_safetensors

SETTINGS = {
    "num_hidden_layers": "num_layers",
    "hidden_size": "units",
    "intermediate_size": "hidden_size",
    "num_attention_heads": "num_heads",
    "max_position_embeddings": "max_length",
    "type_vocab_size": "token_type_vocab_size",
    "layer_norm_eps": "layer_norm_eps",
    "hidden_act": "activation",
}
NAMES = (
    (r"embeddings\.word_embeddings\.", "word_embed.0."),
    (r"embeddings\.token_type_embeddings\.", "token_type_embed.0."),
    (r"embeddings\.position_embeddings\.weight", "encoder.position_weight"),
    (r"embeddings\.LayerNorm\.", "encoder.layer_norm."),
    (
        r"encoder\.layer\.(\d+)\.attention\.self\.(query|key|value)\.",
        r"encoder.transformer_cells.\1.attention_cell.proj_\2.",
    ),
    (r"encoder\.layer\.(\d+)\.attention\.output\.dense\.", r"encoder.transformer_cells.\1.proj."),
    (r"encoder\.layer\.(\d+)\.attention\.output\.LayerNorm\.", r"encoder.transformer_cells.\1.layer_norm."),
    (r"encoder\.layer\.(\d+)\.intermediate\.dense\.", r"encoder.transformer_cells.\1.ffn.ffn_1."),
    (r"encoder\.layer\.(\d+)\.output\.dense\.", r"encoder.transformer_cells.\1.ffn.ffn_2."),
    (r"encoder\.layer\.(\d+)\.output\.LayerNorm\.", r"encoder.transformer_cells.\1.ffn.layer_norm."),
    (r"pooler\.dense\.", "pooler."),
    (r"layer_norm\.weight", "layer_norm.gamma"),
    (r"layer_norm\.bias", "layer_norm.beta"),
)


def read_config(folder: Path) -> dict:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    settings = {ours: config[theirs] for theirs, ours in SETTINGS.items()}
    return settings | {"embed_size": settings["units"]}


def read_vocab(folder: Path):
    return nlp.data.BERTTokenizer.from_file(str(folder / "vocab.txt")).vocab


def load(net: nlp.model.BERTModel, folder: Path, context) -> None:
    tensors, _ = read_safetensors(folder / "model.safetensors")
    parameters = net._collect_params_with_prefix()
    for name, record in tensors.items():
        name = name.removeprefix("bert.")
        for pattern, replacement in NAMES:
            name = re.sub(pattern, replacement, name)
        if name in parameters:
            parameters.pop(name).set_data(mx.nd.array(record.data, ctx=context))
    assert not parameters, list(parameters)
