"""Networks for text, and how sequences are drawn from them."""

from core.documentation.classes import complete as _complete

from . import (
    adaptive,
    attention_cell,
    bert,
    bert_heads,
    bilm_encoder,
    block,
    convolutional_encoder,
    elmo,
    glove,
    gnmt,
    gpt2,
    highway,
    huggingface,
    info,
    language_model,
    lstmpcellwithclip,
    natural_language_inference,
    parameter,
    parser,
    registry,
    sampled_block,
    seq2seq_encoder_decoder,
    sequence_sampler,
    state_dict,
    text_classification,
    text_cnn,
    train,
    transformer,
    transformer_xl,
    translation,
    utils,
    xlnet,
)
from .adaptive import (
    AdaptiveEmbedding,
    AdaptiveLogSoftmaxWithLoss,
    ProjectedEmbedding,
    ProjectedLogSoftmaxWithLoss,
)
from .attention_cell import AttentionCell, DotProductAttentionCell, MLPAttentionCell, MultiHeadAttentionCell
from .bert import (
    BERTClassifier,
    BERTEncoder,
    BERTEncoderCell,
    BERTModel,
    DistilBERTModel,
    DotProductSelfAttentionCell,
    RoBERTaClassifier,
    RoBERTaModel,
)
from .bert_heads import BERTForICSL, BERTForQA, BERTTagger
from .bilm_encoder import BiLMEncoder
from .block import GELU, L2Normalization, RNNCellLayer
from .convolutional_encoder import ConvolutionalEncoder
from .elmo import ELMoBiLM, ELMoCharacterEncoder
from .glove import GloVe
from .gnmt import GNMTDecoder, GNMTEncoder, GNMTOneStepDecoder, get_gnmt_encoder_decoder
from .gpt2 import GPT2FFNLayer, GPT2Model, GPT2SelfAttentionLayer
from .highway import Highway
from .huggingface import load_huggingface, save_huggingface
from .language_model import AWDRNN, BigRNN, StandardRNN
from .lstmpcellwithclip import LSTMPCellWithClip
from .natural_language_inference import DecomposableAttentionModel, ESIMModel
from .parameter import WeightDropParameter, apply_weight_drop
from .parser import BiaffineParser
from .registry import get_model, list_models
from .sampled_block import ISDense, NCEDense, SparseISDense, SparseNCEDense
from .seq2seq_encoder_decoder import Seq2SeqDecoder, Seq2SeqEncoder, Seq2SeqOneStepDecoder
from .sequence_sampler import BeamSearchSampler, BeamSearchScorer, HybridBeamSearchSampler, SequenceSampler
from .state_dict import load_state_dict, save_state_dict
from .text_classification import FastTextClassificationModel, SentimentNet
from .text_cnn import TextCNN
from .transformer import (
    ParallelTransformer,
    PositionwiseFFN,
    TransformerDecoder,
    TransformerDecoderCell,
    TransformerEncoder,
    TransformerEncoderCell,
    TransformerOneStepDecoder,
    get_transformer_encoder_decoder,
)
from .transformer_xl import (
    PositionalEmbedding,
    PositionalEmbeddingMultiHeadAttentionCell,
    TransformerXL,
    TransformerXLCell,
)
from .translation import BeamSearchTranslator, NMTModel
from .xlnet import XLNetClassifier, XLNetForQA, XLNetModel

__all__ = [
    *adaptive.__all__,
    *attention_cell.__all__,
    *bert.__all__,
    *bert_heads.__all__,
    *bilm_encoder.__all__,
    *block.__all__,
    *convolutional_encoder.__all__,
    *elmo.__all__,
    *glove.__all__,
    *gnmt.__all__,
    *gpt2.__all__,
    *highway.__all__,
    *huggingface.__all__,
    *language_model.__all__,
    *lstmpcellwithclip.__all__,
    *natural_language_inference.__all__,
    *parameter.__all__,
    *parser.__all__,
    *registry.__all__,
    *sampled_block.__all__,
    *seq2seq_encoder_decoder.__all__,
    *sequence_sampler.__all__,
    *state_dict.__all__,
    *text_classification.__all__,
    *text_cnn.__all__,
    *transformer.__all__,
    *transformer_xl.__all__,
    *translation.__all__,
    *xlnet.__all__,
    *registry.builders(),
]

# bert_12_768_12(...) and the like.
globals().update(registry.builders())

_complete(globals())
