"""The models by name."""

from __future__ import annotations

from collections.abc import Callable

from core.base import BadArgument, nearest
from gluon.block import HybridBlock
from gluon.model_zoo.model_store import get_model_file

MODELS: dict[str, Callable] = {}


def get_model(name, **kwargs):
    """A network by its name, with `pretrained`, `ctx`, `root` and the keywords of its class; ValueError for others.

    >>> net = gluon.model_zoo.vision.get_model("resnet18_v1", classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    builder = MODELS.get(name.lower())
    if builder is None:
        raise BadArgument(
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
    size = 299 if name.startswith("inception") else 224
    build.__doc__ = f"""The network {name} for pictures: (batch, 3, {size}, {size}) -> (batch, classes).

    classes: number of scores, 1000 by default, those of ImageNet; other keywords are those of its class. pretrained: whether
    to load the published weights, from under `root` or from where they are published, to `ctx`;
    otherwise the network is to be initialised. Pictures are RGB, from 0 to 1, minus (0.485, 0.456, 0.406), over
    (0.229, 0.224, 0.225).

    >>> net = gluon.model_zoo.vision.get_model("{name}", classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, {size}, {size}))[1]
    [(1, 10)]
    """
    MODELS[name] = build
    return build


class Classifier(HybridBlock):
    """A network of `features` and an `output` layer on top of them."""

    def hybrid_forward(self, F, x):
        return self.output(self.features(x))
