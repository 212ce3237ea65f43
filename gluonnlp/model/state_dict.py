"""Weights of Transformer-XL and ELMo under the names that transformers and AllenNLP have for them, both ways.

A rule says which array there is one here: names of ours as expressions, names of theirs as templates, and what else is
to be done. What computes otherwise there is named beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from core import nd
from core.base import MXNetError
from core.files import Record, read_safetensors, read_torch, write_safetensors

from .elmo import ELMoBiLM
from .transformer_xl import TransformerXL

__all__ = ["load_state_dict", "save_state_dict"]


class Rule(NamedTuple):
    """ours: an expression for whole names here, whose groups fill the template `theirs`.

    part: which of `parts` equal parts of the rows there. turned: the second half of the rows has the other sign.
    zero: there is no such array there, and zeros here do the same; it is added to the array `theirs` on the way back.
    """

    ours: str
    theirs: str
    part: int = 0
    parts: int = 1
    turned: bool = False
    zero: bool = False


_CELL = r"_net\.transformer_cells\.(\d+)\."
_LSTM = r"_elmo_lstm\.(forward|backward)_layers\.(\d+)\.0(?:\.base_cell)?\."
_WORDS = r"_elmo_char_encoder\._convolutions\."
RULES = {
    # transformers, to version 4.46: TransfoXLLMHeadModel. Its normalisations add 1e-5, ours 1e-12.
    TransformerXL: (
        Rule(r"_net\.embedding\.embedding(\d*)_weight", "transformer.word_emb.emb_layers.{}.weight"),
        Rule(r"_net\.embedding\.projection(\d*)_weight", "transformer.word_emb.emb_projs.{}"),
        Rule(r"_net\.crit\.(?:out)?embedding(\d*)_weight", "crit.out_layers.{}.weight"),
        Rule(r"_net\.crit\.outembedding(\d*)_bias", "crit.out_layers.{}.bias"),
        Rule(r"_net\.crit\.(?:out)?projection(\d*)_weight", "crit.out_projs.{}"),
        Rule(r"_net\.crit\.cluster\.(weight|bias)", "crit.cluster_{}"),
        Rule(_CELL + r"attention_cell\.query_key_bias", "transformer.layers.{}.dec_attn.r_w_bias"),
        Rule(_CELL + r"attention_cell\.query_emb_bias", "transformer.layers.{}.dec_attn.r_r_bias"),
        *(
            Rule(_CELL + rf"attention_cell\.proj_{name}\.weight", "transformer.layers.{}.dec_attn.qkv_net.weight", k, 3)
            for k, name in enumerate(("query", "key", "value"))
        ),
        Rule(_CELL + r"attention_cell\.proj_emb\.weight", "transformer.layers.{}.dec_attn.r_net.weight"),
        Rule(_CELL + r"proj\.weight", "transformer.layers.{}.dec_attn.o_net.weight"),
        Rule(_CELL + r"layer_norm\.gamma", "transformer.layers.{}.dec_attn.layer_norm.weight"),
        Rule(_CELL + r"layer_norm\.beta", "transformer.layers.{}.dec_attn.layer_norm.bias"),
        Rule(_CELL + r"ffn\.ffn_1\.(weight|bias)", "transformer.layers.{}.pos_ff.CoreNet.0.{}"),
        Rule(_CELL + r"ffn\.ffn_2\.(weight|bias)", "transformer.layers.{}.pos_ff.CoreNet.3.{}"),
        Rule(_CELL + r"ffn\.layer_norm\.gamma", "transformer.layers.{}.pos_ff.layer_norm.weight"),
        Rule(_CELL + r"ffn\.layer_norm\.beta", "transformer.layers.{}.pos_ff.layer_norm.bias"),
    ),
    # AllenNLP: _ElmoBiLm. Gates of its highways carry the input, ours the new value: the other sign.
    ELMoBiLM: (
        Rule(r"_elmo_char_encoder\._char_embedding\.weight", "_token_embedder._char_embedding_weights"),
        Rule(_WORDS + r"_convs\.(\d+)\.0\.(weight|bias)", "_token_embedder.char_conv_{}.{}"),
        Rule(_WORDS + r"_highways\.hnet\.(\d+)\.(weight|bias)", "_token_embedder._highways._layers.{}.{}", turned=True),
        Rule(_WORDS + r"_projection\.(weight|bias)", "_token_embedder._projection.{}"),
        Rule(_LSTM + "i2h_weight", "_elmo_lstm.{}_layer_{}.input_linearity.weight"),
        Rule(_LSTM + "h2h_weight", "_elmo_lstm.{}_layer_{}.state_linearity.weight"),
        Rule(_LSTM + "h2r_weight", "_elmo_lstm.{}_layer_{}.state_projection.weight"),
        Rule(_LSTM + "h2h_bias", "_elmo_lstm.{}_layer_{}.state_linearity.bias"),
        Rule(_LSTM + "i2h_bias", "_elmo_lstm.{}_layer_{}.state_linearity.bias", zero=True),
    ),
}  # fmt: skip
LIBRARIES = {TransformerXL: "transformers", ELMoBiLM: "AllenNLP"}
# Arrays there that are computed here, or are of networks around this one.
UNUSED = r"transformer\.pos_emb\.inv_freq|scalar_mix\..*"
PREFIX = "_elmo_lstm._token_embedder."  # of an Elmo, which has the network as _elmo_lstm


def load_state_dict(net, source, ctx=None) -> None:
    """Gives a TransformerXL the weights of transformers' TransfoXLLMHeadModel, an ELMoBiLM those of AllenNLP's.

    source: a .safetensors, .pt, .pth, .bin or .th file, which is read without executing any of it, or a dictionary of
    NumPy arrays; the network has the settings that the file was made with. Normalisations of a TransformerXL add 1e-5
    from now on, as they do there. MXNetError for other networks, and for arrays that are missing, have another shape,
    or have no place.
    """
    given = {_bare(name): value for name, value in _arrays(source).items()}
    values, used = {}, set()
    for ours, rule, theirs in _pairs(net):
        if theirs not in given:
            raise MXNetError(f"{_named(source)} lacks {theirs}, which is {ours} here")
        used.add(theirs)
        value = np.asarray(given[theirs], "float32")
        if rule.zero:
            value = np.zeros_like(value)
        elif rule.parts > 1:
            value = np.array_split(value, rule.parts)[rule.part]
        values[ours] = _turned(value) if rule.turned else value
    extra = [name for name in given if name not in used and not re.fullmatch(UNUSED, name)]
    if extra:
        raise MXNetError(
            f"{_named(source)} has arrays without a place in a {type(net).__name__}: {', '.join(extra[:8])}"
        )
    for name, parameter in net._collect_params_with_prefix().items():
        shape = parameter.shape
        if name in values and any(a not in (0, b) for a, b in zip(shape, values[name].shape, strict=False)):
            raise MXNetError(f"{_named(source)}: {name} is {values[name].shape}, not {shape}")
    net.initialize(ctx=ctx)
    net.load_dict({name: nd.array(value) for name, value in values.items()}, ctx=ctx, allow_missing=True)
    if isinstance(net, TransformerXL):
        use_epsilon(net)


def state_dict(net) -> dict[str, np.ndarray]:
    """The arrays of a TransformerXL or an ELMoBiLM by their names there; MXNetError for those without values."""
    parts: dict[str, dict[int, np.ndarray]] = {}
    added = {}
    parameters = net._collect_params_with_prefix()
    for ours, rule, theirs in _pairs(net):
        if parameters[ours]._data is None:
            raise MXNetError(f"{ours} has no value yet: call the network once before it is saved")
        value = parameters[ours].data().asnumpy()
        if rule.zero:
            added[theirs] = value
        else:
            parts.setdefault(theirs, {})[rule.part] = _turned(value) if rule.turned else value
    found = {name: np.concatenate([rows[k] for k in sorted(rows)]) for name, rows in parts.items()}
    return {
        name: value + added[name] if name in added and added[name].any() else value for name, value in found.items()
    }


def save_state_dict(net, file) -> None:
    """Writes a TransformerXL for transformers, an ELMoBiLM for AllenNLP, as .safetensors; MXNetError for others."""
    if not os.fspath(file).endswith(".safetensors"):
        raise MXNetError(f"state_dicts are written as .safetensors, got {os.fspath(file)!r}")
    write_safetensors(file, state_dict(net), {"format": "pt"})


def use_epsilon(net, value: float = 1e-5) -> None:
    """Makes the normalisations of a TransformerXL add `value`."""
    for cell in net._net.transformer_cells:
        for norm in (cell.layer_norm, cell.ffn.layer_norm):
            norm._epsilon = value
    net._net._clear_cached_op()


def _pairs(net):
    """(name here, rule, name there) of each array."""
    rules = next((rules for kind, rules in RULES.items() if isinstance(net, kind)), None)
    if rules is None:
        known = ", ".join(f"{kind.__name__} ({library})" for kind, library in LIBRARIES.items())
        raise MXNetError(f"a {type(net).__name__} has no map of names here; there are maps of {known}")
    for name in net._collect_params_with_prefix():
        for rule in rules:
            found = re.fullmatch(rule.ours, name)
            if found:
                # The only cluster of words has no number here.
                yield name, rule, rule.theirs.format(*(group or "0" for group in found.groups()))
                break


def _turned(value):
    half = len(value) // 2
    return np.concatenate([value[:half], -value[half:]])


def _bare(name):
    return name.removeprefix("_elmo_lstm.") if name.startswith((PREFIX, "_elmo_lstm._elmo_lstm.")) else name


def _named(source):
    return "the dictionary" if isinstance(source, Mapping) else os.fspath(source)


def _arrays(source):
    if isinstance(source, Mapping):
        return source
    path = os.fspath(source)
    found = read_safetensors(path)[0] if path.endswith(".safetensors") else read_torch(path)
    if not isinstance(found, dict) or not all(isinstance(record, Record) for record in found.values()):
        raise MXNetError(f"{path} holds no arrays by name, but {type(found).__name__}: it is no state_dict")
    return {name: record.data for name, record in found.items()}
