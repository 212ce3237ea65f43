"""`gluon list` and `gluon info`: which networks there are, and what is known of one."""

from __future__ import annotations

import fnmatch
from argparse import Namespace

from gluon_cli.answer import Answer, columns

LANGUAGE = "language"


def add(command) -> None:
    """Enters the commands."""
    networks = command("list", help="names of networks", description="Names and tasks of networks of both toolkits.")
    networks.add_argument("filter", nargs="?", help="a pattern such as 'resnet*'")
    networks.add_argument("--task", help=f"classification, detection, segmentation, pose, action, ..., or {LANGUAGE}")
    networks.add_argument("--pretrained", action="store_true", help="only those with weights that have a name")
    networks.set_defaults(run=list_networks)
    info = command("info", help="what is known of a network", description="Task, input, size and weights of a network.")
    info.add_argument("name", help="name of a network, or a folder that `gluon train` wrote")
    info.set_defaults(run=describe)


def list_networks(args: Namespace) -> Answer:
    """The networks that the arguments choose."""
    from gluoncv.model_zoo import cards, list_models

    rows = []
    if args.task != LANGUAGE:
        rows = [(name, cards.task_of(name)) for name in list_models(args.pretrained, args.task, args.filter)]
    if args.task in (None, LANGUAGE):
        names = language_networks(args.pretrained)
        rows += [(name, LANGUAGE) for name in names if fnmatch.fnmatch(name, args.filter or "*")]
    return Answer([{"name": name, "task": task} for name, task in rows], columns(rows) if rows else "none")


def describe(args: Namespace) -> Answer:
    """What is known of a network or of a trained classifier."""
    from gluon_cli.classifiers import is_classifier, load

    if is_classifier(args.name):
        classifier = load(args.name)
        facts = {
            "name": args.name, "task": f"classification of {classifier.kind}", "classes": classifier.classes,
            "parameters": count(classifier.net), **classifier.settings(),
        }  # fmt: skip
    elif args.name.lower() in language_networks(False):
        facts = _language_network(args.name.lower())
    else:
        facts = _vision_network(vision_network(args.name))
    return Answer(facts, columns([(key, _shown(value)) for key, value in facts.items()]))


def vision_network(name: str) -> str:
    """The name in lower case; ValueError, with the name most like it, where the zoo has no such network."""
    from core.base import nearest
    from gluoncv.model_zoo import get_model_list

    known = get_model_list()
    if name.lower() not in known:
        raise ValueError(f"there is no network {name!r}.{nearest(name.lower(), known)} `gluon list` has all names")
    return name.lower()


def language_networks(pretrained: bool) -> list[str]:
    """Names of gluonnlp's networks, sorted; those with published weights if `pretrained`."""
    from gluonnlp.model import registry

    names = {name for family in registry.FAMILIES for name in family.CONFIGURATIONS}
    return sorted(names & set(registry.list_models()) if pretrained else names)


def count(net) -> int:
    """How many numbers a network learns or keeps."""
    shapes = [parameter.shape for parameter in net.collect_params().values()]
    total = 0
    for shape in shapes:
        product = 1
        for extent in shape:
            product *= extent
        total += product
    return total


def _vision_network(name):
    from core import nd
    from gluoncv.model_zoo import cards, get_model, model_store, sources, state_dict

    net = get_model(name, pretrained_base=False)
    card, prepared = net.card, net.card.preprocessing
    if card.task == "classification" and prepared is not None:
        net.initialize()
        net(nd.zeros((1, 3, prepared.size, prepared.size)))  # layers learn how many inputs they have
    known = all(extent > 0 for p in net.collect_params().values() for extent in p.shape or (0,))
    published = ["True"] if model_store.has_published_weights(name) else []
    return {
        "name": card.name, "task": cards.task_of(card.name), "parameters": count(net) if known else None,
        "input": None if prepared is None else str(prepared), "pretrained": published + sources.names(card.name),
        "names of": state_dict.libraries(net) or f"no other library: {state_dict.reason(card.name)}",
    }  # fmt: skip


def _language_network(name):
    from gluonnlp.model import registry

    family = registry.family_of(name)
    published = [row for row in registry._published_weights() if row.startswith(name + "_")]
    class_, settings = family.CONFIGURATIONS[name]
    return {
        "name": name, "task": LANGUAGE, "network": class_ if isinstance(class_, str) else class_.__name__,
        "settings": {key: value for key, value in settings.items() if isinstance(value, (int, float, str, bool))},
        "pretrained": [row[len(name) + 1 :] for row in published],
    }  # fmt: skip


def _shown(value):
    if isinstance(value, dict):
        return ", ".join(f"{key} {part}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
