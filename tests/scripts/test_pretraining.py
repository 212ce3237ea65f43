"""Pretraining of BERT: pairs and masks by the rules of Devlin et al. (2019), the way from texts to a tuned network."""

import random

import numpy as np
import pytest

from gluonnlp.data import BERTTokenizer
from scripts.bert import create_pretraining_data, finetune_classifier, pretraining, run_pretraining

LETTERS = "abcdefghijklmnop"


@pytest.fixture
def vocab(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{c}" for c in LETTERS)]))
    return path


@pytest.fixture
def text(tmp_path):
    """Documents of one letter each: what is masked, and whether passages belong together, shows in what is left."""
    path = tmp_path / "text.txt"
    path.write_text("\n\n".join("\n".join([" ".join(letter * 6)] * 8) for letter in LETTERS) + "\n")
    return path


@pytest.mark.parametrize("whole_words", [False, True])
def test_masks(vocab, whole_words):
    words = BERTTokenizer.from_file(str(vocab)).vocab
    settings = pretraining.Settings(64, 9, 0.15, 0.1, whole_words)
    rng = random.Random(1)
    tokens = ["[CLS]", *("a ##b c ##d ##e f g h".split() * 6), "[SEP]"]
    changes = []
    for _ in range(300):
        masked, positions, labels = pretraining.mask(tokens, words, list(LETTERS), settings, rng)
        assert positions == sorted(set(positions)) and labels == [tokens[p] for p in positions]
        assert all(masked[p] == tokens[p] for p in range(len(tokens)) if p not in positions)
        assert 6 <= len(positions) <= 8 and masked[0] == "[CLS]" and masked[-1] == "[SEP]"
        if whole_words:
            heads = [p for p in positions if not tokens[p].startswith("##")]
            assert sum(1 + (tokens[p] == "a") + 2 * (tokens[p] == "c") for p in heads) == len(positions)
        changes += [masked[p] for p in positions]
    assert np.mean([c == "[MASK]" for c in changes]) == pytest.approx(0.8, abs=0.04)


def test_pairs_come_from_one_document_or_two(vocab, text):
    tokenizer = BERTTokenizer.from_file(str(vocab))
    # Every sentence says where it is from.
    texts = [[[f"{d}.{s}.{w}" for w in range(3)] for s in range(9)] for d in range(10)]
    settings = pretraining.Settings(20, 1, 0.0)
    found = []
    for _ in range(20):
        for index in range(len(texts)):
            for first, second, is_random in pretraining._pairs(texts, index, settings, random.Random(len(found))):
                assert len(first) + len(second) <= 17
                of = [{piece.split(".")[0] for piece in passage} for passage in (first, second)]
                assert of[0] == {str(index)} and len(of[1]) == 1 and (of[0] != of[1]) == is_random
                if not is_random:
                    last, begin = (tuple(map(int, p.split(".")[1:])) for p in (first[-1], second[0]))
                    assert begin > last
                found.append(is_random)
    assert 0.4 < np.mean(found) < 0.65
    made = pretraining.instances(pretraining.documents([text], tokenizer), tokenizer.vocab, settings, random.Random(0))
    for instance in made:
        ends = [i for i, token in enumerate(instance.tokens) if token == "[SEP]"]
        assert len(ends) == 2 and instance.segments == [0] * (ends[0] + 1) + [1] * (ends[1] - ends[0])


def test_from_texts_to_a_tuned_network(data, programs, vocab, text, tmp_path):
    sizes = ["--max_seq_length", "32", "--max_predictions_per_seq", "6"]
    arguments = ["--input_file", str(text), "--output_dir", str(tmp_path / "made"), "--vocab", str(vocab), *sizes]
    count = create_pretraining_data.main([*arguments, "--num_outputs", "2", "--dupe_factor", "3"])
    files = sorted((tmp_path / "made").glob("*.npz"))
    arrays = pretraining.load(files)
    assert len(files) == 2 and len(arrays["valid_lengths"]) == count
    assert (arrays["masked_lm_weights"].sum(axis=1) >= 1).all() and arrays["valid_lengths"].max() <= 32
    shapes = ["--num_layers", 1, "--units", 64, "--hidden_size", 64, "--num_heads", 2, "--max_length", 32]
    arguments = ["--data", *files, "--vocab", vocab, *shapes, "--total_batch_size", 16, "--num_steps", 90]
    arguments += ["--log_interval", 30, "--lr", 3e-3, "--warmup_ratio", 0.1, "--dropout", 0]
    final = programs(run_pretraining.main, *arguments, "--output_dir", tmp_path / "bert", into="whole")
    rows = programs.record("whole")["epochs"]
    # Chance is 1 of 16.
    assert rows[-1]["masked_loss"] < 0.5 * rows[0]["masked_loss"] and final["masked_accuracy"] > 0.5
    programs.interrupted(run_pretraining.main, *arguments, "--output_dir", tmp_path / "b2", rows=2, into="again")
    programs(run_pretraining.main, *arguments, "--output_dir", tmp_path / "b2", "--resume", into="again")
    assert programs.record("again") == programs.record("whole")
    on = ["--data", tmp_path / "made" / "*-000.npz", "--data_eval", f"{files[0]},{files[1]}", "--vocab", vocab, *shapes]
    on += ["--pretrained", tmp_path / "bert" / "net.params", "--total_batch_size", 16, "--accumulate", 4]
    further = programs(run_pretraining.main, *on, "--num_steps", 2, "--dropout", 0, "--lr", 1e-5, into="further")
    assert further["eval_masked_accuracy"] > 0.5 and further["masked_accuracy"] > 0.5
    tuned = ["--task_name", "SST", "--data-dir", data / "sst", "--checkpoint", tmp_path / "bert", "--samples", 8]
    tuned += ["--batch_size", 4, "--epochs", 1, "--max_len", 32, "--output_dir", tmp_path / "tuned"]
    assert 0 <= programs(finetune_classifier.main, *tuned, into="tuned")["test_accuracy"] <= 1


def test_steps_are_kept_and_gone_on_from(programs, vocab, text, tmp_path):
    shapes = ["--num_layers", 1, "--units", 16, "--hidden_size", 16, "--num_heads", 2, "--max_length", 32]
    given = ["--raw", "--data", text, "--vocab", vocab, *shapes, "--max_seq_length", 32, "--total_batch_size", 8]
    given += ["--num_buckets", 3, "--log_interval", 2, "--ckpt_interval", 2, "--lr", 0.01, "--dropout", 0]
    given += ["--output_dir", tmp_path / "bert"]
    programs(run_pretraining.main, *given, "--num_steps", 4, "--warmup_ratio", 0.5, into="first")
    kept = sorted(path.name for path in (tmp_path / "bert").glob("0*"))
    assert kept == [f"{step:07d}.{kind}" for step in (2, 4) for kind in ("params", "states")]
    programs(run_pretraining.main, *given, "--num_steps", 4, "--start_step", 2, into="on")
    assert [row["epoch"] for row in programs.record("on")["epochs"]] == [2]
    before = (tmp_path / "bert" / "0000004.params").read_bytes()
    second = ["--phase2", "--phase1_num_steps", 4, "--start_step", 4, "--num_steps", 2, "--comm_backend", "device"]
    programs(run_pretraining.main, *given, *second, into="second")
    # A rate that counted the first phase would be 0 here.
    assert (tmp_path / "bert" / "0000006.params").read_bytes() != before
    with pytest.raises(SystemExit):
        run_pretraining.main([*map(str, given), "--phase2", "--phase1_num_steps", "4"])
