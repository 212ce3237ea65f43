"""What programs take from this module of GluonNLP to build and load networks of their own."""

from __future__ import annotations

from ..base import kept_in
from ..data.utils import _load_pretrained_vocab
from .weight_drop import apply_weight_drop

__all__ = ["apply_weight_drop"]


def _load_vocab(dataset_name, vocab, root, cls=None):
    """The vocabulary that was published for `dataset_name`, or where that is None the given one."""
    return vocab if dataset_name is None else _load_pretrained_vocab(dataset_name, kept_in(root, "models"), cls)
