"""Names of Transformer-XL in transformers and of ELMo in AllenNLP, both ways.

Outputs are compared with those packages by `python -m tests.twins.language`; logs/conversion/twins_language.log.
"""

import json

import numpy as np
import pytest

import gluonnlp as nlp
from core import nd
from core.base import MXNetError
from core.files import read_safetensors
from gluonnlp.model import load_huggingface, load_state_dict, save_huggingface, save_state_dict
from gluonnlp.model.state_dict import state_dict


def xl(**settings):
    sizes = {"vocab_size": 60, "embed_size": 16, "embed_cutoffs": [20, 40], "embed_div_val": 2, "num_layers": 1,
             "units": 16, "hidden_size": 24, "num_heads": 2, "tie_input_output_embeddings": True,
             "tie_input_output_projections": [False, True, True]}  # fmt: skip
    return nlp.model.TransformerXL(**(sizes | settings))


def elmo():
    return nlp.model.ELMoBiLM("lstmpc", 8, [[1, 4], [2, 4]], 4, 20, 1, "relu", 10, 8, 16, 8, 2, 3, 3)


# The state_dict of transformers' 4.46.3 TransfoXLLMHeadModel of these sizes.
LAYER = "transformer.layers.0."
OF_XL = {
    **{f"transformer.word_emb.emb_layers.{i}.weight": (20, 16 // 2**i) for i in range(3)},
    **{f"transformer.word_emb.emb_projs.{i}": (16, 16 // 2**i) for i in range(3)},
    **{f"crit.out_layers.{i}.weight": (20, 16 // 2**i) for i in range(3)},
    **{f"crit.out_layers.{i}.bias": (20,) for i in range(3)},
    **{f"crit.out_projs.{i}": (16, 16 // 2**i) for i in range(3)},
    "crit.cluster_weight": (2, 16), "crit.cluster_bias": (2,), "transformer.pos_emb.inv_freq": (8,),
    LAYER + "dec_attn.r_r_bias": (2, 8), LAYER + "dec_attn.r_w_bias": (2, 8),
    LAYER + "dec_attn.qkv_net.weight": (48, 16), LAYER + "dec_attn.o_net.weight": (16, 16),
    LAYER + "dec_attn.r_net.weight": (16, 16),
    **{f"{LAYER}{part}.layer_norm.{name}": (16,) for part in ("dec_attn", "pos_ff") for name in ("weight", "bias")},
    LAYER + "pos_ff.CoreNet.0.weight": (24, 16), LAYER + "pos_ff.CoreNet.0.bias": (24,),
    LAYER + "pos_ff.CoreNet.3.weight": (16, 24), LAYER + "pos_ff.CoreNet.3.bias": (16,),
}  # fmt: skip
# That of AllenNLP's 2.10.1 _ElmoBiLm.
OF_ELMO = {
    "_token_embedder._char_embedding_weights": (20, 4),
    **{f"_token_embedder.char_conv_{i}.weight": (4, 4, i + 1) for i in range(2)},
    **{f"_token_embedder.char_conv_{i}.bias": (4,) for i in range(2)},
    "_token_embedder._highways._layers.0.weight": (16, 8), "_token_embedder._highways._layers.0.bias": (16,),
    "_token_embedder._projection.weight": (8, 8), "_token_embedder._projection.bias": (8,),
    **{
        f"_elmo_lstm.{way}_layer_{i}.{name}": shape
        for way in ("forward", "backward") for i in range(2) for name, shape in (
            ("input_linearity.weight", (64, 8)), ("state_linearity.weight", (64, 8)), ("state_linearity.bias", (64,)),
            ("state_projection.weight", (8, 16)),
        )
    },
}  # fmt: skip


def random(shapes):
    numbers = np.random.RandomState(0)
    values = {name: numbers.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
    for i in range(3):  # what is tied there
        if f"crit.out_layers.{i}.weight" in values:
            values[f"crit.out_layers.{i}.weight"] = values[f"transformer.word_emb.emb_layers.{i}.weight"]
            if i:
                values[f"crit.out_projs.{i}"] = values[f"transformer.word_emb.emb_projs.{i}"]
    return values


@pytest.mark.parametrize(("make", "shapes"), [(xl, OF_XL), (elmo, OF_ELMO)], ids=["TransformerXL", "ELMo"])
def test_every_array_has_its_place_and_comes_back_bit_for_bit(make, shapes, tmp_path):
    values = random(shapes)
    net = make()
    load_state_dict(net, values)
    save_state_dict(net, tmp_path / "net.safetensors")
    back = {name: record.data for name, record in read_safetensors(tmp_path / "net.safetensors")[0].items()}
    values.pop("transformer.pos_emb.inv_freq", None)
    assert back.keys() == values.keys()
    for name, value in values.items():
        np.testing.assert_array_equal(back[name], value, err_msg=name)
    other = make()
    load_state_dict(other, tmp_path / "net.safetensors")
    for name, value in state_dict(other).items():
        np.testing.assert_array_equal(value, values[name], err_msg=name)


def test_gates_of_highways_carry_the_other_part():
    """AllenNLP's gate g gives g x + (1 - g) relu(W x + b)."""
    values = random(OF_ELMO)
    net = elmo()
    load_state_dict(net, values)
    x = np.random.RandomState(1).standard_normal((3, 8)).astype("float32")
    weight, bias = (values[f"_token_embedder._highways._layers.0.{name}"] for name in ("weight", "bias"))
    y = x @ weight.T + bias
    gate = 1 / (1 + np.exp(-y[:, 8:]))
    want = gate * x + (1 - gate) * np.maximum(y[:, :8], 0)
    got = net._elmo_char_encoder._convolutions._highways(nd.array(x)).asnumpy()
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_states_of_elmo_have_one_bias_there():
    """Ours have two, which are added."""
    net = elmo()
    load_state_dict(net, random(OF_ELMO))
    cell = net._elmo_lstm.forward_layers[0][0]
    assert not cell.i2h_bias.data().asnumpy().any()
    cell.i2h_bias.set_data(nd.ones((64,)))
    np.testing.assert_array_equal(
        state_dict(net)["_elmo_lstm.forward_layer_0.state_linearity.bias"], cell.h2h_bias.data().asnumpy() + 1
    )


def test_a_folder_of_transformers(tmp_path):
    net = xl()
    load_state_dict(net, random(OF_XL))
    save_huggingface(net, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["model_type"] == "transfo-xl" and config["cutoffs"] == [20, 40] and config["div_val"] == 2
    assert config["tie_projs"] == [False, True, True] and config["d_inner"] == 24
    again, vocab, tokenizer = load_huggingface(tmp_path)
    assert vocab is tokenizer is None
    words = nd.array(np.random.RandomState(0).randint(0, 60, (2, 4)))
    for a, b in zip(net(words, words)[::2], again(words, words)[::2], strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6, atol=1e-6)
    (tmp_path / "config.json").write_text(json.dumps(config | {"pre_lnorm": True}))
    with pytest.raises(MXNetError, match="has pre_lnorm False, not True"):
        load_huggingface(tmp_path)


def test_mistakes_are_named(tmp_path):
    values = random(OF_ELMO)
    with pytest.raises(MXNetError, match=r"lacks _token_embedder\._projection\.bias"):
        load_state_dict(elmo(), {k: v for k, v in values.items() if not k.endswith("_projection.bias")})
    with pytest.raises(MXNetError, match="arrays without a place in a ELMoBiLM: more"):
        load_state_dict(elmo(), values | {"more": np.zeros(1)})
    with pytest.raises(MXNetError, match=r"_projection\.bias is \(9,\), not \(8,\)"):
        load_state_dict(elmo(), values | {"_token_embedder._projection.bias": np.zeros(9)})
    with pytest.raises(MXNetError, match=r"no map of names here; there are maps of TransformerXL \(transformers\)"):
        load_state_dict(nlp.model.TextCNN(), {})
    with pytest.raises(MXNetError, match="has no value yet"):
        save_state_dict(xl(), tmp_path / "net.safetensors")
    with pytest.raises(MXNetError, match=r"\.safetensors"):
        save_state_dict(xl(), tmp_path / "net.pt")
    net = xl()
    net.initialize()
    net(nd.ones((1, 3)), nd.ones((1, 3)))
    with pytest.raises(MXNetError, match="add 1e-5, those of this network 1e-12"):
        save_huggingface(net, tmp_path)
