"""Checkpoints of Hugging Face: a real BERT, and the arithmetic of the other types in float64."""

import json
from math import erf

import numpy as np
import pytest

import gluonnlp as nlp
from core import nd
from core.base import MXNetError
from core.files import write_safetensors

WORDS, LENGTHS = np.random.RandomState(0).randint(5, 40, (3, 9)), np.array([9, 5, 7])


def test_sentence_embeddings_of_minilm(weights, minilm):
    """Mean over the tokens, of length 1, as sentence-transformers recorded them."""
    net, vocab, tokenizer = nlp.model.load_huggingface(minilm, use_pooler=False)
    transform = nlp.data.BERTSentenceTransform(tokenizer, 64, pair=False)
    with np.load(weights / "minilm.expected.npz") as expected:
        samples = [transform((str(sentence),)) for sentence in expected["sentences"]]
        ids, lengths = np.stack([s[0] for s in samples]), np.array([s[1] for s in samples])
        longest = lengths.max()
        np.testing.assert_array_equal(ids[:, :longest], expected["input_ids"][:, :longest])
        hidden = net(nd.array(ids), nd.zeros(ids.shape), nd.array(lengths)).asnumpy()
        embeddings = hidden.sum(1) / lengths[:, None]
        embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
        np.testing.assert_allclose(embeddings, expected["embeddings"], rtol=0, atol=1e-4)
        last = expected["last_hidden"]
        np.testing.assert_allclose(hidden[:8, : last.shape[1]], last, rtol=0, atol=1e-4)
    assert len(vocab) == 30522


@pytest.mark.parametrize("kind", ["roberta", "distilbert"])
def test_encoders(tmp_path, kind):
    """Post-norm Transformers, whose positions RoBERTa counts from 2."""
    tensors = _encoder(kind)
    net, vocab, _ = nlp.model.load_huggingface(_checkpoint(tmp_path, kind, tensors))
    got = net(nd.array(WORDS), nd.array(LENGTHS))
    t = {name: value.astype("float64") for name, value in tensors.items()}
    names = NAMES[kind]
    behind = 2 if kind == "roberta" else 0
    x = t["embeddings.word_embeddings.weight"][WORDS] + t["embeddings.position_embeddings.weight"][behind : behind + 9]
    if kind == "roberta":
        x = _norm(x + t["embeddings.token_type_embeddings.weight"][0], t, "embeddings.LayerNorm", 1e-5)
    else:
        x = _norm(x, t, "embeddings.LayerNorm", 1e-12)
    for i in range(2):
        layer = {here: there.format(i) for here, there in names.items()}
        query, key, value = (_dense(x, t, layer[part]) for part in ("query", "key", "value"))
        read = _attend(query, key, value, np.arange(9) < LENGTHS[:, None, None, None])
        eps = 1e-5 if kind == "roberta" else 1e-12
        x = _norm(x + _dense(read, t, layer["out"]), t, layer["norm"], eps)
        inner = _gelu(_dense(x, t, layer["inner"]))
        x = _norm(x + _dense(inner, t, layer["outer"]), t, layer["last"], eps)
    keep = np.arange(9) < LENGTHS[:, None]
    got, scores = got if kind == "roberta" else (got, None)
    np.testing.assert_allclose(got.asnumpy()[keep], x[keep], rtol=1e-4, atol=1e-5)
    if kind == "roberta":
        x = _norm(_gelu(_dense(x, t, "lm_head.dense")), t, "lm_head.layer_norm", 1e-5)
        want = x @ t["embeddings.word_embeddings.weight"].T + t["lm_head.bias"]
        np.testing.assert_allclose(scores.asnumpy()[keep], want[keep], rtol=1e-4, atol=1e-5)
        assert (vocab.bos_token, vocab["</s>"]) == ("<s>", 2)


def test_gpt2(tmp_path):
    random = np.random.RandomState(1)
    tensors = {"wte.weight": (40, 16), "wpe.weight": (20, 16), "ln_f.weight": 16, "ln_f.bias": 16}
    for i in range(2):
        for name, shape in (("ln_1", (16,)), ("ln_2", (16,))):
            tensors |= {f"h.{i}.{name}.weight": shape, f"h.{i}.{name}.bias": shape}
        for name, shape in (
            ("attn.c_attn", (16, 48)),
            ("attn.c_proj", (16, 16)),
            ("mlp.c_fc", (16, 64)),
            ("mlp.c_proj", (64, 16)),
        ):
            tensors |= {f"h.{i}.{name}.weight": shape, f"h.{i}.{name}.bias": shape[1]}
    tensors = {name: random.normal(0, 0.3, shape).astype("float32") for name, shape in tensors.items()}
    folder = _checkpoint(tmp_path, "gpt2", {"transformer." + name: value for name, value in tensors.items()})
    got, states = nlp.model.load_huggingface(folder)[0](nd.array(WORDS))
    t = {name: value.astype("float64") for name, value in tensors.items()}
    x = t["wte.weight"][WORDS] + t["wpe.weight"][:9]
    for i in range(2):
        heads = _conv(_norm(x, t, f"h.{i}.ln_1", 1e-5), t, f"h.{i}.attn.c_attn")
        read = _attend(*np.split(heads, 3, axis=-1), np.tri(9, dtype=bool))
        x = x + _conv(read, t, f"h.{i}.attn.c_proj")
        inner = _conv(_norm(x, t, f"h.{i}.ln_2", 1e-5), t, f"h.{i}.mlp.c_fc")
        inner = inner / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        x = x + _conv(inner, t, f"h.{i}.mlp.c_proj")
    want = _norm(x, t, "ln_f", 1e-5) @ t["wte.weight"].T
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)
    net = nlp.model.load_huggingface(folder)[0]
    _, states = net(nd.array(WORDS[:, :4]))
    rest, _ = net(nd.array(WORDS[:, 4:]), states)
    np.testing.assert_allclose(rest.asnumpy(), want[:, 4:], rtol=1e-4, atol=1e-5)


