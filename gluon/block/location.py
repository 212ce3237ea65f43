"""Which layer an error comes from, as a note of the error."""

from __future__ import annotations

from core.dtypes import dtype_name
from core.ndarray import NDArray
from gluon.block.operators import leaves

__all__ = ["not_prepared", "note"]


def note(error: BaseException, block, args) -> None:
    """Notes on `error`, which leaves `block`, where it arose: the path of the layer, what the layer is and got.

    Each block on the way out calls it, so the path begins at the block that the user called.
    """
    found = _found(error)
    if found is None:
        shapes = [_shape(x) for x in args]
        found = (block, _inputs(args), block._advice(*shapes))
    error._layer = layer, inputs, advice = found
    path = _path(block, layer)
    text = f"{_BEGINNING}{f'{path} ' if path else ''}{_shown(layer)}{inputs}" + (f"\n{advice}" if advice else "")
    notes = [line for line in getattr(error, "__notes__", ()) if not line.startswith(_BEGINNING)]
    error.__notes__ = [*notes, text]


def not_prepared(block) -> RuntimeError:
    """The error for a block whose class forgot to call `super().__init__()`."""
    name = type(block).__name__
    return RuntimeError(f"{name}.__init__ has to call super().__init__() before anything else: it makes {name} a block")


_BEGINNING = "in layer "


def _found(error):
    """What is known of the layer: noted on this error, or on that which it was raised from."""
    while error is not None:
        if hasattr(error, "_layer"):
            return error._layer
        error = error.__cause__
    return None


def _path(block, layer) -> str | None:
    """The structural path from a block to one inside of it; "" for itself, None where it is no child of a child."""
    if block is layer:
        return ""
    for name, child in block._children.items():
        path = _path(child, layer)
        if path is not None:
            return f"{name}.{path}" if path else name
    return None


def _shown(layer) -> str:
    """A layer in a line: as it prints itself, without the blocks in it; a user's by the name of its class."""
    kind = type(layer)
    if kind.__repr__.__module__.partition(".")[0] not in ("gluon", "gluoncv", "gluonnlp"):
        return kind.__name__
    text = repr(layer)
    return type(layer).__name__ if "\n" in text else text


def _inputs(args) -> str:
    arrays = [x for x in leaves(args) if _shape(x) is not None]
    return f", called with {', '.join(f'{dtype_name(x.dtype)}{_shape(x)}' for x in arrays)}" if arrays else ""


def _shape(x) -> tuple | None:
    return tuple(x.shape) if isinstance(x, NDArray) else None
