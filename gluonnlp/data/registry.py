"""Data sets by name, with the values that their arguments take."""

from __future__ import annotations

import inspect

from gluon.data import Dataset

from ..registry import Registry

__all__ = ["register", "create", "list_datasets"]

_datasets = Registry("dataset", Dataset)
_arguments: dict[str, dict] = {}


def register(class_=None, **kwargs):
    """Decorator: `@register(segment=['train', 'test'])` files a Dataset and the values of its arguments.

    RuntimeError for keywords that are no arguments of the class, or values that are no list.

    >>> @gluonnlp.data.register(segment=["train", "test"])
    ... class Proverbs(gluon.data.SimpleDataset):
    ...     def __init__(self, segment="train"):
    ...         super().__init__([f"a proverb to {segment} with"])
    >>> gluonnlp.data.list_datasets("Proverbs"), gluonnlp.data.create("proverbs", segment="test")[0]
    ({'segment': ['train', 'test']}, 'a proverb to test with')
    """

    def add(class_):
        known = inspect.signature(class_).parameters
        for name, values in kwargs.items():
            if name not in known:
                raise RuntimeError(f"{name} is no argument of {class_.__name__}.")
            if not isinstance(values, (list, tuple)):
                raise RuntimeError(f"The values of {name} must be a list, not {values!r}.")
        _arguments[class_.__name__.lower()] = kwargs
        return _datasets.register(class_)

    return add if class_ is None else add(class_)


def create(name, **kwargs):
    """The data set with the class name `name`, in any case, built with the keyword arguments."""
    return _datasets.create(name, **kwargs)


def list_datasets(name=None):
    """{argument: values} of one data set, or {name: {argument: values}} of all.

    >>> "sst_2" in gluonnlp.data.list_datasets()
    True
    """
    if name is None:
        return dict(_arguments)
    _datasets.find(name)
    return _arguments[name.lower()]
