"""Connectionist temporal classification (CPU backend) against the sum over all paths, written out."""

import itertools
import math

import torch

from core.kernels.cpu import ctc

LABELS, COUNTS = [[1, 1, 2], [2, 0, 0], [1, 2, 1], [0, 0, 0]], [3, 1, 3, 0]


def by_paths(scores, label, blank):
    """-log of the probability of all paths (steps, classes) that read as `label`; 0 where there is none."""
    probabilities, total = torch.softmax(scores, 1).tolist(), 0.0
    for path in itertools.product(range(scores.shape[1]), repeat=scores.shape[0]):
        if [k for k, _ in itertools.groupby(path) if k != blank] == label:
            total += math.prod(p[k] for p, k in zip(probabilities, path, strict=True))
    return -math.log(total) if total else 0.0


def test_the_loss_sums_all_paths():
    data = torch.randn(4, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for blank, lengths in ((0, None), (3, None), (3, torch.tensor([4, 2, 3, 1]))):
        label = torch.tensor(LABELS)
        steps = [4] * 4 if lengths is None else lengths.tolist()
        want = [by_paths(data[:t, n], LABELS[n][: COUNTS[n]], blank) for n, t in enumerate(steps)]
        found = ctc.loss(data, label, torch.tensor(COUNTS), lengths, blank)
        torch.testing.assert_close(found, torch.tensor(want, dtype=torch.float64))


def test_labels_and_lengths_beyond_the_data_are_cut():
    data = torch.zeros(2, 1, 3)
    far = ctc.loss(data, torch.tensor([[99]]), torch.tensor([9]), torch.tensor([9]), 0)
    torch.testing.assert_close(far, ctc.loss(data, torch.tensor([[2]]), torch.tensor([1]), None, 0))
