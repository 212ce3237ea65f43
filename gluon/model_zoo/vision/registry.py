"""The models by name."""

from __future__ import annotations

from collections.abc import Callable

from core.base import nearest
from gluon.block import HybridBlock
from gluon.model_zoo.model_store import get_model_file

MODELS: dict[str, Callable] = {}


def get_model(name, **kwargs):
    """A network by its name, with `pretrained`, `ctx`, `root` and the keywords of its class; ValueError for others."""
    builder = MODELS.get(name.lower())
    if builder is None:
        raise ValueError(
            f"there is no model {name!r}.{nearest(name.lower(), MODELS)} The models are {', '.join(sorted(MODELS))}"
        )
    return builder(**kwargs)


def model(name: str, make: Callable[..., HybridBlock]) -> Callable[..., HybridBlock]:
    """Enters a model and gives its builder; `make(**kwargs)` gives the network without weights."""

    def build(pretrained=False, ctx=None, root=None, device=None, **kwargs):
        net = make(**kwargs)
        if pretrained:
            net.load_parameters(get_model_file(name, root), ctx=ctx, device=device)
        return net

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"The network {name}; `pretrained` loads the published weights from under `root` to `ctx`."
    MODELS[name] = build
    return build


class Classifier(HybridBlock):
    """A network of `features` and an `output` layer on top of them."""

    def hybrid_forward(self, F, x):
        return self.output(self.features(x))
