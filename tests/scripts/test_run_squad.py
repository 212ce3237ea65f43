"""XLNet answers questions about paragraphs, small and from random weights."""

import io
import json

import numpy as np
import pytest

from scripts.bert import squad
from scripts.language_model import run_squad, xlnet_squad

PARAGRAPH = "Marie Curie was born in Warsaw in 1867. She won the Nobel Prize in 1903, with Pierre Curie, and in 1911."
QUESTIONS = [("When did she win?", "1903"), ("Where was Curie born?", "Warsaw"), ("Who was with her?", "Pierre Curie")]


@pytest.fixture
def pieces(tmp_path):
    """A sentencepiece model with XLNet's marks, learned from the paragraph."""
    sentencepiece = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([PARAGRAPH, *(question for question, _ in QUESTIONS)] * 20), model_writer=model,
        vocab_size=90, num_threads=1, minloglevel=2, hard_vocab_limit=False, unk_id=0, bos_id=1, eos_id=2,
        control_symbols=["<cls>", "<sep>", "<pad>", "<mask>"],
    )  # fmt: skip
    path = tmp_path / "spiece.model"
    path.write_bytes(model.getvalue())
    return path


@pytest.mark.parametrize("question, answer", QUESTIONS)
def test_what_is_found_at_the_places_of_an_answer_is_its_text(pieces, question, answer):
    from scripts.language_model.xlnet_classifier import vocabulary

    tokenizer = xlnet_squad.Pieces(str(pieces), vocabulary(pieces))
    record = (0, "q", question, PARAGRAPH, [answer], [PARAGRAPH.index(answer)])
    settings = {"longest": 60, "stride": 16, "question": 20, "layout": xlnet_squad.layout}
    told = squad.windows(0, record, tokenizer, **settings, training=True)
    asked = squad.windows(0, record, tokenizer, **settings, training=False)
    assert len(told) > 1 and any(window.start != len(window.tokens) - 1 for window in told)
    read = []
    for window, true in zip(asked, told, strict=True):
        there = true.start != len(true.tokens) - 1
        assert xlnet_squad.closed(window)[true.start] == 0 and len(xlnet_squad.closed(window)) == len(window.tokens)
        # The best beginning with its best end, and another pair that is less likely.
        found = (np.array([-0.1, -3.0]), np.array([true.start, 1]), np.array([-0.1, -3.0]), np.array([true.end, 1]))
        read.append((window, (*found, np.array(-2.0 if there else 2.0))))
    limits = {"candidates": 5, "longest": 20}
    assert xlnet_squad.answer(PARAGRAPH, read, **limits, none_above=None).strip() == answer
    assert xlnet_squad.answer(PARAGRAPH, read, **limits, none_above=-3.0) == ""


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_the_program_answers_every_question(programs, pieces, tmp_path, monkeypatch, version):
    monkeypatch.setenv("GLUONNLP_VERIFY", "0")
    asked = [
        {"id": str(i), "question": q, "answers": [{"text": a, "answer_start": PARAGRAPH.index(a)}]}
        for i, (q, a) in enumerate(QUESTIONS)
    ]
    if version == "2.0":
        asked = [question | {"is_impossible": False} for question in asked]
        asked.append({"id": "3", "question": "Who wrote Faust?", "answers": [], "is_impossible": True})
    text = json.dumps({"data": [{"paragraphs": [{"context": PARAGRAPH, "qas": asked}]}]})
    for part in ("train", "dev"):
        (tmp_path / f"{part}-v{version}.json").write_text(text)
    given = ["--data-dir", tmp_path, "--sentencepiece", pieces, "--random_weights", "--num_layers", 1, "--units", 16]
    given += ["--hidden_size", 16, "--num_heads", 2, "--batch_size", 2, "--max_seq_length", 80, "--doc_stride", 20]
    given += ["--max_query_length", 20, "--version", version, "--dropout", 0, "--attention_dropout", 0]
    given += ["--output_dir", tmp_path / "model"]
    final = programs(run_squad.main, *given, "--epochs", 3, "--lr", 0.01, "--accumulate", 2)
    rows = programs.record()["epochs"]
    assert rows[-1]["loss"] < rows[0]["loss"]
    answers = json.loads((tmp_path / "model" / "predictions.json").read_text())
    assert list(answers) == [question["id"] for question in asked]
    kept = ["--only_predict", "--model_parameters", tmp_path / "model" / "model_xlnet_squad_3.params"]
    again = programs(run_squad.main, *given, *kept, into="again")
    assert again == {name: final[name] for name in ("exact_match", "f1")}
