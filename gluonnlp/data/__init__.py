"""Data sets, samplers, batchify functions, tokenizers and streams for text."""

from core.documentation.classes import complete as _complete

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
    pretrained_text,
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
from .baidu_ernie_data import (
    BaiduErnieChnSentiCorp,
    BaiduErnieLCQMC,
    BaiduErnieXNLI,
)
from .bert import (
    align_position2doc_spans,
    check_is_max_context,
    concat_sequences,
    convert_squad_examples,
    get_doc_spans,
    improve_answer_span,
    tokenize_and_align_positions,
    truncate_seqs_equal,
)
from .candidate_sampler import (
    UnigramCandidateSampler,
)
from .classification import (
    CoLATask,
    MNLITask,
    MRPCTask,
    QNLITask,
    QQPTask,
    RTETask,
    SSTTask,
    STSBTask,
    WNLITask,
    XNLITask,
    get_task,
)
from .conll import (
    CoNLL2000,
    CoNLL2001,
    CoNLL2002,
    CoNLL2004,
    UniversalDependencies21,
)
from .corpora import (
    Enwik8,
    Fil9,
    GBWStream,
    Text8,
    WikiText2,
    WikiText2Raw,
    WikiText103,
    WikiText103Raw,
)
from .dataloader import (
    ShardedDataLoader,
)
from .dataset import (
    ConcatDataset,
    CorpusDataset,
    NumpyDataset,
    TextLineDataset,
    TSVDataset,
)
from .datasetloader import (
    DatasetLoader,
)
from .glue import (
    GlueCoLA,
    GlueMNLI,
    GlueMRPC,
    GlueQNLI,
    GlueQQP,
    GlueRTE,
    GlueSST2,
    GlueSTSB,
    GlueWNLI,
)
from .intent_slot import (
    ATISDataset,
    SNIPSDataset,
)
from .parser import (
    KMeans,
    Tarjan,
    arc_argmax,
    rel_argmax,
    reshape_fortran,
)
from .pretrained_text import (
    load_tokenizer,
)
from .question_answering import (
    SQuAD,
)
from .registry import (
    create,
    list_datasets,
    register,
)
from .sampler import (
    ConstWidthBucket,
    ExpWidthBucket,
    FixedBucketSampler,
    LinearWidthBucket,
    SortedBucketSampler,
    SortedSampler,
    SplitSampler,
)
from .sentiment import (
    CR,
    IMDB,
    MPQA,
    MR,
    SST_1,
    SST_2,
    SUBJ,
    TREC,
)
from .stream import (
    DatasetStream,
    DataStream,
    PrefetchingStream,
    SimpleDatasetStream,
    SimpleDataStream,
)
from .super_glue import (
    SuperGlueAXb,
    SuperGlueAXg,
    SuperGlueBoolQ,
    SuperGlueCB,
    SuperGlueCOPA,
    SuperGlueMultiRC,
    SuperGlueReCoRD,
    SuperGlueRTE,
    SuperGlueWiC,
    SuperGlueWSC,
)
from .tokenizer_table import (
    get_tokenizer,
)
from .transforms import (
    BERTBasicTokenizer,
    BERTSentenceTransform,
    BERTSPTokenizer,
    BERTTokenizer,
    ClipSequence,
    GPT2BPEDetokenizer,
    GPT2BPETokenizer,
    JiebaTokenizer,
    NLTKStanfordSegmenter,
    PadSequence,
    SacreMosesDetokenizer,
    SacreMosesTokenizer,
    SentencepieceDetokenizer,
    SentencepieceTokenizer,
    SpacyTokenizer,
)
from .translation import (
    IWSLT2015,
    WMT2014,
    WMT2014BPE,
    WMT2016,
    WMT2016BPE,
    Multi30k,
)
from .utils import (
    Counter,
    Splitter,
    concat_sequence,
    count_tokens,
    line_splitter,
    slice_sequence,
    train_valid_split,
    whitespace_splitter,
)
from .word_embedding_evaluation import (
    MEN,
    BakerVerb143,
    BiggerAnalogyTestSet,
    GoogleAnalogyTestSet,
    RadinskyMTurk,
    RareWords,
    SemEval17Task2,
    SimLex999,
    SimVerb3500,
    WordAnalogyEvaluationDataset,
    WordSim353,
    WordSimilarityEvaluationDataset,
    YangPowersVerb130,
)
from .xlnet import (
    convert_index,
    lcs_match,
)

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
    *pretrained_text.__all__,
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

_complete(globals())
