"""What an estimator does with one batch; subclasses do it in another way."""

from core import autograd
from gluon.utils import split_and_load


class BatchProcessor:
    """Forward and backward passes over a batch (data, label), which is shared among the estimator's contexts.

    Both methods give (data, label, prediction, loss), each a list with one array per context.

    >>> from gluon.contrib.estimator import BatchProcessor, Estimator
    >>> net = nn.Dense(1, in_units=1)
    >>> net.initialize()
    >>> estimator = Estimator(net, gluon.loss.L2Loss(), trainer=gluon.Trainer(net.collect_params(), "sgd"))
    >>> data, label, prediction, loss = BatchProcessor().evaluate_batch(estimator, (nd.ones((4, 1)), nd.ones((4, 1))))
    >>> prediction[0].shape, loss[0].shape
    ((4, 1), (4,))
    """

    def _get_data_and_label(self, batch, ctx, batch_axis=0):
        return tuple(split_and_load(part, ctx_list=ctx, batch_axis=batch_axis) for part in batch[:2])

    def evaluate_batch(self, estimator, val_batch, batch_axis=0):
        """Predictions and losses of the estimator's `val_net`."""
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        return data, label, pred, [estimator.val_loss(p, y) for p, y in zip(pred, label, strict=True)]

    def fit_batch(self, estimator, train_batch, batch_axis=0):
        """Predictions and losses of the estimator's `net`, whose gradients are left for a handler to use."""
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(p, y) for p, y in zip(pred, label, strict=True)]
        for part in loss:
            part.backward()
        return data, label, pred, loss
