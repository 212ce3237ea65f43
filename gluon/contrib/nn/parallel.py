"""Layers whose parameters and arithmetic are split over processes (Shoeybi et al., "Megatron-LM", 2019).

All processes of a group call the same layers with the same batch, and get the same results, those of the layers in one
process. Parameters are initialised from one seed, saved and loaded whole: a file of one process loads in several, and back.

    net.add(ColumnParallelDense(4096, in_units=1024, flatten=False, activation="relu", gather_output=False))
    net.add(RowParallelDense(1024, in_units=4096, flatten=False, split_input=False))   # one sum for both
    trainer = gluon.Trainer(net.collect_params(), "adam", kvstore=None)                # batches are not split

A hybridized network with such layers computes operator by operator: what other processes compute is no part of a plan.
"""

from __future__ import annotations

from core import autograd
from core import ndarray as nd
from core.graph.trace import Untraceable
from core.kvstore.groups import ProcessGroup, all_processes
from gluon.block import HybridBlock
from gluon.nn.activations import Activation
from gluon.parameter.split import SplitParameter

__all__ = ["ColumnParallelDense", "ParallelAttention", "ParallelEmbedding", "RowParallelDense"]


class ColumnParallelDense(HybridBlock):
    """`nn.Dense` of which each process has some of the outputs: weight (units / N, in_units), bias (units / N,).

    units, activation, use_bias, flatten, dtype, weight_initializer, bias_initializer, in_units: as in `nn.Dense`; units is a
    multiple of the processes of the group. gather_output: whether each process gets all outputs, or (..., units / N) of them
    for a `RowParallelDense`. group: the processes, a `core.kvstore.groups.ProcessGroup`; None for all.

    >>> from gluon.contrib.nn import ColumnParallelDense
    >>> layer = ColumnParallelDense(3, in_units=2)
    >>> layer.initialize(init.One())
    >>> layer(nd.array([[1, 2]]))
    [[3. 3. 3.]]
    <NDArray 1x3 @cpu(0)>
    """

    _shares_input = False  # whether the gradients of the input are summed by the block around it

    def __init__(
        self,
        units,
        activation=None,
        use_bias=True,
        flatten=True,
        dtype="float32",
        weight_initializer=None,
        bias_initializer="zeros",
        in_units=0,
        gather_output=True,
        group: ProcessGroup | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._group = group or all_processes()
        self._units, self._flatten, self._gathers = self._group.divide(units, "units"), flatten, gather_output
        with self.name_scope():
            self.weight = _split(self, "weight", (self._units, in_units), 0, init=weight_initializer, dtype=dtype)
            self.bias = (
                _split(self, "bias", (self._units,), 0, init=bias_initializer, dtype=dtype) if use_bias else None
            )
            self.act = Activation(activation, prefix=activation + "_") if activation is not None else None

    def hybrid_forward(self, F, x, weight, bias=None):
        x = x if self._shares_input else _Enter(self._group)(x)
        out = F.FullyConnected(x, weight, bias, num_hidden=self._units, no_bias=bias is None, flatten=self._flatten)
        out = out if self.act is None else self.act(out)
        return _Gather(self._group)(out) if self._gathers else out


class RowParallelDense(HybridBlock):
    """`nn.Dense` of which each process has some of the inputs: weight (units, in_units / N); the bias is whole.

    units, activation, use_bias, flatten, dtype, weight_initializer, bias_initializer, in_units: as in `nn.Dense`; in_units, that
    of the whole layer, is a multiple of the processes of the group. split_input: whether the input is whole and each process
    takes its part of the last axis, or is that part already. group: as in `ColumnParallelDense`.

    >>> from gluon.contrib.nn import RowParallelDense
    >>> layer = RowParallelDense(3, in_units=2)
    >>> layer.initialize(init.One())
    >>> layer(nd.array([[1, 2]]))
    [[3. 3. 3.]]
    <NDArray 1x3 @cpu(0)>
    """

    def __init__(
        self,
        units,
        activation=None,
        use_bias=True,
        flatten=True,
        dtype="float32",
        weight_initializer=None,
        bias_initializer="zeros",
        in_units=0,
        split_input=True,
        group: ProcessGroup | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._group = group or all_processes()
        self._units, self._flatten, self._splits = units, flatten, split_input
        part = self._group.divide(in_units, "in_units")
        with self.name_scope():
            self.weight = _split(self, "weight", (units, part), 1, init=weight_initializer, dtype=dtype)
            self.bias = (
                self.params.get("bias", shape=(units,), init=bias_initializer, dtype=dtype) if use_bias else None
            )
            self.act = Activation(activation, prefix=activation + "_") if activation is not None else None

    def hybrid_forward(self, F, x, weight, bias=None):
        if self._splits:
            x = _Part(self._group)(x.reshape((x.shape[0], -1)) if self._flatten else x)
        out = F.FullyConnected(x, weight, None, num_hidden=self._units, no_bias=True, flatten=self._flatten)
        out = _Sum(self._group)(out)
        out = out if bias is None else F.broadcast_add(out, bias)
        return out if self.act is None else self.act(out)


class ParallelEmbedding(HybridBlock):
    """`nn.Embedding` of which each process has some of the rows: weight (input_dim / N, output_dim).

    input_dim, output_dim, dtype, weight_initializer: as in `nn.Embedding`; input_dim is a multiple of the processes of the
    group. group: as in `ColumnParallelDense`. Indices out of range are clipped.

    >>> from gluon.contrib.nn import ParallelEmbedding
    >>> layer = ParallelEmbedding(4, 2)
    >>> layer.initialize(init.One())
    >>> layer(nd.array([0, 3]))
    [[1. 1.]
     [1. 1.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(
        self,
        input_dim,
        output_dim,
        dtype="float32",
        weight_initializer=None,
        group: ProcessGroup | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._group = group or all_processes()
        self._input_dim, self._output_dim, self._dtype = input_dim, output_dim, dtype
        self._rows = self._group.divide(input_dim, "input_dim")
        with self.name_scope():
            self.weight = _split(self, "weight", (self._rows, output_dim), 0, init=weight_initializer, dtype=dtype)

    def hybrid_forward(self, F, x, weight):
        index = F.clip(x.astype("int64"), 0, self._input_dim - 1) - self._group.rank * self._rows
        here = ((index >= 0) * (index < self._rows)).astype(self._dtype)
        out = F.Embedding(index, weight, input_dim=self._rows, output_dim=self._output_dim, dtype=self._dtype)
        return _Sum(self._group)(F.broadcast_mul(out, F.expand_dims(here, axis=-1)))


class ParallelAttention(HybridBlock):
    """Multi-head attention of which each process has some of the heads: (batch, length, units) -> the same.

    softmax(q k^T / sqrt(units / num_heads)) v for each head, where q, k, v are projections of `query`, `key` and `value` (by
    default all of the one array), then a projection of all heads (Vaswani et al., 2017). units: of the inputs and the output.
    num_heads: a multiple of the processes of the group. use_bias: of the four projections, blocks query_proj, key_proj,
    value_proj and out_proj. causal: whether a position sees those before it and itself alone. length, (batch,): how many keys
    count. group: as in `ColumnParallelDense`. One sum over processes forward, and one backward for each array given.

    >>> from gluon.contrib.nn import ParallelAttention
    >>> layer = ParallelAttention(8, num_heads=2)
    >>> layer.initialize()
    >>> layer(nd.ones((1, 3, 8))).shape
    (1, 3, 8)
    """

    def __init__(
        self,
        units,
        num_heads,
        use_bias=True,
        causal=False,
        dtype="float32",
        weight_initializer=None,
        bias_initializer="zeros",
        group: ProcessGroup | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if units % num_heads:
            raise ValueError(f"units is a multiple of num_heads, got {units} units and {num_heads} heads")
        self._group = group = group or all_processes()
        self._heads, self._causal = group.divide(num_heads, "num_heads"), causal
        how = {"use_bias": use_bias, "flatten": False, "dtype": dtype, "in_units": units, "group": group}
        how |= {"weight_initializer": weight_initializer, "bias_initializer": bias_initializer}
        with self.name_scope():
            self.query_proj = ColumnParallelDense(units, gather_output=False, prefix="query_", **how)
            self.key_proj = ColumnParallelDense(units, gather_output=False, prefix="key_", **how)
            self.value_proj = ColumnParallelDense(units, gather_output=False, prefix="value_", **how)
            self.out_proj = RowParallelDense(units, split_input=False, prefix="out_", **how)
        for projection in (self.query_proj, self.key_proj, self.value_proj):
            projection._shares_input = True

    def hybrid_forward(self, F, query, key=None, value=None, length=None):
        key = query if key is None else key
        given = [query, key, key if value is None else value]
        entered = {id(x): _Enter(self._group)(x) for x in given}
        projections = self.query_proj, self.key_proj, self.value_proj
        heads = [self._apart(project(entered[id(x)])) for project, x in zip(projections, given)]
        read = nd._internal._attention(*heads, length, causal=self._causal)
        return self.out_proj(read.transpose((0, 2, 1, 3)).reshape((0, 0, -1)))

    def _apart(self, x):
        """(batch, length, units of this process) -> (batch, heads of this process, length, units of a head)."""
        return x.reshape((0, 0, self._heads, -1)).transpose((0, 2, 1, 3))


def _split(block: HybridBlock, name: str, shape: tuple, axis: int, **how) -> SplitParameter:
    return block.params._get_as(
        SplitParameter, name, shape=shape, axis=axis, group=block._group, allow_deferred_init=True, **how
    )


class _Across(autograd.Function):
    """A function of what the processes of a group have."""

    def __init__(self, group: ProcessGroup):
        super().__init__()
        self._group = group
        if autograd.state.tracer is not None:
            raise Untraceable("parts of other processes are values")


class _Enter(_Across):
    """The same array, of which processes compute different things: its gradient is the sum of theirs."""

    def forward(self, x):
        return x

    def backward(self, dy):
        return self._group.sum(dy)


class _Sum(_Across):
    """The sum over processes, with which all compute the same."""

    def forward(self, x):
        return self._group.sum(x)

    def backward(self, dy):
        return dy


class _Gather(_Across):
    """The parts of all processes along the last axis."""

    def forward(self, x):
        return self._group.gather(x, x.ndim - 1)

    def backward(self, dy):
        return self._group.part(dy, dy.ndim - 1)


class _Part(_Across):
    """The part of this process along the last axis."""

    def forward(self, x):
        return self._group.part(x, x.ndim - 1)

    def backward(self, dy):
        return self._group.gather(dy, dy.ndim - 1)
