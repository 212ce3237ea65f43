"""Networks by name."""

from __future__ import annotations

from core.base import MXNetError, nearest

from . import bert, language_model

__all__ = ["get_model", "list_models"]

# Modules with CONFIGURATIONS, name to (class, settings), and build(name, vocab, settings).
FAMILIES = (bert, language_model)


def list_models():
    """The names that `get_model` takes."""
    return [name for family in FAMILIES for name in family.CONFIGURATIONS]


def get_model(
    name, dataset_name=None, vocab=None, pretrained=False, ctx=None, root=None, hparam_allow_override=False, **kwargs
):
    """The network called `name` and its vocabulary.

    vocab: for which words the network is.  kwargs: settings beyond those that make the named network; to
    change one of these takes hparam_allow_override.  ctx, root: where published weights would go and lie, without
    effect on a new network.  Raises MXNetError for `pretrained` and `dataset_name`:
    there are no published weights here, `load_parameters` reads files of them.
    """
    family = next((family for family in FAMILIES if name in family.CONFIGURATIONS), None)
    if family is None:
        known = list_models()
        raise ValueError(f"there is no model called {name!r}.{nearest(name, known)} Known are: {', '.join(known)}")
    settings = family.CONFIGURATIONS[name][1]
    changed = settings.keys() & kwargs.keys()
    if changed and not hparam_allow_override:
        raise AssertionError(
            f"{', '.join(sorted(changed))} of {name!r} cannot be overridden without hparam_allow_override=True"
        )
    if pretrained or dataset_name is not None:
        raise MXNetError(
            f"no published weights or vocabularies of {name!r} are known here: leave dataset_name and pretrained out, "
            "give vocab, and read weights with load_parameters"
        )
    if vocab is None:
        raise AssertionError(f"{name!r} needs vocab, the vocabulary of its texts")
    net = family.build(name, vocab, {**settings, **kwargs})
    return net, vocab
