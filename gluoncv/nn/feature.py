"""Networks that give several of the layers inside of another network, and layers on top of these."""

from core import symbol as sym
from core.initializer import Xavier
from gluon.block import HybridBlock, SymbolBlock


class FeatureExtractor(SymbolBlock):
    """Outputs of layers of a network.

    network: a name in the zoo, a block or a symbol. outputs: names of layers, without the network's prefix. inputs:
    names of its inputs, or variables. Further keywords go to `get_model`.
    """

    def __init__(self, network, outputs, inputs=("data",), pretrained=False, ctx=None, **kwargs):
        inputs, outputs, params = _parse_network(network, outputs, inputs, pretrained, ctx, **kwargs)
        super().__init__(outputs, inputs, params=params)


class FeatureExpander(SymbolBlock):
    """Outputs of layers of a network and of convolutions that halve the size of the last one again and again.

    num_filters: channels of each 3x3 convolution. use_1x1_transition: before each one there is a 1x1 convolution, of
    `reduce_ratio` times as many channels, but of `min_depth` at least. use_bn: all are normalised. global_pool: the
    average of all positions comes last. Other arguments as those of `FeatureExtractor`.
    """

    def __init__(
        self, network, outputs, num_filters, use_1x1_transition=True, use_bn=True, reduce_ratio=1.0, min_depth=128,
        global_pool=False, pretrained=False, ctx=None, inputs=("data",), **kwargs,
    ):  # fmt: skip
        inputs, outputs, params = _parse_network(network, outputs, inputs, pretrained, ctx, **kwargs)

        def layer(x, name, i, **convolution):
            x = sym.Convolution(x, no_bias=use_bn, name=name.format("conv", i), **convolution)
            if use_bn:
                x = sym.BatchNorm(x, name=name.format("bn", i))
            return sym.Activation(x, act_type="relu", name=name.format("relu", i))

        y = outputs[-1]
        for i, channels in enumerate(num_filters):
            if use_1x1_transition:
                narrow = max(min_depth, round(channels * reduce_ratio))
                y = layer(y, "expand_trans_{}{}", i, num_filter=narrow, kernel=(1, 1))
            y = layer(y, "expand_{}{}", i, num_filter=channels, kernel=(3, 3), pad=(1, 1), stride=(2, 2))
            outputs.append(y)
        if global_pool:
            outputs.append(sym.Pooling(y, pool_type="avg", global_pool=True, kernel=(1, 1)))
        super().__init__(outputs, inputs, params)
        _set_initializers(self, params, Xavier(rnd_type="gaussian", factor_type="out", magnitude=2))


class FPNFeatureExpander(SymbolBlock):
    """Feature pyramid (Lin et al., 2017): layers of a network, each with what the smaller ones after it know.

    outputs: names of layers, each half the size of the one before. num_filters: channels of each output, from the
    smallest one on. use_1x1, use_upsample, use_elewadd: whether layers are convolved, doubled in size and added.
    use_p6: one more output, half the size of the smallest one, by a convolution if `p6_conv`, else by pooling. no_bias:
    of all convolutions. norm_layer: operator of symbols that follows each convolution, with `norm_kwargs`. Other
    arguments as those of `FeatureExtractor`.
    """

    def __init__(
        self, network, outputs, num_filters, use_1x1=True, use_upsample=True, use_elewadd=True, use_p6=False,
        p6_conv=True, no_bias=True, pretrained=False, norm_layer=None, norm_kwargs=None, ctx=None, inputs=("data",),
    ):  # fmt: skip
        inputs, outputs, params = _parse_network(network, outputs, inputs, pretrained, ctx)
        count = len(num_filters) + 1

        def convolution(x, channels, name, kernel, stride=1):
            window = {"kernel": (kernel, kernel), "stride": (stride, stride), "pad": (kernel // 2, kernel // 2)}
            return sym.Convolution(x, num_filter=channels, no_bias=no_bias, name=name, **window)

        def norm(x, name):
            if norm_layer is None:
                return x
            named = {"key": name, "name": name} if norm_layer is sym.contrib.SyncBatchNorm else {}
            return norm_layer(x, **(norm_kwargs or {}), **named)

        y, extra, pyramid = outputs[-1], None, []
        for i, (base, channels) in enumerate(zip(outputs[::-1], num_filters, strict=False)):
            level = f"P{count - i}"
            if use_1x1:
                base = convolution(base, channels, f"{level}_conv_lat", 1)
                base = norm(base, f"{level}_lat_bn" if i == 0 else f"{level}_conv1_bn")
            if i == 0:
                y = base
                if use_p6 and p6_conv:
                    extra = convolution(y, channels, f"P{count + 1}_conv1", 3, 2)
                    extra = norm(extra, f"P{count + 1}_pre_bn")
            else:
                if use_upsample:
                    y = sym.UpSampling(y, scale=2, sample_type="nearest", name=f"{level}_upsp")
                if use_elewadd:
                    y = sym.slice_like(y, base, axes=(2, 3), name=f"{level}_clip")
                    y = sym.ElementWiseSum(base, y, name=f"{level}_sum")
            # A convolution, against the aliasing of doubled sizes.
            out = convolution(y, channels, f"{level}_conv1", 3)
            if i == 0 and use_p6 and not p6_conv:
                window = {"kernel": (1, 1), "pad": (0, 0), "stride": (2, 2)}
                extra = sym.Pooling(out, pool_type="max", name=f"P{count + 1}_pre", **window)
            pyramid.append(norm(out, f"{level}_bn"))
        super().__init__(pyramid[::-1] + ([extra] if use_p6 else []), inputs, params)
        _set_initializers(self, params, Xavier(rnd_type="uniform", factor_type="in", magnitude=1.0))


# Endings of names of parameters that are no weights -> how they start
_INITIALIZERS = {"bias": "zeros", "gamma": "ones", "beta": "zeros", "moving_mean": "zeros", "moving_var": "ones"}


def _set_initializers(block, params, weight):
    """Says how the parameters that are not those of the network start.

    Those made from symbols say nothing themselves.
    """
    for name, parameter in block.params.items():
        if params is None or name not in params:
            endings = (init for ending, init in _INITIALIZERS.items() if name.endswith(f"_{ending}"))
            parameter.init = next(endings, weight)


def _parse_network(network, outputs, inputs, pretrained, ctx, **kwargs):
    """(variables, symbols of the outputs, parameters, which are None for a symbol)."""
    inputs = [sym.var(x) if isinstance(x, str) else x for x in inputs]
    for x in inputs:
        if not isinstance(x, sym.Symbol):
            raise AssertionError(f"inputs of a network are names or variables, got {type(x).__name__}")
    inputs = inputs[0] if len(inputs) == 1 else sym.Group(inputs)
    params, prefix = None, ""
    if isinstance(network, str):
        from gluoncv.model_zoo import get_model

        network = get_model(network, pretrained=pretrained, ctx=ctx, **kwargs)
    if isinstance(network, HybridBlock):
        params, prefix, network = network.collect_params(), network.prefix, network(inputs)
    if not isinstance(network, sym.Symbol):
        raise AssertionError(f"the network is a name, a block or a symbol, got {type(network).__name__}")
    outputs = [outputs] if isinstance(outputs, str) else list(outputs)
    if not outputs:
        raise AssertionError("name at least one output of the network")
    layers = network.get_internals()
    return inputs, [layers[prefix + name.removesuffix("_output") + "_output"] for name in outputs], params
