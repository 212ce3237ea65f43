"""`SVRGModule`: a module whose gradients are corrected by those at a snapshot of the weights."""

from __future__ import annotations

import logging

from core.module import Module


class SVRGModule(Module):
    """A `Module` that, every `update_freq` epochs, takes a snapshot of its weights and the mean gradient there.

    Each gradient is then less that of the same batch at the snapshot, plus that mean: the same direction on average,
    with less variance. Johnson and Zhang, "Accelerating stochastic gradient descent using predictive variance
    reduction" (2013).
    """

    def __init__(self, symbol, data_names=("data",), label_names=("softmax_label",), logger=logging, context=None,
                 work_load_list=None, fixed_param_names=None, state_names=None, group2ctxs=None,
                 compression_params=None, update_freq=None):  # fmt: skip
        if not isinstance(update_freq, int):
            raise TypeError(f"update_freq is the number of epochs between snapshots, got {update_freq!r}")
        if update_freq <= 0:
            raise ValueError(f"update_freq is positive, got {update_freq}")
        settings = (symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names,
                    group2ctxs, compression_params)  # fmt: skip
        self._mod_aux = Module(*settings)  # the network at the snapshot
        super().__init__(*settings)
        self.update_freq = update_freq
        self._param_dict = None  # by context and name: the mean gradients at the snapshot

    def _reset_bind(self):
        super()._reset_bind()
        self._mod_aux._reset_bind()

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False, force_rebind=False,
             shared_module=None, grad_req="write"):  # fmt: skip
        settings = (data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, shared_module, grad_req)
        super().bind(*settings)
        if for_training:
            self._mod_aux.bind(*settings)

    def reshape(self, data_shapes, label_shapes=None):
        super().reshape(data_shapes, label_shapes)
        self._mod_aux.reshape(data_shapes, label_shapes)

    def forward(self, data_batch, is_train=None):
        super().forward(data_batch, is_train)
        if is_train and self._mod_aux.params_initialized:
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads=None):
        super().backward(out_grads)
        if self._mod_aux.params_initialized:
            self._mod_aux.backward(out_grads)

    def update(self):
        if self._param_dict is not None:
            self._update_svrg_gradients()
        super().update()

    def update_full_grads(self, train_data):
        """Takes a snapshot of the weights and computes the mean of the gradients of all batches there."""
        self._mod_aux.set_params(*self.get_params())
        train_data.reset()
        group, sums, count, pad = self._mod_aux._exec_group, None, 0, 0
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            grads = [[g if g is None else g.copy() for g in row] for row in group.grad_arrays]
            sums = grads if sums is None else [
                [s if s is None else s + g for s, g in zip(*rows)] for rows in zip(sums, grads)
            ]  # fmt: skip
            count, pad = count + 1, batch.pad or 0
        true_count = count - pad / train_data.batch_size
        places = range(len(self._context))
        self._param_dict = [
            {name: row[i] if row[i] is None else row[i] / true_count for name, row in zip(self._param_names, sums)}
            for i in places
        ]

    def _update_svrg_gradients(self):
        rows = zip(self._param_names, self._exec_group.grad_arrays, self._mod_aux._exec_group.grad_arrays)
        for name, here, there in rows:
            for i, (grad, at_snapshot) in enumerate(zip(here, there)):
                if grad is not None:
                    grad[:] = grad - at_snapshot + self._param_dict[i][name]

    def _before_epoch(self, epoch, train_data):
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
            train_data.reset()

    def prepare(self, data_batch, sparse_row_id_fn=None):
        super().prepare(data_batch, sparse_row_id_fn)
        self._mod_aux.prepare(data_batch, sparse_row_id_fn)
