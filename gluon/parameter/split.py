"""Parameters of which each process of a group has a part."""

from __future__ import annotations

from core import autograd
from core.kvstore.groups import ProcessGroup, same_values
from gluon.parameter.parameter import Parameter, is_known

__all__ = ["SplitParameter"]


class SplitParameter(Parameter):
    """A part of an array along an axis. Initialised, saved and loaded as the whole one.

    shape: that of the part. group: the processes that have the parts, in order. All of them call `initialize`, `save_parameters`,
    `set_data` and what else takes or gives whole arrays; first values are the same for any number of processes, which are
    seeded alike.
    """

    is_split = True

    def __init__(self, name="weight", *, axis: int, group: ProcessGroup, **kwargs):
        self.axis, self.group = axis, group
        super().__init__(name, **kwargs)

    @property
    def _whole_shape(self):
        """The shape of the array of which this is a part."""
        return tuple(n * self.group.size if k == self.axis else n for k, n in enumerate(self._shape))

    def _init_impl(self, values, contexts):
        if values.shape == self._whole_shape:
            same_values(f"first values of {self.name}", values)
        super()._init_impl(self._own(values), contexts)

    def _load_init(self, data, ctx=None, cast_dtype=False, dtype_source="current"):
        super()._load_init(self._own(data), ctx, cast_dtype, dtype_source)

    def set_data(self, data):
        """Sets the values, given whole, on all contexts."""
        super().set_data(self._own(data))

    def _reduce(self):
        return self.group.gather(super()._reduce(), self.axis)

    def _own(self, values):
        """The part of a whole array; what is none stays as it is, for the error that names its shape, or is a part."""
        known = is_known(self._shape)
        fits = values.shape == self._whole_shape if known else len(values.shape) == len(self._shape)
        with autograd.pause():
            return self.group.part(values, self.axis) if fits else values
