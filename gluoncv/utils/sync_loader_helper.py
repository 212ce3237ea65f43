"""Batches cut for several devices."""

import itertools

from core import nd

__all__ = ["split_and_load", "split_data"]


def split_data(data, num_slice, batch_axis=0, even_split=True, multiplier=1):
    """Cuts an array into `num_slice` pieces along `batch_axis`, as long as one another, and multiples of `multiplier`.

    Without `even_split` the last one may be longer, and there are fewer pieces of an array that is shorter than their
    number; else ValueError for an extent that is no multiple of it.

    >>> [piece.shape for piece in gluoncv.utils.split_data(nd.zeros((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    if even_split and size % num_slice:
        raise ValueError(
            f"an array of {data.shape} has no {num_slice} equal pieces along axis {batch_axis}; "
            f"batches are multiples of {num_slice}, or set even_split=False"
        )
    num_slice, step = (size, 1) if size < num_slice else (num_slice, size // multiplier // num_slice * multiplier)
    ends = [step * k for k in range(num_slice)] + [size]
    return [nd.slice_axis(data, axis=batch_axis, begin=a, end=b) for a, b in itertools.pairwise(ends)]


def split_and_load(data, ctx_list, batch_axis=0, even_split=True, multiplier=1):
    """`split_data`, each piece on its device.

    >>> pieces = gluoncv.utils.split_and_load(nd.zeros((4, 2)), [mx.cpu(0), mx.cpu(1)])
    >>> [piece.shape for piece in pieces]
    [(2, 2), (2, 2)]
    """
    pieces = [data] if len(ctx_list) == 1 else split_data(data, len(ctx_list), batch_axis, even_split, multiplier)
    return [piece.as_in_context(ctx) for piece, ctx in zip(pieces, ctx_list)]
