"""Checkpoints that PyTorch wrote, converted to GluonNLP's files."""

import json
import shutil

import numpy as np
import pytest

import gluonnlp as nlp
from core import nd
from core.files import read_safetensors
from scripts.common.packaged import checkpoint_folder
from scripts.conversion_tools.convert_pytorch_model import main


@pytest.fixture
def pickled(minilm, tmp_path):
    """The installed checkpoint as it was before `.safetensors`: pickled by PyTorch, with BERT's first names."""
    import torch

    source, folder = checkpoint_folder(minilm), tmp_path / "pickled"
    folder.mkdir()
    records = read_safetensors(source / "model.safetensors")[0]
    tensors = {name: torch.from_numpy(np.array(record.data)) for name, record in records.items()}
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma"): tensor for name, tensor in tensors.items()}
    torch.save(old, folder / "pytorch_model.bin")
    config = json.loads((source / "config.json").read_text())
    del config["model_type"]
    (folder / "bert_config.json").write_text(json.dumps(config))
    shutil.copy(source / "tokenizer.json", folder)
    return source, folder


def test_a_pickled_checkpoint_gives_the_same_network(pickled, tmp_path):
    source, folder = pickled
    parameters, words = main(["--pytorch_checkpoint_dir", str(folder), "--out_dir", str(tmp_path / "out")])
    vocab = nlp.vocab.BERTVocab.from_json(words.read_text())
    wanted, vocab_there, _ = nlp.model.load_huggingface(source)
    assert vocab.idx_to_token == vocab_there.idx_to_token
    shape = {"num_layers": 6, "units": 384, "hidden_size": 1536, "num_heads": 12, "embed_size": 384}
    net, _ = nlp.model.get_model(
        "bert_12_768_12", vocab=vocab, use_decoder=False, use_classifier=False, hparam_allow_override=True, **shape
    )
    net.load_parameters(str(parameters))
    tokens, segments = nd.array([vocab[["[CLS]", "a", "test", "[SEP]"]]]), nd.zeros((1, 4))
    for found, there in zip(net(tokens, segments), wanted(tokens, segments), strict=True):
        np.testing.assert_allclose(found.asnumpy(), there.asnumpy(), rtol=1e-4, atol=1e-5)


def test_what_is_no_state_dict_is_named(pickled, tmp_path):
    import torch

    _, folder = pickled
    torch.save([1, 2], folder / "pytorch_model.bin")
    with pytest.raises(SystemExit, match="no state_dict"):
        main(["--pytorch_checkpoint_dir", str(folder), "--out_dir", str(tmp_path / "out")])
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(SystemExit, match="has no parameters"):
        main(["--pytorch_checkpoint_dir", str(folder), "--out_dir", str(tmp_path / "out")])
