"""Networks by name, with published vocabularies and weights."""

from __future__ import annotations

import functools
import os
import sys
import warnings

from core.base import MXNetError, nearest
from gluon import hub
from gluon.model_zoo.model_store import file_of, get_model_file
from gluon.store import DownloadError

from ..base import InvalidArgument, kept_in
from ..data.utils import _load_pretrained_vocab
from ..published import table
from . import bert, elmo, gpt2, language_model, translation, xlnet
from .huggingface import load_huggingface, published_by_authors

__all__ = ["get_model", "list_models"]

# Modules with CONFIGURATIONS, name to (class, settings); VOCABULARIES, the arguments that are vocabularies, with what
# their published names have behind the data set's (or own_vocabulary(), which is always the one); FREE, settings that
# may change; build(name, *vocabularies, settings); ALSO_IN, further modules that have its functions; DATASETS, which data
# set a name stands for without dataset_name and vocabulary; PRETRAINED, whether published weights are read unless told
# otherwise.
FAMILIES = (bert, elmo, gpt2, language_model, translation, xlnet)
HEADS = ("use_pooler", "use_decoder", "use_classifier")


def list_models():
    """The networks and layers that published weights exist for, and the names that `get_model` takes for them.

    >>> len(gluonnlp.model.list_models()) > 3
    True
    """
    return [row["name"] for row in table("listed_models")]


def get_model(name, dataset_name=None, pretrained=None, ctx=None, root=None, hparam_allow_override=False, **kwargs):
    """The network called `name`, in any case, and its vocabularies.

    dataset_name: for which published vocabulary and weights the network is; otherwise vocab (for translation src_vocab
    and tgt_vocab) says for which words. pretrained: whose weights, on ctx, by default the published ones of BERT, GPT-2
    and XLNet for which dataset_name is given:

    - True: the published ones, from `root` (`models` below `$MXNET_HOME`) or downloaded to it; where neither MXNet's
      server nor a mirror answers, the authors' own, from the Hugging Face hub;
    - a file of parameters, or a URL of one: the network is that of the name, with the vocabulary of dataset_name or vocab;
    - "hf://OWNER/NAME", or a folder of transformers: that network, its vocabulary and its settings.

    pretrained_allow_missing, ignore_extra: as `load_parameters` takes them. kwargs: settings beyond those that make the
    named network; to change one of these takes hparam_allow_override. ValueError for unknown names, MXNetError for
    files that are not to be had.

    >>> vocab = gluonnlp.vocab.BERTVocab(gluonnlp.data.count_tokens(["some", "words"]))
    >>> net, vocab = gluonnlp.model.get_model("bert_12_768_12", vocab=vocab, pretrained=False, use_decoder=False)
    >>> type(net).__name__, len(net.collect_params())
    ('BERTModel', 201)
    """
    name = name.lower()
    family = family_of(name)
    settings = family.CONFIGURATIONS[name][1]
    file = None
    if isinstance(pretrained, (str, os.PathLike)):
        file = _file(os.fspath(pretrained), root)
        if file is None:
            return _from_transformers(family, name, os.fspath(pretrained), ctx, kwargs)
    given = {k: kwargs.pop(k, None) for k in family.VOCABULARIES}
    passed = [kwargs.pop(k, None) for k in getattr(family, "PASSED", ())]
    lenient = {
        "allow_missing": kwargs.pop("pretrained_allow_missing", False),
        # Published files have all heads, which the caller may have switched off.
        "ignore_extra": kwargs.pop("ignore_extra", False) or any(kwargs.get(head) is False for head in HEADS),
    }
    changed = settings.keys() & kwargs.keys() - family.FREE
    if changed and not hparam_allow_override:
        raise InvalidArgument(
            f"{', '.join(sorted(changed))} of {name!r} cannot be overridden without hparam_allow_override=True"
        )
    if dataset_name is None and all(vocab is None for vocab in given.values()):
        dataset_name = getattr(family, "DATASETS", {}).get(name)
    if pretrained is None:
        pretrained = dataset_name is not None and getattr(family, "PRETRAINED", False)
    try:
        vocabularies = _vocabularies(family, name, dataset_name, given, root)
    except MXNetError as error:
        if not pretrained or file is not None or not isinstance(error.__cause__, DownloadError):
            raise
        return _from_authors(family, name, dataset_name, ctx, kwargs, error)
    if pretrained and file is None:
        try:
            _weights(name, dataset_name, root)  # before a network is built in vain
        except DownloadError as error:
            return _from_authors(family, name, dataset_name, ctx, kwargs, error)
    net = family.build(name, *vocabularies, {**settings, **kwargs})
    if file is not None:
        net.load_parameters(file, ctx=ctx, **lenient)
    elif pretrained:
        load_published(net, name, dataset_name, root, ctx, **lenient)
    return net, *vocabularies, *passed


def _file(source, root):
    """The file of parameters that `pretrained` names, itself or by a URL; None for folders and for places on the hub."""
    if source.startswith(hub.SCHEME) or os.path.isdir(source):
        return None
    found = file_of(source, os.path.expanduser(kept_in(root, "models")))
    if found is None:
        raise MXNetError(
            f"pretrained={source!r} is no file of parameters, no folder of transformers, no URL and no hf://OWNER/NAME"
        )
    return found


