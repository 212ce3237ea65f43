"""Datasets, samplers and loaders."""

from core.documentation.classes import complete as _complete
from gluon.data import batchify, dataloader, dataset, sampler, vision
from gluon.data.dataloader import DataLoader
from gluon.data.dataset import ArrayDataset, Dataset, RecordFileDataset, SimpleDataset
from gluon.data.sampler import (
    BatchSampler,
    FilterSampler,
    IntervalSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SplitSampler,
)
from gluon.data.streaming import Mixture, Stream

_complete(globals())
