"""What is tuned on a BERT beside classification: answers in a text, tags, intents and slots (Devlin et al., 2019)."""

from __future__ import annotations

from gluon import HybridBlock, nn

__all__ = ["BERTForICSL", "BERTForQA", "BERTTagger"]


class BERTForQA(HybridBlock):
    """Scores (batch, length, 2) of each position as start and as end of the answer.

    Called with inputs and token_types (batch, length) and valid_length (batch,); bert has no head.

    >>> encoder = gluonnlp.model.BERTEncoder(units=4, hidden_size=8, num_layers=1, num_heads=2, max_length=8)
    >>> bert = gluonnlp.model.BERTModel(encoder, vocab_size=10, token_type_vocab_size=2, units=4, embed_size=4, use_pooler=False, use_decoder=False, use_classifier=False)
    >>> net = gluonnlp.model.BERTForQA(bert)
    >>> net.initialize()
    >>> net(nd.zeros((1, 3)), nd.zeros((1, 3)), nd.array([3])).shape
    (1, 3, 2)
    """

    def __init__(self, bert, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.bert = bert
        with self.name_scope():
            self.span_classifier = nn.Dense(2, flatten=False)

    def __call__(self, inputs, token_types=None, valid_length=None):
        return super().__call__(inputs, token_types, valid_length)

    def hybrid_forward(self, F, inputs, token_types=None, valid_length=None):
        return self.span_classifier(self.bert(inputs, token_types, valid_length))


class BERTTagger(HybridBlock):
    """Scores (batch, length, num_tag_types) of tags for each position.

    Called with inputs and token_types (batch, length) and valid_length (batch,); bert_model has no head.

    >>> encoder = gluonnlp.model.BERTEncoder(units=4, hidden_size=8, num_layers=1, num_heads=2, max_length=8)
    >>> bert = gluonnlp.model.BERTModel(encoder, vocab_size=10, token_type_vocab_size=2, units=4, embed_size=4, use_pooler=False, use_decoder=False, use_classifier=False)
    >>> net = gluonnlp.model.BERTTagger(bert, num_tag_types=5, dropout_prob=0.1)
    >>> net.initialize()
    >>> net(nd.zeros((1, 3)), nd.zeros((1, 3)), nd.array([3])).argmax(axis=-1).shape  # a tag for each word
    (1, 3)
    """

    def __init__(self, bert_model, num_tag_types, dropout_prob, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.bert_model = bert_model
        with self.name_scope():
            self.dropout = nn.Dropout(dropout_prob)
            self.tag_classifier = nn.Dense(num_tag_types, flatten=False)

    def __call__(self, inputs, token_types=None, valid_length=None):
        return super().__call__(inputs, token_types, valid_length)

    def hybrid_forward(self, F, inputs, token_types=None, valid_length=None):
        return self.tag_classifier(self.dropout(self.bert_model(inputs, token_types, valid_length)))


class BERTForICSL(HybridBlock):
    """Scores of the intent (batch, num_intent_classes) and of slots (batch, length, num_slot_classes).

    Called with inputs (batch, length), all of one type, and valid_length (batch,); bert has a pooler
    and no other head.

    >>> encoder = gluonnlp.model.BERTEncoder(units=4, hidden_size=8, num_layers=1, num_heads=2, max_length=8)
    >>> bert = gluonnlp.model.BERTModel(encoder, vocab_size=10, token_type_vocab_size=2, units=4, embed_size=4, use_decoder=False, use_classifier=False)
    >>> net = gluonnlp.model.BERTForICSL(bert, num_intent_classes=7, num_slot_classes=5)
    >>> net.initialize()
    >>> intent, slots = net(nd.zeros((1, 3)), nd.array([3]))
    >>> intent.shape, slots.shape
    ((1, 7), (1, 3, 5))
    """

    def __init__(self, bert, num_intent_classes=2, num_slot_classes=2, dropout_prob=0.0, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.bert = bert
        with self.name_scope():
            for name, units in (("intent_classifier", num_intent_classes), ("slot_tagger", num_slot_classes)):
                head = nn.HybridSequential()
                with head.name_scope():
                    head.add(nn.Dropout(dropout_prob))
                    head.add(nn.Dense(units, flatten=False))
                setattr(self, name, head)

    def __call__(self, inputs, valid_length=None):
        return super().__call__(inputs, valid_length)

    def hybrid_forward(self, F, inputs, valid_length=None):
        sequence, pooled = self.bert(inputs, F.zeros_like(inputs), valid_length)
        return self.intent_classifier(pooled), self.slot_tagger(sequence)
