"""Checkpoints of Hugging Face's transformers, read and written: BERT, RoBERTa, DistilBERT, GPT-2, XLNet, Transformer-XL.

huggingface.json says, for each type of model, which settings and parameters there are which here.  In names of
layers `{}` is the number; "transposed" swaps the axes, "behind" leaves out rows at the beginning, "plus" adds a row
to all rows, "by_head" has the heads on an axis of their own, true: behind the inputs, false: behind the outputs.
"published" has the repositories of the authors whose weights GluonNLP converted.
"""

from __future__ import annotations

import json
import os
import re

import numpy as np

from core import nd
from core.base import MXNetError, nearest
from core.files import Record, read_safetensors, read_torch, write_safetensors
from core.files.atomic import write_bytes
from core.files.text import read_json
from gluon import hub, nn

from ..data.pretrained_text import EVERY_FILE, read_tokenizer
from . import bert, gpt2, transformer_xl, xlnet
from .transfo_xl import load_transfo_xl, save_transfo_xl

__all__ = ["load_huggingface", "save_huggingface"]


def load_huggingface(folder, ctx=None, ignore_extra=False, **heads):
    """The network, vocabulary and tokenizer in a folder, or in a repository of the hub, `hf://OWNER/NAME[@REVISION]`,
    of which weights in .safetensors are taken unless `:FILE` names others.  A folder has config.json, model.safetensors and tokenizer.json (or
    vocab.txt, or vocab.json and merges.txt).  Older folders have pytorch_model.bin, which is read without executing it,
    and bert_config.json.

    heads: use_pooler, use_classifier and use_decoder of a BERT, use_decoder of a RoBERTa; a head that is not named is
    there if the checkpoint has it.  Parameters are float32.  MXNetError for types of model that are not known, for
    parameters that the checkpoint lacks, and for those that the network has no place for unless ignore_extra.  A
    Transformer-XL comes without vocabulary and tokenizer, None, for they are pickled there.
    """
    if os.fspath(folder).startswith(hub.SCHEME):
        folder = hub.fetch_folder(hub.parse(os.fspath(folder)), EVERY_FILE)
    folder = os.path.expanduser(folder)
    if not os.path.isdir(folder):
        raise MXNetError(
            f"there is no folder {folder!r}. A repository of the hub is named 'hf://OWNER/NAME', as "
            f"load_huggingface('hf://{_repository(folder)}'); or give a folder with config.json and model.safetensors"
        )
    names = _table()
    config = _config(folder)
    kind = config.get("model_type")
    if kind == "transfo-xl":
        if heads or ignore_extra:
            raise TypeError("a TransformerXL has no heads to choose, and no parameters to leave out")
        return load_transfo_xl(folder, config, ctx), None, None
    if kind not in names["types"]:
        known = ", ".join([*names["types"], "transfo-xl"])
        raise MXNetError(
            f"{folder} has a model of type {kind!r}.{nearest(str(kind), names['types'])} Known are: {known}"
        )
    kind = names["types"][kind]
    for name, accepted in kind["needs"].items():
        if config.get(name) not in [None, *accepted]:
            raise MXNetError(f"{folder}: a {kind['network']} has {name} {accepted[0]!r}, not {config[name]!r}")
    tensors = _tensors(folder, kind["prefix"], names["endings"])
    for head in heads.keys() - kind["heads"].keys():
        raise TypeError(f"a {kind['network']} has no head {head!r}; it has: {', '.join(kind['heads']) or 'none'}")
    if heads.get("use_pooler") is False:
        heads.setdefault("use_classifier", False)  # which reads what is pooled
    heads = {head: heads.get(head, all(t in tensors for t in parts.values())) for head, parts in kind["heads"].items()}
    settings = {ours: config[theirs] for ours, theirs in kind["settings"].items() if config.get(theirs) is not None}
    if "activation" in settings:
        settings["activation"] = _activation(settings["activation"], names["activations"])
    layers = settings.get("num_layers")
    if not isinstance(layers, int) or not 0 <= layers <= len(tensors):
        raise MXNetError(
            f"{folder}: {kind['settings']['num_layers']} is {layers!r}, with {len(tensors)} parameters in all"
        )
    parameters = _parameters(kind, tensors, layers, heads, folder)
    extra = [name for name in tensors if not _known(kind, name)]
    if extra and not ignore_extra:
        raise MXNetError(
            f"{folder} has parameters that a {kind['network']} has no place for: {', '.join(extra[:8])}"
            f"{', ...' if len(extra) > 8 else ''}; ignore_extra=True leaves them out"
        )
    net = _network(kind["network"], settings, heads, parameters)
    given = {name: nd.array(value) for name, value in parameters.items()}
    for name in kind.get("kept", ()):
        net._collect_params_with_prefix()[name].initialize(ctx=ctx)
    net.load_dict(given, ctx=ctx, allow_missing="kept" in kind)
    tokenizer, vocab = read_tokenizer(folder, kind["tokenizer"], kind.get("special_tokens"))
    return net, vocab, tokenizer


