"""Rows of each instance of a batch."""


def take_rows(F, data, index):
    """data[b, index[b, k]] as (B, K, ...) from data (B, N, ...) and index (B, K) of numbers in 0 ... N - 1."""
    batch = F.broadcast_add(F.expand_dims(F.contrib.arange_like(index, axis=0), axis=1), F.zeros_like(index))
    return F.gather_nd(data, F.stack(batch, index, axis=0))
