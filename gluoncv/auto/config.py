"""Settings in groups: defaults, and what the user says otherwise."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from core.base import nearest

__all__ = ["merged"]


def merged(defaults: Mapping[str, Mapping], given: Mapping | None) -> dict[str, dict]:
    """The defaults, by group, with the user's settings: by group too ({"train": {"lr": 0.1}}) or without ({"lr": 0.1}).

    A name without a group is that of the first group that has it. ValueError for a name that there is not.
    """
    config = {group: copy.deepcopy(dict(settings)) for group, settings in defaults.items()}
    for key, value in (given or {}).items():
        if key in config:
            if not isinstance(value, Mapping):
                raise ValueError(f"{key!r} is a group of settings, a dictionary, given {value!r}")
            for name, own in value.items():
                _set(config, [key], name, own)
        else:
            _set(config, list(config), key, value)
    return config


def _set(config: dict[str, dict], groups: list[str], name: str, value) -> None:
    for group in groups:
        if name in config[group]:
            config[group][name] = value
            return
    known = [other for group in groups for other in config[group]]
    raise ValueError(f"there is no setting {name!r}.{nearest(name, known)} There are {', '.join(known)}")
