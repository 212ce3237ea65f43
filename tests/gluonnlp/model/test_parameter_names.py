"""Full names of parameters, in their order: what GluonNLP 0.10 with MXNet 1.9.1 gives."""

import hashlib

import pytest

import gluonnlp as nlp
from core.name import NameManager

NAMES = {
    "bert_12_768_12": (206, "54c7f3716c76"),
    "distilbert_6_768_12": (100, "b98680c4d04f"),
    "roberta_12_768_12": (201, "2e221fc721ff"),
    "standard_lstm_lm_200": (10, "37aa44dec2db"),
    "awd_lstm_lm_600": (14, "58e67c3ae3cd"),
    "big_rnn_lm_2048_512": (8, "6130584fdf47"),
    "elmo_2x1024_128_2048cnn_1xhighway": (39, "68f71128a90d"),
}


@pytest.mark.parametrize("name", NAMES)
def test_full_names_come_in_gluonnlps_order(name):
    vocab = (nlp.Vocab if "lm" in name else nlp.vocab.BERTVocab)({"a": 1, "b": 2})
    given = {} if name.startswith("elmo") else {"vocab": vocab}
    with NameManager():
        net = nlp.model.get_model(name, dataset_name=None, pretrained=False, **given)[0]
    names = list(net.collect_params())
    assert (len(names), hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]) == NAMES[name]