def save_huggingface(net, folder, vocab=None, tokenizer=None):
    """Writes a BERT, RoBERTa, DistilBERT, GPT-2, XLNet or Transformer-XL to a folder that transformers' `from_pretrained` reads.

    config.json and model.safetensors come from the network.  vocab: its words go to vocab.txt, of networks that read
    word pieces; for byte pairs it takes the tokenizer, too: vocab.json and merges.txt.  MXNetError for other networks,
    and for those without values.

    >>> save_huggingface(bert, "folder", vocab)  # doctest: +SKIP
    """
    if isinstance(net, transformer_xl.TransformerXL):
        if vocab is not None or tokenizer is not None:
            raise MXNetError("the words of a TransformerXL are not written: transformers wants them pickled")
        return save_transfo_xl(net, folder)
    table = _table()
    name = next((name for name, kind in table["types"].items() if kind["network"] == type(net).__name__), None)
    if name is None:
        known = ", ".join([*(kind["network"] for kind in table["types"].values()), "TransformerXL"])
        raise MXNetError(
            f"a {type(net).__name__} has no counterpart in transformers; there are counterparts of {known}"
        )
    kind, settings = table["types"][name], _settings(net)
    parameters = net._collect_params_with_prefix()
    wanted = dict(kind["parameters"])
    for i in range(settings["num_layers"]):
        wanted |= {ours.format(i): (source, i) for ours, source in kind["layers"].items()}
    heads = [head for head in kind["heads"].values() if all(part in parameters for part in head)]
    for head in heads:
        wanted |= head
    tensors = {}
    for ours, part in wanted.items():
        source = _source(*part) if isinstance(part, tuple) else _source(part)
        if parameters[ours]._data is None:
            raise MXNetError(f"{ours} has no value yet: call the network once before it is saved")
        value = parameters[ours].data().asnumpy()
        if "plus" in source:
            tensors[source["plus"]] = np.zeros((1, value.shape[1]), "float32")
        tensors[source["from"]] = _their_value(value, source, settings["num_heads"])
    # Heads stand beside the network that they are on.
    prefix = kind["prefix"] if heads or name == "xlnet" else ""
    beside = ("cls.", "lm_head.", "lm_loss.")
    tensors = {key if key.startswith(beside) else prefix + key: value for key, value in tensors.items()}
    known = {theirs: settings[ours] for ours, theirs in kind["settings"].items() if ours in settings}
    activations = {ours: theirs for theirs, ours in reversed(table["activations"].items())}
    key = kind["settings"].get("activation")
    if key:
        known[key] = activations[known[key]]
    if name == "roberta":
        known |= {"max_position_embeddings": settings["max_length"] + 2, "type_vocab_size": 1, "pad_token_id": 1}
    os.makedirs(folder, exist_ok=True)
    config = {"model_type": name, "vocab_size": settings["vocab_size"], **known}
    write_bytes(os.path.join(folder, "config.json"), json.dumps(config, indent=2).encode())
    write_safetensors(os.path.join(folder, "model.safetensors"), tensors, {"format": "pt"})
    _save_text(folder, kind, vocab, tokenizer)


