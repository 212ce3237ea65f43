"""Training and testing a classifier for one epoch: the loop that the classification programs share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from core import autograd, metric
from core.context import Context
from scripts.common.devices import spread
from scripts.common.means import Means


def train_epoch(
    net,
    batches: Iterable,
    trainer,
    loss_function,
    context: Context | list[Context],
    after_step: Callable[[], None] = lambda: None,
    means: Means | None = None,
) -> dict[str, float]:
    """One pass of training; the mean loss, and the accuracy on the way. `after_step` may restrain the weights,
    `means` says how it goes.

    context: or several, which share each batch.
    """
    loss_sum, accuracy = metric.Loss(), metric.Accuracy()
    for batch in batches:
        pieces = _pieces(batch, context)
        with autograd.record():
            outputs = [net(*inputs) for *inputs, _ in pieces]
            losses = [loss_function(output, label) for output, (*_, label) in zip(outputs, pieces, strict=True)]
        autograd.backward(losses)
        trainer.step(batch[-1].shape[0])
        after_step()
        loss_sum.update(None, losses)
        if means is not None:
            means.add(loss=losses)
        accuracy.update([label for *_, label in pieces], outputs)
    return {"loss": loss_sum.get()[1], "train_accuracy": accuracy.get()[1]}


def test(net, batches: Iterable, context: Context | list[Context]) -> float:
    """The accuracy of a network on `batches`."""
    accuracy = metric.Accuracy()
    for batch in batches:
        for *inputs, label in _pieces(batch, context):
            accuracy.update(label, net(*inputs))
    return accuracy.get()[1]


def _pieces(batch, context: Context | list[Context]) -> list[tuple]:
    """The fields of the piece of a batch that each context gets."""
    if isinstance(context, list):
        return list(zip(*(spread(field, context) for field in batch), strict=True))
    return [tuple(field.as_in_context(context) for field in batch)]