def _from_transformers(family, name, source, ctx, settings):
    """(network, vocabulary, what else the family gives) of a folder or repository of transformers."""
    heads = {head: settings.pop(head) for head in HEADS if head in settings}
    ignore_extra = settings.pop("ignore_extra", False)
    if settings:
        raise InvalidArgument(f"{', '.join(sorted(settings))}: the settings of {name!r} are those of {source}")
    net, vocab, tokenizer = load_huggingface(source, ctx, ignore_extra, **heads)
    expected = family.CONFIGURATIONS[name][0]
    known = {"XLNetModel": "xlnet", "GPT2Model": "gpt2"}
    if known.get(type(net).__name__, "bert") != family.__name__.rpartition(".")[2]:
        raise InvalidArgument(f"{source} has a {type(net).__name__}, which is no {name!r} ({expected})")
    return net, vocab, *[tokenizer for _ in getattr(family, "PASSED", ())]


def _from_authors(family, name, dataset_name, ctx, settings, error):
    """What the authors published themselves; DownloadError, with what was tried, where that is not to be had either."""
    repository = published_by_authors(name, dataset_name)
    if repository is None:
        raise error
    source = hub.SCHEME + repository
    kept = {head: settings[head] for head in HEADS if head in settings}
    try:
        found = _from_transformers(family, name, source, ctx, {**kept, "ignore_extra": True})
    except DownloadError as second:
        raise DownloadError(
            f"there are no weights of {name!r} for {dataset_name!r}. Tried: {error}; {second}. "
            f"Or put config.json, model.safetensors and the tokenizer's files of {repository} into a folder and pass its "
            "path as pretrained"
        ) from second
    print(f"{name}, {dataset_name}: the authors' weights, {source}", file=sys.stderr)
    return found


def load_published(net, model_name, dataset_name, root, ctx, ignore_extra=False, allow_missing=False):
    """Reads the published weights of `model_name` for `dataset_name` into `net`.

    MXNetError where they are not to be had.
    """
    path = _weights(model_name, dataset_name, root)
    net.load_parameters(path, ctx=ctx, ignore_extra=ignore_extra, allow_missing=allow_missing)


def builders():
    """A function for each name that `get_model` takes; the module of the network gets it, too, and NAME_hparams."""
    made = {}
    for family in FAMILIES:
        functions = {name: _builder(family, name) for name in family.CONFIGURATIONS}
        for module in (family, *getattr(family, "ALSO_IN", ())):
            vars(module).update(functions)
        vars(family).update({f"{name}_hparams": settings for name, (_, settings) in family.CONFIGURATIONS.items()})
        made.update(functions)
    return made


def family_of(name):
    """The module that has the network called `name`; ValueError names the nearest one."""
    for family in FAMILIES:
        if name in family.CONFIGURATIONS:
            return family
    known = [name for family in FAMILIES for name in family.CONFIGURATIONS]
    raise ValueError(f"there is no model called {name!r}.{nearest(name, known)} Known are: {', '.join(known)}")


def _builder(family, name):
    def build(dataset_name=None, *args, **kwargs):
        vocabularies = dict(zip(family.VOCABULARIES, args, strict=False))
        return get_model(name, dataset_name, **vocabularies, **kwargs)

    build.__name__ = build.__qualname__ = name
    make, settings = family.CONFIGURATIONS[name]
    told = ", ".join(f"{key}={value}" for key, value in settings.items() if isinstance(value, (int, float, str)))
    given = ", ".join(f"{key}=vocab" for key in family.VOCABULARIES)
    build.__doc__ = f"""The network {name} and its vocabularies, as `get_model({name!r}, ...)` gives them.

    A {make.__name__} with {told}.

    dataset_name: the text that published weights and vocabulary are of; without one the vocabulary is to be given.
    pretrained: whether to load those weights. AssertionError for other settings than these unless
    `hparam_allow_override=True`. Returns the network, then its vocabularies.

    >>> vocab = gluonnlp.vocab.BERTVocab(gluonnlp.data.count_tokens(["some", "words"]))
    >>> net = gluonnlp.model.{name}({given}, pretrained=False)[0]
    >>> isinstance(net, gluon.Block)
    True
    """
    return build


def _vocabularies(family, name, dataset_name, given, root):
    if hasattr(family, "own_vocabulary"):
        return [family.own_vocabulary()]
    if dataset_name is None:
        missing = [k for k, vocab in given.items() if vocab is None]
        if missing:
            raise InvalidArgument(
                f"{name!r} needs {' and '.join(missing)}, the vocabulary of its texts, or dataset_name"
            )
        return list(given.values())
    if any(vocab is not None for vocab in given.values()):
        warnings.warn(f"vocabularies are those of dataset_name={dataset_name!r}, not the given ones", stacklevel=3)
    class_ = getattr(family, "VOCABULARY_CLASSES", {}).get(name)
    dataset_name = getattr(family, "VOCABULARY_PREFIX", "") + dataset_name
    return [
        _load_pretrained_vocab(dataset_name + end, kept_in(root, "models"), class_)
        for end in family.VOCABULARIES.values()
    ]


def _weights(name, dataset_name, root):
    known = _published_weights()
    datasets = [row[len(name) + 1 :] for row in known if row.startswith(name + "_")]
    if dataset_name not in datasets:
        raise ValueError(
            f"there are no published weights of {name!r} for dataset_name={dataset_name!r}. "
            + (f"There are for: {', '.join(datasets)}" if datasets else "Read a file of weights with load_parameters.")
        )
    return get_model_file(f"{name}_{dataset_name}", root=os.path.expanduser(kept_in(root, "models")), checksums=known)


@functools.cache
def _published_weights():
    return {f"{row['name']}_{row['dataset']}": row["sha1"] for row in table("models")}
