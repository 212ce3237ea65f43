"""Deep layer aggregation (Yu et al., 2018)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import model
from gluoncv.nn import conv_norm_act, sequence

# name -> depth of each level, channels of each level
CONFIGURATIONS = {"dla34": ((1, 1, 1, 2, 2, 1), (16, 32, 64, 128, 256, 512))}


class BasicBlock(HybridBlock):
    """Two 3x3 convolutions beside `residual`, the input if none is given."""

    def __init__(self, planes, stride, norm, prefix=None):
        super().__init__(prefix)
        with self.name_scope():
            self.conv1 = nn.Conv2D(planes, 3, stride, 1, use_bias=False)
            self.bn1 = norm()
            self.relu = nn.Activation("relu")
            self.conv2 = nn.Conv2D(planes, 3, 1, 1, use_bias=False)
            self.bn2 = norm()

    def hybrid_forward(self, F, x, residual=None):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + (x if residual is None else residual))


class Root(HybridBlock):
    """A 1x1 convolution of the concatenated inputs; `residual` adds the first one."""

    def __init__(self, planes, residual, norm, prefix=None):
        super().__init__(prefix)
        self._residual = residual
        with self.name_scope():
            self.conv = nn.Conv2D(planes, 1, use_bias=False)
            self.bn = norm()
            self.relu = nn.Activation("relu")

    def hybrid_forward(self, F, *inputs):
        x = self.bn(self.conv(F.concat(*inputs, dim=1)))
        return self.relu(x + inputs[0] if self._residual else x)


class Tree(HybridBlock):
    """A binary tree of `levels` levels whose leaves are blocks; the root sees both halves and what `children` says.

    level_root: the root sees the (pooled) input, too.
    """

    def __init__(
        self, levels, block, before, after, stride, norm, level_root=False, root_residual=False, prefix=None
    ):  # fmt: skip
        super().__init__(prefix)
        self._levels, self._level_root = levels, level_root
        with self.name_scope():
            pool = [nn.MaxPool2D(stride, stride, prefix="maxpool")] if stride > 1 else []
            self.downsample, self.project = sequence(*pool, prefix=None), sequence(prefix=None)
            if levels == 1:
                self.tree1 = block(after, stride, norm, prefix="block_tree_1_")
                self.tree2 = block(after, 1, norm, prefix="block_tree_2_")
                if before != after:
                    project = conv_norm_act(partial(norm, prefix="proj_bn0_"), after, act=None, prefix="proj_conv0_")
                    self.project.add(*project)
                self.root = Root(after, root_residual, norm, prefix="root_")
            else:
                parts = partial(Tree, levels - 1, block, norm=norm, root_residual=root_residual)
                self.tree1 = parts(before, after, stride, prefix="tree_1_")
                self.tree2 = parts(after, after, 1, prefix="tree_2_")

    def hybrid_forward(self, F, x, residual=None, *children):
        bottom = self.downsample(x)
        if self._level_root:
            children = (*children, bottom)
        if self._levels > 1:
            first = self.tree1(x)
            return self.tree2(first, None, *children, first)
        first = self.tree1(x, self.project(bottom))
        return self.root(self.tree2(first), first, *children)


class DLA(HybridBlock):
    """Input (batch, 3, 224, 224), output (batch, classes),
    or with `use_feature` the list of features of the six levels.

    levels, channels: depth and channels of each level. block: class of the blocks. momentum: of the normalisation.
    residual_root: roots add their first input.

    >>> net = gluoncv.model_zoo.get_model("dla34")
    >>> isinstance(net, gluoncv.model_zoo.DLA)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(
        self, levels, channels, classes=1000, block=BasicBlock, momentum=0.9, norm_layer=nn.BatchNorm, norm_kwargs=None,
        residual_root=False, use_feature=False, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        norm = partial(norm_layer, **{"momentum": momentum, **(norm_kwargs or {})})
        self._use_feature, self.channels = use_feature, channels
        self.base_layer = sequence(*conv_norm_act(norm, channels[0], 7))
        for i, (depth, width) in enumerate(zip(levels, channels, strict=True)):
            if i < 2:
                rows = [conv_norm_act(norm, width, 3, 1 + i if k == 0 else 1) for k in range(depth)]
                level = sequence(*(layer for row in rows for layer in row))
            else:
                level = Tree(depth, block, channels[i - 1], width, 2, norm, i > 2, residual_root, prefix=f"level{i}_")
            setattr(self, f"level{i}", level)
        if not use_feature:
            self.global_avg_pool = nn.GlobalAvgPool2D()
            self.fc = nn.Dense(classes)

    def hybrid_forward(self, F, x):
        x, seen = self.base_layer(x), []
        for i in range(len(self.channels)):
            x = getattr(self, f"level{i}")(x)
            seen.append(x)
        if self._use_feature:
            return seen
        return self.fc(F.concat(*[F.flatten(self.global_avg_pool(x)) for x in seen], dim=1))


def _dla(name):
    return model(name, lambda **kw: DLA(*CONFIGURATIONS[name], **kw), surplus=True)  # features need no classifier


dla34 = _dla("dla34")
