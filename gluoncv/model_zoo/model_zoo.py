"""The networks by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from core.base import BadArgument, nearest
from gluon.block import Block
from gluon.model_zoo.vision.registry import MODELS as GLUON_MODELS
from gluoncv.data.classes import names
from gluoncv.data.imagenet.classification import ImageNet1kAttr
from gluoncv.model_zoo import cards, sources
from gluoncv.model_zoo.model_store import has_published_weights
from gluoncv.model_zoo.state_dict import is_state_dict, keywords, load_state_dict

MODELS: dict[str, Callable] = {}


def get_model(name, pretrained=False, root=None, ctx=None, **kwargs):
    """A network by its name, in any case of letters; ValueError, with the name most like it, for others.

    pretrained: True for the published weights, which are kept under `root`; 8 or more digits of their SHA-1 for a
    version of them; a file, a folder or a URL of weights, MXNet's or a state_dict of PyTorch; or weights of others by
    name, "hf://OWNER/NAME", "timm/NAME", "torchvision/NAME" (see `sources.find`). ctx: the device or devices that the
    weights are loaded to. Further keywords go to the network's class. `print(net.card)` says what is known of the
    weights, and `net.preprocess(picture)` makes an input of a picture, of a picture and boxes of persons, or of a video.

    >>> net = gluoncv.model_zoo.get_model("resnet18_v1b", classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    builder = MODELS.get(name.lower())
    if builder is None:
        raise BadArgument(
            f"there is no model {name!r}.{nearest(name.lower(), MODELS)} get_model_list() and `gluon list` have all names"
        )
    return builder(pretrained=pretrained, root=root, ctx=ctx, **kwargs)


def get_model_list():
    """The names of all networks, sorted.

    >>> "resnet50_v1d" in gluoncv.model_zoo.get_model_list()
    True
    """
    return sorted(MODELS)


def list_models(pretrained=False, task=None, filter=None):
    """Names of networks, sorted; those with weights that can be had by name if `pretrained`.

    task: "classification", "detection", "instance segmentation", "segmentation", "pose", "action", "depth" or
    "tracking". filter: a pattern such as "resnet*".

    >>> gluoncv.model_zoo.list_models(task="detection", filter="yolo3_darknet53*")
    ['yolo3_darknet53_coco', 'yolo3_darknet53_custom', 'yolo3_darknet53_voc']
    """
    names = [name for name in MODELS if not pretrained or has_published_weights(name) or sources.names(name)]
    return cards.chosen(names, task, filter)


def pretrained_model_list():
    """The names of the networks that have published weights, sorted.

    >>> "resnet50_v1d" in gluoncv.model_zoo.pretrained_model_list()
    True
    """
    return sorted(filter(has_published_weights, MODELS))


def model(name: str, make: Callable[..., Block], base: bool = False, **options) -> Callable[..., Block]:
    """Enters a network and gives its builder; arguments as those of `builder`."""
    MODELS[name] = builder(name, make, base, **options)
    return MODELS[name]


def builder(
    name: str,
    make: Callable[..., Block],
    base: bool = False,
    load_base: bool = True,
    lenient: bool = False,
    surplus: bool = False,
) -> Callable[..., Block]:
    """A function that gives a network with or without its published weights; `make(**kwargs)` gives it without.

    base: the network is built on another one that has published weights of its own. Then `make` is told by
    `pretrained_base` whether to load those, and with `root` and `ctx` where from and where to. Without,
    `pretrained_base` is accepted and means nothing, so that all networks can be called alike. load_base: its default.
    lenient: the published file lacks constants that the network computes, and has some that it does not need.
    surplus: it has parameters that the network lacks under some arguments.
    """

    def build(pretrained=False, root=None, ctx=None, pretrained_base=load_base, **kwargs):
        if base:
            # The network's own weights replace all of the base's.
            kwargs |= {"pretrained_base": False if pretrained else pretrained_base, "root": root, "ctx": ctx}
        weights = sources.find(name, pretrained, root) if pretrained else None
        path = weights.path if weights else None
        if path is not None and is_state_dict(path):
            net = make(**{**keywords(name, path), **kwargs})
            load_state_dict(net, path, ctx, weights.names_of)
        else:
            net = make(**kwargs)
            if path is not None:
                net.load_parameters(path, ctx=ctx, allow_missing=lenient, ignore_extra=lenient or surplus)
        if path is not None:
            _name_classes(net, name)
        facts = weights.facts() if weights else {}
        if path is not None and is_state_dict(path):
            facts["preprocessing"] = facts["preprocessing"] or cards.smoothed(name)
        net.card = cards.card(name, getattr(net, "classes", ()), **facts)
        net.card = cards.of_segments(net.card, net)
        if net.card.preprocessing is not None:
            net.preprocess = net.card.preprocessing
        return net

    return _named(build, name)


def with_weights(net, name, pretrained=False, ctx=None, root=None, lenient=False):
    """The network, with the weights published for `name`, or those that `pretrained` means, if that is true."""
    if pretrained:
        weights = sources.find(name, pretrained, root)
        if is_state_dict(weights.path):
            load_state_dict(net, weights.path, ctx, weights.names_of)
        else:
            net.load_parameters(weights.path, ctx=ctx, allow_missing=lenient, ignore_extra=lenient)
    return net


def custom(name: str, make: Callable[..., Block]) -> Callable[..., Block]:
    """Enters a detector for any classes, of the name FAMILY_custom, and gives its builder; `make` as with `base`.

    transfer: a data set for which the family has published weights; those of classes of the same name are kept.
    """

    def build(classes, transfer=None, pretrained=False, root=None, ctx=None, pretrained_base=True, **kwargs):
        if pretrained:
            warnings.warn(f"{name} has no published weights: pretrained is ignored, see transfer", stacklevel=2)
        if transfer is None:
            return make(classes=classes, pretrained_base=pretrained_base, root=root, ctx=ctx, **kwargs)
        net = get_model(f"{name.removesuffix('custom')}{transfer}", pretrained=True, root=root, ctx=ctx, **kwargs)
        net.reset_class(classes, reuse_weights=[label for label in classes if label in net.classes])
        return net

    MODELS[name] = _named(build, name)
    return build


def by_identifier(identifier, module):
    """The builder of the network whose name is `identifier` with dots in place of some underscores; AttributeError.

    `get_NAME` is the builder NAME too.

    >>> gluoncv.model_zoo.model_zoo.by_identifier("mobilenet1_0", "gluoncv.model_zoo").__name__
    'mobilenet1.0'
    """
    for name, build in MODELS.items():
        if name.replace(".", "_") == identifier.removeprefix("get_"):
            return build
    raise AttributeError(f"module {module!r} has no attribute {identifier!r}")


# What names of classifiers begin or end with -> the data set that names their classes; the others are ImageNet's
DATA_SETS = {"cifar_": "cifar10", "_sthsthv2": "somethingsomethingv2"} | {
    f"_{name}": name for name in ("kinetics400", "kinetics700", "ucf101", "hmdb51")
}


def _name_classes(net, name):
    """Gives a classifier with trained weights the names of its classes, `net.classes`,
    if it has as many as their data set.

    Those of ImageNet's 1,000 classes have `synset` and `classes_long` too.
    """
    if hasattr(net, "classes"):
        return
    count = list(net.collect_params().values())[-1].shape[0]
    of = next((data for part, data in DATA_SETS.items() if name.startswith(part) or name.endswith(part)), None)
    if of is not None and count == len(names(of)):
        net.classes = list(names(of))
    elif of is None and count == 1000:
        for attribute, value in vars(ImageNet1kAttr()).items():
            if attribute != "num_class":
                setattr(net, attribute, value)


def _named(build, name):
    build.__name__ = build.__qualname__ = name
    build.__doc__ = (
        f"The network {name}, as `gluoncv.model_zoo.get_model({name!r}, ...)` gives it, with the same arguments."
    )
    return build


def _lend(name):
    """Enters a network of gluon's own zoo."""
    model(name, lambda **kwargs: GLUON_MODELS[name](**kwargs))


for _name in GLUON_MODELS:
    _lend(_name)
