"""Bodies of CenterNet by name, and by functions that give them with random numbers."""

import warnings
from functools import partial

from gluoncv.model_zoo.center_net.bodies import DeconvDLA, DeconvResnet, DUCMobilenet

# name of the body -> its class and keywords
BODIES = {
    **{
        f"resnet{layers}_v1b{suffix}": (
            DeconvResnet,
            {"base_network": f"resnet{layers}_v1b", "use_dcnv2": bool(suffix)},
        )
        for layers in (18, 50, 101)
        for suffix in ("", "_dcnv2")
    },
    "dla34": (DeconvDLA, {}),
    "dla34_dcnv2": (DeconvDLA, {"use_dcnv2": True}),
    "mobilenetv3_large_duc": (DUCMobilenet, {"base_network": "mobilenetv3_large", "up_filters": (512, 256, 256)}),
    "mobilenetv3_small_duc": (DUCMobilenet, {"base_network": "mobilenetv3_small", "up_filters": (512, 256, 128)}),
}


def get_base_network(name, **kwargs):
    """One of the `BODIES`, with `pretrained_base`, `root` and `ctx`; ValueError for others."""
    if name not in BODIES:
        raise ValueError(f"there is no body for CenterNet of {name!r}: there are {', '.join(BODIES)}")
    body, settings = BODIES[name]
    return body(**settings, **kwargs)


def get_deconv_resnet(base_network, pretrained=False, ctx=None, **kwargs):
    """A `DeconvResnet` on the network of that name, which has its published weights if `pretrained`, initialised."""
    return _initialised(partial(DeconvResnet, base_network), pretrained, ctx, **kwargs)


def get_deconv_dla(base_network, pretrained=False, ctx=None, scale=4.0, **kwargs):
    """A `DeconvDLA` whose maps are a `scale`-th of the picture; otherwise as `get_deconv_resnet`."""
    return _initialised(partial(DeconvDLA, base_network), pretrained, ctx, down_ratio=int(scale), **kwargs)


def get_duc_mobilenet(base_network, pretrained=False, ctx=None, **kwargs):
    """A `DUCMobilenet`; otherwise as `get_deconv_resnet`."""
    return _initialised(partial(DUCMobilenet, base_network), pretrained, ctx, **kwargs)


def _initialised(make, pretrained=False, ctx=None, **kwargs):
    net = make(pretrained_base=pretrained, ctx=ctx, **kwargs)
    with warnings.catch_warnings():
        # of parameters that have published weights
        warnings.simplefilter("ignore")
        net.initialize(ctx=ctx)
    return net


def _named(name):
    """The name of a function that gives the body: resnet18_v1b_deconv_dcnv2 gives resnet18_v1b_dcnv2."""
    if name.endswith("_duc"):
        return name
    return f"{name.removesuffix('_dcnv2')}_deconv{'_dcnv2' if name.endswith('_dcnv2') else ''}"


globals().update({_named(name): partial(_initialised, partial(get_base_network, name)) for name in BODIES})
