"""Connectionist temporal classification on the CPU, through ATen."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def loss(data, label, counts, lengths, blank):
    if not data.shape[1]:
        return data.new_empty(data.shape[1])
    return _forward(data, label, counts, lengths, blank)[0]


def loss_grad(dy, data, label, counts, lengths, blank):
    if not data.shape[1]:
        return data.new_empty(data.shape)
    losses, alpha, logs, given = _forward(data, label, counts, lengths, blank)
    dlogs = aten._ctc_loss_backward(dy, logs, *given, losses, alpha, blank, True)
    return aten._log_softmax_backward_data(dlogs, logs, 2, data.dtype)


def _forward(data, label, counts, lengths, blank):
    steps, batch, classes = data.shape
    # ATen reads memory at what it is given, without a look.
    label, counts = label.to(torch.int64).clamp(0, classes - 1), counts.to(torch.int64).clamp(0, label.shape[1])
    if lengths is None:
        lengths = torch.full((batch,), steps, dtype=torch.int64)
    else:
        lengths = lengths.to(torch.int64).clamp(1, steps)
        behind = torch.arange(steps).unsqueeze(1) >= lengths  # what comes after the end may be anything, nan too
        data = data.masked_fill(behind.unsqueeze(2), 0)
    logs, given = torch.log_softmax(data, 2), (label, lengths, counts)
    losses, alpha = aten._ctc_loss(logs, *given, blank, True)
    return torch.where(losses.isinf(), 0, losses), alpha, logs, given