def _settings(net):
    """The settings of a network by the names that its class has for them."""
    if isinstance(net, gpt2.GPT2Model):
        layers, ffn, cell = net._self_attention_layers, net._ffn_layers[0], net._self_attention_layers[0]
        words, units = net._embed.weight.shape
        own = {"max_length": net._max_length, "dropout": cell._dropout}
        hidden = ffn._hidden_map.weight.shape[0]
        return own | {
            "num_layers": len(layers), "units": units, "hidden_size": hidden, "num_heads": cell._num_heads,
            "vocab_size": words, "layer_norm_eps": net._final_ln._epsilon,
        }  # fmt: skip
    body = net._net if isinstance(net, xlnet.XLNetModel) else net.encoder
    cell = body.transformer_cells[0]
    word_embed = body.word_embed if body is not net and hasattr(body, "word_embed") else net.word_embed[0]
    words, units = word_embed.weight.shape
    found = {
        "num_layers": len(body.transformer_cells), "units": units, "num_heads": cell.attention_cell._num_heads,
        "hidden_size": cell.ffn.ffn_1.weight.shape[0], "vocab_size": words, "dropout": body.dropout_layer._rate,
        "activation": _name_of(cell.ffn.activation),
    }  # fmt: skip
    if hasattr(body, "_max_length"):
        found |= {"max_length": body._max_length, "layer_norm_eps": body._layer_norm_eps}
    if getattr(net, "token_type_embed", None) is not None:
        found["token_type_vocab_size"] = net.token_type_embed[0].weight.shape[0]
    return found


def _name_of(activation):
    """The name of an activation here."""
    if isinstance(activation, nn.Activation):
        return activation._act_type
    return "approx_gelu" if getattr(activation, "_approximate", False) else "gelu"


def _their_value(value, source, num_heads):
    """A value as it is there."""
    value = np.concatenate([np.zeros_like(value[: source.get("behind", 0)]), value])
    if "by_head" in source:
        value = value.T if source["by_head"] else value
        return np.ascontiguousarray(value.reshape(len(value), num_heads, -1))
    return np.ascontiguousarray(value.T) if source.get("transposed") else value


def _save_text(folder, kind, vocab, tokenizer):
    if vocab is None:
        return
    words = vocab.idx_to_token
    if kind["tokenizer"] == "WordPiece":
        write_bytes(os.path.join(folder, "vocab.txt"), ("\n".join(words) + "\n").encode())
    elif kind["tokenizer"] == "BPE" and tokenizer is not None:
        write_bytes(os.path.join(folder, "vocab.json"), json.dumps({w: i for i, w in enumerate(words)}).encode())
        merges = "".join(f"{' '.join(merge)}\n" for merge in tokenizer.merges)
        write_bytes(os.path.join(folder, "merges.txt"), ("#version: 0.2\n" + merges).encode())
    else:
        raise MXNetError(f"the words of a {kind['network']} are not written without the tokenizer's own file")


def _network(class_, settings, heads, parameters):
    """The network with these settings, as large as the parameters are."""
    if class_ == "GPT2Model":
        return gpt2.GPT2Model(vocab_size=len(parameters["_embed.weight"]), **settings)
    if class_ == "XLNetModel":
        return xlnet.XLNetModel(vocab_size=len(parameters["_net.word_embed.weight"]), **settings, **heads)
    settings["max_length"] = len(parameters["encoder.position_weight"])
    size, width = parameters["word_embed.0.weight"].shape
    of_model = {k: settings.pop(k) for k in ("token_type_vocab_size",) if k in settings}
    encoder = bert.BERTEncoder(**settings)
    return getattr(bert, class_)(encoder, vocab_size=size, units=width, embed_size=width, **of_model, **heads)


def _parameters(kind, tensors, num_layers, heads, folder):
    """The parameters under their names here, float32."""
    wanted = dict(kind["parameters"])
    for i in range(num_layers):
        wanted |= {ours.format(i): (source, i) for ours, source in kind["layers"].items()}
    for head, on in heads.items():
        wanted |= kind["heads"][head] if on else {}
    sources = {name: _source(*part) if isinstance(part, tuple) else _source(part) for name, part in wanted.items()}
    missing = [name for source in sources.values() for name in _names(source) if name not in tensors]
    if missing:
        raise MXNetError(f"{folder} lacks {len(missing)} parameters: {', '.join(missing[:8])}")
    return {name: _value(source, tensors) for name, source in sources.items()}


