"""What metrics are given, one picture after the other."""

from core.ndarray import NDArray


def pictures(batches):
    """The arrays of NumPy of all pictures: from an array (B, ...) or from a list of them, one for each device.

    What is left out, None, stays so.
    """
    for batch in batches if isinstance(batches, (list, tuple)) else [batches]:
        yield from batch.asnumpy() if isinstance(batch, NDArray) else batch
