"""Data sets, samplers, batchify functions, tokenizers and streams for text."""

from __future__ import annotations


from . import (
    baidu_ernie_data,
    batchify,
    bert,
    candidate_sampler,
    classification,
    conll,
    corpora,
    dataloader,
    dataset,
    datasetloader,
    glue,
    intent_slot,
    parser,
    question_answering,
    registry,
    sampler,
    sentiment,
    stream,
    super_glue,
    tokenizer_table,
    transforms,
    translation,
    utils,
    word_embedding_evaluation,
    xlnet,
)
from .baidu_ernie_data import *
from .bert import *
from .candidate_sampler import *
from .classification import *
from .conll import *
from .corpora import *
from .dataloader import *
from .dataset import *
from .datasetloader import *
from .glue import *
from .intent_slot import *
from .parser import KMeans, Tarjan, arc_argmax, rel_argmax, reshape_fortran
from .question_answering import *
from .registry import *
from .sampler import *
from .sentiment import *
from .stream import *
from .super_glue import *
from .tokenizer_table import *
from .transforms import *
from .translation import *
from .utils import *
from .word_embedding_evaluation import *
from .xlnet import *

__all__ = [
    "batchify",
    *baidu_ernie_data.__all__,
    *bert.__all__,
    *candidate_sampler.__all__,
    *classification.__all__,
    *conll.__all__,
    *corpora.__all__,
    *dataloader.__all__,
    *dataset.__all__,
    *datasetloader.__all__,
    *glue.__all__,
    *intent_slot.__all__,
    *parser.__all__,
    *question_answering.__all__,
    *registry.__all__,
    *sampler.__all__,
    *sentiment.__all__,
    *stream.__all__,
    *super_glue.__all__,
    *tokenizer_table.__all__,
    *transforms.__all__,
    *translation.__all__,
    *utils.__all__,
    *word_embedding_evaluation.__all__,
    *xlnet.__all__,
]
