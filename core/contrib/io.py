"""`DataLoaderIter`: a Gluon loader for modules."""

from __future__ import annotations

from core import ndarray as nd
from core.io import DataDesc, DataIter


class DataLoaderIter(DataIter):
    """Gives the (data, label) batches of a loader to a `Module`; the last one is filled up and says so in `pad`."""

    def __init__(self, loader, data_name="data", label_name="softmax_label", dtype="float32"):
        self._loader, self.dtype = loader, dtype
        data, label = next(iter(loader))
        super().__init__(data.shape[0])
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._current = None
        self.reset()

    def reset(self):
        self._batches = iter(self._loader)

    def iter_next(self):
        self._current = next(self._batches, None)
        return self._current is not None

    def getdata(self):
        return [self._filled(self._current[0])]

    def getlabel(self):
        return [self._filled(self._current[1])]

    def getpad(self):
        return self.batch_size - self._current[0].shape[0]

    def _filled(self, array):
        array = array.astype(self.dtype)
        missing = self.getpad()
        return nd.concat(array, nd.zeros((missing, *array.shape[1:]), dtype=self.dtype), dim=0) if missing else array
