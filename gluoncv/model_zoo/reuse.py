"""Weights of classes that a detector keeps when it gets other classes."""

import warnings


def class_map(before, after, reuse_weights):
    """{new index: old index} from the `reuse_weights` of `reset_class`; {} for None.

    before, after: names of the classes. reuse_weights: names that both have, or a dictionary from new to old, of names
    or indices. ValueError for what a dictionary names and there is not; what a list names and there is not is left out
    with a warning.
    """
    if not reuse_weights:
        return {}
    before, after = list(before), list(after)
    if isinstance(reuse_weights, dict):
        return {_index(new, after, "new"): _index(old, before, "old") for new, old in reuse_weights.items()}
    shared = [name for name in reuse_weights if name in before and name in after]
    for name in reuse_weights:
        if name not in shared:
            warnings.warn(
                f"{name!r} is not among both the old classes, {before}, and the new ones, {after}", stacklevel=3
            )
    return {after.index(name): before.index(name) for name in shared}


def _index(label, classes, which):
    if isinstance(label, str):
        if label not in classes:
            raise ValueError(f"{label!r} is not among the {which} classes, {classes}")
        return classes.index(label)
    if not 0 <= label < len(classes):
        raise ValueError(f"{label} is not the index of one of the {len(classes)} {which} classes")
    return label


def replace_layer(old, new, mapping, shared=0, groups=1, width=1):
    """Initialises `new`, the layer that takes the place of `old`, and copies the rows of the classes in `mapping`.

    The outputs of both are `groups` times `shared` positions and one position per class, each of `width` numbers. With a
    mapping the shared positions are copied too.
    """
    parameter = next(iter(old.params.values()))
    if parameter._data is None and not parameter._deferred_init:
        return new
    new.initialize(ctx=parameter.list_ctx())
    if mapping:
        for before, after in zip(old.params.values(), new.params.values(), strict=True):
            source, target = before.data().asnumpy(), after.data().asnumpy().copy()
            rows, copied = _places(source, groups, width), _places(target, groups, width)
            copied[:, :shared] = rows[:, :shared]
            for k, v in mapping.items():
                copied[:, shared + k] = rows[:, shared + v]
            after.set_data(target)
    return new


def _places(rows, groups, width):
    return rows.reshape(groups, -1, width, *rows.shape[1:])
