"""Blocks that hold other blocks, one after the other or side by side."""

from __future__ import annotations

import warnings

from core.ndarray import NDArray
from core.util import is_np_array
from gluon.block import Block, HybridBlock
from gluon.block.block import listing
from gluon.block.operators import operators_for


class _Stack:
    """What the sequential containers share: children in order, reached by index."""

    def add(self, *blocks):
        """Appends blocks."""
        for block in blocks:
            if not isinstance(block, Block):
                raise ValueError(f"{type(self).__name__}.add takes blocks, given {_in_words(block)}")
            self.register_child(block)

    def __repr__(self):
        return f"{type(self).__name__}(\n{listing(self._children.items())}\n)"

    def __getitem__(self, key):
        layers = list(self._children.values())[key]
        if not isinstance(layers, list):
            return layers
        part = type(self)(prefix=self._prefix)
        with part.name_scope():
            part.add(*layers)
        return part

    def __len__(self):
        return len(self._children)

    def __iter__(self):
        return iter(self._children.values())

    def _chain(self, x, args):
        """Each block gets what the one before gave: whole, or one argument per result as in MXNet 2.

        Its way is taken in NumPy mode, and wherever a chain gets several arguments, which MXNet 1 refuses.
        """
        spread = bool(args) or is_np_array()
        for block in self._children.values():
            x = block(x, *args)
            if spread and (type(x) is tuple or type(x) is list):
                x, *args = x
            else:
                args = ()
        return (x, *args) if args else x


def _in_words(thing):
    name = getattr(thing, "__name__", repr(thing))
    if isinstance(thing, type) and issubclass(thing, Block):
        return f"the class {name}: call it, {name}(...)"
    if callable(thing):
        return f"the function {name}: wrap it, HybridLambda({name!r}) or Lambda({name})"
    return f"{name}: spread a list, add(*layers)" if isinstance(thing, (list, tuple)) else name


class Sequential(_Stack, Block):
    """Blocks one after the other.

    `add` appends blocks; the output of one is the input of the next. It can be indexed, sliced, measured by `len` and iterated
    over. Blocks may be ordinary ones, which run line by line; `HybridSequential` can be compiled. Parameters are named by the
    position of their block: `0.weight`.

    >>> net = nn.Sequential()
    >>> net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    >>> net.initialize()
    >>> net(nd.ones((1, 3))).shape, len(net)
    ((1, 2), 2)
    """

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)

    def forward(self, x, *args):
        return self._chain(x, args)

    def hybridize(self, active=True, **kwargs):
        """Hybridizes the blocks; a `HybridSequential` would hybridize as a whole."""
        if self._children and all(isinstance(block, HybridBlock) for block in self._children.values()):
            warnings.warn(
                f"all blocks of Sequential {self.prefix!r} are HybridBlocks: HybridSequential is faster", stacklevel=2
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Stack, HybridBlock):
    """Hybrid blocks one after the other.

    `add` appends blocks; the output of one is the input of the next. It can be indexed, sliced, measured by `len` and iterated
    over. `hybridize` compiles it as a whole, and `export` writes it to files. ValueError for a block that is not hybrid; for those
    there is `Sequential`.

    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(nd.ones((1, 3))).shape
    (1, 2)
    """

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)

    def forward(self, x, *args):
        # Without parameters of its own there is nothing to look up before the blocks do.
        if isinstance(x, NDArray) and not self._active:
            return self._chain(x, args)
        return HybridBlock.forward(self, x, *args)

    def hybrid_forward(self, F, x, *args):
        return self._chain(x, args)


class Concatenate(Sequential):
    """Gives its input to every block and concatenates what they give along `axis`.

    Every block gets the same input; their outputs have to agree in all lengths but that of `axis`. Branches of Inception and
    dense networks are made of it. `add` appends blocks. Parameters are named by the position of their block.

    >>> net = nn.Concatenate(axis=1)
    >>> net.add(nn.Flatten(), nn.Flatten())
    >>> net(nd.array([[1, 2]]))
    [[1. 2. 1. 2.]]
    <NDArray 1x4 @cpu(0)>
    """

    def __init__(self, axis=-1, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x):
        return operators_for(x, ())[0].concat(*[block(x) for block in self._children.values()], dim=self.axis)


class HybridConcatenate(HybridSequential):
    """`Concatenate` for hybrid blocks.

    Every block gets the same input; their outputs have to agree in all lengths but that of `axis`. It can be compiled by
    `hybridize` and exported. ValueError for a block that is not hybrid. An `nn.Identity` among the blocks passes the input on.

    >>> net = nn.HybridConcatenate(axis=1)
    >>> net.add(nn.Identity(), nn.Dense(1))
    >>> net.initialize()
    >>> net(nd.array([[1, 2]])).shape
    (1, 3)
    """

    def __init__(self, axis=-1, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x, *args):
        return HybridBlock.forward(self, x, *args)

    def hybrid_forward(self, F, x):
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)
