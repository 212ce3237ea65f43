"""NASNet-A (Zoph et al., 2018)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import model
from gluoncv.nn import sequence

# name -> cells of each of three groups, channels before the last layer
CONFIGURATIONS = {
    "nasnet_4_1056": (4, 1056),
    "nasnet_5_1538": (5, 1538),
    "nasnet_7_1920": (7, 1920),
    "nasnet_6_4032": (6, 4032),
}
# A cell sums pairs. Each half of a pair is an operation and what it is applied to: one of the cell's two inputs, or the
# number of an earlier pair. An operation is the kernel of separable convolutions, a pooling, or None.
MAXIMUM, AVERAGE = "max", "avg"
NORMAL = (
    ((5, "right"), (3, "left")),
    ((5, "left"), (3, "left")),
    ((AVERAGE, "right"), (None, "left")),
    ((AVERAGE, "left"), (AVERAGE, "left")),
    ((3, "right"), (None, "right")),
)
# Operations on inputs halve the size.
REDUCTION = (
    ((5, "right"), (7, "left")),
    ((MAXIMUM, "right"), (7, "left")),
    ((AVERAGE, "right"), (5, "left")),
    ((None, 1), (AVERAGE, 0)),
    ((3, 0), (MAXIMUM, "right")),
)


class SeparableConv2d(HybridBlock):
    """Depthwise and 1x1 convolution."""

    def __init__(self, before, after, kernel, stride):
        super().__init__()
        depthwise = nn.Conv2D(before, kernel, stride, kernel // 2, groups=before, use_bias=False)
        self.body = sequence(depthwise, nn.Conv2D(after, 1, use_bias=False))

    def hybrid_forward(self, F, x):
        return self.body(x)


class BranchSeparables(HybridBlock):
    """relu, separable convolution and normalisation, twice; the stride is that of the first convolution."""

    def __init__(self, before, after, kernel, stride, norm, middle=None):
        super().__init__()
        middle = middle or after
        self.body = sequence(
            nn.Activation("relu"), SeparableConv2d(before, middle, kernel, stride), norm(),
            nn.Activation("relu"), SeparableConv2d(middle, after, kernel, 1), norm(),
        )  # fmt: skip

    def hybrid_forward(self, F, x):
        return self.body(x)


class BranchSeparablesReduction(HybridBlock):
    """`BranchSeparables` whose first convolution is aligned to the second pixel."""

    def __init__(self, before, after, kernel, stride, norm):
        super().__init__()
        self.separable = SeparableConv2d(before, before, kernel, stride)
        self.body = sequence(norm(), nn.Activation("relu"), SeparableConv2d(before, after, kernel, 1), norm())

    def hybrid_forward(self, F, x):
        return self.body(_shifted(F, F.Activation(x, act_type="relu"), self.separable))


class PoolShifted(HybridBlock):
    """Pooling of stride 2 that is aligned to the second pixel."""

    def __init__(self, operation):
        self._operation = operation
        super().__init__()
        self.pool = _pool(operation, 2)

    def _alias(self):
        return f"{self._operation}poolpad"

    def hybrid_forward(self, F, x):
        return _shifted(F, x, self.pool)


class _Cell(HybridBlock):
    """A table of pairs between the preparation of the inputs and the concatenation of what no pair has used."""

    table = NORMAL
    # whether what halves the size is aligned to the second pixel
    shifted = False

    def _add_pairs(self, channels, norm, left=None):
        """left: channels of the left input."""
        for i, pair in enumerate(self.table):
            for side, (operation, source) in zip(("left", "right"), pair, strict=True):
                reduces = self.table is REDUCTION and isinstance(source, str)
                block = None
                if operation in (MAXIMUM, AVERAGE):
                    block = PoolShifted(operation) if self.shifted and reduces else _pool(operation, 1 + reduces)
                elif operation is not None:
                    before = left if left and source == "left" else channels
                    branch = BranchSeparablesReduction if self.shifted else BranchSeparables
                    block = branch(before, channels, operation, 1 + reduces, norm)
                if block is not None:
                    setattr(self, f"comb_iter_{i}_{side}", block)

    def _pairs(self, F, left, right):
        values = {"left": left, "right": right}
        for i, pair in enumerate(self.table):
            halves = []
            for side, (operation, source) in zip(("left", "right"), pair, strict=True):
                x = values[source]
                halves.append(x if operation is None else getattr(self, f"comb_iter_{i}_{side}")(x))
            values[i] = halves[0] + halves[1]
        kept = ("left", 0, 1, 2, 3, 4) if self.table is NORMAL else (1, 2, 3, 4)
        return F.concat(*[values[key] for key in kept], dim=1)


class _Halving:
    """An input of twice the size and other channels: two strided 1x1 convolutions,
    one on pixels beside those of the other.
    """

    def _add_paths(self, channels, norm):
        for i in (1, 2):
            pool = nn.AvgPool2D(1, 2, count_include_pad=False)
            setattr(self, f"path_{i}", sequence(pool, nn.Conv2D(channels, 1, use_bias=False)))
        self.final_path_bn = norm()

    def _halved(self, F, x):
        x = F.Activation(x, act_type="relu")
        beside = F.pad(x, pad_width=(0, 0, 0, 0, 0, 1, 0, 1), mode="constant", constant_value=0)
        beside = F.slice(beside, begin=(0, 0, 1, 1), end=(None, None, None, None))
        return self.final_path_bn(F.concat(self.path_1(x), self.path_2(beside), dim=1))


class CellStem0(_Cell):
    """The first cell, on the stem of `stem_filters` channels."""

    table = REDUCTION

    def __init__(self, stem_filters, channels, norm):
        super().__init__()
        self.conv_1x1 = _squeeze(channels, norm)
        self._add_pairs(channels, norm, left=stem_filters)

    def hybrid_forward(self, F, x):
        return self._pairs(F, x, self.conv_1x1(x))


class CellStem1(_Halving, _Cell):
    """The second cell, on the stem and the first cell."""

    table = REDUCTION

    def __init__(self, channels, norm):
        super().__init__()
        self.conv_1x1 = _squeeze(channels, norm)
        self._add_paths(channels // 2, norm)
        self._add_pairs(channels, norm)

    def hybrid_forward(self, F, stem, x):
        return self._pairs(F, self._halved(F, stem), self.conv_1x1(x))


class FirstCell(_Halving, _Cell):
    """A cell that keeps the size, behind one that halves it. All cells give what they computed and their input."""

    def __init__(self, left, channels, norm):
        super().__init__()
        self.conv_1x1 = _squeeze(channels, norm)
        self._add_paths(left, norm)
        self._add_pairs(channels, norm)

    def hybrid_forward(self, F, x, previous):
        return self._pairs(F, self._halved(F, previous), self.conv_1x1(x)), x


class NormalCell(_Cell):
    """A cell that keeps the size."""

    def __init__(self, channels, norm):
        super().__init__()
        self.conv_prev_1x1 = _squeeze(channels, norm)
        self.conv_1x1 = _squeeze(channels, norm)
        self._add_pairs(channels, norm)

    def hybrid_forward(self, F, x, previous):
        return self._pairs(F, self.conv_prev_1x1(previous), self.conv_1x1(x)), x


class ReductionCell1(NormalCell):
    """A cell that halves the size."""

    table = REDUCTION


class ReductionCell0(ReductionCell1):
    """A cell that halves the size, aligned to the second pixel."""

    shifted = True


class NASNetALarge(HybridBlock):
    """Input (batch, 3, height, width), output (batch, classes),
    and with `use_aux` that of an auxiliary classifier, too.

    repeat: cells of each group. penultimate_filters: channels before the last layer. stem_filters: of the stem.
    filters_multiplier: by which each reduction multiplies the channels.

    >>> net = gluoncv.model_zoo.get_model("nasnet_4_1056")
    >>> isinstance(net, gluoncv.model_zoo.NASNetALarge)
    True
    >>> scores, auxiliary = net(sym.var("data"))
    >>> scores.infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(
        self, repeat=6, penultimate_filters=4032, stem_filters=96, filters_multiplier=2, classes=1000, use_aux=True,
        norm_layer=nn.BatchNorm, norm_kwargs=None,
    ):  # fmt: skip
        super().__init__()
        if repeat < 2:
            raise AssertionError(f"repeat is at least 2, got {repeat}")
        norm = partial(norm_layer, **{"momentum": 0.1, "epsilon": 0.001, **(norm_kwargs or {})})
        filters = penultimate_filters // 24
        self.conv0 = sequence(nn.Conv2D(stem_filters, 3, 2, use_bias=False), norm())
        self.cell_stem_0 = CellStem0(stem_filters, filters // filters_multiplier**2, norm)
        self.cell_stem_1 = CellStem1(filters // filters_multiplier, norm)
        self.norm_1 = _group(filters, repeat, norm)
        self.reduction_cell_0 = ReductionCell0(2 * filters, norm)
        self.norm_2 = _group(2 * filters, repeat, norm)
        self.out_aux = None
        if use_aux:
            plain = partial(norm_layer, **{"epsilon": 0.001, **(norm_kwargs or {})})
            self.out_aux = sequence(
                nn.Conv2D(filters // 3, 1, use_bias=False), plain(), nn.Activation("relu"),
                nn.Conv2D(2 * filters, 5, use_bias=False), plain(), nn.Activation("relu"), nn.Dense(classes),
            )  # fmt: skip
        self.reduction_cell_1 = ReductionCell1(4 * filters, norm)
        self.norm_3 = _group(4 * filters, repeat, norm)
        self.out = sequence(nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Dropout(0.5), nn.Dense(classes))

    def hybrid_forward(self, F, x):
        stem = self.conv0(x)
        previous = self.cell_stem_0(stem)
        x = self.cell_stem_1(stem, previous)
        x, previous = self.norm_1(x, previous)
        x, previous = self.reduction_cell_0(x, previous)
        x, previous = self.norm_2(x, previous)
        aux = None if self.out_aux is None else self.out_aux(F.contrib.AdaptiveAvgPooling2D(x, output_size=5))
        x, previous = self.reduction_cell_1(x, previous)
        x, previous = self.norm_3(x, previous)
        return self.out(x) if aux is None else (self.out(x), aux)


def _group(channels, repeat, norm):
    first = FirstCell(channels // 2, channels, norm)
    return sequence(first, *(NormalCell(channels, norm) for _ in range(repeat - 1)))


def _squeeze(channels, norm):
    return sequence(nn.Activation("relu"), nn.Conv2D(channels, 1, use_bias=False), norm())


def _pool(operation, stride):
    if operation == MAXIMUM:
        return nn.MaxPool2D(3, stride, 1)
    return nn.AvgPool2D(3, stride, 1, count_include_pad=False)


def _shifted(F, x, layer):
    x = layer(F.pad(x, pad_width=(0, 0, 0, 0, 1, 0, 1, 0), mode="constant", constant_value=0))
    return F.slice(x, begin=(0, 0, 1, 1), end=(None, None, None, None))


def _nasnet(name):
    repeat, filters = CONFIGURATIONS[name]
    return model(name, lambda **kw: NASNetALarge(repeat, filters, **kw))


nasnet_4_1056, nasnet_5_1538, nasnet_7_1920, nasnet_6_4032 = (_nasnet(name) for name in CONFIGURATIONS)
