"""Preparing GLUE and SQuAD for BERT."""

from . import glue, squad
from .glue import concat_sequences, truncate_seqs_equal
from .squad import (
    align_position2doc_spans,
    check_is_max_context,
    convert_squad_examples,
    get_doc_spans,
    improve_answer_span,
    tokenize_and_align_positions,
)

__all__ = glue.__all__ + squad.__all__
