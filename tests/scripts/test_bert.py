"""Fine-tuning of BERT: weights of a published folder, records, the saved model."""

import argparse
import json

import numpy as np
import pytest

import core as mx
import gluonnlp as nlp
from gluon import Trainer
from gluon.loss import SoftmaxCrossEntropyLoss
from gluon.nn import Dense
from gluonnlp.data import BERTTokenizer
from scripts.bert import finetune_classifier, predict
from scripts.bert.pretrained import Pretrained, named_bert
from scripts.bert.text_classifier import TextClassifier
from scripts.bert.tuning import add_tuning_arguments, train, trainer
from scripts.common.run import Run

SMALL = {"num_layers": 1, "units": 16, "embed_size": 16, "hidden_size": 32, "num_heads": 2, "max_length": 32}


@pytest.fixture
def vocab(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", "the", "film"])
    )
    return path


def test_a_tuned_model_is_saved_and_predicts(data, programs, minilm, tmp_path, capsys):
    arguments = [*tiny(data, minilm), "--epochs", 1, "--phrases", 5]
    final = programs(finetune_classifier.main, *arguments, "--output_dir", tmp_path / "model")
    texts = finetune_classifier.treebank(data / "sst", 0)["test"][:12]
    capsys.readouterr()
    found = predict.main(["--output_dir", str(tmp_path / "model"), "--sentences", *(text for text, _ in texts)])
    right = np.mean([answer == label for (answer, _), (_, label) in zip(found, texts, strict=True)])
    assert right == pytest.approx(final["test_accuracy"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[2] for line in lines] == [text for text, _ in texts]
    assert all(0.5 <= probability <= 1 for _, probability in found)


@pytest.mark.slow
def test_tuning_goes_on_to_the_same_numbers(data, programs, minilm, tmp_path):
    arguments = [*tiny(data, minilm), "--epochs", 2]
    programs(finetune_classifier.main, *arguments, "--output_dir", tmp_path / "whole", into="whole")
    programs.interrupted(finetune_classifier.main, *arguments, "--output_dir", tmp_path / "again", rows=2, into="again")
    programs(finetune_classifier.main, *arguments, "--output_dir", tmp_path / "again", "--resume", into="again")
    assert programs.record("again") == programs.record("whole")


def test_sentences_of_any_length_get_the_scores_that_they_get_alone(vocab):
    classifier = small_classifier(vocab, ["no", "yes"])
    texts = ["a", "the film", "b c d e f g h i j k", "the film\tm n o"]
    together = predict.predict(classifier, texts, 4, mx.cpu())
    alone = [predict.predict(classifier, [text], 1, mx.cpu())[0] for text in texts]
    assert [label for label, _ in together] == [label for label, _ in alone]
    np.testing.assert_allclose([p for _, p in together], [p for _, p in alone], rtol=1e-5)


def test_a_regression_has_a_score_and_no_label(vocab, tmp_path):
    small_classifier(vocab, []).save(tmp_path / "model")
    ((score,),) = predict.main(["--output_dir", str(tmp_path / "model"), "--sentences", "the film\ta film"])
    assert np.isfinite(score)
    description = json.loads((tmp_path / "model" / "model.json").read_text())
    assert description["shapes"]["num_layers"] == 1


def test_a_roberta_learns_and_is_read_again(tmp_path):
    words = nlp.Vocab(dict.fromkeys([*"abdglno", "go", "od", "bad", "Ġ"], 1), bos_token="<s>", eos_token="</s>")
    shapes = {"bert_model": "roberta_12_768_12", **SMALL, "dropout": 0.0}
    start = Pretrained(named_bert(words, **shapes), words, shapes, merges=["g o", "o d", "b a", "ba d"])
    classifier = TextClassifier(start, labels=["bad", "good"], max_len=16)
    classifier.net.initialize(mx.init.Normal(0.5))
    texts = [("good",), ("bad",), ("go od",), ("a bad",)]
    samples = [(*fields, i % 2) for i, fields in enumerate(classifier.inputs(texts))]
    run = tuning_run(tmp_path)
    trainer = Trainer(classifier.net.collect_params(), "adam", {"learning_rate": 0.003}, update_on_kvstore=False)

    def loss_of(batch):
        return SoftmaxCrossEntropyLoss()(classifier.scores(batch[:-1], mx.cpu()), batch[-1]).mean()

    batches = classifier.batches(samples, 4, shuffle=True)
    losses = [train(run, classifier.net, batches, loss_of, trainer)["loss"] for _ in range(12)]
    assert losses[-1] < 0.5 * losses[0]
    before = predict.predict(classifier, [text for (text,) in texts], 2, mx.cpu())
    classifier.save(tmp_path / "model")
    again = TextClassifier.load(tmp_path / "model", mx.cpu())
    assert [label for label, _ in before] == ["bad", "good"] * 2
    after = predict.predict(again, [text for (text,) in texts], 2, mx.cpu())
    np.testing.assert_allclose([p for _, p in after], [p for _, p in before], rtol=1e-5)


@pytest.mark.slow
def test_the_shapes_of_bert_base_train(data, programs, vocab, tmp_path):
    arguments = ["--task_name", "SST", "--data-dir", data / "sst", "--bert_model", "bert_12_768_12", "--vocab", vocab]
    arguments += ["--samples", 4, "--batch_size", 2, "--epochs", 1, "--max_len", 16, "--output_dir", tmp_path / "model"]
    assert "test_accuracy" in programs(finetune_classifier.main, *arguments)
    assert TextClassifier.load(tmp_path / "model", mx.cpu()).net.bert.encoder.transformer_cells[11]


def tiny(data, checkpoint: str) -> list:
    arguments = ["--task_name", "SST", "--data-dir", data / "sst", "--checkpoint", checkpoint]
    return [*arguments, "--samples", 12, "--batch_size", 4, "--lr", 1e-4]


def tuning_run(folder, *arguments: str) -> Run:
    """A run with the arguments of every program that tunes."""
    parser = argparse.ArgumentParser()
    add_tuning_arguments(parser, "model", lr=0.01)
    return Run("bert", parser.parse_args(["--run", "tuned", "--log-dir", str(folder), *arguments]), data={})


@pytest.mark.parametrize("accumulate", [1, 2])
def test_training_steps_are_the_updates_in_all(tmp_path, capsys, accumulate):
    steps = ["--training_steps", "5", "--accumulate", str(accumulate), "--batch_size", str(4 // accumulate)]
    run = tuning_run(tmp_path, *steps, "--warmup_ratio", "0", "--log_interval", "2", "--epochs", "9")
    net = Dense(1, in_units=2)
    net.initialize()
    learner = trainer(run.args, net, samples=12)  # three updates a pass
    assert run.args.epochs == 2
    batches, seen = [mx.nd.ones((4 // accumulate, 2))] * 3 * accumulate, []

    def loss_of(batch):
        seen.append(learner.learning_rate)
        return net(batch).mean()

    for _ in range(run.args.epochs):
        row = train(run, net, batches, loss_of, learner)
    assert (learner.optimizer.num_update, len(seen)) == (5, 5 * accumulate)
    assert row.keys() == {"loss"} and "batch 2: loss" in capsys.readouterr().out
    np.testing.assert_allclose(seen[::accumulate], 0.01 * (1 - np.arange(5) / 5), rtol=1e-6)


def small_classifier(vocab, labels):
    words = BERTTokenizer.from_file(str(vocab)).vocab
    shapes = {"bert_model": "bert_12_768_12", **SMALL}
    start = Pretrained(named_bert(words, **shapes), words, shapes)
    classifier = TextClassifier(start, labels=labels, max_len=32)
    classifier.net.initialize(mx.init.Normal(0.5))
    predict.predict(classifier, ["the film"], 1, mx.cpu())  # now the last layer knows its width
    return classifier
