"""Networks for text, and how sequences are drawn from them."""

from . import sequence_sampler
from .sequence_sampler import BeamSearchSampler, BeamSearchScorer, HybridBeamSearchSampler, SequenceSampler

__all__ = [*sequence_sampler.__all__]