def test_what_does_not_fit_is_named(tmp_path):
    tensors = _encoder("distilbert")
    folder = _checkpoint(tmp_path, "distilbert", {**tensors, "classifier.weight": np.zeros((2, 16), "float32")})
    with pytest.raises(MXNetError, match=r"classifier\.weight"):
        nlp.model.load_huggingface(folder)
    nlp.model.load_huggingface(folder, ignore_extra=True)
    tensors.pop("transformer.layer.1.ffn.lin1.weight")
    with pytest.raises(MXNetError, match=r"layer\.1\.ffn\.lin1\.weight"):
        nlp.model.load_huggingface(_checkpoint(tmp_path, "distilbert", tensors))
    with pytest.raises(TypeError, match="use_pooler"):
        nlp.model.load_huggingface(folder, use_pooler=True)
    for layers in (10**12, "2", None):
        (tmp_path / "config.json").write_text(
            json.dumps({**CONFIGS["distilbert"], "model_type": "distilbert", "n_layers": layers})
        )
        with pytest.raises(MXNetError, match="n_layers"):
            nlp.model.load_huggingface(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "berd"}')
    with pytest.raises(MXNetError, match=r"'berd'.*bert"):
        nlp.model.load_huggingface(tmp_path)


@pytest.mark.parametrize("file", ["tokenizer.json", "merges.txt"])
def test_byte_pairs_token_for_token_as_tokenizers(data, tmp_path, file):
    tokenizers = pytest.importorskip("tokenizers")
    text = data / "sst" / "stsa.binary.train"
    theirs = tokenizers.ByteLevelBPETokenizer()
    theirs.train([str(text)], vocab_size=2000, show_progress=False)
    theirs.save(str(tmp_path / "tokenizer.json"))
    theirs.save_model(str(tmp_path))
    ours = nlp.data.GPT2BPETokenizer.from_file(str(tmp_path / file))
    lines = text.read_text(encoding="utf8").splitlines()[:2000] + ["naïve  cafés — 3½ \t日本 it's"]
    for line, encoded in zip(lines, theirs.encode_batch(lines), strict=True):
        assert ours(line) == encoded.tokens


# The names of a layer's parts.
_BERT = "encoder.layer.{}."
NAMES = {
    "roberta": {
        "query": _BERT + "attention.self.query",
        "key": _BERT + "attention.self.key",
        "value": _BERT + "attention.self.value",
        "out": _BERT + "attention.output.dense",
        "norm": _BERT + "attention.output.LayerNorm",
        "inner": _BERT + "intermediate.dense",
        "outer": _BERT + "output.dense",
        "last": _BERT + "output.LayerNorm",
    },
    "distilbert": {
        "query": "transformer.layer.{}.attention.q_lin",
        "key": "transformer.layer.{}.attention.k_lin",
        "value": "transformer.layer.{}.attention.v_lin",
        "out": "transformer.layer.{}.attention.out_lin",
        "norm": "transformer.layer.{}.sa_layer_norm",
        "inner": "transformer.layer.{}.ffn.lin1",
        "outer": "transformer.layer.{}.ffn.lin2",
        "last": "transformer.layer.{}.output_layer_norm",
    },
}
CONFIGS = {
    "roberta": {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 24,
        "max_position_embeddings": 22,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-5,
        "pad_token_id": 1,
    },
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 24, "max_position_embeddings": 20},
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 20, "activation_function": "gelu_new"},
}


def _encoder(kind):
    random = np.random.RandomState(0)
    shapes = {"embeddings.word_embeddings.weight": (40, 16), "embeddings.position_embeddings.weight": (20, 16)}
    parts = [("embeddings.LayerNorm", (16,))]
    if kind == "roberta":
        shapes["embeddings.position_embeddings.weight"] = (22, 16)
        shapes["embeddings.token_type_embeddings.weight"] = (1, 16)
        shapes["lm_head.bias"] = (40,)
        parts += [("lm_head.dense", (16, 16)), ("lm_head.layer_norm", (16,))]
    sizes = {"norm": (16,), "last": (16,), "inner": (24, 16), "outer": (16, 24)}
    parts += [(name.format(i), sizes.get(part, (16, 16))) for i in range(2) for part, name in NAMES[kind].items()]
    for name, shape in parts:
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return {name: random.normal(0, 0.3, shape).astype("float32") for name, shape in shapes.items()}


def _checkpoint(folder, kind, tensors):
    write_safetensors(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps({"model_type": kind, **CONFIGS[kind]}))
    special = {"distilbert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]}.get(
        kind, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    )
    words = special + [chr(65 + i) for i in range(35)]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\nA B\n")
    return folder


def _dense(x, t, name):
    return x @ t[name + ".weight"].T + t[name + ".bias"]


def _conv(x, t, name):
    return x @ t[name + ".weight"] + t[name + ".bias"]


def _norm(x, t, name, eps):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * t[name + ".weight"] + t[name + ".bias"]


def _gelu(x):
    return x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def _attend(query, key, value, visible):
    query, key, value = (x.reshape(*x.shape[:2], 4, -1).transpose(0, 2, 1, 3) for x in (query, key, value))
    scores = np.where(visible, query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1]), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    read = weights / weights.sum(-1, keepdims=True) @ value
    return read.transpose(0, 2, 1, 3).reshape(*read.shape[:1], read.shape[2], -1)