def _source(part, layer=None):
    """What makes a value, with the number of the layer in its names."""
    source = dict(part) if isinstance(part, dict) else {"from": part}
    source["from"] = source["from"].format(layer)
    return source


def _names(source):
    return [source[key] for key in ("from", "plus") if key in source]


def _value(source, tensors):
    value = _float32(tensors[source["from"]])
    if source.get("transposed"):
        value = value.T
    if "by_head" in source:
        value = value.reshape(len(value), -1)
        value = value.T if source["by_head"] else value
    value = value[source.get("behind", 0) :]
    return value + _float32(tensors[source["plus"]])[0] if "plus" in source else value


def _float32(record):
    if record.dtype == "bfloat16":
        return (record.data.view("uint16").astype("uint32") << 16).view("float32")
    return np.asarray(record.data, "float32")


def _known(kind, name):
    """Whether the network, or a head of it, has a place for the tensor, or none is needed."""
    parts = [*kind["parameters"].values(), *kind["layers"].values()]
    parts += [part for head in kind["heads"].values() for part in head.values()]
    patterns = [re.escape(name).replace(r"\{\}", r"\d+") for part in parts for name in _names(_source(part, "{}"))]
    return any(re.fullmatch(pattern, name) for pattern in [*patterns, *kind["unused"]])


def _activation(name, known):
    if name not in known:
        raise MXNetError(
            f"the activation {name!r} is not known here.{nearest(name, known)} Known are: {', '.join(known)}"
        )
    return known[name]


def _tensors(folder, prefix, endings):
    """The records of all files of a checkpoint, without the prefix and with one spelling of endings."""
    tensors = {}
    for path in _files(folder):
        for name, record in _records(path).items():
            for end, other in endings.items():
                name = name.removesuffix(end) + other if name.endswith(end) else name
            tensors[name.removeprefix(prefix)] = record
    return tensors


def _files(folder):
    """The paths of the files of parameters, of the first kind that is there."""
    for whole in ("model.safetensors", "pytorch_model.bin"):
        index = os.path.join(folder, whole + ".index.json")
        files = sorted(set(_read_json(index)["weight_map"].values())) if os.path.exists(index) else [whole]
        for file in files:
            if os.path.basename(file) != file:
                raise MXNetError(f"{index} names a file outside of its folder: {file!r}")
        paths = [os.path.join(folder, file) for file in files]
        if all(os.path.exists(path) for path in paths):
            return paths
        if os.path.exists(index):
            raise MXNetError(f"{index} names files that do not exist: {', '.join(files)}")
    raise MXNetError(f"{folder} has no parameters: neither model.safetensors nor pytorch_model.bin")


def _records(path):
    """The arrays of a file by name."""
    if path.endswith(".safetensors"):
        return read_safetensors(path)[0]
    found = read_torch(path)
    if not isinstance(found, dict) or not all(isinstance(record, Record) for record in found.values()):
        raise MXNetError(f"{path} holds no arrays by name, but {type(found).__name__}: it is no state_dict")
    return found


def _repository(name):
    """The repository that a name without an owner stands for on the hub."""
    owners = {"bert": "google-bert", "roberta": "FacebookAI", "distilbert": "distilbert", "gpt2": "openai-community"}
    return name if "/" in name else f"{owners.get(name.partition('-')[0], 'OWNER')}/{name}"


def _config(folder):
    """config.json, or what BERT's authors called it, which does not tell the type of the model."""
    of_bert = os.path.join(folder, "bert_config.json")
    if not os.path.exists(os.path.join(folder, "config.json")) and os.path.exists(of_bert):
        return {"model_type": "bert", **_read_json(of_bert)}
    return _read_json(os.path.join(folder, "config.json"))


def _read_json(path):
    if not os.path.exists(path):
        raise MXNetError(f"{path} does not exist")
    return read_json(path)


def _table():
    return _read_json(os.path.join(os.path.dirname(__file__), "huggingface.json"))


def published_by_authors(name, dataset_name):
    """The repository of the hub with the weights that GluonNLP converted for a data set; None where there is none."""
    return _table()["published"].get(name, {}).get(dataset_name)
