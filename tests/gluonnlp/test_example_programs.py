"""What GluonNLP's own scripts and notebooks ask of it, with tiny networks."""

import hashlib
import json
import warnings
import zipfile

import numpy as np
import pytest

import core as mx
import gluonnlp as nlp
from core.base import MXNetError

WORDS = nlp.vocab.BERTVocab(nlp.data.count_tokens(["a", "b", "c"]))
TINY = {
    "num_layers": 1, "units": 8, "hidden_size": 16, "num_heads": 2, "max_length": 6, "embed_size": 8,
    "hparam_allow_override": True, "pretrained": False, "dataset_name": None,
}  # fmt: skip


def corpus(root, sha1=None):
    """A corpus as programs define one, in an archive below `root`."""
    from gluonnlp.data.translation import _get_pair_key, _TranslationDataset

    texts = {"train.en": "one\n\nthree\n", "train.de": "eins\nzwei\ndrei\n", "vocab.en.json": nlp.Vocab({}).to_json()}
    root.mkdir()
    with zipfile.ZipFile(root / "toy.zip", "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    sums = {name: hashlib.sha1(text.encode()).hexdigest() for name, text in texts.items()}
    of_archive = sha1 or hashlib.sha1((root / "toy.zip").read_bytes()).hexdigest()

    class Toy(_TranslationDataset):
        def __init__(self, segment="train", src_lang="en", tgt_lang="de", root=str(root)):
            self._supported_segments = ["train"]
            self._archive_file = {_get_pair_key("en", "de"): ("toy.zip", of_archive)}
            files = {"train_en": "train.en", "train_de": "train.de", "vocab_en": "vocab.en.json"}
            files = {part: (name, sums[name]) for part, name in files.items()}
            self._data_file = {_get_pair_key("de", "en"): files}
            super().__init__("toy", segment=segment, src_lang=src_lang, tgt_lang=tgt_lang, root=root)

    return Toy


def test_programs_define_corpora_of_their_own(tmp_path):
    toy = corpus(tmp_path / "toy")("train")
    assert list(toy) == [("one", "eins"), ("three", "drei")]
    assert list(type(toy)("train", "de", "en")) == [("eins", "one"), ("drei", "three")]
    assert toy.src_vocab.to_json() == nlp.Vocab({}).to_json()
    assert (toy._root, toy._namespace, toy._pair_key) == (str(tmp_path / "toy"), "gluon/dataset/toy", "de_en")
    for arguments, message in ((("dev",), "segment"), (("train", "en", "fr"), "en_fr")):
        with pytest.raises(ValueError, match=message):
            corpus(tmp_path / message)(*arguments)


def test_names_and_checksums_of_files_are_read_off_a_data_set(tmp_path):
    question = {"id": "x", "question": "?", "answers": [{"text": "a", "answer_start": 0}]}
    text = json.dumps({"data": [{"paragraphs": [{"context": "a", "qas": [question]}]}]})
    (tmp_path / "dev-v1.1.json").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLUONNLP_VERIFY", "0")
        squad = nlp.data.SQuAD("dev", "1.1", root=str(tmp_path))
    (archive, _), (name, sha1) = squad._data_file[squad._version][squad._segment]
    assert (archive, name) == ("dev-v1.1.zip", "dev-v1.1.json")
    assert sha1 == "e1621aae0683b346ee9743bd5609266ba0cc34fc"  # as published
    with open(f"{squad._root}/{name}") as file:
        assert json.load(file)["data"][0]["paragraphs"][0]["qas"][0]["id"] == squad[0][1]
    assert sorted(squad._data_file["2.0"]) == ["dev", "train"]


HEADS = {"use_pooler": False, "use_decoder": False, "use_classifier": False}
NAMES = ["bert_12_768_12", "bert_24_1024_16", "ernie_12_768_12", "roberta_12_768_12", "roberta_24_1024_16",
         "distilbert_6_768_12"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_all_networks_like_bert_are_called_alike(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net, _ = nlp.model.get_model(
            name, vocab=WORDS, embed_dropout=0.5, use_residual=True, dropout=0.0, **HEADS, **TINY
        )
    net.initialize()
    words = mx.nd.array([[5, 6, 7]])
    given = (words, mx.nd.zeros((1, 3))) if name.startswith(("bert", "ernie")) else (words,)
    quiet = net(*given)
    assert quiet.shape == (1, 3, 8) and (quiet == net(*given)).asnumpy().all()
    with mx.autograd.train_mode():
        assert (net(*given) != quiet).asnumpy().any()  # the dropout of embeddings
    assert not [key for key in net.collect_params() if "dropout" in key]


def test_without_residual_connections_the_input_is_not_added():
    outputs = []
    for residual in (True, False):
        mx.random.seed(1)
        net, _ = nlp.model.get_model("roberta_12_768_12", vocab=WORDS, use_residual=residual, use_decoder=False, **TINY)
        net.initialize(mx.init.Zero())  # then all that attention and position-wise networks give is 0
        net.word_embed[0].weight.set_data(mx.nd.random.normal(shape=(len(WORDS), 8)))
        for key, value in net.collect_params().items():
            if key.endswith("gamma"):
                value.set_data(mx.nd.ones(value.shape))
        outputs.append(abs(net(mx.nd.array([[5, 6]]))).sum().asscalar())
    assert outputs[0] > 1 and outputs[1] == 0


def test_what_a_network_does_not_have_is_passed_over_with_a_warning():
    with pytest.warns(UserWarning, match="roberta_12_768_12 has no use_pooler"):
        net, _ = nlp.model.get_model("roberta_12_768_12", vocab=WORDS, use_pooler=True, use_decoder=False, **TINY)
    assert net.pooler is None
    with pytest.raises(MXNetError, match="num_layers"):
        nlp.model.get_model("roberta_12_768_12", vocab=WORDS, pretrained=False, num_layers=1)


def test_samples_of_different_lengths_are_read_from_what_programs_write(tmp_path):
    """As the program that makes data to pretrain BERT on writes them: arrays of objects, which are arrays."""
    for name, lengths in (("different", (2, 3, 1)), ("alike", (2, 2, 2))):
        samples = np.empty(3, object)
        for i, length in enumerate(lengths):
            samples[i] = np.arange(length, dtype="int32")
        np.savez_compressed(tmp_path / f"{name}.npz", input_ids=samples, valid_lengths=np.array(lengths))
        data = nlp.data.NumpyDataset(str(tmp_path / f"{name}.npz"), allow_pickle=True)
        assert data.keys == ["input_ids", "valid_lengths"] and data.get_field("valid_lengths").tolist() == [*lengths]
        for (words, length), expected in zip(data, lengths, strict=True):
            assert words.tolist() == [*range(expected)] and words.dtype == np.int32 and length == expected
    hostile = np.array([np.array([object], object), None], object)
    np.savez(tmp_path / "hostile.npz", input_ids=hostile)
    with pytest.raises(MXNetError, match="strings, numbers or arrays"):
        nlp.data.NumpyDataset(str(tmp_path / "hostile.npz"), allow_pickle=True)


def test_translators_of_programs_are_made_of_cells_by_name():
    """As gnmt.py beside GluonNLP's programs for machine translation is, whose state grows in `forward`."""
    from gluonnlp.model.seq2seq_encoder_decoder import (
        Seq2SeqDecoder,
        _get_attention_cell,
        _get_cell_type,
        _nested_sequence_last,
    )

    class Decoder(mx.gluon.HybridBlock, Seq2SeqDecoder):
        def __init__(self, units):
            super().__init__()
            with self.name_scope():
                self.attention_cell = _get_attention_cell("scaled_luong", units=units)
                self.cell = _get_cell_type("gru")(hidden_size=units)

        def __call__(self, step, states):
            return super().__call__(step, states)

        def forward(self, step, states):
            output, new, more = super().forward(step, states)
            new += states[1:]
            return output, new, more

        def hybrid_forward(self, F, step, states):
            inner, memory, mask = states
            output, inner = self.cell(step, inner)
            read, weights = self.attention_cell(
                F.expand_dims(output, axis=1), memory, memory, F.expand_dims(mask, axis=1)
            )
            return F.reshape(read, shape=(0, -1)), [inner], [weights]

    decoder = Decoder(4)
    decoder.initialize(mx.init.Xavier())
    found = []
    for hybridize in (False, True):
        decoder.hybridize(hybridize)
        states, passed = [[mx.nd.zeros((2, 4))], mx.nd.ones((2, 3, 4)), mx.nd.array([[1, 1, 1], [1, 0, 0]])], []
        for step in range(3):
            output, states, (weights,) = decoder(mx.nd.full((2, 4), step), states)
            passed.append(states[0])
        assert len(states) == 3 and weights.shape == (2, 1, 3)
        found.append([output, *_nested_sequence_last(passed, mx.nd.array([1, 3]))])
    for eager, hybrid in zip(*found, strict=True):
        np.testing.assert_allclose(eager.asnumpy(), hybrid.asnumpy(), rtol=1e-5)
    with pytest.raises(ValueError, match="tanh_rnn"):
        _get_cell_type("lstms")
