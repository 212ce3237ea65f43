"""Training and testing a classifier for one epoch: the loop that the classification programs share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from core import autograd, metric
from core.context import Context
from core.kvstore import processes


def train_epoch(
    net,
    batches: Iterable,
    trainer,
    loss_function,
    context: Context,
    after_step: Callable[[], None] = lambda: None,
    workers: int = 1,
) -> dict[str, float]:
    """One pass of training; the mean loss, and the accuracy on the way. `after_step` may restrain the weights.

    workers: how many processes train together, each with batches of one size; loss and accuracy are those of all.
    """
    loss_sum, accuracy = metric.Loss(), metric.Accuracy()
    for batch in batches:
        *inputs, label = (field.as_in_context(context) for field in batch)
        with autograd.record():
            output = net(*inputs)
            loss = loss_function(output, label)
        loss.backward()
        trainer.step(label.shape[0] * workers)
        after_step()
        loss_sum.update(None, loss)
        accuracy.update(label, output)
    if workers > 1:
        loss_sum, accuracy = processes.sum_metric(loss_sum), processes.sum_metric(accuracy)
    return {"loss": loss_sum.get()[1], "train_accuracy": accuracy.get()[1]}


def test(net, batches: Iterable, context: Context) -> float:
    """The accuracy of a network on `batches`."""
    accuracy = metric.Accuracy()
    for batch in batches:
        *inputs, label = (field.as_in_context(context) for field in batch)
        accuracy.update(label, net(*inputs))
    return accuracy.get()[1]
