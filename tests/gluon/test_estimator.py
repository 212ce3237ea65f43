"""The estimator trains, stops, saves, resumes and measures as its handlers say."""

import os
import warnings

import numpy as np
import pytest

import core as mx
from gluon import SymbolBlock, Trainer, loss, nn
from gluon.contrib.estimator import (
    BatchProcessor,
    CheckpointHandler,
    EarlyStoppingHandler,
    Estimator,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)
from gluon.data import ArrayDataset, DataLoader

BATCHES = 4


def data(batch=8):
    numbers = np.random.RandomState(0)
    x = numbers.standard_normal((BATCHES * 8, 5)).astype("float32")
    return DataLoader(ArrayDataset(x, (x.sum(1) > 0).astype("float32")), batch)


def estimator(hybrid=True, **options):
    mx.random.seed(0)
    net = nn.HybridSequential()
    # A trainer keeps states in the order of names, in which dense10_ would come before dense9_.
    net.add(nn.Dense(8, activation="relu", prefix="first_"), nn.Dense(2, prefix="second_"))
    net.initialize(mx.init.Xavier())
    if hybrid:
        net.hybridize()
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    return Estimator(net, loss.SoftmaxCrossEntropyLoss(), trainer=trainer, context=mx.cpu(), **options)


def test_fit_is_the_loop_written_out():
    est = estimator()
    est.fit(data(), epochs=3)
    twin = estimator()
    for _ in range(3):
        for x, y in data():
            with mx.autograd.record():
                value = twin.loss(twin.net(x), y)
            value.backward()
            twin.trainer.step(len(x))
    for a, b in zip(est.net.collect_params().values(), twin.net.collect_params().values()):
        np.testing.assert_array_equal(a.data().asnumpy(), b.data().asnumpy())
    names = dict(metric.get() for metric in est.train_metrics)
    assert set(names) == {"training accuracy", "training softmaxcrossentropyloss"} and names["training accuracy"] > 0.5


def test_it_stops_after_batches_and_counts_them():
    class Count(TrainBegin, TrainEnd):
        def train_begin(self, estimator, *args, **kwargs):
            self.begun = estimator.max_batch

        def train_end(self, estimator, *args, **kwargs):
            self.ended = True

    est, count = estimator(), Count()
    stop = StoppingHandler()
    est.fit(data(), batches=BATCHES + 2, event_handlers=[count, stop])
    assert count.begun == BATCHES + 2 and count.ended and stop.current_batch == BATCHES + 2


def test_evaluation_measures_the_validation_metrics(capsys):
    est = estimator()
    est.fit(data(), data(), epochs=2)
    training, validation = dict(m.get() for m in est.train_metrics), dict(m.get() for m in est.val_metrics)
    right = np.mean([(est.net(x).argmax(axis=1) == y).asnumpy().mean() for x, y in data()])
    assert validation["validation accuracy"] == pytest.approx(right)
    assert training.keys() == {k.replace("validation", "training") for k in validation}
    assert "Train finished" in capsys.readouterr().out


def test_checkpoints_are_kept_pruned_and_resumed(tmp_path):
    est = estimator()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        best = CheckpointHandler(
            str(tmp_path), "net", monitor=est.train_metrics[0], save_best=True, mode="max", max_checkpoints=2
        )
    est.fit(data(), epochs=4, event_handlers=best)
    kept = sorted(os.listdir(tmp_path))
    assert kept == sorted(
        ["net-symbol.json", "net-best.params", "net-best.states"]
        + [f"net-epoch{e}batch{(e + 1) * BATCHES}.{kind}" for e in (2, 3) for kind in ("params", "states")]
    )
    imported = SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"])
    assert set(imported.collect_params()) == set(est.net.collect_params())

    again = estimator()
    again.fit(data(), epochs=6, event_handlers=CheckpointHandler(str(tmp_path), "net", resume_from_checkpoint=True))
    straight = estimator()
    straight.fit(data(), epochs=6)
    for a, b in zip(again.net.collect_params().values(), straight.net.collect_params().values()):
        np.testing.assert_array_equal(a.data().asnumpy(), b.data().asnumpy())
    assert f"net-epoch5batch{6 * BATCHES}.params" in os.listdir(tmp_path)
    with pytest.raises(ValueError, match="is reached by the checkpoint"):
        estimator().fit(
            data(), epochs=6, event_handlers=CheckpointHandler(str(tmp_path), "net", resume_from_checkpoint=True)
        )


def test_early_stopping_knows_which_way_is_better():
    est = estimator()
    est.trainer.set_learning_rate(0)  # nothing improves any more
    with pytest.warns(UserWarning, match="taken to improve when it is less"):
        handler = EarlyStoppingHandler(est.train_metrics[1], patience=2)
    est.fit(data(), epochs=50, event_handlers=handler)
    assert handler.current_epoch == 3 and handler.stopped_epoch == 2
    # As in MXNet, a negative min_delta lets the figure fall by as much.
    bears = EarlyStoppingHandler(est.train_metrics[1], mode="max", min_delta=-1, patience=1)
    est.fit(data(), epochs=4, event_handlers=bears)
    assert bears.current_epoch == 4 and bears.wait == 0


def test_a_batch_processor_of_the_users_own():
    class Twice(BatchProcessor):
        def fit_batch(self, estimator, batch, batch_axis=0):
            self.seen = getattr(self, "seen", 0) + 1
            return super().fit_batch(estimator, batch, batch_axis)

    processor = Twice()
    estimator(batch_processor=processor).fit(data(), epochs=1)
    assert processor.seen == BATCHES


def test_validation_every_few_batches():
    est, calls = estimator(), []
    handler = ValidationHandler(
        data(), lambda **kwargs: calls.append(sorted(kwargs)), epoch_period=None, batch_period=2
    )
    est.fit(data(), epochs=2, event_handlers=handler)
    assert calls == [["batch_axis", "event_handlers", "val_data"]] * BATCHES


def test_errors_say_what_is_accepted(tmp_path):
    est = estimator()
    with pytest.raises(ValueError, match="exactly one of epochs and batches"):
        est.fit(data(), epochs=1, batches=1)
    with pytest.raises(ValueError, match="DataLoader"):
        est.fit([1, 2], epochs=1)
    with pytest.raises(ValueError, match=r"estimator\.train_metrics"):
        est.fit(data(), epochs=1, event_handlers=MetricHandler([mx.metric.Accuracy()]))
    with pytest.raises(ValueError, match="log_interval"):
        LoggingHandler(log_interval="often")
    with pytest.raises(ValueError, match=r"gluon\.loss\.Loss"):
        Estimator(est.net, "loss")
    with pytest.raises(ValueError, match="needs a method fit_batch"):
        estimator(batch_processor=object())
    with pytest.raises(ValueError, match="save_best"):
        CheckpointHandler(str(tmp_path / "refused"), save_best=True)
    assert not os.listdir(tmp_path)
