"""Folders of transformers with a Transformer-XL, `model_type` transfo-xl, which it has to version 4.46."""

from __future__ import annotations

import json
import os

from core.base import MXNetError
from core.files import write_safetensors
from core.files.atomic import write_bytes

from .adaptive import AdaptiveEmbedding
from .state_dict import load_state_dict, state_dict
from .transformer_xl import TransformerXL

# Settings there that the network here has one value for.
FIXED = {"untie_r": True, "pre_lnorm": False, "attn_type": 0, "adaptive": True, "layer_norm_epsilon": 1e-5}


def load_transfo_xl(folder: str, config: dict, ctx=None) -> TransformerXL:
    """The network of a folder; MXNetError for settings that it has not here."""
    for name, value in FIXED.items():
        if config.get(name, value) != value:
            raise MXNetError(f"{folder}: a TransformerXL has {name} {value}, not {config[name]!r}")
    try:
        cutoffs, div_val = config["cutoffs"], config["div_val"]
        units, heads, clamp = config["d_model"], config["n_head"], config.get("clamp_len", -1)
        sizes = (
            config["vocab_size"],
            config["d_embed"],
            cutoffs or None,
            div_val,
            config["n_layer"],
            units,
            config["d_inner"],
            heads,
        )
    except KeyError as error:
        raise MXNetError(f"{folder}: config.json does not say {error}") from error
    if config.get("d_head", units // heads) * heads != units:
        raise MXNetError(f"{folder}: heads of {config['d_head']}, {heads} of them, are not {units} together")
    if cutoffs and div_val == 1:
        raise MXNetError(f"{folder}: clusters of words of one width (div_val 1) are one cluster here")
    shared = config.get("tie_projs") or [False] + [bool(config.get("proj_share_all_but_first", True))] * len(cutoffs)
    net = TransformerXL(
        *sizes, dropout=config.get("dropout", 0.1), attention_dropout=config.get("dropatt", 0.0),
        clamp_len=clamp if clamp > 0 else None, project_same_dim=div_val != 1,
        tie_input_output_embeddings=config.get("tie_word_embeddings", True), tie_input_output_projections=shared,
    )  # fmt: skip
    files = [os.path.join(folder, name) for name in ("model.safetensors", "pytorch_model.bin")]
    path = next((file for file in files if os.path.exists(file)), None)
    if path is None:
        raise MXNetError(f"{folder} has no parameters: neither model.safetensors nor pytorch_model.bin")
    load_state_dict(net, path, ctx)
    return net


def save_transfo_xl(net: TransformerXL, folder: str) -> None:
    """Writes config.json and model.safetensors; MXNetError where transformers has no such network."""
    inner = net._net
    clusters, cell = inner.embedding._clusters, inner.transformer_cells[0]
    norms = {norm._epsilon for cell in inner.transformer_cells for norm in (cell.layer_norm, cell.ffn.layer_norm)}
    if norms != {FIXED["layer_norm_epsilon"]}:
        raise MXNetError(
            f"normalisations of transformers' Transformer-XL add 1e-5, those of this network {min(norms):g}: its outputs "
            "would differ; gluonnlp.model.save_state_dict writes the weights alone"
        )
    names = [names[:2] for names in inner.crit._names]
    embeddings = {embedding.startswith("out") for _, embedding in names}
    config = {
        "model_type": "transfo-xl", "architectures": ["TransfoXLLMHeadModel"], "vocab_size": clusters[-1].high,
        "d_embed": clusters[0].width, "d_model": inner._units, "cutoffs": [c.high for c in clusters[:-1]],
        "div_val": clusters[0].width // clusters[1].width if isinstance(inner.embedding, AdaptiveEmbedding) else 1,
        "n_layer": len(inner.transformer_cells), "n_head": cell.attention_cell._num_heads,
        "d_head": inner._units // cell.attention_cell._num_heads, "d_inner": cell.ffn.ffn_1.weight.shape[0],
        "dropout": inner.dropout_layer._rate, "dropatt": cell.attention_cell._dropout_layer._rate,
        "clamp_len": inner._clamp_len or -1, "tie_word_embeddings": embeddings == {False},
        "tie_projs": [not projection.startswith("out") for projection, _ in names], **FIXED,
    }  # fmt: skip
    os.makedirs(folder, exist_ok=True)
    write_bytes(os.path.join(folder, "config.json"), json.dumps(config, indent=2).encode())
    write_safetensors(os.path.join(folder, "model.safetensors"), state_dict(net), {"format": "pt"})
